#pragma once

#include <cstdint>

#include "core/host_device.hpp"

// The hash function of every backend: the finalizers of MurmurHash3. Both are bijections, so two keys are equal if and
// only if their hashes are, and an index keeps the hash in the place of the key.
namespace sheaf::primitives {

SHEAF_HOST_DEVICE constexpr std::uint64_t hash_of(std::uint64_t key) noexcept {
  key ^= key >> 33;
  key *= 0xff51afd7ed558ccdU;
  key ^= key >> 33;
  key *= 0xc4ceb9fe1a85ec53U;
  key ^= key >> 33;
  return key;
}

SHEAF_HOST_DEVICE constexpr std::uint32_t hash_of(std::uint32_t key) noexcept {
  key ^= key >> 16;
  key *= 0x85ebca6bU;
  key ^= key >> 13;
  key *= 0xc2b2ae35U;
  key ^= key >> 16;
  return key;
}

/// The bucket of a hash, below `buckets`, which may be any number. Buckets ascend with the hash, so keys in the order
/// of their hashes are grouped by bucket, by any number of the hash's leading bits, and by key.
SHEAF_HOST_DEVICE inline std::uint64_t bucket_of(std::uint64_t hash, std::uint64_t buckets) noexcept {
#if defined(__CUDA_ARCH__)
  return __umul64hi(hash, buckets);
#else
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<wide>(hash) * buckets >> 64);
#endif
}
/// `buckets` is at most 2^32.
SHEAF_HOST_DEVICE inline std::uint64_t bucket_of(std::uint32_t hash, std::uint64_t buckets) noexcept {
  return hash * buckets >> 32;
}

/// Most buckets that bucket_of() takes for keys of this width.
SHEAF_HOST_DEVICE constexpr std::uint64_t most_buckets(std::uint64_t key_bytes) noexcept {
  return key_bytes == 4 ? std::uint64_t{1} << 32 : ~std::uint64_t{0};
}

}  // namespace sheaf::primitives
