#pragma once

#include <sheaf/machine.hpp>

#include "apps/sheaf/demo/limit.hpp"

namespace sheaf::jobs {

/// Is told what a measurement leaves out: a point of a curve, its value, and why.
using left_out_words = std::function<void(std::string_view left_out)>;

/// How the demo gets to know its machine.
struct demo_calibration {
  std::string folder;  ///< where profiles are kept, apart from those of `sheaf machine --calibrate`; made if needed
  std::function<machine(const context&, const left_out_words& left_out)> measure;
  /// Rates of copies right after, which have to be close to those measured.
  std::function<copy_limits(const context&, std::uint64_t most_bytes)> measure_copies;
};

/// Each measurement takes some ten seconds, which is enough for the footprints of the demo.
demo_calibration calibration_in(std::string folder,
                                std::function<void(std::string_view what, double done_share)> progress = {});

/// What predictions are made from.
struct rates_in_use {
  std::string origin;               ///< where the rates are from, in words
  std::vector<std::string> doubts;  ///< what could not be measured, and why; a sentence each
};

/// Lets ctx predict from rates of this machine: those of its profile, unless that is a shipped one of another device;
/// else those kept in the folder for this device and number of threads; else rates that are measured now and kept.
/// Where something else ran meanwhile, they are measured again, up to three times in all, and the best rate of each
/// point counts. If that does not look like an idle machine either, these rates are used and not kept. Goes on with the
/// shipped profile only where every measurement fails.
rates_in_use use_rates_of_this_machine(context& ctx, const demo_calibration& calibration);

/// The better of two measurements of a device, point by point: what slows a machine down is not the machine.
machine best_of(const machine& a, const machine& b);

/// Whether the rates of a context were measured on this machine, or are of its kind of device.
bool has_rates_of_this_machine(const context& ctx);

/// Looks, before anything is measured, whether rates that would be measured could be kept in the folder.
/// @throws error(io_failure) if not
void require_place_for_rates(const context& ctx, const std::string& folder);

/// Where the rates of a context are from, in words.
std::string origin_of_rates(const context& ctx);

}  // namespace sheaf::jobs
