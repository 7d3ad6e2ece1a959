#pragma once

#include "distributed/sparse/matrix_part.hpp"

// Checks of the arguments of products and systems. Each throws bad_argument, naming the call.
namespace sheaf::distributed {

void require_matrix(std::string_view call, const group_state& state, const csr_view& a, const layout& rows,
                    const layout& columns);
void require_vector(std::string_view call, const group_state& state, std::string_view what, const_values v,
                    std::uint64_t count, value_type type);

}  // namespace sheaf::distributed
