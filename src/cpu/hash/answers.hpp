#pragma once

#include "core/scratch_offsets.hpp"
#include "cpu/hash/bucket_index.hpp"
#include "cpu/hash/look_up.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"

// What a search writes for what it has found. For matches these are steps 3 and 4 of He et al. 2007: a prefix sum of
// the counts, and the records' numbers.
namespace sheaf::cpu {

/// What plans decide of the answers.
struct answers_decision {
  std::uint64_t threads;
  std::uint64_t parts;  ///< of the probes, one for each thread that is worth it

  void tell(plan::told& to) const { to.add("threads", threads).add("parts", parts); }
};

/// What matches take of the scratch.
struct answer_arrays {
  std::byte* begins;    ///< where each probe's rows begin
  std::uint64_t* sums;  ///< the matches of each part

  answer_arrays(const primitives::hash_search_problem& p, const answers_decision& d, core::scratch_arrays& arrays) {
    const bool keeps_begins = p.output == primitives::hash_output::matches;
    begins = arrays.take<std::byte>(keeps_begins ? p.probes * bytes(p.index.id) : 0);
    sums = arrays.take<std::uint64_t>(keeps_begins ? d.parts : 0);
  }
};

/// Writes answers of type Output. Parts are ranges of probes, and each is written by one thread at a time.
template <primitives::hash_output Output, class Id, class Out>
class answer_writer {
 public:
  answer_writer(void* out, const answer_arrays& at) noexcept
      : out_(static_cast<Out*>(out)), begins_(reinterpret_cast<Id*>(at.begins)), sums_(at.sums) {}

  static constexpr bool wants_ids = Output == primitives::hash_output::first;

  void put(std::uint64_t i, const found_rows<Id>& rows) const noexcept {
    if constexpr (Output == primitives::hash_output::matches) {
      out_[i] = rows.count;
      begins_[i] = rows.begin;
    } else if constexpr (Output == primitives::hash_output::counts) {
      out_[i] = static_cast<Out>(rows.count);
    } else if constexpr (Output == primitives::hash_output::contains) {
      out_[i] = rows.count > 0 ? 1 : 0;
    } else {
      out_[i] = rows.begin;
    }
  }

  /// Step 3: turns the counts of all probes into offsets. Returns the number of matches.
  std::uint64_t make_offsets(std::uint64_t probes, std::uint64_t parts) const {
    out_[probes] = exclusive_scan(out_, probes, parts, sums_);
    return out_[probes];
  }

  /// Step 4: the first `capacity` record numbers. Parts are ranges of them, so that a probe with many costs no more
  /// than many probes.
  void write_ids(std::uint64_t probes, const answers_decision& d, const Id* rows, Id* ids,
                 std::uint64_t capacity) const {
    const std::uint64_t written = std::min<std::uint64_t>(capacity, out_[probes]);
    // Matches may be worth more threads than the probes were.
    const std::uint64_t worth = parts_worth(written * sizeof(Id), d.threads);
    const std::uint64_t parts = worth > d.parts ? worth : parts_of_team(written * sizeof(Id), d.parts);
    for_each_range(written, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      if (begin == end) return;
      auto i = static_cast<std::uint64_t>(std::upper_bound(out_, out_ + probes, begin) - out_) - 1;
      if (rows == nullptr) return write_singles(i, begin, end, ids);
      write_rows(i, begin, end, probes, rows, ids);
    });
  }

 private:
  void write_singles(std::uint64_t i, std::uint64_t at, std::uint64_t end, Id* ids) const noexcept {
    for (; at < end; ++i) {
      if (out_[i + 1] > at) ids[at++] = begins_[i];
    }
  }

  void write_rows(std::uint64_t i, std::uint64_t at, std::uint64_t end, std::uint64_t probes, const Id* rows,
                  Id* ids) const noexcept {
    constexpr std::uint64_t ahead = 64;  // probes, so that their first rows are there in time
    for (; at < end; ++i) {
      // A miss begins at all ones, an address that is never read.
      if (i + ahead < probes && begins_[i + ahead] != static_cast<Id>(~Id{0})) {
        __builtin_prefetch(rows + begins_[i + ahead]);
      }
      const std::uint64_t skipped = at - out_[i];
      const std::uint64_t count = std::min(out_[i + 1], end) - at;
      if (count == 0) continue;
      std::copy_n(rows + begins_[i] + skipped, count, ids + at);
      at += count;
    }
  }

  Out* out_;
  Id* begins_;
  std::uint64_t* sums_;
};

/// Calls body with the answer_writer of a problem, whose ids are as wide as Id.
template <class Id, class Body>
void with_answers(const primitives::hash_search_problem& problem, const primitives::hash_search_buffers& buffers,
                  const answer_arrays& at, Body body) {
  using primitives::hash_output;
  switch (problem.output) {
    case hash_output::matches: return body(answer_writer<hash_output::matches, Id, std::uint64_t>(buffers.out, at));
    case hash_output::counts:
      if (problem.out_bytes == 4) return body(answer_writer<hash_output::counts, Id, std::uint32_t>(buffers.out, at));
      return body(answer_writer<hash_output::counts, Id, std::uint64_t>(buffers.out, at));
    case hash_output::contains: return body(answer_writer<hash_output::contains, Id, std::uint8_t>(buffers.out, at));
    case hash_output::first: return body(answer_writer<hash_output::first, Id, Id>(buffers.out, at));
  }
}

