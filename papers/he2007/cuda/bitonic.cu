#include "cuda/device/launch.cuh"
#include "cuda/device/state.hpp"
#include "cuda/sort/words/encoding.hpp"
#include "cuda/sort/words/limbs.cuh"

// cuda.bitonic: Batcher's bitonic sort of a whole array, the sort of earlier GPUs that He et al. 2007 compare with
// (Fig. 16). Steps over distant words go through memory, one kernel each; steps inside a tile go through shared memory.
// Every step puts the lesser word first, so the network needs no words past the end of the list.
namespace sheaf::cuda {
namespace {

using namespace primitives;

constexpr std::uint32_t network_words = 2048;
constexpr unsigned tile_threads = 512;

template <int Limbs>
__device__ __forceinline__ void exchange(sort_word<Limbs>* words, std::uint64_t low, std::uint64_t high) {
  const sort_word<Limbs> a = words[low];
  const sort_word<Limbs> b = words[high];
  if (compare_words(b, a, key_mask<Limbs>(0)) != word_order::less) return;
  words[low] = b;
  words[high] = a;
}

/// The words that one comparator of the network compares.
struct step_pair {
  std::uint64_t low;
  std::uint64_t high;
};
/// Comparator i of a step that merges runs of `run` words and compares words `step` apart. The first step of a merge,
/// step == run / 2, compares the two halves from the outside in.
__device__ __forceinline__ step_pair pair_of(std::uint64_t i, std::uint64_t run, std::uint64_t step) {
  const std::uint64_t offset = i % step;
  const std::uint64_t begin = i / step * (2 * step);
  return {begin + offset, step == run / 2 ? begin + 2 * step - 1 - offset : begin + offset + step};
}

template <int Limbs>
__global__ void __launch_bounds__(block_threads)
    exchange_in_memory(sort_word<Limbs>* words, std::uint64_t count, std::uint64_t run, std::uint64_t step) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  const step_pair pair = pair_of(i, run, step);
  if (pair.high < count) exchange(words, pair.low, pair.high);
}

/// All steps that stay inside a tile, of the merges of runs from first_run to last_run words.
template <int Limbs>
__global__ void __launch_bounds__(tile_threads)
    exchange_in_tile(const sort_word<Limbs>* from, sort_word<Limbs>* to, std::uint64_t count, std::uint64_t first_run,
                     std::uint64_t last_run) {
  __shared__ sort_word<Limbs> words[network_words];
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * network_words;
  const auto size = static_cast<std::uint32_t>(min(count - begin, std::uint64_t{network_words}));
  for (std::uint32_t i = threadIdx.x; i < size; i += tile_threads) words[i] = from[begin + i];
  for (std::uint64_t run = first_run; run <= last_run; run *= 2) {
    for (std::uint64_t step = min(run / 2, std::uint64_t{network_words} / 2); step > 0; step /= 2) {
      __syncthreads();
      for (std::uint32_t i = threadIdx.x; i < network_words / 2; i += tile_threads) {
        const step_pair pair = pair_of(i, run, step);
        if (pair.high < size) exchange(words, pair.low, pair.high);
      }
    }
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < size; i += tile_threads) to[begin + i] = words[i];
}

plan::planned plan_bitonic(const sort_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  const word_encoding encoding = encoding_of(problem);
  if (!encoding.rows_are_words || encoding.payload != word_payload::none)
    return plan::rejected("sorts rows that are unsigned numbers of 4 to 16 bytes");
  const auto count = static_cast<double>(problem.count);
  const double merges = std::ceil(std::log2(std::max(2.0, count)));
  const double merges_in_tile = std::log2(network_words);
  const double merges_in_memory = std::max(0.0, merges - merges_in_tile);
  plan::planned plan;
  plan.by_name_only = true;
  plan.add("latency", machine.launch_seconds + merges_in_memory * (merges_in_memory + 3) / 2 * machine.step_seconds);
  const double bytes = 2 * count * static_cast<double>(problem.rows.record_bytes);
  plan.add("steps in global memory",
           merges_in_memory * (merges_in_memory + 1) / 2 * bytes / machine.copy_bytes_per_second);
  // A step inside a tile waits for a barrier, however few words there are.
  const double barrier_seconds = 0.5 * machine.step_seconds;
  const double first_merges = std::min(merges, merges_in_tile);
  const double steps_in_tile = first_merges * (first_merges + 1) / 2 + merges_in_memory * merges_in_tile;
  plan.add("steps in tiles", std::max(steps_in_tile * barrier_seconds,
                                      (1 + merges_in_memory) * 3 * bytes / machine.copy_bytes_per_second));
  return plan;
}

template <int Limbs>
void sort_words(const context& ctx, std::uint64_t count, const void* in, void* out) {
  auto* const words = static_cast<sort_word<Limbs>*>(out);
  const std::uint64_t tiles = ceil_div(count, network_words);
  launch_blocks(ctx, exchange_in_tile<Limbs>, tiles, tile_threads, static_cast<const sort_word<Limbs>*>(in), words,
                count, std::uint64_t{2}, std::uint64_t{network_words});
  const std::uint64_t all = std::bit_ceil(count);
  for (std::uint64_t run = 2 * network_words; run <= all; run *= 2) {
    for (std::uint64_t step = run / 2; step >= network_words; step /= 2) {
      launch(ctx, exchange_in_memory<Limbs>, ceil_div(all / 2, block_threads), words, count, run, step);
    }
    launch_blocks(ctx, exchange_in_tile<Limbs>, tiles, tile_threads, const_cast<const sort_word<Limbs>*>(words), words,
                  count, run, run);
  }
}

void run_bitonic(const context& ctx, const sort_problem& problem, const plan::planned&, const sort_buffers& buffers,
                 std::byte*) {
  const device_scope scope(ctx.device());
  switch (problem.rows.record_bytes) {
    case 4: return sort_words<1>(ctx, problem.count, buffers.in.data, buffers.out.data);
    case 8: return sort_words<2>(ctx, problem.count, buffers.in.data, buffers.out.data);
    case 12: return sort_words<3>(ctx, problem.count, buffers.in.data, buffers.out.data);
    default: return sort_words<4>(ctx, problem.count, buffers.in.data, buffers.out.data);
  }
}

}  // namespace

extern constinit const sort_variant sort_bitonic{"cuda.bitonic", backend_kind::cuda, plan_bitonic, run_bitonic};

}  // namespace sheaf::cuda
