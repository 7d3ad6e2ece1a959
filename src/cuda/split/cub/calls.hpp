#pragma once

#include <cuda_runtime_api.h>

#include "cuda/split/cub/radix_sort.hpp"

// CUB's calls, one for each width of keys and either kind of them, each in a file of its own: an instance of CUB's sort
// takes some ten seconds to compile for each architecture. Where scratch is null, a call only says how many bytes it
// wants.
namespace sheaf::cuda {

cudaError_t cub_sort_keys_4(const cub_sort_shape& shape, const cub_sort_arrays& arrays, void* scratch,
                            std::size_t& scratch_bytes, cudaStream_t stream);
cudaError_t cub_sort_keys_8(const cub_sort_shape& shape, const cub_sort_arrays& arrays, void* scratch,
                            std::size_t& scratch_bytes, cudaStream_t stream);

/// Whether sorts of encoded keys are built: they use what CUB does not document (encoded_keys.cuh). Bits is the
/// unsigned integer of a key's width, of 1 to 8 bytes.
template <class Bits>
bool cub_sorts_encoded_keys();
template <class Bits>
cudaError_t cub_sort_encoded_keys(const cub_sort_shape& shape, const cub_key_encoding& encoding,
                                  const cub_sort_arrays& arrays, void* scratch, std::size_t& scratch_bytes,
                                  cudaStream_t stream);

}  // namespace sheaf::cuda
