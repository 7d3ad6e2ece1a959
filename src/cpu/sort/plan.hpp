#pragma once

#include <cstdint>

#include "cpu/sort/encoding.hpp"
#include "plan/variant.hpp"
#include "primitives/sort.hpp"

namespace sheaf::cpu {

/// What run gets from plan, in planned::parameters.
enum sort_parameter : std::size_t {
  sort_parts,       ///< that threads work on side by side
  sort_digit_bits,  ///< most of a pass over memory; 0: one thread sorts all in its cache
  sort_streams,     ///< whether passes write past the cache
};

/// Bytes of words that a thread sorts in its cache: with a spare of the same size they take 0.75 MB. Keys of 8 bytes,
/// one thread of a Xeon of family 6 model 207 with a second cache of 2 MB: 2^24 take 194 ms, with 64 KB 232, with 128
/// KB 190; 2^26 take 804, 968 and 928.
constexpr std::uint64_t cached_sort_bytes = 384 * 1024;

/// Where the parts of a sort's scratch begin, in bytes. Beside tables of some MB a thread it has room for the words
/// once where the output can hold them too, which is so for rows that are one word and for keys with one array of
/// values, of 4 or 8 bytes each, side by side; else twice: an index sort takes 16 or, where key and index fit, 8 bytes
/// a row twice.
struct sort_room {
  std::uint64_t cached_words;  ///< most that a thread sorts in its cache
  std::uint64_t starts = 0;    ///< a bucket_table
  std::uint64_t next = 0;      ///< the same size
  std::uint64_t lines = 0;     ///< each part's write-combining buckets
  std::uint64_t orders = 0;    ///< what each part's words are like, a line each
  std::uint64_t spare = 0;     ///< each part's room for cached_words, twice if words are made there
  std::uint64_t spare_bytes;   ///< of a part
  std::uint64_t words[2] = {};
  std::uint64_t bytes = 0;

  sort_room(const primitives::sort_problem& p, const sort_shape& s, const plan::planned& plan) noexcept;
};

plan::planned plan_msd(const primitives::sort_problem& p, const machine& m);
plan::planned plan_lsd(const primitives::sort_problem& p, const machine& m);

}  // namespace sheaf::cpu
