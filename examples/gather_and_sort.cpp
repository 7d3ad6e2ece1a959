#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

int main() {
  const std::vector<float> table{0.0f, 0.1f, 0.2f, 0.3f, 0.4f};
  const std::vector<int> index{4, 0, 2, 2};
  std::vector<float> rows(index.size()), sorted(index.size());
  const sheaf::context ctx = sheaf::context::cpu();
  sheaf::gather(ctx, table, index, rows);                     // rows[i] = table[index[i]]
  sheaf::sort_keys(ctx, rows, sorted, {.descending = true});  // highest first
  ctx.wait();                                                 // throws sheaf::error
  for (const float value : sorted) std::printf("%.1f\n", value);
}
