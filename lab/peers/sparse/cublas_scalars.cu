#include "lab/peers/sparse/cublas_scalars.hpp"

namespace sheaf::bench::peers {
namespace {

__global__ void make_alpha(cublas_scalars* s) {
  s->alpha = s->size / s->curvature;
  s->minus_alpha = -s->alpha;
}

__global__ void make_beta(cublas_scalars* s) {
  s->beta = s->next_size / s->size;
  s->size = s->next_size;
}

constexpr unsigned block_threads = 256;

__global__ void divide(const double* r, const double* diagonal, double* z, std::uint64_t count) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) z[i] = r[i] / diagonal[i];
}

}  // namespace

void queue_alpha(cudaStream_t stream, cublas_scalars* s) { make_alpha<<<1, 1, 0, stream>>>(s); }
void queue_beta(cudaStream_t stream, cublas_scalars* s) { make_beta<<<1, 1, 0, stream>>>(s); }

void queue_division(cudaStream_t stream, const double* r, const double* diagonal, double* z, std::uint64_t count) {
  const auto blocks = static_cast<unsigned>((count + block_threads - 1) / block_threads);
  divide<<<blocks, block_threads, 0, stream>>>(r, diagonal, z, count);
}

}  // namespace sheaf::bench::peers
