#include "cuda/block/tile_scheduler.cuh"
#include "cuda/device/words.cuh"
#include "cuda/hash/answers.cuh"
#include "cuda/hash/cost.hpp"
#include "cuda/hash/search.hpp"
#include "cuda/hash/skew_sample.cuh"
#include "cuda/movement/buckets/gather_schedule.cuh"
#include "cuda/movement/buckets/gather_schedule.hpp"

// The search cuda.partitioned: a bucketed gather from the index. The index ascends with the hash, so the leading bits
// of a probe's hash say which part of it the probe needs. Probes are split by these bits tile by tile, looked up part
// by part, while L2 holds the part, and answers go back to the order of the probes in shared memory. Where a sample of
// the probes says that few keys are asked for often, they are looked up in their own order instead.
namespace sheaf::cuda {
namespace {

using namespace primitives;

struct partitioned_tuning {
  std::uint64_t part_bytes = std::uint64_t{16} << 20;  ///< of the index, which L2 holds while probes stream through
  std::uint32_t least_part_bits = 5;  ///< a block's threads count in few places at once, if there are fewer
  std::uint32_t most_part_bits = 9;
  std::uint64_t chunk = std::uint64_t{1} << 28;  ///< probes that one schedule takes at most
};
constexpr partitioned_tuning tuning_of_partitioned;
constexpr int look_ups_each = 2;  ///< that a thread has on their way
constexpr std::uint32_t round_probes = block_threads * look_ups_each;

/// Probes of a block. All blocks that run at once are to work on one part; small tiles cost where nothing is to be
/// done.
std::uint32_t part_tile(const context& ctx, std::uint64_t capacity) {
  constexpr std::uint64_t most_rounds_each = 8;
  constexpr std::uint64_t blocks_each = 6;
  const std::uint64_t at_once = blocks_each * static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
  return round_probes * static_cast<std::uint32_t>(
                            std::clamp<std::uint64_t>(capacity / 2 / (at_once * round_probes), 1, most_rounds_each));
}

/// Probes that one schedule takes.
std::uint64_t chunk_of(const hash_search_problem& p) { return std::min(p.probes, tuning_of_partitioned.chunk); }

/// The arrays of a call.
struct partitioned_arrays {
  std::byte* verdict;
  gather_schedule schedule;  ///< of a chunk, but for its number of probes; counters of tiles lie behind bucket_sizes
  std::byte* answers;
  match_arrays matches;

  partitioned_arrays(const hash_search_problem& p, core::scratch_arrays& arrays)
      : verdict(arrays.take<std::byte>(verdict_bytes)),
        schedule(schedule_of(p, arrays)),
        answers(arrays.take<std::byte>(schedule.buckets * schedule.capacity * answer_bytes(p))),
        matches(p, arrays) {}

