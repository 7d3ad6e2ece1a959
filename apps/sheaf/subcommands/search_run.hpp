#pragma once

#include <sheaf/hash_search.hpp>

#include "apps/sheaf/command.hpp"
#include "apps/sheaf/files/record_file.hpp"
#include "apps/sheaf/subcommands/files/output_set.hpp"
#include "apps/sheaf/subcommands/files/search_keys.hpp"
#include "apps/sheaf/subcommands/movement.hpp"

// What `sheaf search` does with its keys and its index: the call for each kind of answer, and the files that it writes.
namespace sheaf::cli {

/// The kinds of answers.
enum class wanted : std::uint8_t { matches, first, counts };

/// What `sheaf search` is asked for.
struct search_command {
  common_options common;
  std::string keys;
  std::string table;
  std::string prefix;
  std::string payload;  ///< records for the rows of the table; empty: none
  std::uint64_t key_bytes = 0;
  std::uint64_t record_bytes = 0;
  std::uint64_t payload_bytes = 0;
  std::string table_key;  ///< OFFSET:BYTES or the name of a field; empty: rows are keys
  wanted wants = wanted::matches;
  std::uint32_t load_percent = 0;  ///< of the index; 0: what the backend finds best

  /// The variant of the search, and that of the build: the reference searches its own index alone.
  std::string_view variant() const { return common.variant(); }
  std::string_view build_variant() const {
    return variant().starts_with("reference.") ? variant() : std::string_view();
  }
  hash_build_options build_options() const { return {.load = load_percent / 100.0, .variant = build_variant()}; }
};

/// What a search has found, in host memory.
struct search_report {
  std::uint64_t probes = 0;
  std::uint64_t matches = 0;  ///< of --matches first, keys that some row has
  double build_seconds = 0;
  run_times times;
  explanation plan;
  std::string built_by;
  std::uint64_t records = 0;
  std::uint64_t distinct = 0;
  std::uint64_t longest_chain = 0;
  double load = 0;  ///< load factor of the hash table
};

/// Opens the files of the answer before any work. @param payload  of which records are gathered, if any
void open_outputs(const search_command& command, std::uint64_t probes, const std::optional<io::record_file>& payload,
                  output_set& outputs);

/// A search and its files. Members are what all kinds of searches share.
struct search_run {
  const search_command& command;
  const context& ctx;
  const key_file& keys;
  const_records table;   ///< keys of the rows, in host memory
  const_records probes;  ///< in the context's memory
  const hash_index& index;
  output_set* outputs;  ///< null of a plan
  search_report& report;

  /// Whether there is anything to look for, and to look among.
  bool finds_any() const { return probes.count > 0 && index.count() > 0; }
  /// What the search would do, planned by the views that it gets.
  explanation plan() const;
  hash_search_options options() const { return {.variant = command.variant()}; }
  void find_all(const std::optional<io::record_file>& payload) const;
  void find_first() const;
  void count() const;

 private:
  void gather_records(const io::record_file& file, index_span context_ids, index_span ids) const;
};

}  // namespace sheaf::cli
