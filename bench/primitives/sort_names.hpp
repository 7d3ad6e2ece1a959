#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/problem.hpp"

namespace sheaf::bench {

/// What is sorted, by keys of which type.
struct sort_form {
  bench::primitive primitive = bench::primitive::sort_keys;
  key_type number = key_type::unsigned_integer;
  std::uint64_t key_bytes = 4;
  std::uint64_t record_bytes = 4;  ///< of keys, values or rows; 0: an index
};

/// Bits of the key that decide; count 0 for all.
struct bit_range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// "u32" (keys), "u64+16" (with values of 16 bytes apart), "bytes10/100" (records of 100 bytes by their first 10),
/// "u64/index". Keys are u8 to u128, i8 to i64, f32, f64, bytes1 to bytes16. @throws error(bad_argument)
sort_form parse_sort_form(std::string_view text);
/// "all", or "8:16" for bits 8 to 15. @throws error(bad_argument)
bit_range parse_bit_range(std::string_view text);

/// Those that a sweep has unless it is told others.
std::vector<sort_form> usual_sort_forms();

}  // namespace sheaf::bench
