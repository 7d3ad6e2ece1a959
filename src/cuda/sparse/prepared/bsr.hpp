#pragma once

#include <memory>

#include "cuda/sparse/sums/sum_rows.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

namespace sheaf::cuda {

struct row_facts;

/// Words of a preparation that looks for blocks, in device memory.
struct block_finding {
  unsigned* sizes;  ///< bit b: all entries lie in blocks of b x b
  unsigned* has_bad_columns;
};

/// Products by the dense blocks of a matrix whose rows are right. Waits for the device. Null where its entries do not
/// lie in blocks, and where columns are bad, which were reported.
std::shared_ptr<primitives::prepared_product> make_bsr(const context& ctx, const primitives::spmv_problem& problem,
                                                       const csr_view& a, const csr_guard& guard,
                                                       const row_facts& facts, const block_finding& words);

}  // namespace sheaf::cuda
