#include "bench/harness/rows.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/harness/contents.hpp"

namespace sheaf::bench {

std::vector<contender> contenders_of(const context& ctx, const problem& p, const row_options& options,
                                     const workspace& arrays) {
  if (sorts(p.primitive)) return sort_contenders(ctx, p, options, arrays);
  if (splits(p.primitive)) return split_contenders(ctx, p, options, arrays);
  switch (p.primitive) {
    case primitive::gather: return gather_contenders(ctx, p, options, arrays);
    case primitive::scatter_reduce: return reduce_contenders(ctx, p, options, arrays);
    default: return scatter_contenders(ctx, p, options, arrays);
  }
}

std::vector<const variant_estimate*> measurable(const explanation& why) {
  std::vector<const variant_estimate*> variants;
  for (const variant_estimate& estimate : why.variants) {
    if (estimate.applicable && estimate.reason != "runs by name only") variants.push_back(&estimate);
  }
  return variants;
}

planned_row planned(const problem& p, std::uint64_t copies, std::vector<contender> contenders) {
  planned_row row{p, copies, std::move(contenders)};
  for (const contender& c : row.contenders) row.scratch_bytes = std::max(row.scratch_bytes, c.scratch_bytes);
  return row;
}

std::string reason_to_skip(const planned_row& row, const platform& hardware) {
  const std::uint64_t needed = workspace_bytes(row.problem, row.copies) + row.scratch_bytes;
  if (needed > hardware.memory_bytes) {
    return fmt::format("needs {} MB of memory, {} MB are free", needed >> 20, hardware.memory_bytes >> 20);
  }
  const problem& p = row.problem;
  if (std::string why_not = unchecked(p); !why_not.empty()) return why_not;
  const std::uint64_t most_indexed = std::max(p.count, p.slots);
  const bool has_index = (!splits(p.primitive) && !sorts(p.primitive)) || writes_index(p.primitive);
  if (has_index && bytes(p.index) == 4 && most_indexed - 1 > 0xffffffffU) return "index type is too narrow";
  if (row.contenders.empty()) return "no variant can run it";
  return {};
}

std::vector<result> run_row(const planned_row& row, backend_kind backend, workspace& arrays, queue_clock* clock,
                            const timing_limits& limits) {
  arrays.prepare(row.problem, row.copies);
  for (const contender& c : row.contenders) {
    if (c.prepare) c.prepare(row.copies);
  }
  const std::vector<timing> timings = measure(row.contenders, row.copies, clock, limits);
  double fastest_peer = 0;
  for (std::size_t c = 0; c < row.contenders.size(); ++c) {
    const double seconds = timings[c].median_seconds;
    if (row.contenders[c].variant.empty() && (fastest_peer == 0 || seconds < fastest_peer)) fastest_peer = seconds;
  }
  std::vector<result> results;
  for (std::size_t c = 0; c < row.contenders.size(); ++c) {
    const contender& who = row.contenders[c];
    result r{.problem = row.problem,
             .backend = backend,
             .who = who.who,
             .variant = who.variant,
             .time = timings[c],
             .predicted_seconds = who.predicted_seconds,
             .he2007_seconds = who.he2007_seconds};
    if (!who.variant.empty()) r.peer_ratio = fastest_peer / timings[c].median_seconds;
    arrays.wipe_target();
    const bool with_offsets = static_cast<bool>(who.queue_with_offsets);
    with_offsets ? who.queue_with_offsets() : who.queue(0);
    who.wait();
    r.verified = arrays.count_mismatches(with_offsets) == 0;
    results.push_back(std::move(r));
  }
  return results;
}

}  // namespace sheaf::bench
