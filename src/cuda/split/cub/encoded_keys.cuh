#pragma once

#include <cuda/std/tuple>

#include "cuda/split/cub/calls.cuh"

// Sorts of keys that passes encode as they load them. CUB knows signed numbers and floats, but takes both zeros for one
// key, has kernels of its own for each type and for descending keys, and cannot set bad keys apart. Here one type of
// key has an encoding that is an argument of the kernels, so that one set of them sorts all types both ways. (Ascending
// integers of 4 and 8 bytes need no encoding.) CUB passes such an argument on as the decomposer of a key that is not a
// number, and takes the rest from `traits_t` of that key. That interface is not documented: the sorts are built with
// the major version of CUB that they were written for, and rejected with others.
#if CUB_MAJOR_VERSION == 3
#define SHEAF_CUB_SORTS_ENCODED_KEYS 1
#else
#define SHEAF_CUB_SORTS_ENCODED_KEYS 0
#endif

#if SHEAF_CUB_SORTS_ENCODED_KEYS
namespace sheaf::cuda {

/// A key as the caller wrote it. CUB takes it for no number, because it has no traits of one.
template <class Bits>
struct encoded_key {
  Bits bits;
};

/// A digit of an encoded key.
template <class Bits>
struct encoded_digit {
  std::uint32_t first_bit;
  std::uint32_t mask;

  __host__ __device__ __forceinline__ std::uint32_t Digit(Bits key) const {
    return static_cast<std::uint32_t>(key >> first_bit) & mask;
  }
};

/// A cub_key_encoding, prepared so that keys are encoded and decoded without a branch.
template <class Bits>
class key_encoder {
 public:
  explicit key_encoder(const cub_key_encoding& e)
      : encoding_bits_(static_cast<Bits>(e.flipped_bits[0])),
        decoding_bits_(static_cast<Bits>(e.flipped_bits[flips_highest_bit(e) ? 1 : 0])),
        bits_that_differ_(static_cast<Bits>(e.flipped_bits[0] ^ e.flipped_bits[1])),
        most_(static_cast<Bits>(e.most)) {}

  __host__ __device__ __forceinline__ Bits encoded(Bits key) const {
    key ^= encoding_bits_ ^ (copies_of_highest_bit(key) & bits_that_differ_);
    return key > most_ ? static_cast<Bits>(~Bits{0}) : key;
  }
  __host__ __device__ __forceinline__ Bits decoded(Bits key) const {
    return static_cast<Bits>(key ^ decoding_bits_ ^ (copies_of_highest_bit(key) & bits_that_differ_));
  }
  /// CUB asks of every decomposer which numbers a key consists of.
  __host__ __device__ ::cuda::std::tuple<Bits&> operator()(encoded_key<Bits>& key) const { return {key.bits}; }

 private:
  static constexpr unsigned highest_bit = sizeof(Bits) * 8 - 1;

  // Either mask flips the highest bit, or neither does. In the first case a key was encoded by the mask that its
  // highest bit does not say any more.
  static bool flips_highest_bit(const cub_key_encoding& e) { return (e.flipped_bits[0] >> highest_bit & 1) != 0; }
  static __host__ __device__ __forceinline__ Bits copies_of_highest_bit(Bits key) {
    return static_cast<Bits>(static_cast<std::make_signed_t<Bits>>(key) >> highest_bit);
  }

  Bits encoding_bits_;
  Bits decoding_bits_;
  Bits bits_that_differ_;
  Bits most_;
};

}  // namespace sheaf::cuda

CUB_NAMESPACE_BEGIN
namespace detail::radix {

/// What CUB's kernels ask of a type of keys.
template <class Bits>
struct traits_t<::sheaf::cuda::encoded_key<Bits>, false> {
  using bit_ordered_type = Bits;
  using encoder = ::sheaf::cuda::key_encoder<Bits>;
  using digit = ::sheaf::cuda::encoded_digit<Bits>;

  struct bit_ordered_conversion_policy {
    static __host__ __device__ __forceinline__ Bits to_bit_ordered(const encoder& e, Bits key) {
      return e.encoded(key);
    }
    static __host__ __device__ __forceinline__ Bits from_bit_ordered(const encoder& e, Bits key) {
      return e.decoded(key);
    }
  };
  struct bit_ordered_inversion_policy {
    static __host__ __device__ __forceinline__ Bits inverse(const encoder&, Bits key) {
      return static_cast<Bits>(~key);
    }
  };

  template <class, class>
  using digit_extractor_t = digit;
  template <class>
  static __host__ __device__ __forceinline__ digit digit_extractor(int first_bit, int bits, const encoder&) {
    return {static_cast<std::uint32_t>(first_bit), (1U << bits) - 1};
  }
  static __host__ __device__ __forceinline__ Bits min_raw_binary_key(const encoder& e) { return e.decoded(0); }
  /// Tiles are filled up with this key, which has to be all ones once it is encoded.
  static __host__ __device__ __forceinline__ Bits max_raw_binary_key(const encoder& e) {
    return e.decoded(static_cast<Bits>(~Bits{0}));
  }
  static __host__ __device__ __forceinline__ int default_end_bit(const encoder&) { return sizeof(Bits) * 8; }
};

}  // namespace detail::radix
CUB_NAMESPACE_END
#endif

namespace sheaf::cuda {

template <class Bits>
bool cub_sorts_encoded_keys() {
  return SHEAF_CUB_SORTS_ENCODED_KEYS != 0;
}

template <class Bits>
cudaError_t cub_sort_encoded_keys([[maybe_unused]] const cub_sort_shape& shape,
                                  [[maybe_unused]] const cub_key_encoding& encoding,
                                  [[maybe_unused]] const cub_sort_arrays& arrays, [[maybe_unused]] void* scratch,
                                  [[maybe_unused]] std::size_t& scratch_bytes, [[maybe_unused]] cudaStream_t stream) {
#if SHEAF_CUB_SORTS_ENCODED_KEYS
  using key = encoded_key<Bits>;
  const key_encoder<Bits> encoder(encoding);
  switch (shape.value_bytes) {
    case 0: return cub_sort_keys<key>(shape, arrays, scratch, scratch_bytes, stream, encoder);
    case 4: return cub_sort_pairs<std::uint32_t, key>(shape, arrays, scratch, scratch_bytes, stream, encoder);
    default: return cub_sort_pairs<std::uint64_t, key>(shape, arrays, scratch, scratch_bytes, stream, encoder);
  }
#else
  return cudaErrorNotSupported;
#endif
}

}  // namespace sheaf::cuda
