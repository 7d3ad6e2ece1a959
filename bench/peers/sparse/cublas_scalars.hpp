#pragma once

#include <cuda_runtime_api.h>

namespace sheaf::bench::peers {

/// The scalars of an iteration, in device memory.
struct cublas_scalars {
  double squared;  ///< r.r
  double next_squared;
  double curvature;  ///< p.Ap
  double alpha;
  double minus_alpha;
  double beta;
  double one;
};

void queue_alpha(cudaStream_t stream, cublas_scalars* s);  ///< and -alpha
void queue_beta(cudaStream_t stream, cublas_scalars* s);   ///< and the next r.r becomes that of now

}  // namespace sheaf::bench::peers
