#pragma once

#include <sheaf/machine.hpp>

#include "apps/sheaf/demo/limit.hpp"

namespace sheaf::jobs {

/// How the demo gets to know its machine.
struct demo_calibration {
  std::string folder;  ///< where profiles are kept, apart from those of `sheaf machine --calibrate`; made if needed
  std::function<machine(const context&)> measure;
  /// Rates of copies right after, which have to be close to those measured.
  std::function<copy_limits(const context&, std::uint64_t most_bytes)> measure_copies;
};

/// Measures for some ten seconds, which is enough for the footprints of the demo.
demo_calibration calibration_in(std::string folder,
                                std::function<void(std::string_view what, double done_share)> progress = {});

/// Lets ctx predict from rates of this machine: those of its profile, unless that is a shipped one of another device;
/// else those kept in the folder for this device and number of threads; else rates that are measured now and kept. Goes
/// on with the shipped profile where that fails. Returns where the rates are from, and what went wrong, in words.
std::string use_rates_of_this_machine(context& ctx, const demo_calibration& calibration);

/// Looks, before anything is measured, whether rates that would be measured could be kept in the folder.
/// @throws error(io_failure) if not
void require_place_for_rates(const context& ctx, const std::string& folder);

/// Where the rates of a context are from, in words.
std::string origin_of_rates(const context& ctx);

}  // namespace sheaf::jobs
