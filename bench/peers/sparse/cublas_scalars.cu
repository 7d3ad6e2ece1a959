#include "bench/peers/sparse/cublas_scalars.hpp"

namespace sheaf::bench::peers {
namespace {

__global__ void make_alpha(cublas_scalars* s) {
  s->alpha = s->squared / s->curvature;
  s->minus_alpha = -s->alpha;
}

__global__ void make_beta(cublas_scalars* s) {
  s->beta = s->next_squared / s->squared;
  s->squared = s->next_squared;
}

}  // namespace

void queue_alpha(cudaStream_t stream, cublas_scalars* s) { make_alpha<<<1, 1, 0, stream>>>(s); }
void queue_beta(cudaStream_t stream, cublas_scalars* s) { make_beta<<<1, 1, 0, stream>>>(s); }

}  // namespace sheaf::bench::peers
