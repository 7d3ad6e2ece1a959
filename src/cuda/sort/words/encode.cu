#include "cuda/sort/words/encoding.hpp"
#include "cuda/sort/words/rows.cuh"

// Rows into words, before a sort: streamed, a thread for each row.
namespace sheaf::cuda {
namespace {

using primitives::key_layout;
using primitives::key_number;
using primitives::sort_buffers;
using primitives::sort_problem;

template <int Limbs>
__global__ void __launch_bounds__(block_threads)
    copy_words(const __grid_constant__ word_source from, const __grid_constant__ key_change change, std::uint64_t count,
               sort_word<Limbs>* words) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= count) return;
  words[i] = read_word<Limbs>(from, change, static_cast<std::uint32_t>(i));
}

template <class Order>
__device__ __forceinline__ std::uint64_t row_of(const Order* order, std::uint64_t i) {
  return order == nullptr ? i : order[i];
}

template <int Limbs>
__global__ void __launch_bounds__(block_threads)
    read_round_words(const std::byte* rows, std::uint64_t stride, const __grid_constant__ key_layout key,
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
    read_round_keys(const std::byte* rows, std::uint64_t stride, const __grid_constant__ key_layout key,
                    std::uint64_t count, std::uint32_t low, std::uint32_t bits, const Order* order,
                    std::uint32_t* keys) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= count) return;
  const key_number all = primitives::key_of(rows + row_of(order, i) * stride, key);
  keys[i] = static_cast<std::uint32_t>(primitives::bits_from(all, low, bits).word[0]);
}

template <class To>
__global__ void __launch_bounds__(block_threads)
    read_by_place(const std::uint32_t* order, const std::uint32_t* place, std::uint64_t count, To* to) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) to[i] = order[place[i]];
}

template <class Body>
void with_parts(std::uint32_t limbs, Body body) {
  switch (limbs) {
    case 1: return body(std::integral_constant<int, 1>{});
    case 2: return body(std::integral_constant<int, 2>{});
    case 3: return body(std::integral_constant<int, 3>{});
    default: return body(std::integral_constant<int, 4>{});
  }
}

}  // namespace

void make_words(const context& ctx, const char* what, const sort_problem& p, const word_encoding& form,
                const word_route& route, void* words) {
  with_parts(form.limbs, [&](auto limbs) {
    launch(ctx, what, copy_words<limbs()>, ceil_div(p.count, block_threads), route.from, route.to.change, p.count,
           static_cast<sort_word<limbs()>*>(words));
  });
}

void make_round_words(const context& ctx, const char* what, const sort_problem& p, const sort_buffers& b,
                      std::uint32_t low, std::uint32_t bits, std::uint32_t limbs, const std::uint32_t* order,
                      void* words) {
  with_parts(limbs, [&](auto of_word) {
    launch(ctx, what, read_round_words<of_word()>, ceil_div(p.count, block_threads), b.in.data, b.in.stride_bytes,
           p.key, p.count, low, bits, order, static_cast<sort_word<of_word()>*>(words));
  });
}

void make_round_keys(const context& ctx, const char* what, const sort_problem& p, const sort_buffers& b,
                     std::uint32_t low, std::uint32_t bits, const void* order, std::uint32_t order_bytes,
                     std::uint32_t* keys) {
  const std::uint64_t blocks = ceil_div(p.count, block_threads);
  if (order_bytes == 8) {
    launch(ctx, what, read_round_keys<unsigned long long>, blocks, b.in.data, b.in.stride_bytes, p.key, p.count, low,
           bits, static_cast<const unsigned long long*>(order), keys);
  } else {
    launch(ctx, what, read_round_keys<std::uint32_t>, blocks, b.in.data, b.in.stride_bytes, p.key, p.count, low, bits,
           static_cast<const std::uint32_t*>(order), keys);
  }
}

void follow_order(const context& ctx, const char* what, const std::uint32_t* order, const std::uint32_t* place,
                  std::uint64_t count, void* to, std::uint64_t to_bytes) {
  const std::uint64_t blocks = ceil_div(count, block_threads);
  if (to_bytes == 8) {
    launch(ctx, what, read_by_place<unsigned long long>, blocks, order, place, count,
           static_cast<unsigned long long*>(to));
  } else {
    launch(ctx, what, read_by_place<std::uint32_t>, blocks, order, place, count, static_cast<std::uint32_t*>(to));
  }
}

}  // namespace sheaf::cuda