 private:
  static gather_schedule schedule_of(const hash_search_problem& problem, core::scratch_arrays& arrays) {
    const std::uint64_t parts_of_l2 = expected_slot_bytes(problem.index) / tuning_of_partitioned.part_bytes;
    const std::uint32_t part_bits =
        std::clamp(bits_for(parts_of_l2), tuning_of_partitioned.least_part_bits, tuning_of_partitioned.most_part_bits);
    const std::uint64_t parts = std::uint64_t{1} << part_bits;
    const std::uint64_t runs = ceil_div(chunk_of(problem), bucketing_tile) * parts;
    gather_schedule schedule{};
    schedule.buckets = static_cast<std::uint32_t>(parts);
    schedule.shift = static_cast<std::uint32_t>(8 * problem.index.key_bytes) - part_bits;
    schedule.capacity = fixed_capacity(chunk_of(problem), parts, 1);
    schedule.bucket_sizes = arrays.take<std::uint32_t>(parts + most_scheduled_kernels);
    schedule.bucket_indices =
        reinterpret_cast<std::uint32_t*>(arrays.take<std::byte>(parts * schedule.capacity * problem.index.key_bytes));
    schedule.tile_slots = arrays.take<std::uint16_t>(chunk_of(problem));
    schedule.run_in_bucket = arrays.take<std::uint32_t>(runs);
    schedule.run_in_tile = arrays.take<std::uint16_t>(runs);
    return schedule;
  }
};

plan::planned plan_partitioned(const hash_search_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* reason = index_rejection(problem)) return plan::rejected(reason);
  core::scratch_arrays counted(nullptr);
  const std::uint64_t parts = partitioned_arrays(problem, counted).schedule.buckets;
  const auto probes = static_cast<double>(problem.probes);
  const auto hash = static_cast<double>(problem.index.key_bytes);
  const auto answer = static_cast<double>(answer_bytes(problem));
  const std::uint64_t table = expected_slot_bytes(problem.index);
  plan::planned plan;
  plan.scratch_bytes = counted.bytes();
  plan.add("latency", machine.launch_seconds + 8 * machine.step_seconds);
  plan.add("schedule", build_seconds(probes, static_cast<double>(problem.probe_stride_bytes) + hash, machine));
  plan.add("sectors", bucket_reads_seconds(probes * (hash + answer) + static_cast<double>(table),
                                           sector_seconds(problem.probes, table / parts, machine), machine));
  plan.add("collection", collect_seconds(probes, answer, machine));
  price_rows(problem, parts, machine, plan);
  price_matches(problem, machine, plan);
  return plan;
}

/// The hashes of probes, for build_schedule.
template <class Key>
struct probe_source {
  using number = Key;
  using stored = Key;

  key_source keys;  ///< of the chunk

  __device__ __forceinline__ Key load(std::uint64_t position) const { return hash_of(load_key<Key>(keys, position)); }
  __device__ __forceinline__ bool is_good(Key) const { return true; }
  __device__ __forceinline__ void report(std::uint64_t, Key) const {}
};

/// Looks up the probes part by part, unless the verdict is that they are skewed.
template <class Types, class Word>
__global__ void __launch_bounds__(block_threads, 6)
    look_up_parts(const __grid_constant__ gather_schedule schedule, const __grid_constant__ answer_maker<Types> answers,
                  std::uint32_t tile, std::uint32_t tiles_per_part, const order_sample verdict, Word* out) {
  using key = typename Types::key;
  if (!verdict_is_scattered(verdict)) return;
  const slot_view<Types>& index = answers.index;
  const std::uint32_t part = blockIdx.x / tiles_per_part;
  const std::uint64_t size = min(std::uint64_t{schedule.bucket_sizes[part]}, schedule.capacity);
  const std::uint64_t first = std::uint64_t{blockIdx.x - part * tiles_per_part} * tile;
  if (first >= size) return;
  const auto probes = static_cast<std::uint32_t>(min(size - first, std::uint64_t{tile}));
  const key* const hashes = reinterpret_cast<const key*>(schedule.bucket_indices) + part * schedule.capacity + first;
  Word* const written = out + part * schedule.capacity + first;
  const key leading = static_cast<key>(part) << schedule.shift;
  for (std::uint32_t round = 0; round < probes; round += round_probes) {
    key hash[look_ups_each];
    typename Types::bucket_number bucket[look_ups_each];
    typename Types::word value[look_ups_each];
#pragma unroll
    for (int k = 0; k < look_ups_each; ++k) {
      hash[k] = leading | __ldcs(hashes + min(round + k * block_threads + threadIdx.x, probes - 1));
    }
#pragma unroll
    for (int k = 0; k < look_ups_each; ++k) bucket[k] = index.bucket(hash[k]);
    look_up<false>(index, hash, bucket, value);
#pragma unroll
    for (int k = 0; k < look_ups_each; ++k) {
      const std::uint32_t i = round + k * block_threads + threadIdx.x;
      if (i < probes) __stcs(written + i, answers(value[k], static_cast<Word*>(nullptr)));
    }
  }
}

/// What probes that found no room in their part's list are looked up from: many probes for few keys.
template <class Types>
struct probe_overflow {
  answer_maker<Types> answers;
  key_source keys;  ///< of the chunk

