#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sheaf/records.hpp>

#include "inputs/pattern.hpp"

namespace sheaf::bench {

enum class primitive : std::uint8_t { gather, scatter };

std::string_view name(primitive p) noexcept;
std::string_view name(index_type type) noexcept;

/// One movement to measure: `count` records through an index list of `count` entries into as many records.
struct problem {
  bench::primitive primitive = bench::primitive::gather;
  inputs::pattern pattern;
  std::uint64_t record_bytes = 0;
  index_type index = index_type::u32;
  std::uint64_t count = 0;

  /// Table, output and index list together.
  std::uint64_t bytes() const noexcept { return count * (2 * record_bytes + sheaf::bytes(index)); }
  /// What bandwidth counts: record bytes read plus written, not the index.
  std::uint64_t moved_bytes() const noexcept { return 2 * record_bytes * count; }
};

/// "gather/permutation/r8/u32/n=268435456"; a row's name adds who ran it.
std::string name(const problem& p);

/// The lists that a sweep is the product of.
struct sweep {
  std::vector<primitive> primitives;
  std::vector<inputs::pattern> patterns;
  std::vector<std::uint64_t> record_bytes;
  std::vector<index_type> indices;
  std::vector<std::uint64_t> counts;
  std::uint64_t table_bytes = 0;  ///< where not 0: one count, so that the table has about these bytes
};

/// "quick", "records", "small-widths", "model" or "cpu". @throws error(bad_argument)
sweep named_sweep(std::string_view set);
/// Widths outermost and patterns innermost, so that rows share their records. Scatter takes distinct patterns only:
/// with repeats there is no one right answer to check.
std::vector<problem> problems_of(const sweep& s);

/// "10:28:2" or "20,24" as powers of two. @throws error(bad_argument)
std::vector<std::uint64_t> parse_log2_sizes(const std::string& text);
index_type parse_index_type(std::string_view text);
primitive parse_primitive(std::string_view text);

}  // namespace sheaf::bench
