#pragma once

#include "apps/sheaf/command.hpp"

// Records that may be in several categories: what multi-split and split --row-offsets do.
namespace sheaf::cli {

struct multi_split_command {
  common_options common;
  std::string subcommand = "multi-split";
  std::string in;
  std::string row_offsets;  ///< file of where the categories of each record begin
  std::string keys;         ///< file of the categories of all records
  std::string output;
  std::string sources;
  std::string offsets;
  std::uint64_t record_bytes = 0;
  std::uint64_t key_bytes = 0;
  std::uint64_t categories = 0;
  std::optional<index_type> row_offset_type;
  std::optional<index_type> sources_type;
  /// `sources` is the one output, which -o names: the gather index of a split. It is raw where the inputs are, and
  /// records are counted alone.
  bool writes_index = false;

  /// Whether records are written; of a plan without outputs, whether there are any.
  bool moves() const {
    if (writes_index || !output.empty()) return !output.empty();
    return common.plans_only && sources.empty() && !in.empty();
  }
};

void run_multi_split(const multi_split_command& command);

/// --row-offsets and --index-type, which say where the categories of each record begin. Returns --row-offsets.
CLI::Option* add_row_offsets(CLI::App& subcommand, std::string& row_offsets, std::optional<index_type>& type);
/// --sources, a file of record numbers.
void add_sources(CLI::App& subcommand, std::string& sources);

}  // namespace sheaf::cli
