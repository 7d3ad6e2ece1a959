#include <bit>
#include <cmath>

#include "cuda/device/state.hpp"
#include "cuda/sort/words/encoding.hpp"
#include "cuda/sort/words/limbs.cuh"

// Batcher's bitonic sort of a whole array, the sort of earlier GPUs that the 2007 paper compares with (Fig. 16): steps
// over far words in memory, steps over near ones in shared memory. Every step puts the lesser word first, so that words
// past the end need not be there.
namespace sheaf::cuda {
namespace {

using primitives::sort_buffers;
using primitives::sort_problem;

constexpr std::uint32_t near_words = 2048;
constexpr unsigned near_threads = 512;

template <int Limbs>
__device__ __forceinline__ void exchange(sort_word<Limbs>* words, std::uint64_t low, std::uint64_t high) {
  const sort_word<Limbs> a = words[low];
  const sort_word<Limbs> b = words[high];
  if (compare_words(b, a, key_mask<Limbs>(0)) != word_order::less) return;
  words[low] = b;
  words[high] = a;
}

/// The pair i of a step: of runs of `run` words, `step` apart; the first step of a run meets its halves from outside
/// in.
struct step_pair {
  std::uint64_t low;
  std::uint64_t high;
};
__device__ __forceinline__ step_pair pair_of(std::uint64_t i, std::uint64_t run, std::uint64_t step) {
  const std::uint64_t offset = i % step;
  const std::uint64_t begin = i / step * (2 * step);
  return {begin + offset, step == run / 2 ? begin + 2 * step - 1 - offset : begin + offset + step};
}

template <int Limbs>
__global__ void __launch_bounds__(block_threads)
    exchange_far(sort_word<Limbs>* words, std::uint64_t count, std::uint64_t run, std::uint64_t step) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  const step_pair pair = pair_of(i, run, step);
  if (pair.high < count) exchange(words, pair.low, pair.high);
}

/// All steps of runs from first_run to last_run that stay inside near_words.
template <int Limbs>
__global__ void __launch_bounds__(near_threads)
    exchange_near(const sort_word<Limbs>* from, sort_word<Limbs>* to, std::uint64_t count, std::uint64_t first_run,
                  std::uint64_t last_run) {
  __shared__ sort_word<Limbs> words[near_words];
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * near_words;
  const auto here = static_cast<std::uint32_t>(min(count - begin, std::uint64_t{near_words}));
  for (std::uint32_t i = threadIdx.x; i < here; i += near_threads) words[i] = from[begin + i];
  for (std::uint64_t run = first_run; run <= last_run; run *= 2) {
    for (std::uint64_t step = min(run / 2, std::uint64_t{near_words} / 2); step > 0; step /= 2) {
      __syncthreads();
      for (std::uint32_t i = threadIdx.x; i < near_words / 2; i += near_threads) {
        const step_pair pair = pair_of(i, run, step);
        if (pair.high < here) exchange(words, pair.low, pair.high);
      }
    }
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < here; i += near_threads) to[begin + i] = words[i];
}

plan::planned plan_bitonic(const sort_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  const word_encoding form = encoding_of(p);
  if (!form.is_plain || form.payload != word_payload::none)
    return plan::rejected("sorts rows that are unsigned numbers of 4 to 16 bytes");
  const auto count = static_cast<double>(p.count);
  const double runs = std::ceil(std::log2(std::max(2.0, count)));
  const double far_runs = std::max(0.0, runs - std::log2(near_words));
  plan::planned plan;
  plan.add("latency", m.launch_seconds + far_runs * (far_runs + 3) / 2 * m.step_seconds);
  const double bytes = 2 * count * static_cast<double>(p.rows.record_bytes);
  plan.add("far steps", far_runs * (far_runs + 1) / 2 * bytes / m.copy_bytes_per_second);
  // A step inside a block waits for a barrier, whatever there is to do.
  constexpr double barrier = 0.7e-6;
  const double near = std::log2(near_words);
  const double steps = std::min(runs, near) * (std::min(runs, near) + 1) / 2 + far_runs * near;
  plan.add("near steps", std::max(steps * barrier, (1 + far_runs) * 3 * bytes / m.copy_bytes_per_second));
  return plan;
}

template <int Limbs>
void sort_words(const context& ctx, const char* what, std::uint64_t count, const void* in, void* out) {
  auto* const words = static_cast<sort_word<Limbs>*>(out);
  const std::uint64_t tiles = ceil_div(count, near_words);
  launch_blocks(ctx, what, exchange_near<Limbs>, tiles, near_threads, static_cast<const sort_word<Limbs>*>(in), words,
                count, std::uint64_t{2}, std::uint64_t{near_words});
  const std::uint64_t all = std::bit_ceil(count);
  for (std::uint64_t run = 2 * near_words; run <= all; run *= 2) {
    for (std::uint64_t step = run / 2; step >= near_words; step /= 2) {
      launch(ctx, what, exchange_far<Limbs>, ceil_div(all / 2, block_threads), words, count, run, step);
    }
    launch_blocks(ctx, what, exchange_near<Limbs>, tiles, near_threads, const_cast<const sort_word<Limbs>*>(words),
                  words, count, run, run);
  }
}

void run_bitonic(const context& ctx, const sort_problem& p, const plan::planned&, const sort_buffers& b) {
  constexpr const char* what = "cuda.bitonic";
  const device_scope here(ctx.device());
  switch (p.rows.record_bytes) {
    case 4: return sort_words<1>(ctx, what, p.count, b.in.data, b.out.data);
    case 8: return sort_words<2>(ctx, what, p.count, b.in.data, b.out.data);
    case 12: return sort_words<3>(ctx, what, p.count, b.in.data, b.out.data);
    default: return sort_words<4>(ctx, what, p.count, b.in.data, b.out.data);
  }
}

}  // namespace

constinit const primitives::sort_variant sort_bitonic{"cuda.bitonic", plan_bitonic, run_bitonic};

}  // namespace sheaf::cuda
