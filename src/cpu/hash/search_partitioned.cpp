#include "cpu/hash/answers.hpp"
#include "cpu/hash/look_up.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/huge_pages.hpp"
#include "cpu/threads/parts.hpp"
#include "cpu/threads/write_combining.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

/// Constants of the variant. This folder's README has the figures that decided.
struct partitioned_tuning {
  std::uint64_t cached_bytes = 512 * 1024;            ///< of the index that a partition of the probes reads
  std::uint32_t most_partition_bits = 11;             ///< as many write-combining buffers fit the second-level cache
  std::uint64_t least_tile = std::uint64_t{1} << 22;  ///< probes that are split at once
  std::uint64_t least_limited_tile = std::uint64_t{1} << 16;  ///< where scratch is limited
};

struct partitioned_decision {
  answers_decision answers;
  std::uint64_t tile;  ///< probes that are split at once
  std::uint32_t partition_bits;
  std::uint32_t word_bytes;

  std::uint64_t partitions() const noexcept { return std::uint64_t{1} << partition_bits; }

  void tell(plan::told& to) const {
    to.add("threads", answers.threads)
        .add("parts", answers.parts)
        .add("tile_probes", tile)
        .add("partitions", partitions());
  }
};

struct partitioned_arrays {
  answer_arrays answers;
  std::byte* words;
  bucket_table starts;
  std::uint64_t* cursors;  ///< of the write-combining buffers, and then of the answers
  std::byte* buffers;

  partitioned_arrays(const hash_search_problem& p, const partitioned_decision& decision, core::scratch_arrays& arrays)
      : answers(p, decision.answers, arrays),
        words(arrays.take<std::byte>(decision.tile * decision.word_bytes)),
        starts(decision.answers.parts, decision.partitions(), arrays),
        cursors(arrays.take<std::uint64_t>(decision.answers.parts * decision.partitions())),
        buffers(arrays.take<std::byte>(decision.answers.parts * decision.partitions() * write_buffer_bytes)) {}
};

// The cache-efficient search of He et al. 2007, section 4.2: probes are split by the leading bits of their hashes, and
// each partition is looked up in a part of the index that fits the second-level cache. The paper reads all probes once
// for each part of the table; a split reads them twice. Answers take the place of the hashes, and because the split is
// stable, a thread that goes through its probes once more finds the next answer of each partition next in memory.
plan::planned plan_partitioned(const hash_search_problem& problem, const plan::scope& scope) {
  if (!is_bucket_index(problem)) return plan::rejected("searches only what a CPU variant has built");
  const machine& machine = scope.machine;
  constexpr partitioned_tuning tuning;
  const index_layout layout = layout_of(problem.index);
  partitioned_decision decision{};
  decision.answers = decide_answers(problem, machine.parallelism);
  decision.word_bytes = bytes(problem.index.id) == 4 ? 8 : 16;
  decision.partition_bits =
      std::min(static_cast<std::uint32_t>(std::bit_width(layout.lines_bytes() / tuning.cached_bytes)),
               tuning.most_partition_bits);
  // A tile that has several probes for each line of the index reads the line from memory once for all of them.
  decision.tile = std::min(problem.probes, std::max(tuning.least_tile, 2 * layout.buckets));
  plan::planned plan;
  plan.scratch_bytes = core::bytes_of<partitioned_arrays>(problem, decision);
  while (plan.scratch_bytes > scope.scratch_limit && decision.tile > tuning.least_limited_tile) {
    decision.tile = std::max(tuning.least_limited_tile, decision.tile / 2);
    plan.scratch_bytes = core::bytes_of<partitioned_arrays>(problem, decision);
  }
  plan.decided.set(decision);
  const double tiles = std::max(1.0, static_cast<double>(problem.probes) / static_cast<double>(decision.tile));
  const std::uint64_t parts = decision.answers.parts;
  plan.add("latency", machine.launch_seconds + 4 * tiles * machine.step_seconds);
  add_answers_cost(problem, machine, parts, plan);
  const std::uint64_t words = problem.probes * decision.word_bytes;
  plan.add("split", machine.streamed(2 * problem.probes * problem.probe_stride_bytes + 4 * words,
                                     decision.tile * decision.word_bytes) +
                        shared_digit_seconds(problem.probes, search_defaults.digits_per_split, machine, parts));
  // A tile reads each line from memory once, if it reads it at all; neighbouring probes read neighbouring lines in any
  // order, which costs what accesses at random cost.
  const auto buckets = static_cast<double>(layout.buckets);
  const double lines = tiles * buckets * -std::expm1(-static_cast<double>(decision.tile) / buckets);
  const std::uint64_t part_bytes = std::max<std::uint64_t>(layout.lines_bytes() >> decision.partition_bits, 1);
  plan.add_overlapped(
      overlap_exponent,
      {{"random read", machine.random_reads(static_cast<std::uint64_t>(lines), line_bytes, layout.lines_bytes())},
       {"read in cache", machine.random_reads(problem.probes, line_bytes, part_bytes)},
       {"steps", shared_digit_seconds(problem.probes, search_defaults.digits_per_probe, machine, parts)}});
  return plan;
}

