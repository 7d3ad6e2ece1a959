#include <algorithm>
#include <cstring>
#include <vector>

#include "lab/description/entry.hpp"
#include "lab/description/plain_loops.hpp"

namespace sheaf::jobs {
namespace {

using primitives::entry_of;

// Nobody writes a counting sort with more counters than fit into a cache.
constexpr std::uint32_t most_counted_bits = 16;

// The category of a record, in the low bits of its key.
struct category_reader {
  const std::byte* first_key;
  std::uint64_t stride_bytes;
  std::uint32_t mask;

  std::uint32_t operator()(std::uint64_t i) const {
    std::uint32_t key;
    std::memcpy(&key, first_key + i * stride_bytes, sizeof key);
    return key & mask;
  }
};

// Replaces counts by their exclusive prefix sums.
void sum_up(std::vector<std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (std::uint64_t& entry : counts) {
    const std::uint64_t count = entry;
    entry = sum;
    sum += count;
  }
}

// Counting sort: put(i, place) gets the place in the output of every record.
template <class Put>
void counting_sort(std::uint64_t count, std::uint64_t categories, category_reader category_of, Put put) {
  std::vector<std::uint64_t> next(categories);
  for (std::uint64_t i = 0; i < count; ++i) ++next[category_of(i)];
  sum_up(next);
  for (std::uint64_t i = 0; i < count; ++i) put(i, next[category_of(i)]++);
}

template <class Index>
plain_call index_split(const problem_spec& p, const array_set& arrays, category_reader category_of) {
  return [count = p.count, categories = std::uint64_t{1} << p.bits, category_of,
          out = items_of<Index>(arrays[places::target]), gathers = p.primitive == "split_gather_index"] {
    if (gathers) {
      counting_sort(count, categories, category_of,
                    [=](std::uint64_t i, std::uint64_t place) { out[place] = static_cast<Index>(i); });
    } else {
      counting_sort(count, categories, category_of,
                    [=](std::uint64_t i, std::uint64_t place) { out[i] = static_cast<Index>(place); });
    }
  };
}

template <class Record>
plain_call record_split(const problem_spec& p, const array_set& arrays, category_reader category_of) {
  return [count = p.count, categories = std::uint64_t{1} << p.bits, category_of,
          in = items_of<const Record>(arrays[places::source]), out = items_of<Record>(arrays[places::target])] {
    counting_sort(count, categories, category_of, [=](std::uint64_t i, std::uint64_t place) { out[place] = in[i]; });
  };
}

template <class Record>
void split_members(std::uint64_t records, std::uint64_t categories, const std::uint64_t* first,
                   const std::uint32_t* category_of, const Record* in, Record* out, std::uint32_t* sources,
                   std::uint64_t* offsets) {
  std::vector<std::uint64_t> next(categories + 1);
  for (std::uint64_t e = 0; e < first[records]; ++e) ++next[category_of[e]];
  sum_up(next);
  std::copy(next.begin(), next.end(), offsets);
  for (std::uint64_t record = 0; record < records; ++record) {
    for (std::uint64_t e = first[record]; e < first[record + 1]; ++e) {
      const std::uint64_t place = next[category_of[e]]++;
      out[place] = in[record];
      sources[place] = static_cast<std::uint32_t>(record);
    }
  }
}

}  // namespace

plain_call plain_split(const context&, const problem_spec& p, const array_set& arrays) {
  const records& keys = arrays[p.key_bytes == 0 ? places::source : places::index];
  if (p.bits > most_counted_bits || keys.record_bytes < sizeof(std::uint32_t)) return {};
  const category_reader category_of{keys.data, keys.record_bytes, (std::uint32_t{1} << p.bits) - 1};
  if (entry_of(p).writes_index) {
    return with_index_type(
        p.index, [&]<class Index>(std::type_identity<Index>) { return index_split<Index>(p, arrays, category_of); });
  }
  return with_record_type(p.record_bytes, [&]<class Record>(std::type_identity<Record>) {
    return record_split<Record>(p, arrays, category_of);
  });
}

plain_call plain_multi_split(const context&, const problem_spec& p, const array_set& arrays) {
  const records& sources = arrays[multi_split_places::sources];
  const records& offsets = arrays[places::offsets];
  if (p.key_bytes != sizeof(std::uint32_t) || sources.record_bytes != sizeof(std::uint32_t)) return {};
  return with_record_type(p.record_bytes, [&]<class Record>(std::type_identity<Record>) -> plain_call {
    return [arrays, records = p.indexed_count(), categories = offsets.count - 1] {
      split_members(records, categories, items_of<const std::uint64_t>(arrays[multi_split_places::first]),
                    items_of<const std::uint32_t>(arrays[places::index]),
                    items_of<const Record>(arrays[places::source]), items_of<Record>(arrays[places::target]),
                    items_of<std::uint32_t>(arrays[multi_split_places::sources]),
                    items_of<std::uint64_t>(arrays[places::offsets]));
    };
  });
}

}  // namespace sheaf::jobs
