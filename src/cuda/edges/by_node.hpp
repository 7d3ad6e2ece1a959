#pragma once

#include <memory>

#include "cuda/edges/lists.hpp"
#include "primitives/edges/prepare.hpp"

namespace sheaf::cuda {

/// Predicted seconds of a run over lists of both ends of all edges.
double by_node_seconds(const primitives::edge_sum_problem& p, const machine& m);

/// Makes the executor of cuda.by_node, which waits for the device. `longest` and the layout's parts are in scratch.
std::shared_ptr<primitives::prepared_edges> make_by_node(const context& ctx, const primitives::edge_sum_problem& p,
                                                         const edge_kernels::end_arrays& edges,
                                                         const list_layout& layout, std::byte* scratch,
                                                         unsigned long long* first_bad, unsigned long long* longest);

}  // namespace sheaf::cuda
