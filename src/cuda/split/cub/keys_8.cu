#include "cuda/split/cub/calls.cuh"

namespace sheaf::cuda {

cudaError_t cub_sort_keys_8(const cub_sort_shape& s, const cub_sort_arrays& arrays, void* scratch,
                            std::size_t& scratch_bytes, cudaStream_t stream) {
  using key = std::uint64_t;
  switch (s.value_bytes) {
    case 0: return cub_sort_keys<key>(s, arrays, scratch, scratch_bytes, stream);
    case 4: return cub_sort_pairs<std::uint32_t, key>(s, arrays, scratch, scratch_bytes, stream);
    case 8: return cub_sort_pairs<std::uint64_t, key>(s, arrays, scratch, scratch_bytes, stream);
    default: return cub_sort_pairs<uint4, key>(s, arrays, scratch, scratch_bytes, stream);
  }
}

}  // namespace sheaf::cuda
