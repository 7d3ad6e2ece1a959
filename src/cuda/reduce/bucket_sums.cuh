#pragma once

#include "cuda/movement/buckets/scatter.cuh"
#include "cuda/reduce/segmented_sum.cuh"
#include "cuda/reduce/terms.cuh"

// The kernel that adds up the buckets of cuda.bucketed, and what the passes that fill them do with a term of a sum.
namespace sheaf::cuda {

/// A value as a word of the bucketing passes, which add it to its slot where its bucket is full.
template <class T>
struct term {
  T value;
};

template <class T>
__device__ __forceinline__ term<T> load_once(const term<T>* from) {
  return {__ldcs(&from->value)};
}
template <class T>
__device__ __forceinline__ void store_once(term<T>* to, term<T> word) {
  __stcs(&to->value, word.value);
}
template <class T>
__device__ __forceinline__ void leave_at(std::byte* slot, const term<T>& word, bool subtracts) {
  add_to(reinterpret_cast<T*>(slot), term_of(word.value, subtracts));
}

template <class T>
struct bucket_sums_of {
  const std::uint16_t* index;  ///< slots of the terms, in their bucket
  const term<T>* terms;
  const std::uint32_t* sizes;  ///< terms sent to each bucket, some of which were left at their slots
  std::uint64_t capacity;      ///< terms that a bucket holds
  std::uint32_t bucket_bits;   ///< log2 of the slots of a bucket
  std::uint32_t buckets;
  T* out;
  bool subtracts;
  order_sample sample;
  std::uint32_t* tile_counter;  ///< null if the list is known to be scattered
};

/// A block adds up a bucket in shared memory, and then adds the sums to the output. Where no term came to a slot its
/// sum stays -0.0, which changes nothing, and the slot is not touched.
template <class T>
__global__ void __launch_bounds__(write_threads) add_buckets(const __grid_constant__ bucket_sums_of<T> args) {
  constexpr int items = 8;
  using word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
  extern __shared__ __align__(16) unsigned char shared[];
  T* const sums = reinterpret_cast<T*>(shared);
  const std::uint32_t slots = 1U << args.bucket_bits;
  wait_for_kernel_before();
  if (args.tile_counter != nullptr && !verdict_is_scattered(args.sample)) return;
  const tile_scheduler schedule(args.tile_counter);
  for (std::uint64_t bucket = schedule.first(); bucket < args.buckets; bucket = schedule.next(bucket)) {
    if (args.tile_counter != nullptr) __syncthreads();
    const auto size = static_cast<std::uint32_t>(min(std::uint64_t{args.sizes[bucket]}, args.capacity));
    if (size == 0) continue;
    for (std::uint32_t i = threadIdx.x; i < slots; i += write_threads) sums[i] = empty_sum<T>;
    __syncthreads();
    const std::uint16_t* const index = args.index + bucket * args.capacity;
    const term<T>* const terms = args.terms + bucket * args.capacity;
    for (std::uint32_t first = threadIdx.x; first < size; first += write_threads * items) {
      std::uint16_t slot[items];
      T value[items];
#pragma unroll
      for (int k = 0; k < items; ++k) {
        const std::uint32_t i = min(first + k * write_threads, size - 1);
        slot[k] = __ldcs(index + i);
        value[k] = term_of(load_once(terms + i).value, args.subtracts);
      }
#pragma unroll
      for (int k = 0; k < items; ++k) {
        if (first + k * write_threads >= size) continue;
        if constexpr (std::is_integral_v<T>) {
          atomicAdd(reinterpret_cast<word*>(sums + slot[k]), static_cast<word>(value[k]));
        } else {
          atomicAdd(sums + slot[k], value[k]);
        }
      }
    }
    __syncthreads();
    T* const out = args.out + (std::uint64_t{bucket} << args.bucket_bits);
#pragma unroll 8
    for (std::uint32_t i = threadIdx.x; i < slots; i += write_threads) {
      const T sum = sums[i];
      if (!is_empty_sum(sum)) out[i] += sum;
    }
    __syncthreads();
  }
}

}  // namespace sheaf::cuda
