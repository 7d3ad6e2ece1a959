#pragma once

#include <memory>

#include "cpu/sparse/row_sums.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

// Matrices whose entries lie in dense blocks of 2 x 2 to 8 x 8 (block compressed rows, BSR), with one column for each
// block.
namespace sheaf::cpu {

constexpr unsigned least_block = 2;
constexpr unsigned most_block = 8;

/// Products by the dense blocks of a matrix, copied; a run has the bits of cpu.rows. Null where not all entries lie in
/// blocks, and where the search met a fault, which it says. A matrix without blocks is left after a few rows, and what
/// is wrong with the others is then not said.
/// @throws error(out_of_memory)
std::shared_ptr<primitives::prepared_product> make_bsr(const context& ctx, const primitives::spmv_problem& problem,
                                                       const csr_view& a, row_faults& faults);

}  // namespace sheaf::cpu
