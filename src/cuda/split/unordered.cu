#include "cuda/split/arguments.cuh"

namespace sheaf::cuda {

template <int Bins>
run_begins begin_unordered_runs(const context& ctx, const char* what, const key_arguments& key, std::uint64_t count,
                                std::uint32_t tile, std::uint64_t* offsets, std::uint64_t categories, void* scratch) {
  if (count <= tile) return {nullptr, nullptr, nullptr, offsets, static_cast<std::uint32_t>(categories)};
  auto* const total = static_cast<unsigned long long*>(scratch);
  unsigned long long* const bin_begin = total + Bins;
  require(cudaMemsetAsync(total, 0, Bins * sizeof(unsigned long long), ctx.stream()), what);
  const auto most_blocks = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * 4;
  const std::uint64_t blocks = std::min(most_blocks, ceil_div(count, std::uint64_t{histogram_threads} * 8));
  launch_blocks(ctx, what, count_bins<Bins>, blocks, histogram_threads, key, count, total);
  launch_blocks(ctx, what, begin_bins<Bins>, 1, column_threads, static_cast<const unsigned long long*>(total),
                bin_begin, offsets, categories);
  return {bin_begin, nullptr, nullptr, nullptr, 0};
}

template run_begins begin_unordered_runs<narrow_bins>(const context&, const char*, const key_arguments&, std::uint64_t,
                                                      std::uint32_t, std::uint64_t*, std::uint64_t, void*);

namespace {

template <int Bins>
void run_with(const context& ctx, const char* what, const split_pass& p, void* scratch) {
  const key_arguments key = keys_of(ctx, p);
  split_pass_arguments a = arguments_of(p, key);
  a.runs = begin_unordered_runs<Bins>(ctx, what, key, p.count, split_shape<uint4, Bins>::tile, p.offsets, p.categories,
                                      scratch);
  if (a.runs.bin_begin != nullptr) a.key.guard = {};  // the counting has reported
  launch_split<Bins, false>(ctx, what, p, a);
}

}  // namespace

void run_unordered_pass(const context& ctx, const char* what, const split_pass& p, void* scratch) {
  if (p.categories <= narrow_bins) {
    run_with<narrow_bins>(ctx, what, p, scratch);
  } else {
    run_with<wide_bins>(ctx, what, p, scratch);
  }
}

}  // namespace sheaf::cuda