  template <class Word>
  __device__ __forceinline__ Word at(std::uint64_t position) const {
    const auto hash = hash_of(load_key<typename Types::key>(keys, position));
    return answers(look_up(answers.index, hash), static_cast<Word*>(nullptr));
  }
};

template <class Types, class Word>
void search_chunk(const context& ctx, const partitioned_arrays& at, const answer_maker<Types>& answers,
                  const key_source& keys, std::uint64_t count, std::byte* out) {
  using source = probe_source<typename Types::key>;
  gather_schedule schedule = at.schedule;
  schedule.count = count;
  std::uint32_t* const counters = schedule.bucket_sizes + schedule.buckets;
  auto* const part_answers = reinterpret_cast<Word*>(at.answers);
  const std::uint64_t tiles = ceil_div(count, bucketing_tile);
  const order_sample verdict = verdict_at(at.verdict);
  const auto blocks = [&](std::uint64_t resident) {
    return std::min(tiles, resident * static_cast<std::uint64_t>(state_of(ctx).multiprocessors()));
  };
  require(cudaMemsetAsync(schedule.bucket_sizes, 0, (schedule.buckets + most_scheduled_kernels) * sizeof(std::uint32_t),
                          ctx.stream()),
          ctx);
  launch_shared(ctx, build_schedule<source>, blocks(2), bucketing_threads, build_shared_bytes<source>, schedule,
                build_arguments<source>{{keys}, verdict, counters});
  const std::uint32_t tile = part_tile(ctx, schedule.capacity);
  const auto tiles_per_part = static_cast<std::uint32_t>(ceil_div(schedule.capacity, tile));
  launch_blocks(ctx, look_up_parts<Types, Word>, std::uint64_t{tiles_per_part} * schedule.buckets, block_threads,
                schedule, answers, tile, tiles_per_part, verdict, part_answers);
  launch_shared(ctx, collect_tiles<Word, probe_overflow<Types>>, blocks(3), bucketing_threads,
                bucketing_tile * sizeof(Word), schedule, static_cast<const Word*>(part_answers), out,
                std::uint64_t{sizeof(Word)}, probe_overflow<Types>{answers, keys}, 0U, verdict, counters + 1);
}

void run_partitioned(const context& ctx, const hash_search_problem& problem, const plan::planned&,
                     const hash_search_buffers& buffers, std::byte* scratch) {
  const auto at = core::arrays_in<partitioned_arrays>(scratch, problem);
  run_search(ctx, problem, buffers, at.matches, [&](const slot_index& index, std::byte* out) {
    with_slot_types(index.form, problem.index.key_bytes, [&](auto* pointer) {
      using types = std::remove_pointer_t<decltype(pointer)>;
      launch_blocks(ctx, judge_skew<typename types::key>, 1, skew_threads, key_source_of(buffers.probes),
                    problem.probes, verdict_at(at.verdict));
      with_answer_word<types>(answer_bytes(problem), [&](auto value) {
        using word = decltype(value);
        for (std::uint64_t first = 0; first < problem.probes; first += chunk_of(problem)) {
          key_source keys = key_source_of(buffers.probes);
          keys.data += first * keys.stride;
          search_chunk<types, word>(ctx, at, answers_of<types>(problem, index), keys,
                                    std::min(chunk_of(problem), problem.probes - first), out + first * sizeof(word));
        }
      });
    });
    queue_if_skewed(ctx, problem, index, buffers.probes, at.verdict, out);
  });
}

}  // namespace

extern constinit const hash_search_variant hash_search_partitioned{"cuda.partitioned", backend_kind::cuda,
                                                                   plan_partitioned, run_partitioned};

}  // namespace sheaf::cuda
