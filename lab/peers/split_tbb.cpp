#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>

#include <cstring>

#include "lab/description/plain_loops.hpp"
#include "lab/peers/contenders.hpp"

// Records in several categories by oneTBB's parallel_sort. A membership is a number of 64 bits, the category in its
// high half and the record in its low half, so that any order of equal numbers is the stable one.
namespace sheaf::bench::peers::host {
namespace {

constexpr std::uint64_t items_of_a_task = 1 << 14;

template <class Body>
void over_ranges(std::uint64_t count, Body body) {
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, count, items_of_a_task),
                    [&](const tbb::blocked_range<std::uint64_t>& part) { body(part.begin(), part.end()); });
}

std::uint64_t category_in(std::uint64_t membership) { return membership >> 32; }

// Of no memberships.
void clear_offsets(const records& offsets) { std::memset(offsets.data, 0, offsets.count * sizeof(std::uint64_t)); }

// The offsets of the categories that begin at position i.
void note_offsets(const std::uint64_t* all, std::uint64_t count, std::uint64_t i, const records& offsets) {
  auto* const bounds = reinterpret_cast<std::uint64_t*>(offsets.data);
  for (std::uint64_t c = i == 0 ? 0 : category_in(all[i - 1]) + 1; c <= category_in(all[i]); ++c) bounds[c] = i;
  if (i + 1 < count) return;
  for (std::uint64_t c = category_in(all[i]) + 1; c < offsets.count; ++c) bounds[c] = count;
}

template <class Record>
void split_memberships(const problem& problem, const jobs::array_set& arrays, std::uint64_t* all) {
  const auto* const first = jobs::items_of<const std::uint64_t>(arrays[jobs::multi_split_places::first]);
  const auto* const categories = jobs::items_of<const std::uint32_t>(arrays[jobs::places::index]);
  over_ranges(problem.indexed_count(), [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t record = begin; record < end; ++record) {
      for (std::uint64_t e = first[record]; e < first[record + 1]; ++e)
        all[e] = std::uint64_t{categories[e]} << 32 | record;
    }
  });
  if (problem.count == 0) return clear_offsets(arrays[jobs::places::offsets]);
  tbb::parallel_sort(all, all + problem.count);
  const auto* const in = jobs::items_of<const Record>(arrays[jobs::places::source]);
  auto* const out = jobs::items_of<Record>(arrays[jobs::places::target]);
  auto* const sources = jobs::items_of<std::uint32_t>(arrays[jobs::multi_split_places::sources]);
  over_ranges(problem.count, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      sources[i] = static_cast<std::uint32_t>(all[i]);
      out[i] = in[sources[i]];
      note_offsets(all, problem.count, i, arrays[jobs::places::offsets]);
    }
  });
}

}  // namespace

std::vector<contender> tbb_membership_sorts(const context& ctx, const problem& p, const workspace& arrays) {
  if (p.indexed_count() >= std::uint64_t{1} << 32 || p.key_bytes != sizeof(std::uint32_t)) return {};
  const auto arena = std::make_shared<tbb::task_arena>(ctx.threads());
  const std::uint64_t bytes = p.count * sizeof(std::uint64_t);
  return jobs::with_record_type(p.record_bytes, [&]<class Record>(std::type_identity<Record>) {
    return std::vector<contender>{peer("tbb.parallel_sort", bytes, [arena, p, &arrays, bytes](std::uint64_t copy) {
      auto* const all = reinterpret_cast<std::uint64_t*>(arrays.scratch(bytes));
      arena->execute([&] { split_memberships<Record>(p, arrays.all(copy), all); });
    })};
  });
}

}  // namespace sheaf::bench::peers::host
