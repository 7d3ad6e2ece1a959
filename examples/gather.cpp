#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

int main() try {
  const std::vector<float> table{0.0f, 0.1f, 0.2f, 0.3f, 0.4f};
  const std::vector<std::uint32_t> index{4, 0, 2, 2};
  std::vector<float> out(index.size());

  const sheaf::context ctx = sheaf::context::cpu();
  sheaf::gather(ctx, table, index, out);
  ctx.wait();

  for (const float value : out) std::printf("%.1f\n", value);
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
