#include <array>
#include <numeric>

#include "lab/description/plain_loops.hpp"
#include "lab/peers/contenders.hpp"

namespace sheaf::bench::peers {
namespace {

// Beyond 2^16 counters nobody would write a counting sort; std::stable_sort is the peer.
constexpr std::uint32_t most_loop_bits = 16;

template <class Key>
struct key_reader {
  const std::byte* first;
  std::uint64_t stride;
  Key mask;
  Key operator()(std::uint64_t i) const { return *reinterpret_cast<const Key*>(first + i * stride) & mask; }
};

/// Counting sort: histogram, exclusive prefix sum, then put(i, place) with the output place of every record.
template <class Key, class Put>
void counting_split(key_reader<Key> category_of, std::uint64_t count, std::uint64_t* next, std::uint64_t categories,
                    Put put) {
  std::fill(next, next + categories, 0);
  for (std::uint64_t i = 0; i < count; ++i) ++next[category_of(i)];
  for (std::uint64_t c = 0, sum = 0; c < categories; ++c) {
    const std::uint64_t category_count = next[c];
    next[c] = sum;
    sum += category_count;
  }
  for (std::uint64_t i = 0; i < count; ++i) put(i, next[category_of(i)]++);
}

template <class Key, class Index>
void split_index(const problem& problem, key_reader<Key> category_of, Index* out, std::uint64_t* next) {
  const std::uint64_t categories = std::uint64_t{1} << problem.part<key_part>().bits;
  if (problem.primitive == "split_gather_index") {
    counting_split(category_of, problem.count, next, categories,
                   [&](std::uint64_t i, std::uint64_t place) { out[place] = static_cast<Index>(i); });
  } else {
    counting_split(category_of, problem.count, next, categories,
                   [&](std::uint64_t i, std::uint64_t place) { out[i] = static_cast<Index>(place); });
  }
}

template <class Key>
void split_loop(const problem& problem, const workspace& arrays, std::uint64_t copy) {
  const key_part& key = problem.part<key_part>();
  auto* const next = reinterpret_cast<std::uint64_t*>(arrays.scratch(std::uint64_t{8} << key.bits));
  const const_records keys = problem.key_bytes == 0 ? const_records(arrays.source(copy)) : arrays.keys(copy);
  const Key mask = static_cast<Key>((std::uint64_t{1} << key.bits) - 1);
  const key_reader<Key> category_of{keys.data, keys.stride_bytes, mask};
  std::byte* const target = arrays.target(copy).data;
  if (entry_of(problem).writes_index) {
    if (bytes(problem.index) == 4)
      return split_index(problem, category_of, reinterpret_cast<std::uint32_t*>(target), next);
    return split_index(problem, category_of, reinterpret_cast<std::uint64_t*>(target), next);
  }
  const std::byte* const source = arrays.source(copy).data;
  jobs::with_record_type(problem.record_bytes, [&]<class Record>(std::type_identity<Record>) {
    const auto* const in = reinterpret_cast<const Record*>(source);
    auto* const out = reinterpret_cast<Record*>(target);
    counting_split(category_of, problem.count, next, std::uint64_t{1} << key.bits,
                   [&](std::uint64_t i, std::uint64_t place) { out[place] = in[i]; });
  });
}

template <class Word>
void partition_by_copy(const problem& problem, const workspace& arrays, std::uint64_t copy) {
  const auto* const in = reinterpret_cast<const Word*>(arrays.source(copy).data);
  auto* const out = reinterpret_cast<Word*>(arrays.target(copy).data);
  const auto is_first = [](Word word) { return (word & 1) == 0; };
  const auto first = std::count_if(in, in + problem.count, is_first);
  std::partition_copy(in, in + problem.count, out, out + first, is_first);
}

template <class Word>
void partition_in_place(const problem& p, const workspace& arrays, std::uint64_t copy) {
  const auto* const in = reinterpret_cast<const Word*>(arrays.source(copy).data);
  auto* const out = reinterpret_cast<Word*>(arrays.target(copy).data);
  std::copy(in, in + p.count, out);
  std::stable_partition(out, out + p.count, [](Word word) { return (word & 1) == 0; });
}

template <class Word>
void add_partitions(const problem& p, const workspace& arrays, std::vector<contender>& all) {
  all.push_back(
      host::peer("partition_copy", 0, [p, &arrays](std::uint64_t copy) { partition_by_copy<Word>(p, arrays, copy); }));
  all.push_back(host::peer("stable_partition", p.count * p.record_bytes,
                           [p, &arrays](std::uint64_t copy) { partition_in_place<Word>(p, arrays, copy); }));
}

template <class Word>
void sort_by_bits(const problem& problem, const workspace& arrays, std::uint64_t copy) {
  const auto* const in = reinterpret_cast<const Word*>(arrays.source(copy).data);
  auto* const out = reinterpret_cast<Word*>(arrays.target(copy).data);
  const Word mask = static_cast<Word>(~Word{0} >> (8 * sizeof(Word) - problem.part<key_part>().bits));
  std::copy(in, in + problem.count, out);
  std::stable_sort(out, out + problem.count, [mask](Word a, Word b) { return (a & mask) < (b & mask); });
}

template <class Word>
contender sort_peer(const problem& p, const workspace& arrays) {
  return host::peer("stable_sort", p.count * p.record_bytes,
                    [p, &arrays](std::uint64_t copy) { sort_by_bits<Word>(p, arrays, copy); });
}

/// The low bits of a record or key of up to 16 bytes.
struct wide_key_reader {
  __extension__ using number = unsigned __int128;

