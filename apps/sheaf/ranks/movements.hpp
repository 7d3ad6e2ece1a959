#pragma once

#include <string>
#include <vector>

#include "apps/sheaf/ranks/process.hpp"
#include "apps/sheaf/subcommands/movement.hpp"

// Subcommands on ranks: each reads its rows of the input, and writes its rows of the output. Ranks are `threads`, or
// what work_on_ranks() takes where there are none.
namespace sheaf::cli {

/// A sort, or a split, of which ranks have equal parts.
sized_call sorted_call(const distributed::sort_size& size);

struct sort_on_ranks_options {
  const common_options& common;
  std::string in;
  std::string output;
  std::vector<std::string> keys;
  std::uint64_t record_bytes = 0;
  bool descending = false;
};
void sort_on_ranks(const sort_on_ranks_options& options, const rank_threads& threads = {});

void gather_on_ranks(const movement_options& options, const rank_threads& threads = {});

}  // namespace sheaf::cli
