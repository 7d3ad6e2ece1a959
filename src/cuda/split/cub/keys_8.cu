#include "cuda/split/cub/calls.cuh"

namespace sheaf::cuda {

cudaError_t cub_sort_keys_8(const cub_sort_shape& s, const cub_sort_arrays& arrays, void* scratch,
                            std::size_t& scratch_bytes, cudaStream_t stream) {
  if (s.are_signed) return cub_sort_numbers<std::int64_t>(s, arrays, scratch, scratch_bytes, stream);
  if (s.value_bytes == 16) return cub_sort_pairs<uint4, std::uint64_t>(s, arrays, scratch, scratch_bytes, stream);
  return cub_sort_numbers<std::uint64_t>(s, arrays, scratch, scratch_bytes, stream);
}

}  // namespace sheaf::cuda
