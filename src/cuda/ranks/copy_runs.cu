#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"
#include "cuda/ranks/steps.hpp"

// Rows whose order is that of their runs: each block writes a stretch of the output, whose runs it finds by halving.
namespace sheaf::cuda {
namespace {

using namespace primitives;

template <class Word>
__global__ void __launch_bounds__(block_threads)
    copy_rows_of_runs(const Word* from, Word* to, std::uint32_t rows, std::uint32_t words_of_row, const row_run* runs,
                      std::uint32_t run_count) {
  auto row = static_cast<std::uint32_t>(std::uint64_t{rows} * blockIdx.x / gridDim.x);
  const auto end = static_cast<std::uint32_t>(std::uint64_t{rows} * (blockIdx.x + 1) / gridDim.x);
  std::uint32_t run = 0;
  for (std::uint32_t behind = run_count; behind - run > 1;) {
    const std::uint32_t middle = (run + behind) / 2;
    (runs[middle].before <= row ? run : behind) = middle;
  }
  for (; row < end; ++run) {
    const row_run here = runs[run];
    const std::uint32_t stretch_end = min(end, here.before + here.count);
    const std::uint64_t words = std::uint64_t{stretch_end - row} * words_of_row;
    const Word* const source = from + std::uint64_t{here.begin + (row - here.before)} * words_of_row;
    Word* const target = to + std::uint64_t{row} * words_of_row;
    constexpr std::uint64_t at_once = 8;
    std::uint64_t first = threadIdx.x;
    for (; first + (at_once - 1) * block_threads < words; first += at_once * block_threads) {
      Word word[at_once];
#pragma unroll
      for (std::uint64_t k = 0; k < at_once; ++k) word[k] = __ldcs(source + first + k * block_threads);
#pragma unroll
      for (std::uint64_t k = 0; k < at_once; ++k) __stcs(target + first + k * block_threads, word[k]);
    }
    for (; first < words; first += block_threads) __stcs(target + first, __ldcs(source + first));
    row = stretch_end;
  }
}

}  // namespace

void copy_runs(const context& ctx, const rows_in_parts& p) {
  const run_scope scope(ctx, "copy runs");
  const std::uint64_t blocks = 8 * static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
  for (std::size_t a = 0; a < p.in.size(); ++a) {
    const const_records& in = p.in[a];
    if (p.out[a].data == nullptr || in.count == 0) continue;
    const std::uint64_t bits = in.record_bytes | reinterpret_cast<std::uintptr_t>(in.data) |
                               reinterpret_cast<std::uintptr_t>(p.out[a].data) | 16;
    const auto word_bytes = static_cast<std::uint32_t>(bits & (~bits + 1));
    with_word(word_bytes, [&](auto word) {
      using word_type = decltype(word);
      launch(ctx, copy_rows_of_runs<word_type>, std::min(blocks, in.count), reinterpret_cast<const word_type*>(in.data),
             reinterpret_cast<word_type*>(p.out[a].data), static_cast<std::uint32_t>(in.count),
             static_cast<std::uint32_t>(in.record_bytes / sizeof(word_type)), p.runs, p.run_count);
    });
  }
}

}  // namespace sheaf::cuda
