#include "cuda/sort/words/encoding.hpp"
#include "cuda/sort/words/rows.cuh"

// Rows are encoded as words before a sort, one thread a row: keys that are not whole limbs, keys that take several
// rounds, and keys of whole limbs for cuda.cub. Else the first kernel of a sort encodes rows as it reads them.
namespace sheaf::cuda {
namespace {

using primitives::key_layout;
using primitives::key_number;
using primitives::sort_buffers;
using primitives::sort_problem;

template <int Limbs>
__global__ void __launch_bounds__(block_threads)
    assemble_words(const __grid_constant__ word_source from, const __grid_constant__ key_transform transform,
                   std::uint64_t count, sort_word<Limbs>* words) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= count) return;
  words[i] = read_word<Limbs>(from, transform, static_cast<std::uint32_t>(i));
}

template <class Order>
__device__ __forceinline__ std::uint64_t row_of(const Order* order, std::uint64_t i) {
  return order == nullptr ? i : order[i];
}

template <int Limbs>
__global__ void __launch_bounds__(block_threads)
    extract_round_words(const std::byte* rows, std::uint64_t stride, const __grid_constant__ key_layout key,
                        std::uint64_t count, std::uint32_t low, std::uint32_t bits, const std::uint32_t* order,
                        sort_word<Limbs>* words) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= count) return;
  const key_number all = primitives::key_of(rows + row_of(order, i) * stride, key);
  const key_number number = primitives::bits_from(all, low, bits);
  sort_word<Limbs> word;
  word.limb[0] = static_cast<std::uint32_t>(i);
#pragma unroll
  for (int limb = 1; limb < Limbs; ++limb) {
    word.limb[limb] = static_cast<std::uint32_t>(number.word[(limb - 1) / 2] >> ((limb - 1) % 2 * 32));
  }
  words[i] = word;
}

template <class Order>
__global__ void __launch_bounds__(block_threads)
    extract_round_keys(const std::byte* rows, std::uint64_t stride, const __grid_constant__ key_layout key,
                       std::uint64_t count, std::uint32_t low, std::uint32_t bits, const Order* order,
                       std::uint32_t* keys) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= count) return;
  const key_number all = primitives::key_of(rows + row_of(order, i) * stride, key);
  keys[i] = static_cast<std::uint32_t>(primitives::bits_from(all, low, bits).word[0]);
}

template <class Entry>
__global__ void __launch_bounds__(block_threads)
    gather_order(const std::uint32_t* first, const std::uint32_t* then, std::uint64_t count, Entry* composed) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) composed[i] = first[then[i]];
}

}  // namespace

void encode_rows(const context& ctx, const char* operation, const sort_problem& p, const word_encoding& encoding,
                 const word_mapping& mapping, void* words) {
  with_limbs(encoding.limbs, [&](auto limbs) {
    launch(ctx, operation, assemble_words<limbs()>, ceil_div(p.count, block_threads), mapping.source,
           mapping.target.transform, p.count, static_cast<sort_word<limbs()>*>(words));
  });
}

void encode_round_words(const context& ctx, const char* operation, const sort_problem& p, const sort_buffers& b,
                        std::uint32_t low, std::uint32_t bits, std::uint32_t limbs, const std::uint32_t* order,
                        void* words) {
  with_limbs(limbs, [&](auto of_word) {
    launch(ctx, operation, extract_round_words<of_word()>, ceil_div(p.count, block_threads), b.in.data,
           b.in.stride_bytes, p.key, p.count, low, bits, order, static_cast<sort_word<of_word()>*>(words));
  });
}

void encode_round_keys(const context& ctx, const char* operation, const sort_problem& p, const sort_buffers& b,
                       std::uint32_t low, std::uint32_t bits, const void* order, std::uint32_t order_bytes,
                       std::uint32_t* keys) {
  const std::uint64_t blocks = ceil_div(p.count, block_threads);
  if (order_bytes == 8) {
    launch(ctx, operation, extract_round_keys<unsigned long long>, blocks, b.in.data, b.in.stride_bytes, p.key, p.count,
           low, bits, static_cast<const unsigned long long*>(order), keys);
  } else {
    launch(ctx, operation, extract_round_keys<std::uint32_t>, blocks, b.in.data, b.in.stride_bytes, p.key, p.count, low,
           bits, static_cast<const std::uint32_t*>(order), keys);
  }
}

void compose_orders(const context& ctx, const char* operation, const std::uint32_t* first, const std::uint32_t* then,
                    std::uint64_t count, void* composed, std::uint64_t composed_bytes) {
  const std::uint64_t blocks = ceil_div(count, block_threads);
  if (composed_bytes == 8) {
    launch(ctx, operation, gather_order<unsigned long long>, blocks, first, then, count,
           static_cast<unsigned long long*>(composed));
  } else {
    launch(ctx, operation, gather_order<std::uint32_t>, blocks, first, then, count,
           static_cast<std::uint32_t*>(composed));
  }
}

}  // namespace sheaf::cuda
