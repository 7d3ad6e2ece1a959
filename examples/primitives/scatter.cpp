// Scatter: put records where an index list says. Here readings of sensors arrive in any order, and the last one counts.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

int main() {
  const std::vector<std::uint32_t> sensor{3, 1, 3, 0};
  const std::vector<float> reading{20.5F, 18.0F, 21.0F, 19.5F};
  std::vector<float> latest(5, -1.0F);  // sensors that did not report keep this

  const sheaf::context ctx = sheaf::context::cpu();
  sheaf::scatter(ctx, reading, sensor, latest, {.duplicates = sheaf::duplicates::last});
  ctx.wait();

  for (const float value : latest) std::printf("%.1f\n", value);
}

// Prints:
// 19.5
// 18.0
// -1.0
// 21.0
// -1.0
