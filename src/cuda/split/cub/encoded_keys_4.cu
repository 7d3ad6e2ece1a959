#include "cuda/split/cub/encoded_keys.cuh"

namespace sheaf::cuda {

bool cub_sorts_encoded_keys() { return SHEAF_CUB_SORTS_ENCODED_KEYS != 0; }

cudaError_t cub_sort_encoded_keys_4(const cub_sort_shape& s, const cub_key_encoding& encoding,
                                    const cub_sort_arrays& arrays, void* scratch, std::size_t& scratch_bytes,
                                    cudaStream_t stream) {
  return cub_sort_encoded_keys<std::uint32_t>(s, encoding, arrays, scratch, scratch_bytes, stream);
}

}  // namespace sheaf::cuda
