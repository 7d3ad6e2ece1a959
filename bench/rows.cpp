#include "rows.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace sheaf::bench {

std::vector<contender> contenders_of(const context& ctx, const problem& p, const row_options& options,
                                     const workspace& arrays) {
  return p.primitive == primitive::gather ? gather_contenders(ctx, p, options, arrays)
                                          : scatter_contenders(ctx, p, options, arrays);
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

std::string obstacle(const planned_row& row, const platform& here) {
  const std::uint64_t needed = workspace_bytes(row.problem, row.copies) + row.scratch_bytes;
  if (needed > here.memory_bytes) {
    return fmt::format("needs {} MB of memory, {} MB are free", needed >> 20, here.memory_bytes >> 20);
  }
  if (bytes(row.problem.index) == 4 && row.problem.count - 1 > 0xffffffffU) return "index type is too narrow";
  if (row.contenders.empty()) return "no variant can run it";
  return {};
}

std::vector<result> run_row(const planned_row& row, backend_kind backend, workspace& arrays, queue_clock* clock,
                            const effort& limits) {
  arrays.prepare(row.problem, row.copies);
  const std::vector<timing> timings = measure(row.contenders, row.copies, clock, limits);
  const bool has_peer = row.contenders.back().variant.empty();
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
    if (has_peer && !who.variant.empty()) r.peer_ratio = timings.back().median_seconds / timings[c].median_seconds;
    arrays.wipe_target();
    who.queue(0);
    who.wait();
    r.verified = arrays.count_mismatches() == 0;
    results.push_back(std::move(r));
  }
  return results;
}

}  // namespace sheaf::bench
