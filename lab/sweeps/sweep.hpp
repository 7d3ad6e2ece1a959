#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sheaf/scatter.hpp>
#include <sheaf/scatter_reduce.hpp>

#include "lab/harness/problem.hpp"
#include "lab/harness/runner.hpp"
#include "lab/sweeps/sort_layout.hpp"

namespace sheaf::bench {

/// A stride of this many stands for one less than the count.
constexpr std::uint64_t longest_stride = 0;

/// A sweep is the product of these lists. A primitive ignores lists that do not apply to it.
struct sweep {
  std::vector<const primitives::entry*> entries;
  std::vector<primitives::input_pattern> patterns;
  std::vector<std::uint64_t> record_bytes;
  std::vector<index_type> indices;
  std::vector<std::uint64_t> counts;
  std::uint64_t table_bytes =
      0;  ///< if not 0, counts is ignored and each width gets one count that fills about these bytes

  std::vector<duplicates> duplicate_rules{duplicates::any};  ///< of scatters
  std::vector<primitives::key_distribution> keys{primitives::key_distribution::uniform};
  std::vector<std::uint64_t> key_bytes{0};
  std::vector<std::uint32_t> bits{8};
  std::vector<value_type> values{value_type::f32};
  std::vector<std::uint64_t> slots{std::uint64_t{1} << 20};
  std::vector<reduction_order> orders{reduction_order::deterministic};
  std::vector<sort_layout> sorts = usual_sort_layouts();
  std::vector<bit_range> bit_ranges{{}};
  std::vector<std::uint64_t> tables{std::uint64_t{1} << 20};  ///< records that a hash search looks among
  std::vector<std::uint64_t> repeats{1};                      ///< of them that share a key, or power_law_repeats
  std::vector<std::uint64_t> hits{100};                       ///< per cent of its probes that find something
  std::vector<std::uint64_t> hash_key_bytes{8};
  std::vector<std::uint64_t> loads{0};  ///< of its hash table, in per cent; 0: what the backend finds best
  std::vector<std::string> list_layouts{"u32", "u32+u32+packed", "u32+u64"};
  std::vector<std::string> edge_layouts{"r12/u32+f32", "r12/u32+f32+inverse_square+weights", "r40/u32+f64+weights"};
  std::vector<std::string> matrices{"banded:x16", "grid:x7", "uniform:x16", "uniform:xzipf", "zipf:x16"};
  std::vector<std::string> matrix_layouts{"r4/u32+f32", "r8/u32+f64", "r8/u32+f64+transposed"};

  timing_limits limits = {};    ///< how long a row is timed unless the user says
  bool prints_factors = false;  ///< the report ends with the means of the factors and the worst

  /// The counts for records of a width.
  std::vector<std::uint64_t> counts_of(std::uint64_t width) const;
};

/// A predefined sweep.
struct named_sweep {
  std::string_view name;
  sweep (*make)();
};

/// An option of the command line that replaces a list of the sweep.
struct list_option {
  std::string_view name;  ///< "--bits"
  std::string_view help;
  void (*read)(sweep& s, std::span<const std::string> texts);
};

/// What one family of primitives adds to sweeps.
struct family_sweeps {
  std::string_view family;
  std::span<const named_sweep> sets;
  std::span<const list_option> lists;
  /// Adds the problems of the family's entries among the sweep's, so that consecutive rows share their records.
  void (*add)(const sweep& s, std::span<const primitives::entry* const> entries, std::vector<problem>& problems);
};

/// All families that have sweeps, and the lists that several of them have.
std::span<const family_sweeps* const> sweeps_of_families();
std::span<const list_option> common_lists();

/// The names that sweep_named knows, for a help text: "quick, records, ..."
std::string sweep_names();
/// @throws error(bad_argument)
sweep sweep_named(std::string_view set);
/// What users try first: the usual keys and forms of sorts, splits, sums by index and scatters.
sweep everyday();
/// The problems of a sweep, family by family. Left out are: scatters by patterns with repeats of which any writer may
/// win, which have no single right answer; whole numbers from the unit interval, which are uniform; records too narrow
/// for their key; a second reduction order of integers; ranges of bits of all but u32 and u64 keys; a second problem of
/// the same name.
std::vector<problem> problems_of(const sweep& s);

/// What is computed of a linked list, without its order and count: the type part of a row's name. "u32" is ranks of 4
/// bytes, "u32+u64" a scan. @throws error(bad_argument)
problem parse_list_layout(std::string_view text);

/// 2^first, 2^(first + step), ... to 2^last.
std::vector<std::uint64_t> powers_of_two(std::uint64_t first, std::uint64_t last, std::uint64_t step);
std::vector<primitives::input_pattern> patterns(std::initializer_list<const char*> texts);

/// "10:28:2" or "20,24" as powers of two. @throws error(bad_argument)
std::vector<std::uint64_t> parse_log2_sizes(const std::string& text);

/// The list of what parse makes of each text. @throws error(bad_argument)
template <class Parse>
auto parsed_list(std::span<const std::string> texts, Parse parse) {
  std::vector<decltype(parse(std::string_view()))> list;
  for (const std::string& text : texts) list.push_back(parse(text));
  return list;
}
/// Whole numbers of a range. @throws error(bad_argument) naming the option
std::vector<std::uint64_t> numbers_in(std::string_view option, std::span<const std::string> texts, std::uint64_t least,
                                      std::uint64_t most);

}  // namespace sheaf::bench
