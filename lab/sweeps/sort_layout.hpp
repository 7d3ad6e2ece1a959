#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <sheaf/sort.hpp>

namespace sheaf::bench {

/// What is sorted: the primitive, the type of the key, and the payload.
struct sort_layout {
  std::string_view primitive = "sort_keys";  ///< name of an entry
  key_type number = key_type::unsigned_integer;
  std::uint64_t key_bytes = 4;
  std::uint64_t record_bytes = 4;  ///< bytes of a key, value or record; 0 for a gather index
};

/// The bits of the key that decide; a count of 0 means all.
struct bit_range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// "u32" (keys), "u64+16" (with values of 16 bytes in an array of their own), "bytes10/100" (records of 100 bytes by
/// their first 10), "u64/index". Keys are u8 to u128, i8 to i64, f32, f64, bytes1 to bytes16. @throws
/// error(bad_argument)
sort_layout parse_sort_layout(std::string_view text);
/// "all", or "8:16" for bits 8 to 15. @throws error(bad_argument)
bit_range parse_bit_range(std::string_view text);

/// The layouts of a sweep that does not name any.
std::vector<sort_layout> usual_sort_layouts();

}  // namespace sheaf::bench