  const std::byte* first;
  std::uint64_t stride;
  std::uint64_t bytes;
  number mask;

  number operator()(std::uint64_t i) const { return of(first + i * stride); }
  number of(const void* key) const {
    number value = 0;
    std::memcpy(&value, key, bytes);
    return value & mask;
  }
};

wide_key_reader wide_key_of(const problem& problem, const_records keys) {
  using number = wide_key_reader::number;
  const std::uint32_t bits = problem.part<key_part>().bits;
  return {keys.data, keys.stride_bytes, keys.record_bytes, static_cast<number>(~number{0}) >> (128 - bits)};
}

template <std::size_t Bytes>
void sort_records_by_bits(const problem& problem, const workspace& arrays, std::uint64_t copy) {
  using record = std::array<std::byte, Bytes>;
  const wide_key_reader key = wide_key_of(problem, arrays.source(copy));
  const auto* const in = reinterpret_cast<const record*>(arrays.source(copy).data);
  auto* const out = reinterpret_cast<record*>(arrays.target(copy).data);
  std::copy(in, in + problem.count, out);
  std::stable_sort(out, out + problem.count,
                   [&key](const record& a, const record& b) { return key.of(a.data()) < key.of(b.data()); });
}

template <class Index>
void sort_record_numbers(const problem& problem, const workspace& arrays, std::uint64_t copy) {
  const bool gathers = problem.primitive == "split_gather_index";
  const wide_key_reader key = wide_key_of(problem, arrays.keys(copy));
  auto* const out = reinterpret_cast<Index*>(arrays.target(copy).data);
  auto* const numbers = gathers ? out : reinterpret_cast<Index*>(arrays.scratch(problem.count * sizeof(Index)));
  std::iota(numbers, numbers + problem.count, Index{0});
  std::stable_sort(numbers, numbers + problem.count, [&key](Index a, Index b) { return key(a) < key(b); });
  if (gathers) return;
  for (std::uint64_t i = 0; i < problem.count; ++i) out[numbers[i]] = static_cast<Index>(i);
}

/// For more bits than a counting sort has counters for.
void add_sorts(const problem& p, const workspace& arrays, std::vector<contender>& all) {
  const auto add = [&](std::uint64_t scratch_bytes, auto sort) {
    all.push_back(
        host::peer("stable_sort", scratch_bytes, [p, &arrays, sort](std::uint64_t copy) { sort(p, arrays, copy); }));
  };
  if (entry_of(p).writes_index) {
    if (p.key_bytes > 16) return;
    const std::uint64_t index_bytes = bytes(p.index);
    if (index_bytes == 4) return add(2 * p.count * index_bytes, sort_record_numbers<std::uint32_t>);
    return add(2 * p.count * index_bytes, sort_record_numbers<std::uint64_t>);
  }
  if (p.key_bytes != 0) return;
  switch (p.record_bytes) {
    case 4: return all.push_back(sort_peer<std::uint32_t>(p, arrays));
    case 8: return all.push_back(sort_peer<std::uint64_t>(p, arrays));
    case 12: return add(p.count * p.record_bytes, sort_records_by_bits<12>);
    case 16: return add(p.count * p.record_bytes, sort_records_by_bits<16>);
    default: return;
  }
}

}  // namespace

namespace host {

std::vector<contender> split_peers(const context&, const problem& problem, const workspace& arrays) {
  const key_part& key = problem.part<key_part>();
  std::vector<contender> all;
  if (key.bits == 1 && problem.key_bytes == 0 && problem.record_bytes == 4)
    add_partitions<std::uint32_t>(problem, arrays, all);
  if (key.bits == 1 && problem.key_bytes == 0 && problem.record_bytes == 8)
    add_partitions<std::uint64_t>(problem, arrays, all);
  const std::uint64_t held_bytes = problem.key_bytes == 0 ? problem.record_bytes : problem.key_bytes;
  const bool has_type = std::has_single_bit(problem.record_bytes)
                            ? problem.record_bytes >= 4 && problem.record_bytes <= 256
                            : problem.record_bytes == 12 || problem.record_bytes == 100;
  if (key.bits > most_loop_bits) {
    add_sorts(problem, arrays, all);
    return all;
  }
  if (held_bytes < 4 || !has_type) return all;
  const auto loop = held_bytes < 8 || held_bytes % 8 != 0 ? &split_loop<std::uint32_t> : &split_loop<std::uint64_t>;
  all.push_back(peer("plain_loop", std::uint64_t{8} << key.bits,
                     [problem, &arrays, loop](std::uint64_t copy) { loop(problem, arrays, copy); }));
  return all;
}

std::vector<contender> membership_loops(const context& ctx, const problem& problem, const workspace& arrays) {
  return plain_loop("serial_loop", ctx, problem, arrays);
}

}  // namespace host
}  // namespace sheaf::bench::peers
