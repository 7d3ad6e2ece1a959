#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace sheaf::bench::peers {

/// The scalars of an iteration, in device memory.
struct cublas_scalars {
  double size;  ///< r.z, where z = r without a preconditioner
  double next_size;
  double squared;    ///< r.r, with a preconditioner
  double curvature;  ///< p.Ap
  double alpha;
  double minus_alpha;
  double beta;
  double one;
};

void queue_alpha(cudaStream_t stream, cublas_scalars* scalars);  ///< and -alpha
void queue_beta(cudaStream_t stream, cublas_scalars* scalars);   ///< and the next r.z becomes that of now
/// z = r / diagonal, number by number.
void queue_division(cudaStream_t stream, const double* r, const double* diagonal, double* z, std::uint64_t count);

}  // namespace sheaf::bench::peers
