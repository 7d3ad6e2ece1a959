#pragma once

#include "papers/step_clock.hpp"
#include "papers/wei2010/analysis.hpp"
#include "papers/wei2010/figures.hpp"
#include "papers/wei2010/list_sums.hpp"

// Scans of packed nodes in a list of stride 1001 step by step: by the library's variants, and by the paper's steps with
// all of their parameters. Each answer is checked, and counts among those of the run.
namespace sheaf::bench::papers::wei2010 {

using sheaf::papers::wei2010::list_sums_form;
using sheaf::papers::wei2010::sublist_scan;
using sheaf::papers::wei2010::sublist_supply;
using sheaf::papers::wei2010::walk_shape;
using sheaf::papers::wei2010::walking_machine;

/// 30 x 64 x 32, from 16 M nodes on.
constexpr std::uint64_t sublists_of_paper = 61'440;

/// What a variant is asked for; 0 leaves it to the plan.
struct scan_settings {
  std::string_view variant;
  std::uint32_t log2_block = 0;  ///< nodes of a sublist in the mean are 2^log2_block
  std::uint32_t walkers = 0;     ///< threads that walk
};

/// Seconds of the steps of section 3 and of the whole call, each the median of several calls.
struct scan_seconds {
  double head = 0;
  double splitters = 0;
  double walks = 0;
  double copy_to_host = 0;  ///< of step 4, as copy_back; only of the paper's steps on a device
  double sublists = 0;
  double copy_back = 0;
  double results = 0;
  double total = 0;
  walk_shape shape = {};                  ///< who walks
  std::uint64_t sublist_count = 0;        ///< which shape.sublists_each does not say where it is no whole number
  std::vector<std::uint64_t> loads = {};  ///< nodes by multiprocessor, where they are asked for

  double step_4() const noexcept { return copy_to_host + sublists + copy_back; }
};

/// None where memory does not suffice or the variant does not take it, which is then said.
std::optional<scan_seconds> measure_variant(paper_run& run, session& session, int figure, std::uint64_t nodes,
                                            const scan_settings& settings);
/// @param wants_loads  one more call counts them
std::optional<scan_seconds> measure_form(paper_run& run, session& session, int figure, std::uint64_t nodes,
                                         const list_sums_form& form, bool wants_loads = false);

inline bool is_cuda(const session& s) { return s.ctx.backend() == backend_kind::cuda; }
/// Multiprocessors and blocks of 64 threads; on a CPU threads, with as many walkers as one likes.
walking_machine machine_of(const session& session);
list_sums_form form_of(const walk_shape& shape, std::uint64_t nodes, sublist_scan scan = sublist_scan::on_host);
/// As many as the paper's, or one for 16 nodes.
std::uint64_t usual_sublists(std::uint64_t nodes);
/// "30 x 64"
std::string walkers_text(const walk_shape& shape);

}  // namespace sheaf::bench::papers::wei2010
