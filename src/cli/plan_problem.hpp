#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sheaf/context.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/split.hpp>

#include "cli/plan_sort.hpp"

namespace sheaf::cli {

/// The question to `sheaf plan`: a primitive and its sizes. Options that do not concern the primitive are refused.
struct plan_problem {
  std::string primitive;
  std::uint64_t count = 0;
  std::optional<std::uint64_t> table;
  std::vector<std::uint64_t> widths;  ///< for sort_pairs one for each array of values, else at most one
  std::optional<index_type> index_kind;
  access_pattern pattern;
  std::optional<sheaf::duplicates> repeats;
  std::vector<std::string> keys;  ///< texts of --key, whose meaning depends on the primitive
  bit_order order = bit_order::little_endian;
  std::optional<std::uint64_t> key_bytes;
  std::optional<std::uint64_t> categories;
  std::optional<value_type> type;
  std::optional<reduction> op;
  std::optional<reduction_order> adding;

  void add_to(CLI::App& subcommand);
  /// @throws error(bad_argument) naming an option that the primitive lacks, CLI::RequiredError for one that it needs
  void require_options() const;
  explanation explain(const context& ctx, std::string_view variant) const;
  /// The problem in words.
  std::string text() const;
  nlohmann::json json() const;

 private:
  bool splits() const { return primitive.starts_with("split"); }
  bool sorts() const { return primitive.starts_with("sort"); }
  bool writes_index() const { return primitive.ends_with("_index"); }
  bool has_indexed_side() const { return !splits() && !sorts(); }
  index_type index() const;
  /// Bytes of a record that is moved or of an index entry that is written.
  std::uint64_t width() const;
  /// Keys are the records themselves unless --key-bytes gives them a width; an index always has separate keys.
  split_key category_key() const;
  plan_sort sort() const;
};

}  // namespace sheaf::cli
