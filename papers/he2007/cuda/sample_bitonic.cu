#include "cuda/sort/by_words.hpp"
#include "cuda/sort/radix/group/staged.cuh"
#include "cuda/sort/radix/launch.cuh"

// cuda.sample_bitonic: cuda.sample with another ending: a bitonic network sorts each group that fits shared memory,
// where cuda.sample has a bin sort. It is not the sort of He et al. 2007, which is cuda.msd_bitonic; it shows what
// their ending costs behind today's passes.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// Puts the lesser of two staged words first.
template <int Limbs, value_width Values, finish_method Method>
__device__ void sort_staged_pair(const staged_group<Limbs, Values, Method>& group, std::uint32_t low,
                                 std::uint32_t high) {
  const sort_word<Limbs> a = group.staged[low];
  const sort_word<Limbs> b = group.staged[high];
  const word_order order = compare_words(b, a, group.key);
  bool swaps = order == word_order::less;
  std::uint16_t positions[2] = {};
  if constexpr (carries_values(Values)) {
    positions[0] = group.positions[low];
    positions[1] = group.positions[high];
    swaps = swaps || (order == word_order::equal && positions[1] < positions[0]);
  }
  if (!swaps) return;
  group.stage(low, b, positions[1]);
  group.stage(high, a, positions[0]);
}

/// What finish_method::by_caller calls.
struct bitonic_network {
  /// Stages the group's words in order. The network is Batcher's in the form in which every step puts the lesser word
  /// first, so that it needs no words past the end.
  template <int Limbs, value_width Values, finish_method Method>
  static __device__ void sort(const staged_group<Limbs, Values, Method>& group,
                              const sort_word<Limbs> (&words)[finish_items]) {
    group.stage_unsorted(words);
    for (std::uint32_t run = 2; run / 2 < group.count; run *= 2) {
      for (std::uint32_t step = run / 2; step > 0; step /= 2) {
        __syncthreads();
        for (std::uint32_t i = threadIdx.x; i * 2 < group.count + run; i += finish_threads) {
          const std::uint32_t low = i / step * (2 * step) + i % step;
          const std::uint32_t high = step == run / 2 ? low - i % step + 2 * step - 1 - i % step : low + step;
          if (high < group.count) sort_staged_pair(group, low, high);
        }
      }
    }
  }
};

/// The network takes so many times longer than the bin sort of cuda.sample.
constexpr double slowdown_of_samples = 12;

plan::planned plan_sample_bitonic(const sort_problem& p, const plan::scope& scope) {
  plan::planned plan = plan_sample_sort(p, scope, slowdown_of_samples);
  plan.by_name_only = true;
  return plan;
}

void finish_by_network(const context& ctx, const radix_arguments& a) {
  with_limbs(a.limbs, [&](auto limbs) {
    with_value_width<limbs()>(a.value_bytes, [&](auto values) {
      if constexpr (values() != value_width::values_16) {
        queue_finish<limbs(), values(), finish_method::by_caller, bitonic_network>(ctx, a);
      }
    });
  });
}

void run_sample_bitonic(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
                        std::byte* scratch) {
  sort_by_words(ctx, p, plan, b, scratch, finish_by_network);
}

}  // namespace

extern constinit const sort_variant sort_sample_bitonic{"cuda.sample_bitonic", backend_kind::cuda, plan_sample_bitonic,
                                                        run_sample_bitonic};

}  // namespace sheaf::cuda
