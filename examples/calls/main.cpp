#include "calls.hpp"

#include <sheaf/error.hpp>

int main() try {
  const sheaf::context ctx = sheaf::context::cpu(2);
  calls::show_contexts();
  calls::show_movement(ctx);
  calls::show_reductions(ctx);
  calls::show_splits(ctx);
  calls::show_sorts(ctx);
  calls::show_lists(ctx);
  calls::show_hash_search(ctx);
  calls::show_sparse(ctx);
  calls::show_edges(ctx);
  calls::show_ranks();
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
