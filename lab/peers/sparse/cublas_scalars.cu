#include "lab/peers/sparse/cublas_scalars.hpp"

namespace sheaf::bench::peers {
namespace {

template <class Value>
__global__ void make_alpha(cublas_scalars<Value>* s) {
  s->alpha = s->size / s->curvature;
  s->minus_alpha = -s->alpha;
}

template <class Value>
__global__ void make_beta(cublas_scalars<Value>* s) {
  s->beta = s->next_size / s->size;
  s->size = s->next_size;
}

constexpr unsigned block_threads = 256;

template <class Value>
__global__ void divide(const Value* r, const Value* diagonal, Value* z, std::uint64_t count) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) z[i] = r[i] / diagonal[i];
}

}  // namespace

template <class Value>
void queue_alpha(cudaStream_t stream, cublas_scalars<Value>* s) {
  make_alpha<<<1, 1, 0, stream>>>(s);
}

template <class Value>
void queue_beta(cudaStream_t stream, cublas_scalars<Value>* s) {
  make_beta<<<1, 1, 0, stream>>>(s);
}

template <class Value>
void queue_division(cudaStream_t stream, const Value* r, const Value* diagonal, Value* z, std::uint64_t count) {
  const auto blocks = static_cast<unsigned>((count + block_threads - 1) / block_threads);
  divide<<<blocks, block_threads, 0, stream>>>(r, diagonal, z, count);
}

template void queue_alpha(cudaStream_t, cublas_scalars<float>*);
template void queue_alpha(cudaStream_t, cublas_scalars<double>*);
template void queue_beta(cudaStream_t, cublas_scalars<float>*);
template void queue_beta(cudaStream_t, cublas_scalars<double>*);
template void queue_division(cudaStream_t, const float*, const float*, float*, std::uint64_t);
template void queue_division(cudaStream_t, const double*, const double*, double*, std::uint64_t);

}  // namespace sheaf::bench::peers
