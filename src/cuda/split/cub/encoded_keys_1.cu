#include "cuda/split/cub/encoded_keys.cuh"

namespace sheaf::cuda {

cudaError_t cub_sort_encoded_keys_1(const cub_sort_shape& s, const cub_key_encoding& encoding,
                                    const cub_sort_arrays& arrays, void* scratch, std::size_t& scratch_bytes,
                                    cudaStream_t stream) {
  return cub_sort_encoded_keys<std::uint8_t>(s, encoding, arrays, scratch, scratch_bytes, stream);
}

}  // namespace sheaf::cuda
