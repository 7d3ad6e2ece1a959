#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sheaf/records.hpp>

#include "lab/inputs/pattern.hpp"

namespace sheaf::tests {

constexpr index_type index_types[] = {index_type::u32, index_type::u64, index_type::i32, index_type::i64};

inline const char* name(index_type type) {
  constexpr const char* names[] = {"u32", "u64", "i32", "i64"};
  return names[static_cast<int>(type)];
}

/// One movement of records by an index list; sequential and indexed side as in primitives/movement.hpp.
struct movement_case {
  inputs::pattern pattern;
  index_type index = index_type::u32;
  std::uint64_t count = 0;
  std::uint64_t indexed_count = 0;
  std::uint64_t record_bytes = 1;
  std::uint64_t sequential_padding = 0;  ///< bytes between records
  std::uint64_t indexed_padding = 0;
  std::uint64_t sequential_misalignment = 0;
  std::uint64_t indexed_misalignment = 0;

  std::string description() const {
    return fmt::format("{} r{} {} n={} indexed={} padding {}/{} misaligned {}/{} seed {}", inputs::name(pattern),
                       record_bytes, name(index), count, indexed_count, sequential_padding, indexed_padding,
                       sequential_misalignment, indexed_misalignment, pattern.seed);
  }
};

inline std::vector<inputs::pattern> test_patterns(bool distinct) {
  std::vector<inputs::pattern> patterns = inputs::all_patterns();
  for (const char* more :
       {"strided:3", "strided:1000", "partitioned:1", "partitioned:7", "drawn:1", "drawn:7", "clustered:33"}) {
    patterns.push_back(inputs::parse_pattern(more));
  }
  if (distinct) std::erase_if(patterns, [](const inputs::pattern& p) { return !is_distinct(p); });
  return patterns;
}

/// Returns the next of its values on every call. Rotations of coprime lengths that advance together meet every pair of
/// values, without a loop over their cross product.
template <class T>
class rotation {
 public:
  explicit rotation(std::vector<T> values) : values_(std::move(values)) {}
  const T& next() { return values_[at_++ % values_.size()]; }

 private:
  std::vector<T> values_;
  std::size_t at_ = 0;
};

/// Every pattern with every index type, large enough for several threads.
inline void add_pattern_cases(std::vector<movement_case>& cases, bool distinct) {
  rotation<std::uint64_t> widths({1, 4, 16, 12, 100, 8, 2, 24, 64});
  for (const inputs::pattern& p : test_patterns(distinct)) {
    for (const index_type type : index_types) {
      cases.push_back({p, type, 9001, 10007, widths.next()});
      cases.push_back({p, type, 9001, distinct ? std::uint64_t{9001} : std::uint64_t{500}, widths.next()});
    }
  }
}

/// Every width, packed and in every kind of layout. Those behind the widest lie on either side of 64 and 256 bytes,
/// where the lane rule of Patidar and Narayanan 2009 changes, and fill no warp evenly.
inline void add_layout_cases(std::vector<movement_case>& cases, bool distinct) {
  rotation<inputs::pattern> patterns(test_patterns(distinct));
  rotation<index_type> types({std::begin(index_types), std::end(index_types)});
  for (const std::uint64_t width : {1,  2,   3,   4,   5,    7,    8,    12,    16, 17, 24,  31,  32,  48,
                                    64, 100, 128, 256, 1000, 1024, 4096, 65536, 60, 65, 255, 257, 300, 512}) {
    const std::uint64_t count = std::clamp<std::uint64_t>((512 << 10) / width, 37, 8999);
    const std::uint64_t indexed_count = count + 5;
    const std::uint64_t to_16 = 16 - width % 16;
    cases.push_back({patterns.next(), types.next(), count, indexed_count, width});
    cases.push_back({patterns.next(), types.next(), count, indexed_count, width, 1, 3});
    cases.push_back({patterns.next(), types.next(), count, indexed_count, width, to_16, to_16});
    cases.push_back({patterns.next(), types.next(), count, indexed_count, width, 0, 0, 1, 3});
    cases.push_back({patterns.next(), types.next(), count, indexed_count, width, to_16, to_16 + 16, 8, 4});
    types.next();
  }
}

/// Sizes around the edges of warps, blocks, tiles and thread shares; one and two wide records.
inline void add_size_cases(std::vector<movement_case>& cases, bool distinct) {
  rotation<inputs::pattern> patterns(test_patterns(distinct));
  rotation<index_type> types({std::begin(index_types), std::end(index_types)});
  for (const std::uint64_t count :
       {0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193}) {
    for (const std::uint64_t width : {1, 4, 8, 16, 24}) {
      cases.push_back({patterns.next(), types.next(), count, distinct ? count : count / 2 + 1, width});
    }
    types.next();
  }
  for (const std::uint64_t width : {60, 300, 65536}) {
    for (const std::uint64_t count : {1, 2}) {
      cases.push_back({inputs::parse_pattern("reverse"), types.next(), count, 2, width});
    }
  }
}

/// A million records, and records over more memory than caches have.
inline void add_big_cases(std::vector<movement_case>& cases, bool distinct) {
  constexpr std::uint64_t million = 1 << 20;
  const auto permutation = inputs::parse_pattern("permutation");
  cases.push_back({permutation, index_type::u32, million, million, 1});
  cases.push_back({permutation, index_type::i64, million, million + 1, 8});
  cases.push_back({distinct ? permutation : inputs::parse_pattern("zipf"), index_type::i32, million, million, 4});
  cases.push_back({permutation, index_type::u64, million / 8, million, 64});
}

/// All cases of a gather, whose indices may repeat, or of a scatter, whose indices are distinct.
inline std::vector<movement_case> movement_cases(bool distinct) {
  std::vector<movement_case> cases;
  add_pattern_cases(cases, distinct);
  add_layout_cases(cases, distinct);
  add_size_cases(cases, distinct);
  add_big_cases(cases, distinct);
  return cases;
}

}  // namespace sheaf::tests
