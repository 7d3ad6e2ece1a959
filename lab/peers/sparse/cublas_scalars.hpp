#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace sheaf::bench::peers {

/// The scalars of an iteration, in device memory. Value is float or double.
template <class Value>
struct cublas_scalars {
  Value size;  ///< r.z, where z = r without a preconditioner
  Value next_size;
  Value squared;    ///< r.r, with a preconditioner
  Value curvature;  ///< p.Ap
  Value alpha;
  Value minus_alpha;
  Value beta;
  Value one;
};

template <class Value>
void queue_alpha(cudaStream_t stream, cublas_scalars<Value>* scalars);  ///< and -alpha
template <class Value>
void queue_beta(cudaStream_t stream, cublas_scalars<Value>* scalars);  ///< and the next r.z becomes that of now
/// z = r / diagonal, number by number.
template <class Value>
void queue_division(cudaStream_t stream, const Value* r, const Value* diagonal, Value* z, std::uint64_t count);

}  // namespace sheaf::bench::peers
