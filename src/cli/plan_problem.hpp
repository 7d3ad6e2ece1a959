#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <sheaf/context.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/split.hpp>

namespace sheaf::cli {

/// What `sheaf plan` is asked: a primitive and its sizes. Options that say nothing to the primitive are refused.
struct plan_problem {
  std::string primitive;
  std::uint64_t count = 0;
  std::optional<std::uint64_t> table;
  std::optional<std::uint64_t> record_bytes;
  std::optional<index_type> index_kind;
  access_pattern pattern;
  std::optional<sheaf::duplicates> repeats;
  std::optional<bit_field> bits;
  bit_order order = bit_order::little_endian;
  std::optional<std::uint64_t> key_bytes;
  std::optional<std::uint64_t> categories;
  std::optional<value_type> type;
  std::optional<reduction> op;
  std::optional<reduction_order> adding;

  void add_to(CLI::App& subcommand);
  /// @throws error(bad_argument) naming an option that the primitive has not, CLI::RequiredError for one that it needs
  void require_options() const;
  explanation explain(const context& ctx, std::string_view variant) const;
  /// In words.
  std::string text() const;
  /// Keys are the records themselves unless they have a width of their own; an index is of keys apart.
  split_key key() const;

  bool has_index() const { return primitive != "split" && primitive != "split_unstable"; }
  bool has_far_side() const { return !primitive.starts_with("split"); }
  index_type index() const { return index_kind.value_or(index_type::u32); }
  /// Of what is moved or written.
  std::uint64_t width() const {
    if (type) return bytes(*type);
    return record_bytes.value_or(has_far_side() ? bytes(value_type::f32) : bytes(index()));
  }
};

}  // namespace sheaf::cli
