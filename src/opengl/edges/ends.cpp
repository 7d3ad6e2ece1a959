#include "opengl/edges/ends.hpp"

namespace sheaf::opengl {

void report_bad_end(opengl_state& state, const primitives::edge_sum_problem& p, const edge_view& edges,
                    std::uint64_t first_bad, primitives::edge_call by, std::uint64_t call) {
  if (first_bad != no_edge) state.keep_first(bad_end_of(p, edges, first_bad, by, call));
}

}  // namespace sheaf::opengl
