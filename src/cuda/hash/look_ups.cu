#include "cuda/hash/look_ups.hpp"

#include <algorithm>

#include "core/scratch_offsets.hpp"
#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"
#include "cuda/hash/answers.cuh"
#include "cuda/hash/cost.hpp"
#include "cuda/hash/matches.hpp"
#include "cuda/hash/skew_sample.cuh"

namespace sheaf::cuda {
namespace {

using primitives::hash_output;
using primitives::hash_search_buffers;
using primitives::hash_search_problem;

constexpr int look_ups_of_thread = 2;  ///< that a thread has on their way

/// Steps 1 and 2: looks up the probes and writes their answers; of InPart only those whose bucket is in [first_bucket,
/// first_bucket + region). Nothing where there is a verdict, and it is "scattered".
template <class Types, class Word, bool InPart>
__global__ void __launch_bounds__(block_threads, 6)
    look_up_in_order(const __grid_constant__ answer_maker<Types> answers, const __grid_constant__ key_source keys,
                     std::uint64_t probes, typename Types::bucket_number first_bucket,
                     typename Types::bucket_number region, const order_sample verdict, Word* out) {
  using key = typename Types::key;
  using view = slot_view<Types>;
  if (verdict.verdict_slot != nullptr && verdict_is_scattered(verdict)) return;
  const view& index = answers.index;
  constexpr std::uint32_t tile = block_threads * look_ups_of_thread;
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * tile; first < probes;
       first += std::uint64_t{gridDim.x} * tile) {
    const auto left = static_cast<std::uint32_t>(min(probes - first, std::uint64_t{tile}));
    key hash[look_ups_of_thread];
    typename Types::bucket_number bucket[look_ups_of_thread];
    typename Types::word value[look_ups_of_thread];
    bool is_asked[look_ups_of_thread];
#pragma unroll
    for (int k = 0; k < look_ups_of_thread; ++k) {
      hash[k] = load_key<key>(keys, first + min(k * block_threads + threadIdx.x, left - 1));
    }
#pragma unroll
    for (int k = 0; k < look_ups_of_thread; ++k) {
      hash[k] = primitives::hash_of(hash[k]);
      bucket[k] = index.bucket(hash[k]);
      is_asked[k] = k * block_threads + threadIdx.x < left;
      if constexpr (InPart) {
        is_asked[k] = is_asked[k] && bucket[k] - first_bucket < region;
        if (!is_asked[k]) bucket[k] = view::no_bucket;
      }
    }
    look_up<InPart>(index, hash, bucket, value);
    Word* const written = out + first;
#pragma unroll
    for (int k = 0; k < look_ups_of_thread; ++k) {
      if (is_asked[k]) {
        __stcs(written + (k * block_threads + threadIdx.x), answers(value[k], static_cast<Word*>(nullptr)));
      }
    }
  }
}

template <class Types>
void queue_look_ups(const context& ctx, const hash_search_problem& p, const slot_index& index, const_records probes,
                    std::uint64_t passes, const order_sample& verdict, std::byte* out) {
  using number = typename Types::bucket_number;
  constexpr std::uint64_t blocks_each = 32;
  const std::uint64_t blocks = std::min(static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_each,
                                        ceil_div(p.probes, block_threads * look_ups_of_thread));
  with_answer_word<Types>(answer_bytes(p), [&](auto value) {
    using word = decltype(value);
    auto* const answers = reinterpret_cast<word*>(out);
    if (passes == 1) {
      launch(ctx, look_up_in_order<Types, word, false>, blocks, answers_of<Types>(p, index), key_source_of(probes),
             p.probes, number{0}, number{0}, verdict, answers);
      return;
    }
    const std::uint64_t region = ceil_div(index.buckets, passes);
    for (std::uint64_t pass = 0; pass < passes; ++pass) {
      launch(ctx, look_up_in_order<Types, word, true>, blocks, answers_of<Types>(p, index), key_source_of(probes),
             p.probes, static_cast<number>(pass * region), static_cast<number>(region), verdict, answers);
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

void run_look_ups(const context& ctx, const hash_search_problem& p, const plan::planned& plan,
                  const hash_search_buffers& b, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const auto decided = plan.decided.get<look_ups_decision>();
  const auto& index = static_cast<const slot_index&>(*b.table);
  const bool finds_matches = p.output == hash_output::matches;
  if (finds_matches) refuse_capture(ctx, "hash_search");
  std::byte* const out = finds_matches ? scratch + decided.found : static_cast<std::byte*>(b.out);
  with_slot_types(index.form, p.index.key_bytes, [&](auto* types) {
    queue_look_ups<std::remove_pointer_t<decltype(types)>>(ctx, p, index, b.probes, decided.passes, order_sample{},
                                                           out);
  });
  if (finds_matches) write_matches(ctx, p, index, b, out, scratch + decided.matches);
}

void queue_if_skewed(const context& ctx, const hash_search_problem& p, const slot_index& index, const_records probes,
                     std::byte* verdict, std::byte* out) {
  with_slot_types(index.form, p.index.key_bytes, [&](auto* types) {
    queue_look_ups<std::remove_pointer_t<decltype(types)>>(ctx, p, index, probes, 1, verdict_at(verdict), out);
  });
}

}  // namespace sheaf::cuda
