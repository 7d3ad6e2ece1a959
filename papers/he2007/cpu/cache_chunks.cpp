#include "papers/he2007/cache_chunks.hpp"

#include "cpu/hash/look_up.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"

// cpu.cache_chunks: the hash search of He et al. 2007 on the CPU, section 4.2, to compare with, by name only.
namespace sheaf::cpu {
namespace {

using namespace primitives;

/// Constants of the variant. Xeon of family 6 model 207, one thread, 2^22 random keys of 4 bytes among 16 million, time
/// of all beyond that of one chunk: 16 ns a key in 2 chunks, 45 in 8, 174 in 64, 400 in 159.
struct cache_chunks_tuning {
  double digits_per_check = 0.7;           ///< to hash a key, and to ask whether its bucket lies in a chunk
  double digits_per_misprediction = 3.08;  ///< of that question's branch: about once for each key
};

/// Bytes of the table that the look-ups read. The buckets of a chunk lie side by side, and so does what they have in
/// the other arrays. The record numbers of keys that repeat are read here only for the first of them.
std::uint64_t bytes_looked_at(const hash_search_problem& p, const index_layout& layout) noexcept {
  const bool reads_rows = p.output == hash_output::first && layout.has_rows();
  return layout.lines_bytes() + layout.overflow_bytes() + (reads_rows ? layout.records * layout.id_bytes : 0);
}

/// How often the lines of an array are written in all, if each pass writes its share of the entries.
double times_written(std::uint64_t entry_bytes, std::uint64_t passes) noexcept {
  const auto entries = static_cast<double>(std::max<std::uint64_t>(1, line_bytes / entry_bytes));
  const auto all = static_cast<double>(passes);
  return all * -std::expm1(entries * std::log1p(-1 / all));
}

/// All passes but the first over the keys, and the lines of the answers that these write once more.
double further_passes(const hash_search_problem& p, std::uint64_t chunks, const machine& machine) {
  const std::uint64_t keys = p.probes * p.probe_stride_bytes;
  double seconds = static_cast<double>(chunks - 1) * machine.streamed(keys, keys);
  const auto add_answers = [&](std::uint64_t entry_bytes) {
    const std::uint64_t bytes = p.probes * entry_bytes;
    seconds += (times_written(entry_bytes, chunks) - 1) * machine.streamed(2 * bytes, bytes);
  };
  add_answers(p.out_bytes);
  if (p.output == hash_output::matches) add_answers(bytes(p.index.id));
  return seconds;
}

// The search keys are cut into as many partitions as there are threads. A thread probes with the keys of its partition
// in passes over chunks of the table, each as large as the second-level cache: as in the multi-pass scheme of section
// 3.4, a pass reads all keys of the partition, and probes with those whose buckets lie in its chunk.
plan::planned plan_cache_chunks(const hash_search_problem& problem, const plan::scope& scope) {
  if (!is_bucket_index(problem)) return plan::rejected("searches only what a CPU variant has built");
  const machine& machine = scope.machine;
  constexpr cache_chunks_tuning tuning;
  const index_layout layout = layout_of(problem.index);
  const std::uint64_t table_bytes = bytes_looked_at(problem, layout);
  const std::uint64_t cache_bytes = std::max<std::uint64_t>(own_cache_bytes(machine), line_bytes);
  cache_chunks_decision decision{decide_answers(problem, machine.parallelism), 1};
  decision.chunks = std::clamp<std::uint64_t>((table_bytes - 1) / cache_bytes + 1, 1, layout.buckets);
  const std::uint64_t parts = decision.answers.parts;

  plan::planned plan;
  plan.by_name_only = true;
  plan.scratch_bytes = core::bytes_of<answer_arrays>(problem, decision.answers);
  plan.decided.set(decision);
  plan.add("latency", machine.launch_seconds + machine.step_seconds);
  add_answers_cost(problem, machine, parts, plan);
  plan.add("further passes", further_passes(problem, decision.chunks, machine));
  const double checks = tuning.digits_per_check * static_cast<double>(decision.chunks) +
                        (decision.chunks > 1 ? tuning.digits_per_misprediction : 0);
  plan.add("checks of buckets", shared_digit_seconds(problem.probes, checks, machine, parts));
  plan.add_overlapped(
      overlap_exponent,
      {{"random read", machine.random_reads(problem.probes, line_bytes, table_bytes / decision.chunks)},
       {"steps", shared_digit_seconds(problem.probes, search_defaults.digits_per_probe, machine, parts)}});
  return plan;
}

/// One pass of a thread: probes with those of keys [begin, end) whose buckets are in [first_bucket, first_bucket +
/// buckets). Unlike the library's searches it probes with one key after the other.
template <class Key, class Id, class Answers>
void probe_chunk(const index_view<Key, Id>& index, const hash_reader<Key>& hashes, const Answers& answers,
                 std::uint64_t begin, std::uint64_t end, std::uint64_t first_bucket, std::uint64_t buckets) {
  const bool reads_rows = Answers::wants_ids && index.rows != nullptr;
  for (std::uint64_t i = begin; i < end; ++i) {
    const Key hash = hashes(i);
    if (index.bucket_of(hash) - first_bucket >= buckets) continue;
    found_rows<Id> rows = look_up_one(index, hash);
    if (reads_rows && rows.count > 0) rows.begin = index.rows[rows.begin];
    answers.put(i, rows);
  }
}

void run_cache_chunks(const context&, const hash_search_problem& problem, const plan::planned& plan,
                      const hash_search_buffers& buffers, std::byte* scratch) {
  const auto decision = plan.decided.get<cache_chunks_decision>();
  const auto search = [&]<class Key, class Id>(const index_view<Key, Id>& index, const auto& answers) {
    const hash_reader<Key> hashes(buffers.probes);
    const auto search_partition = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t chunk = 0; chunk < decision.chunks; ++chunk) {
        const std::uint64_t first = part_begin(index.buckets, decision.chunks, chunk);
        const std::uint64_t behind = part_begin(index.buckets, decision.chunks, chunk + 1);
        if (first < behind) probe_chunk(index, hashes, answers, begin, end, first, behind - first);
      }
    };
    for_each_range(problem.probes, decision.answers.parts, search_partition);
  };
  run_search(problem, buffers, decision.answers, core::arrays_in<answer_arrays>(scratch, problem, decision.answers),
             search);
}

}  // namespace

extern constinit const hash_search_variant hash_search_cache_chunks{"cpu.cache_chunks", backend_kind::cpu,
                                                                    plan_cache_chunks, run_cache_chunks};

}  // namespace sheaf::cpu
