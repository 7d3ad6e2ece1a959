#include "cuda/split_arguments.cuh"

namespace sheaf::cuda {
namespace {

template <int Bins>
void run_with(const context& ctx, const char* what, const split_pass& p, unsigned long long* total) {
  const key_arguments key = keys_of(ctx, p);
  split_pass_arguments a = arguments_of(p, key);
  if (p.count <= split_shape<uint4, Bins>::tile) {
    a.offsets = p.offsets;
    return launch_split<Bins, false>(ctx, what, p, a);
  }
  unsigned long long* const bin_begin = total + Bins;
  require(cudaMemsetAsync(total, 0, Bins * sizeof(unsigned long long), ctx.stream()), what);
  const auto most_blocks = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * 4;
  const std::uint64_t blocks = std::min(most_blocks, ceil_div(p.count, std::uint64_t{histogram_threads} * 8));
  launch_blocks(ctx, what, count_bins<Bins>, blocks, histogram_threads, key, p.count, total);
  launch_blocks(ctx, what, begin_bins<Bins>, 1, column_threads, static_cast<const unsigned long long*>(total),
                bin_begin, p.offsets, p.categories);
  a.key.guard = {};  // the counting has reported
  a.bin_begin = bin_begin;
  launch_split<Bins, false>(ctx, what, p, a);
}

}  // namespace

void run_unordered_pass(const context& ctx, const char* what, const split_pass& p, void* scratch) {
  auto* const total = static_cast<unsigned long long*>(scratch);
  if (p.categories <= narrow_bins) {
    run_with<narrow_bins>(ctx, what, p, total);
  } else {
    run_with<wide_bins>(ctx, what, p, total);
  }
}

}  // namespace sheaf::cuda
