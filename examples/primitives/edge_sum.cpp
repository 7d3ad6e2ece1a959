// Sums over edges: each edge of a mesh adds to one of its nodes and subtracts from the other. Here heat flows between
// the nodes of a square, along its sides and a diagonal that conducts half as well, and no heat is lost.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

int main() {
  const std::vector<std::uint32_t> ends{0, 1, 1, 2, 2, 3, 3, 0, 0, 2};  // both ends of an edge side by side
  const std::vector<double> conductance{1, 1, 1, 1, 0.5};
  std::vector<double> heat{8, 0, 0, 0}, flow(4);

  const sheaf::context ctx = sheaf::context::cpu();
  const sheaf::prepared_edge_sum sum = sheaf::prepare_edge_sum(ctx, sheaf::edge_view(ends), 4, 1, 100);
  for (int step = 0; step < 100; ++step) {
    sum.run(heat, conductance, flow, sheaf::edge_function::weighted_difference);  // conductance (u_j - u_i)
    for (std::size_t node = 0; node < heat.size(); ++node) heat[node] += 0.1 * flow[node];
  }
  ctx.wait();

  for (const double u : heat) std::printf("%.2f\n", u);
}

// Prints:
// 2.00
// 2.00
// 2.00
// 2.00
