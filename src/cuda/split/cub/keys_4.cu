#include "cuda/split/cub/calls.cuh"

namespace sheaf::cuda {

cudaError_t cub_sort_keys_4(const cub_sort_shape& s, const cub_sort_arrays& arrays, void* scratch,
                            std::size_t& scratch_bytes, cudaStream_t stream) {
  return s.are_signed ? cub_sort_numbers<std::int32_t>(s, arrays, scratch, scratch_bytes, stream)
                      : cub_sort_numbers<std::uint32_t>(s, arrays, scratch, scratch_bytes, stream);
}

}  // namespace sheaf::cuda
