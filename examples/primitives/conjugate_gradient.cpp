// Conjugate gradient: solve A x = b for a symmetric positive definite matrix. Here springs hold a row of masses, each
// pulled by a force of 1, and x is how far each one moves.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

int main() {
  constexpr std::uint32_t masses = 5;
  std::vector<std::uint32_t> offsets{0}, columns;
  std::vector<double> entries;
  for (std::uint32_t i = 0; i < masses; ++i) {
    if (i > 0) columns.push_back(i - 1), entries.push_back(-1);
    columns.push_back(i), entries.push_back(2);
    if (i + 1 < masses) columns.push_back(i + 1), entries.push_back(-1);
    offsets.push_back(static_cast<std::uint32_t>(columns.size()));
  }
  const std::vector<double> force(masses, 1.0);
  std::vector<double> moved(masses, 0.0);

  const sheaf::context ctx = sheaf::context::cpu();
  const auto result = sheaf::conjugate_gradient(ctx, {masses, masses, offsets, columns, entries}, force, moved);
  std::printf("%s after %d iterations\n", sheaf::name(result.reason).data(), static_cast<int>(result.iterations));
  for (const double x : moved) std::printf("%.1f\n", x);
}

// Prints:
// converged after 3 iterations
// 2.5
// 4.0
// 4.5
// 4.0
// 2.5
