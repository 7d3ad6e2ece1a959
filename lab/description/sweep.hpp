#pragma once

#include "lab/description/entry.hpp"

// The rows of sheaf-bench.
namespace sheaf::primitives {

/// A sweep is the product of these lists and of those that a family keeps for itself. A primitive ignores lists that do
/// not apply to it.
struct sweep {
  std::vector<const entry*> entries;
  std::vector<input_pattern> patterns;
  std::vector<std::uint64_t> record_bytes;
  std::vector<index_type> indices{index_type::u32};
  std::vector<std::uint64_t> counts;
  std::uint64_t table_bytes =
      0;  ///< if not 0, counts is ignored and each width gets one count that fills about these bytes
  std::vector<key_distribution> keys{key_distribution::uniform};
  family_parts lists;     ///< one struct of each family that has lists of its own
  bool is_brief = false;  ///< rows are timed briefly; the report ends with the means of the factors and the worst

  /// The counts for records of a width.
  std::vector<std::uint64_t> counts_of(std::uint64_t width) const;
};

/// A predefined sweep, over the family's entries unless its options name some.
struct named_sweep {
  std::string_view name;
  std::string_view options;                ///< what a user would write: "--widths 4,8 --log2-sizes 16:28:4"
  void (*finish)(sweep& sweep) = nullptr;  ///< sets what no option says
};

/// An option of the command line that replaces a list of the sweep.
struct list_option {
  std::string_view name;  ///< "--bits"
  std::string_view help;
  void (*read)(sweep& sweep, option_texts texts);
};

/// A family of primitives: the folder of its variants in a backend, its entries, and what it adds to sweeps.
struct family {
  std::string_view name;
  std::span<const entry* const> entries;
  std::span<const named_sweep> sets;
  std::span<const list_option> lists;
  /// Adds the problems of the family's entries among the sweep's, so that consecutive rows share their records.
  void (*add)(const sweep& sweep, std::span<const entry* const> entries, std::vector<problem_spec>& problems);
};

/// All families, in the order of their rows.
std::span<const family* const> all_families();

/// The options of lists that several families have, then those of each family.
std::vector<list_option> list_options();
/// The names that sweep_named knows, for a help text: "quick, records, ..."
std::string sweep_names();
/// @throws error(bad_argument)
sweep sweep_named(std::string_view set);
/// The problems of a sweep, family by family. Left out are: scatters by patterns with repeats of which any writer may
/// win, which have no single right answer; whole numbers from the unit interval, which are uniform; records too narrow
/// for their key; a second reduction order of integers; ranges of bits of all but u32 and u64 keys; a second problem of
/// the same name.
/// Whether a primitive of the sweep belongs to the family that has the option. Those of all families always may.
bool may_take(const sweep& sweep, const list_option& option);

std::vector<problem_spec> problems_of(const sweep& sweep);
/// Adds a problem if its inputs can be generated and its answer be checked.
void add_if_checked(problem_spec problem, std::vector<problem_spec>& problems);

/// "10:28:2" or "20,24" as powers of two. @throws error(bad_argument)
std::vector<std::uint64_t> parse_log2_sizes(const std::string& text);

/// The list of what parse makes of each text. @throws error(bad_argument)
template <class Parse>
auto parsed_list(option_texts texts, Parse parse) {
  std::vector<decltype(parse(std::string_view()))> list;
  for (const std::string& text : texts) list.push_back(parse(text));
  return list;
}
/// The texts, each of which parse has to take. @throws error(bad_argument)
template <class Parse>
std::vector<std::string> checked_list(option_texts texts, Parse parse) {
  for (const std::string& text : texts) parse(text);
  return {texts.begin(), texts.end()};
}
/// Whole numbers of a range. @throws error(bad_argument) naming the option
std::vector<std::uint64_t> numbers_in(std::string_view option, option_texts texts, std::uint64_t least,
                                      std::uint64_t most = ~std::uint64_t{0});

}  // namespace sheaf::primitives
