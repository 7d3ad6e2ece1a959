#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "lab/description/plain_loops.hpp"

namespace sheaf::jobs {
namespace {

bool is_whole_word(const problem_spec& p) {
  return p.number == key_type::unsigned_integer && p.bits == 8 * p.key_bytes && (p.key_bytes == 4 || p.key_bytes == 8);
}

template <class Key>
plain_call key_sort(const problem_spec& p, const array_set& arrays) {
  return
      [count = p.count, in = items_of<const Key>(arrays[places::source]), out = items_of<Key>(arrays[places::target])] {
        std::copy(in, in + count, out);
        std::sort(out, out + count);
      };
}

// Copies rows and sorts them in their place.
template <class Row, class Less>
plain_call row_sort(const problem_spec& p, const array_set& arrays, Less less) {
  return [count = p.count, less, in = items_of<const Row>(arrays[places::source]),
          out = items_of<Row>(arrays[places::target])] {
    std::copy(in, in + count, out);
    std::stable_sort(out, out + count, less);
  };
}

// Sorts structs of a key and its value, and takes them apart again.
template <class Key, class Value>
plain_call pair_sort(const problem_spec& p, const array_set& arrays) {
  struct pair {
    Key key;
    Value value;
  };
  return [count = p.count, keys = items_of<const Key>(arrays[places::index]),
          values = items_of<const Value>(arrays[places::source]), keys_out = items_of<Key>(arrays[places::sorted_keys]),
          values_out = items_of<Value>(arrays[places::target])] {
    std::vector<pair> pairs(count);
    for (std::uint64_t i = 0; i < count; ++i) pairs[i] = {keys[i], values[i]};
    std::stable_sort(pairs.begin(), pairs.end(), [](const pair& a, const pair& b) { return a.key < b.key; });
    for (std::uint64_t i = 0; i < count; ++i) {
      keys_out[i] = pairs[i].key;
      values_out[i] = pairs[i].value;
    }
  };
}

// Sorts row numbers by the keys that they name.
template <class Key>
plain_call index_sort(const problem_spec& p, const array_set& arrays) {
  return [count = p.count, keys = items_of<const Key>(arrays[places::index]),
          out = items_of<std::uint32_t>(arrays[places::target])] {
    std::iota(out, out + count, 0U);
    std::stable_sort(out, out + count, [keys](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  };
}

}  // namespace

plain_call plain_sort_keys(const context&, const problem_spec& p, const array_set& arrays) {
  if (p.bits != 8 * p.key_bytes) return {};
  const bool is_short = p.key_bytes == 4;
  if (!is_short && p.key_bytes != 8) return {};
  switch (p.number) {
    case key_type::unsigned_integer:
      return is_short ? key_sort<std::uint32_t>(p, arrays) : key_sort<std::uint64_t>(p, arrays);
    case key_type::signed_integer:
      return is_short ? key_sort<std::int32_t>(p, arrays) : key_sort<std::int64_t>(p, arrays);
    case key_type::floating: return is_short ? key_sort<float>(p, arrays) : key_sort<double>(p, arrays);
    case key_type::bytes: return {};
  }
  return {};
}

plain_call plain_sort_pairs(const context&, const problem_spec& p, const array_set& arrays) {
  if (!is_whole_word(p)) return {};
  if (p.key_bytes == 4) return p.record_bytes == 4 ? pair_sort<std::uint32_t, std::uint32_t>(p, arrays) : plain_call{};
  switch (p.record_bytes) {
    case 4: return pair_sort<std::uint64_t, std::uint32_t>(p, arrays);
    case 8: return pair_sort<std::uint64_t, std::uint64_t>(p, arrays);
    case 16: return pair_sort<std::uint64_t, plain_record<16>>(p, arrays);
    default: return {};
  }
}

plain_call plain_sort_records(const context&, const problem_spec& p, const array_set& arrays) {
  if (is_whole_word(p) && p.key_bytes == 8 && p.record_bytes == 16) {
    struct row {
      std::uint64_t key;
      std::uint64_t rest;
    };
    return row_sort<row>(p, arrays, [](const row& a, const row& b) { return a.key < b.key; });
  }
  if (p.number == key_type::bytes && p.record_bytes == 100) {
    using row = plain_record<100>;
    return row_sort<row>(p, arrays,
                         [bytes = p.key_bytes](const row& a, const row& b) { return std::memcmp(&a, &b, bytes) < 0; });
  }
  return {};
}

plain_call plain_sort_index(const context&, const problem_spec& p, const array_set& arrays) {
  if (!is_whole_word(p) || p.index != index_type::u32) return {};
  return p.key_bytes == 4 ? index_sort<std::uint32_t>(p, arrays) : index_sort<std::uint64_t>(p, arrays);
}

}  // namespace sheaf::jobs
