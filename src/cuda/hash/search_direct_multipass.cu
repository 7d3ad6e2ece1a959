#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"
#include "cuda/hash/answers.cuh"
#include "cuda/hash/cost.hpp"
#include "cuda/hash/search.hpp"
#include "cuda/hash/skew_sample.cuh"

// The searches that look probes up in their own order (He et al. 2007, section 4.2). cuda.direct goes through them
// once, for indices that L2 holds, and for few probes. cuda.multipass is the multi-pass scheme of section 3.4: each
// pass goes through all probes, and looks up those whose buckets lie in one part of the index, which L2 holds.
namespace sheaf::cuda {
namespace {

using namespace primitives;

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
      hash[k] = hash_of(hash[k]);
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

void queue_look_ups(const context& ctx, const hash_search_problem& problem, const slot_index& index,
                    const_records probes, std::uint64_t passes, const order_sample& verdict, std::byte* out) {
  constexpr std::uint64_t blocks_each = 32;
  const std::uint64_t blocks = std::min(static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_each,
                                        ceil_div(problem.probes, block_threads * look_ups_of_thread));
  const std::uint64_t region = ceil_div(index.buckets, passes);
  with_slot_types(index.form, problem.index.key_bytes, [&](auto* pointer) {
    using types = std::remove_pointer_t<decltype(pointer)>;
    using number = typename types::bucket_number;
    with_answer_word<types>(answer_bytes(problem), [&](auto value) {
      using word = decltype(value);
      const auto kernel = passes == 1 ? look_up_in_order<types, word, false> : look_up_in_order<types, word, true>;
      for (std::uint64_t pass = 0; pass < passes; ++pass) {
        launch(ctx, kernel, blocks, answers_of<types>(problem, index), key_source_of(probes), problem.probes,
               static_cast<number>(pass * region), static_cast<number>(region), verdict, reinterpret_cast<word*>(out));
      }
    });
  });
}

struct look_ups_decision {
  std::uint64_t passes;  ///< over the probes, each for a part of the index

  void tell(plan::told& to) const { to.add("passes", passes); }
};

/// Takes scratch, stores the decision, and adds what comes behind the look-ups.
void plan_look_ups(const hash_search_problem& p, std::uint64_t passes, const machine& m, plan::planned& plan) {
  plan.decided.set(look_ups_decision{passes});
  plan.scratch_bytes = core::bytes_of<match_arrays>(p);
  price_rows(p, passes, m, plan);
  price_matches(p, m, plan);
}

plan::planned plan_direct(const hash_search_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* reason = index_rejection(problem)) return plan::rejected(reason);
  plan::planned plan;
  plan.add("latency", machine.launch_seconds + machine.step_seconds);
  const std::uint64_t moved = problem.probes * (problem.probe_stride_bytes + answer_bytes(problem));
  constexpr double overlap_exponent = 3;
  plan.add_overlapped(overlap_exponent,
                      {{"streamed", machine.streamed(moved, moved)},
                       {"sectors", sector_seconds(problem.probes, expected_slot_bytes(problem.index), machine)}});
  plan_look_ups(problem, 1, machine, plan);
  return plan;
}

constexpr std::uint64_t most_passes = 64;

double pass_seconds(const hash_search_problem& p, std::uint64_t passes, const machine& m) {
  const std::uint64_t keys = p.probes * p.probe_stride_bytes;
  const std::uint64_t answers = p.probes * std::max(answer_bytes(p), sector_bytes);  // written as parts of sectors
  return static_cast<double>(passes) * (m.streamed(keys, keys) + m.step_seconds) + m.streamed(answers, answers) +
         sector_seconds(p.probes, expected_slot_bytes(p.index) / passes, m);
}

plan::planned plan_multipass(const hash_search_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* reason = index_rejection(problem)) return plan::rejected(reason);
  std::uint64_t best = 2;
  for (std::uint64_t passes = 4; passes <= most_passes; passes *= 2) {
    if (pass_seconds(problem, passes, machine) < pass_seconds(problem, best, machine)) best = passes;
  }
  plan::planned plan;
  // One of the others is faster: of 2^22 probes of 2^25 keys direct ones take 83 us and passes 261, of 2^28 probes
  // parts take 5.5 ms and passes 14.3.
  plan.by_name_only = true;
  plan.add("latency", machine.launch_seconds);
  plan.add("passes", pass_seconds(problem, best, machine));
  plan_look_ups(problem, best, machine, plan);
  return plan;
}

void run_look_ups(const context& ctx, const hash_search_problem& problem, const plan::planned& plan,
                  const hash_search_buffers& b, std::byte* scratch) {
  const std::uint64_t passes = plan.decided.get<look_ups_decision>().passes;
  const auto at = core::arrays_in<match_arrays>(scratch, problem);
  run_search(ctx, problem, b, at, [&](const slot_index& index, std::byte* out) {
    queue_look_ups(ctx, problem, index, b.probes, passes, order_sample{}, out);
  });
}

}  // namespace

void queue_if_skewed(const context& ctx, const hash_search_problem& p, const slot_index& index, const_records probes,
                     std::byte* verdict, std::byte* out) {
  queue_look_ups(ctx, p, index, probes, 1, verdict_at(verdict), out);
}

extern constinit const hash_search_variant hash_search_direct{"cuda.direct", backend_kind::cuda, plan_direct,
                                                              run_look_ups};
extern constinit const hash_search_variant hash_search_multipass{"cuda.multipass", backend_kind::cuda, plan_multipass,
                                                                 run_look_ups};

}  // namespace sheaf::cuda
