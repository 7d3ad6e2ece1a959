#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/problem.hpp"
#include "bench/primitives/sort_names.hpp"

namespace sheaf::bench {

/// A sweep is the product of these lists. A primitive ignores lists that do not apply to it.
struct sweep {
  std::vector<primitive> primitives;
  std::vector<inputs::pattern> patterns;
  std::vector<std::uint64_t> record_bytes;
  std::vector<index_type> indices;
  std::vector<std::uint64_t> counts;
  std::uint64_t table_bytes =
      0;  ///< if not 0, counts is ignored and each width gets one count that fills about these bytes

  std::vector<key_distribution> keys{key_distribution::uniform};
  std::vector<std::uint64_t> key_bytes{0};
  std::vector<std::uint32_t> bits{8};
  std::vector<value_type> values{value_type::f32};
  std::vector<std::uint64_t> slots{std::uint64_t{1} << 20};
  std::vector<reduction_order> orders{reduction_order::deterministic};
  std::vector<sort_layout> sorts = usual_sort_layouts();
  std::vector<bit_range> bit_ranges{{}};
};

/// The names that named_sweep knows, for a help text: "quick, records, ..."
std::string sweep_names();
/// @throws error(bad_argument)
sweep named_sweep(std::string_view set);
/// The problems of a sweep, widths outermost and patterns innermost, so that consecutive rows share their records.
/// Left out are: scatters by patterns with repeats, which have no single right answer; records too narrow for their
/// key; a second reduction order of integers; ranges of bits of all but u32 and u64 keys.
std::vector<problem> problems_of(const sweep& s);

/// "10:28:2" or "20,24" as powers of two. @throws error(bad_argument)
std::vector<std::uint64_t> parse_log2_sizes(const std::string& text);

}  // namespace sheaf::bench
