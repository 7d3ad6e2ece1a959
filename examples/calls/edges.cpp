#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "calls.hpp"

namespace calls {

void show_edges(const sheaf::context& ctx) {
  //! [edge_view]
  const std::vector<std::uint32_t> ends{0, 1, 1, 2};  // edges from node 0 to 1 and from 1 to 2
  const sheaf::edge_view edges(ends);
  const std::vector<std::uint32_t> from{0, 1}, to{1, 2};
  const sheaf::edge_view the_same(from, to);  // of ends in two arrays
  //! [edge_view]
  expect(the_same.count == edges.count);
  {
    //! [edge_sum]
    const std::vector<double> heat{1, 4, 9};
    std::vector<double> flow(3);
    sheaf::edge_sum(ctx, edges, heat, {}, flow, 1, sheaf::edge_function::weighted_difference);  // 3, 2, -5

    // By a function of one's own, on the CPU: nodes of one component, one weight an edge, contributions of one.
    const std::vector<double> conductance{2, 0.5};
    const auto conduct = [](const double* first, const double* second, const double* weight, double* contribution) {
      contribution[0] = weight[0] * (second[0] - first[0]);
    };
    sheaf::edge_sum<1, 1>(ctx, edges, heat, conductance, flow, conduct);  // 6, -3.5, -2.5
    ctx.wait();
    //! [edge_sum]
    expect(flow == std::vector<double>{6, -3.5, -2.5});
    //! [explain_edge_sum]
    const auto plan = sheaf::explain_edge_sum(ctx, edges, heat, {}, flow, 1, sheaf::edge_function::weighted_difference);
    std::printf("%s\n", plan.choice()->variant.c_str());
    //! [explain_edge_sum]
    //! [prepare_edge_sum]
    const sheaf::prepared_edge_sum sum = sheaf::prepare_edge_sum(ctx, edges, 3, 1, 1000);  // 3 nodes of 1 component
    //! [prepare_edge_sum]
    //! [prepared_edge_sum]
    sum.run(heat, {}, flow, sheaf::edge_function::weighted_difference);  // 3, 2, -5
    sum.run<1, 1>(heat, conductance, flow, conduct);                     // by the caller's function
    std::printf("runs are of %s\n", sum.report().run_variant.c_str());
    //! [prepared_edge_sum]
    ctx.wait();
    expect(flow == std::vector<double>{6, -3.5, -2.5});
    //! [explain_prepare_edge_sum]
    const auto prepared_plan = sheaf::explain_prepare_edge_sum(ctx, edges, 3, 1, 1000);
    std::printf("%s\n", prepared_plan.choice()->variant.c_str());
    //! [explain_prepare_edge_sum]
  }
}

}  // namespace calls
