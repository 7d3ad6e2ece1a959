#include "cuda/sparse/sums/sum_rows.cuh"

namespace sheaf::cuda {

template void multiply_rows_as<float, double>(const context&, const char*, const primitives::spmv_problem&,
                                              const rows_decision&, const primitives::spmv_buffers&, const csr_guard&,
                                              const x_source&, std::byte*, const std::uint32_t*);

}  // namespace sheaf::cuda