/// A search tile by tile. A word holds a hash, and then what was found.
template <class Key, class Id, class Answers>
class partitioned_search {
 public:
  using word = found_rows<Id>;
  static_assert(sizeof(word) >= sizeof(Key));

  partitioned_search(const hash_search_problem& p, const hash_search_buffers& buffers,
                     const partitioned_decision& decision, const index_view<Key, Id>& index, const Answers& answers,
                     const partitioned_arrays& at)
      : problem_(p),
        decision_(decision),
        index_(index),
        answers_(answers),
        hashes_(buffers.probes),
        at_(at),
        words_(reinterpret_cast<word*>(at.words)) {
    ask_for_huge_pages(words_, decision.tile * sizeof(word));
  }

  void run() {
    for (begin_ = 0; begin_ < problem_.probes; begin_ += decision_.tile) {
      count_ = std::min(decision_.tile, problem_.probes - begin_);
      for_each_part(parts(), [&](std::uint64_t part) { count_part(part); });
      at_.starts.scan();
      for_each_part(parts(), [&](std::uint64_t part) { split_part(part); });
      look_up_words();
      for_each_part(parts(), [&](std::uint64_t part) { answer_part(part); });
    }
  }

 private:
  std::uint64_t parts() const noexcept { return decision_.answers.parts; }
  std::uint64_t first_of(std::uint64_t part) const noexcept { return begin_ + part_begin(count_, parts(), part); }
  std::uint64_t* cursors_of(std::uint64_t part) const noexcept {
    std::uint64_t* const cursors = at_.cursors + part * decision_.partitions();
    std::copy_n(at_.starts.row(part), decision_.partitions(), cursors);
    return cursors;
  }
  std::uint64_t partition_of(Key hash) const noexcept {
    return decision_.partition_bits == 0 ? 0 : std::uint64_t{hash} >> (8 * sizeof(Key) - decision_.partition_bits);
  }

  void count_part(std::uint64_t part) const {
    std::uint64_t* const counts = at_.starts.cleared_row(part);
    const std::uint64_t end = first_of(part + 1);
    for (std::uint64_t i = first_of(part); i < end; ++i) ++counts[partition_of(hashes_(i))];
  }

  void split_part(std::uint64_t part) const {
    const write_buffers<word> out(at_.buffers + part * write_buffers<word>::bytes(decision_.partitions()),
                                  cursors_of(part), at_.starts.row(part), words_, true);
    const std::uint64_t end = first_of(part + 1);
    for (std::uint64_t i = first_of(part); i < end; ++i) {
      const Key hash = hashes_(i);
      word w{};
      std::memcpy(&w, &hash, sizeof hash);
      out.put(partition_of(hash), w);
    }
    out.finish(decision_.partitions());
  }

  /// Words are cut into equal tasks, whatever their partitions: a partition that most probes fall into is shared.
  void look_up_words() const {
    constexpr std::uint64_t least_words = 4096;
    const std::uint64_t tasks =
        std::clamp<std::uint64_t>(count_ / least_words, 1, 2 * decision_.partitions() * parts());
    for_each_task(tasks, parts(), [&](std::uint64_t task) {
      word* const words = words_;
      look_up(
          index_, part_begin(count_, tasks, task), part_begin(count_, tasks, task + 1), Answers::wants_ids,
          [words](std::uint64_t i) {
            Key hash;
            std::memcpy(&hash, words + i, sizeof hash);
            return hash;
          },
          [words](std::uint64_t i, const word& rows) { words[i] = rows; });
    });
  }

  void answer_part(std::uint64_t part) const {
    constexpr std::uint64_t words_ahead = 2 * line_bytes / sizeof(word);
    std::uint64_t* const cursors = cursors_of(part);
    const std::uint64_t end = first_of(part + 1);
    for (std::uint64_t i = first_of(part); i < end; ++i) {
      const std::uint64_t at = cursors[partition_of(hashes_(i))]++;
      __builtin_prefetch(words_ + at + words_ahead);
      answers_.put(i, words_[at]);
    }
  }

  const hash_search_problem& problem_;
  const partitioned_decision& decision_;
  const index_view<Key, Id>& index_;
  const Answers& answers_;
  hash_reader<Key> hashes_;
  partitioned_arrays at_;
  word* words_;
  std::uint64_t begin_ = 0;  // of the tile
  std::uint64_t count_ = 0;
};

void run_partitioned(const context&, const hash_search_problem& problem, const plan::planned& plan,
                     const hash_search_buffers& b, std::byte* scratch) {
  const auto d = plan.decided.get<partitioned_decision>();
  const auto at = core::arrays_in<partitioned_arrays>(scratch, problem, d);
  run_search(problem, b, d.answers, at.answers, [&](const auto& index, const auto& answers) {
    partitioned_search(problem, b, d, index, answers, at).run();
  });
}

}  // namespace

extern constinit const hash_search_variant hash_search_partitioned{"cpu.partitioned", backend_kind::cpu,
                                                                   plan_partitioned, run_partitioned};

}  // namespace sheaf::cpu