/// Steps 3 and 4 for outputs that have them.
template <primitives::hash_output Output, class Id, class Out>
void finish(const answer_writer<Output, Id, Out>& writer, const primitives::hash_search_problem& problem,
            const primitives::hash_search_buffers& b, const answers_decision& d, const Id* rows) {
  if constexpr (Output == primitives::hash_output::matches) {
    const std::uint64_t total = writer.make_offsets(problem.probes, d.parts);
    const primitives::hash_match_room room = (*b.make_room)(total);
    writer.write_ids(problem.probes, d, rows, static_cast<Id*>(room.ids), room.capacity);
  }
}

/// The run of a search: calls search(index, answers) with the index and the answer_writer of a problem's types, then
/// takes steps 3 and 4.
template <class Search>
void run_search(const primitives::hash_search_problem& problem, const primitives::hash_search_buffers& buffers,
                const answers_decision& decision, const answer_arrays& at, Search search) {
  with_key_and_id(problem.index.key_bytes, bytes(problem.index.id), [&](auto key, auto id) {
    using Id = decltype(id);
    const index_view<decltype(key), Id> index(static_cast<const bucket_index&>(*buffers.table));
    with_answers<Id>(problem, buffers, at, [&](const auto& answers) {
      search(index, answers);
      finish(answers, problem, buffers, decision, index.rows);
    });
  });
}

// What both searches cost, and what both take of scratch.

/// Constants of searches. This folder's README has the figures that decided.
struct search_tuning {
  double digits_per_probe = 3.0;   ///< instructions of a look-up, in digits
  double digits_per_split = 2.0;   ///< to bring a probe to its partition, and its answer back
  double digits_per_answer = 0.5;  ///< of steps 3 and 4
};
constexpr search_tuning search_defaults;

/// Matches, if those that find something find what an average key has.
inline std::uint64_t expected_matches(const primitives::hash_search_problem& p) noexcept {
  const double chain =
      static_cast<double>(p.index.records) / static_cast<double>(std::max<std::uint64_t>(1, p.index.distinct));
  return static_cast<std::uint64_t>(p.hit_share * static_cast<double>(p.probes) * chain);
}

inline answers_decision decide_answers(const primitives::hash_search_problem& p, std::uint64_t threads) noexcept {
  // A probe of a table in cache takes as long as some 64 bytes that are streamed.
  return {threads, parts_worth(p.probes * 64, threads)};
}

/// Reading probes, writing answers, and for matches steps 3 and 4.
inline void add_answers_cost(const primitives::hash_search_problem& problem, const machine& machine,
                             std::uint64_t parts, plan::planned& plan) {
  const std::uint64_t in = problem.probes * problem.probe_stride_bytes;
  const std::uint64_t out = problem.probes * problem.out_bytes;
  plan.add("streamed", machine.streamed(in + out, in + out));
  if (problem.output != primitives::hash_output::matches) return;
  const std::uint64_t id_bytes = bytes(problem.index.id);
  const std::uint64_t begins = problem.probes * id_bytes;
  const std::uint64_t matches = expected_matches(problem) * id_bytes;
  const double rows = problem.index.has_repeats()
                          ? machine.random_reads(problem.probes, id_bytes, problem.index.records * id_bytes)
                          : 0;
  const double steps = shared_digit_seconds(problem.probes, search_defaults.digits_per_answer, machine, parts);
  plan.add("matches", machine.streamed(3 * out + 2 * begins + 2 * matches, out + begins + matches) + rows + steps);
}

inline void add_direct_cost(const primitives::hash_search_problem& problem, const machine& machine, std::uint64_t parts,
                            plan::planned& plan) {
  const index_layout layout = layout_of(problem.index);
  plan.add("latency", machine.launch_seconds + machine.step_seconds);
  add_answers_cost(problem, machine, parts, plan);
  const double past =
      static_cast<double>(layout.overflow) / static_cast<double>(std::max<std::uint64_t>(1, layout.distinct));
  double reads = machine.random_reads(problem.probes, line_bytes, layout.lines_bytes()) +
                 machine.random_reads(static_cast<std::uint64_t>(past * static_cast<double>(problem.probes)),
                                      layout.key_bytes + layout.id_bytes, layout.overflow_bytes());
  if (problem.output == primitives::hash_output::first && layout.has_rows()) {
    reads += machine.random_reads(problem.probes, layout.id_bytes, layout.records * layout.id_bytes);
  }
  plan.add_overlapped(
      overlap_exponent,
      {{"random read", reads},
       {"steps", shared_digit_seconds(problem.probes, search_defaults.digits_per_probe, machine, parts)}});
}

}  // namespace sheaf::cpu
