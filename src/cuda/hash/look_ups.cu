#include "cuda/hash/look_ups.hpp"

#include <algorithm>

#include "core/scratch_offsets.hpp"
#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"
#include "cuda/hash/answers.cuh"
#include "cuda/hash/cost.hpp"
#include "cuda/hash/matches.hpp"

namespace sheaf::cuda {
namespace {

using primitives::hash_output;
using primitives::hash_search_buffers;
using primitives::hash_search_problem;

constexpr int look_ups_each = 4;  ///< sectors that a thread has on their way

/// Steps 1 and 2: looks up the probes whose bucket is in [first_bucket, first_bucket + region), and writes their
/// answers.
template <class Types, class Word>
__global__ void __launch_bounds__(block_threads)
    look_up_in_order(const answer_maker<Types> answers, const key_source keys, std::uint64_t probes,
                     std::uint64_t first_bucket, std::uint64_t region, Word* out) {
  using key = typename Types::key;
  const slot_view<Types>& index = answers.index;
  constexpr std::uint64_t tile = block_threads * look_ups_each;
  const std::uint64_t step = std::uint64_t{gridDim.x} * tile;
  for (std::uint64_t first = blockIdx.x * tile + threadIdx.x; first < probes; first += step) {
    key hash[look_ups_each];
    std::uint64_t bucket[look_ups_each];
    typename slot_view<Types>::bucket_slots slots[look_ups_each];
#pragma unroll
    for (int k = 0; k < look_ups_each; ++k) {
      const std::uint64_t i = first + static_cast<std::uint64_t>(k) * block_threads;
      hash[k] = primitives::hash_of(load_key<key>(keys, i < probes ? i : probes - 1));
      bucket[k] = index.bucket(hash[k]);
    }
#pragma unroll
    for (int k = 0; k < look_ups_each; ++k) {
      if (bucket[k] - first_bucket < region) slots[k] = index.load(bucket[k]);
    }
#pragma unroll
    for (int k = 0; k < look_ups_each; ++k) {
      const std::uint64_t i = first + static_cast<std::uint64_t>(k) * block_threads;
      if (i >= probes || bucket[k] - first_bucket >= region) continue;
      __stcs(out + i, answers(index.look_up(hash[k], bucket[k], slots[k]), static_cast<Word*>(nullptr)));
    }
  }
}

template <class Types>
void queue_look_ups(const context& ctx, const char* operation, const hash_search_problem& p, const slot_index& index,
                    const_records probes, std::uint64_t passes, std::byte* out) {
  constexpr std::uint64_t blocks_each = 8;
  const std::uint64_t blocks = std::min(static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_each,
                                        ceil_div(p.probes, block_threads * look_ups_each));
  const std::uint64_t region = ceil_div(index.buckets, passes);
  with_answer_word<Types>(answer_bytes(p), [&](auto value) {
    using word = decltype(value);
    for (std::uint64_t pass = 0; pass < passes; ++pass) {
      launch(ctx, operation, look_up_in_order<Types, word>, blocks, answers_of<Types>(p, index), key_source_of(probes),
             p.probes, pass * region, region, reinterpret_cast<word*>(out));
    }
  });
}

}  // namespace

void plan_look_ups(const hash_search_problem& p, std::uint64_t passes, const machine& m, plan::planned& plan) {
  core::scratch_offsets arrays;
  look_ups_decision decided{.passes = passes, .found = 0, .matches = 0};
  if (p.output == hash_output::matches) {
    decided.found = arrays.take(p.probes * found_bytes(p));
    decided.matches = arrays.take(matches_bytes(p));
  }
  plan.decided.set(decided);
  plan.scratch_bytes = arrays.bytes();
  price_rows(p, passes, m, plan);
  price_matches(p, m, plan);
}

void run_look_ups(const context& ctx, const char* operation, const hash_search_problem& p, const plan::planned& plan,
                  const hash_search_buffers& b, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const auto decided = plan.decided.get<look_ups_decision>();
  const auto& index = static_cast<const slot_index&>(*b.table);
  const bool finds_matches = p.output == hash_output::matches;
  std::byte* const out = finds_matches ? scratch + decided.found : static_cast<std::byte*>(b.out);
  with_slot_types(index.form, p.index.key_bytes, [&](auto* types) {
    queue_look_ups<std::remove_pointer_t<decltype(types)>>(ctx, operation, p, index, b.probes, decided.passes, out);
  });
  if (finds_matches) write_matches(ctx, operation, p, index, b, out, scratch + decided.matches);
}

}  // namespace sheaf::cuda
