#pragma once

#include <cstdio>
#include <cstdlib>

#include <sheaf/context.hpp>

// The reference shows the parts of these files between two lines `//! [name]` as the example of the call of that name.
namespace calls {

/// Ends the program if an example's answer is wrong.
inline void expect(bool holds, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: not as expected\n", file, line);
  std::exit(1);
}

void show_contexts();
void show_movement(const sheaf::context& ctx);
void show_reductions(const sheaf::context& ctx);
void show_splits(const sheaf::context& ctx);
void show_sorts(const sheaf::context& ctx);
void show_lists(const sheaf::context& ctx);
void show_hash_search(const sheaf::context& ctx);
void show_sparse(const sheaf::context& ctx);
void show_edges(const sheaf::context& ctx);
void show_ranks();

}  // namespace calls
