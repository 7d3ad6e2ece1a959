#include "cuda/split/cost.hpp"
#include "cuda/split/launch.cuh"
#include "cuda/split/scan_kernels.cuh"
#include "cuda/split/steps.hpp"

// The variant cuda.unordered, which may reorder the records of a category. One pass takes up to 256 categories, or 2048
// for words of 4 and 8 bytes: a histogram of the whole list, its prefix sums, and a scatter kernel whose tiles reserve
// the space of each run by one atomic add. More categories take several passes (steps.hpp).
namespace sheaf::cuda {

template <int Bins>
run_offsets count_and_scan_list(const context& ctx, const key_arguments& key, std::uint64_t count,
                                std::uint32_t tile_records, std::uint64_t* offsets, std::uint64_t categories,
                                void* scratch) {
  if (count <= tile_records) return {nullptr, nullptr, nullptr, offsets, static_cast<std::uint32_t>(categories)};
  auto* const total = static_cast<unsigned long long*>(scratch);
  unsigned long long* const bin_begin = total + Bins;
  require(cudaMemsetAsync(total, 0, Bins * sizeof(unsigned long long), ctx.stream()), ctx);
  // One wave: with a block more, the last blocks run alone (2^28 words of 4 bytes: 0.96 ms instead of 0.87 on an H200).
  const std::uint64_t most_blocks =
      state_of(ctx).resident_blocks(reinterpret_cast<const void*>(count_bins<Bins>), histogram_threads, 0);
  const std::uint64_t blocks = std::min(most_blocks, ceil_div(count, std::uint64_t{histogram_threads} * 8));
  launch_blocks(ctx, count_bins<Bins>, blocks, histogram_threads, key, count, total);
  launch_overlapped(ctx, scan_totals<Bins>, 1, column_scan_threads, 0, static_cast<const unsigned long long*>(total),
                    bin_begin, offsets, categories);
  return {bin_begin, nullptr, nullptr, nullptr, 0};
}

template run_offsets count_and_scan_list<narrow_bins>(const context&, const key_arguments&, std::uint64_t,
                                                      std::uint32_t, std::uint64_t*, std::uint64_t, void*);

namespace {

using namespace primitives;

template <int Bins>
void run_pass_of(const context& ctx, const split_pass& pass, void* scratch) {
  const key_arguments key = keys_of(ctx, pass);
  scatter_arguments a = arguments_of(pass, key);
  a.runs = count_and_scan_list<Bins>(ctx, key, pass.count, scatter_tuning<uint4, Bins>::tile_records, pass.offsets,
                                     pass.categories, scratch);
  if (a.runs.bin_begin != nullptr) a.key.guard = {};  // the histogram kernel has reported bad keys
  launch_scatter<Bins, record_order::unordered>(ctx, pass, a);
}

}  // namespace

void run_unordered_pass(const context& ctx, const split_pass& p, void* scratch) {
  if (p.categories <= narrow_bins) {
    run_pass_of<narrow_bins>(ctx, p, scratch);
  } else {
    run_pass_of<wide_bins>(ctx, p, scratch);
  }
}

namespace {

bool fits_one_pass(const split_problem& p) {
  return p.categories <= (p.word_bytes == 4 || p.word_bytes == 8 ? wide_bins : narrow_bins);
}

plan::planned plan_unordered(const split_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* reason = word_pass_rejection(problem)) return plan::rejected(reason);
  if (problem.stable || problem.product != split_product::records) {
    return plan::rejected("does not keep the order within a category");
  }
  if (!fits_one_pass(problem)) return plan_digit_passes(problem, scope, /*stable=*/false);
  plan::planned plan = unordered_pass_cost(problem, machine, problem.categories > narrow_bins);
  plan.scratch_bytes = unordered_scratch_bytes;
  return plan;
}

void run_unordered(const context& ctx, const split_problem& problem, const plan::planned& plan, const split_buffers& b,
                   std::byte* scratch) {
  const device_scope current_device(ctx.device());
  if (split_empty_list(ctx, problem, b)) return;
  const split_pass pass = word_pass_of(problem, b);
  if (!fits_one_pass(problem)) return run_digit_passes(ctx, problem, plan, pass, /*stable=*/false, scratch);
  run_unordered_pass(ctx, pass, scratch);
}

}  // namespace

extern constinit const split_variant split_unordered{"cuda.unordered", backend_kind::cuda, plan_unordered,
                                                     run_unordered};

}  // namespace sheaf::cuda
