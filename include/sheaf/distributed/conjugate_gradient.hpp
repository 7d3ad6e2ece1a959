#pragma once

#include <sheaf/conjugate_gradient.hpp>
#include <sheaf/distributed/spmv.hpp>

namespace sheaf::distributed {

/// Parts of the rows of a system begin at multiples of this many: layout::even(n, ranks, system_block_rows). Dot
/// products are sums of such blocks, which all ranks add in the order of rows.
constexpr std::uint64_t system_block_rows = 256;

/// Solves A x = b for a symmetric positive definite matrix whose rows lie on all ranks, as sheaf::conjugate_gradient
/// does. Collective.
/// @param a     this rank's rows, with the columns of the whole matrix
/// @param rows  which rank has which rows, and values of b and x; the same on all ranks
/// @param b, x  this rank's values
/// Options are those of sheaf::conjugate_gradient, the same on all ranks but for history and progress, which each rank
/// may have; the iteration ends if the progress function of one returns false. `variant` and `pattern` count for
/// nothing.
/// Every sum is one of the whole vector, in an order that the number of rows alone decides: x, the residuals and the
/// number of iterations have the same bits for any number of ranks. They are those of the CPU's variant cpu.fused
/// there; GPUs have others, which do not depend on how many they are. On CUDA the scalars stay on the device, and the
/// host looks at them after a batch of up to 16 iterations, or where a progress function is to be called. The work is
/// done when the call returns. The call begins with a preparation of the matrix, as prepare_spmv does.
/// @throws error(bad_argument) as sheaf::conjugate_gradient does, if a part does not begin at a multiple of
/// system_block_rows, or if ranks disagree; error(bad_index) as prepare_spmv does, on every rank; and what every call
/// on a group may throw. x keeps its value then.
SHEAF_API conjugate_gradient_result conjugate_gradient(const group& ranks, const csr_view& a, const layout& rows,
                                                       const_values b, values x,
                                                       const conjugate_gradient_options& options = {});

}  // namespace sheaf::distributed
