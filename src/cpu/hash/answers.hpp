#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cpu/hash/look_up.hpp"
#include "cpu/threads/parts.hpp"
#include "primitives/hash/search.hpp"

// What a search writes for what it has found. For matches these are steps 3 and 4 of He et al. 2007: a prefix sum of
// the counts, and the records' numbers.
namespace sheaf::cpu {

/// What plans decide of the answers.
struct answers_decision {
  std::uint64_t threads;
  std::uint64_t parts;      ///< of the probes, one for each thread that is worth it
  std::uint64_t begins_at;  ///< of matches: where each probe's rows begin, offsets in the scratch
  std::uint64_t sums_at;    ///< of matches: the matches of each part
};

/// Writes answers of type Output. Parts are ranges of probes, and each is written by one thread at a time.
template <primitives::hash_output Output, class Id, class Out>
class answer_writer {
 public:
  answer_writer(void* out, const answers_decision& d, std::byte* scratch) noexcept
      : out_(static_cast<Out*>(out)),
        begins_(reinterpret_cast<Id*>(scratch + d.begins_at)),
        sums_(reinterpret_cast<std::uint64_t*>(scratch + d.sums_at)) {}

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
    for_each_part(parts, [&](std::uint64_t part) {
      const std::uint64_t end = part_begin(probes, parts, part + 1);
      std::uint64_t sum = 0;
      for (std::uint64_t i = part_begin(probes, parts, part); i < end; ++i) sum += out_[i];
      sums_[part] = sum;
    });
    std::uint64_t total = 0;
    for (std::uint64_t part = 0; part < parts; ++part) total += std::exchange(sums_[part], total);
    for_each_part(parts, [&](std::uint64_t part) {
      const std::uint64_t end = part_begin(probes, parts, part + 1);
      std::uint64_t sum = sums_[part];
      for (std::uint64_t i = part_begin(probes, parts, part); i < end; ++i) sum += std::exchange(out_[i], sum);
    });
    out_[probes] = total;
    return total;
  }

  /// Step 4: the first `capacity` record numbers. Parts are ranges of them, so that a probe with many costs no more
  /// than many probes.
  void write_ids(std::uint64_t probes, std::uint64_t threads, const Id* rows, Id* ids, std::uint64_t capacity) const {
    const std::uint64_t written = std::min<std::uint64_t>(capacity, out_[probes]);
    const std::uint64_t parts = parts_worth(written * sizeof(Id), threads);
    for_each_part(parts, [&](std::uint64_t part) {
      const std::uint64_t begin = part_begin(written, parts, part);
      const std::uint64_t end = part_begin(written, parts, part + 1);
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
void with_answers(const primitives::hash_search_problem& p, const primitives::hash_search_buffers& b,
                  const answers_decision& d, std::byte* scratch, Body body) {
  using primitives::hash_output;
  switch (p.output) {
    case hash_output::matches: return body(answer_writer<hash_output::matches, Id, std::uint64_t>(b.out, d, scratch));
    case hash_output::counts:
      if (p.out_bytes == 4) return body(answer_writer<hash_output::counts, Id, std::uint32_t>(b.out, d, scratch));
      return body(answer_writer<hash_output::counts, Id, std::uint64_t>(b.out, d, scratch));
    case hash_output::contains: return body(answer_writer<hash_output::contains, Id, std::uint8_t>(b.out, d, scratch));
    case hash_output::first: return body(answer_writer<hash_output::first, Id, Id>(b.out, d, scratch));
  }
}

/// Steps 3 and 4 for outputs that have them.
template <primitives::hash_output Output, class Id, class Out>
void finish(const answer_writer<Output, Id, Out>& writer, const primitives::hash_search_problem& p,
            const primitives::hash_search_buffers& b, const answers_decision& d, const Id* rows) {
  if constexpr (Output == primitives::hash_output::matches) {
    const std::uint64_t total = writer.make_offsets(p.probes, d.parts);
    const primitives::hash_match_room room = (*b.make_room)(total);
    writer.write_ids(p.probes, d.threads, rows, static_cast<Id*>(room.ids), room.capacity);
  }
}

}  // namespace sheaf::cpu
