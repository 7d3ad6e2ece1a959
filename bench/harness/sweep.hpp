#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/problem.hpp"
#include "bench/primitives/sort_names.hpp"

namespace sheaf::bench {

/// The lists that a sweep is the product of. A primitive takes those that say something to it.
struct sweep {
  std::vector<primitive> primitives;
  std::vector<inputs::pattern> patterns;
  std::vector<std::uint64_t> record_bytes;
  std::vector<index_type> indices;
  std::vector<std::uint64_t> counts;
  std::uint64_t table_bytes = 0;  ///< where not 0: one count, so that the table has about these bytes

  std::vector<key_shape> keys{key_shape::uniform};
  std::vector<std::uint64_t> key_bytes{0};
  std::vector<std::uint32_t> bits{8};
  std::vector<value_type> values{value_type::f32};
  std::vector<std::uint64_t> slots{std::uint64_t{1} << 20};
  std::vector<reduction_order> orders{reduction_order::deterministic};
  std::vector<sort_form> sorts = usual_sort_forms();
  std::vector<bit_range> bit_ranges{{}};
};

/// The names of named_sweep, for a help text: "quick, records, ..."
std::string sweep_names();
/// @throws error(bad_argument)
sweep named_sweep(std::string_view set);
/// Widths outermost and patterns innermost, so that rows share their records. Scatter takes distinct patterns only:
/// with repeats there is no one right answer to check. Records too narrow for their key, orders of integers but the
/// first, and ranges of bits but of keys u32 and u64 as such or with values, are left out.
std::vector<problem> problems_of(const sweep& s);

/// "10:28:2" or "20,24" as powers of two. @throws error(bad_argument)
std::vector<std::uint64_t> parse_log2_sizes(const std::string& text);

}  // namespace sheaf::bench
