#include "cuda/device/launch.cuh"
#include "cuda/sort/words/encoding.hpp"
#include "cuda/sort/words/limbs.cuh"

// Keys are extracted from rows before a sort, one thread a row, where no kernel of the sort encodes rows as it reads
// them.
namespace sheaf::cuda {
namespace {

using namespace primitives;

template <int Limbs, class Order, bool IsNarrow>
__global__ void __launch_bounds__(block_threads)
    extract_key_words(const std::byte* rows, std::uint64_t stride, const __grid_constant__ key_layout key,
                      std::uint64_t count, std::uint32_t low, std::uint32_t bits, const Order* order,
                      sort_word<Limbs>* words) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= count) return;
  const std::uint64_t row = order == nullptr ? i : order[i];
  key_number number;
  if constexpr (IsNarrow) {
    number.word[0] = narrow_key_of(rows + row * stride, key);
  } else {
    number = bits_from(key_of(rows + row * stride, key), low, bits);
  }
  const std::uint32_t shift = lowest_key_bit(Limbs, bits) % 32;
  sort_word<Limbs> word;
  if constexpr (Limbs == 4) {  // more than 64 bits, above the row number
    const auto limb = [&](int l) { return static_cast<std::uint32_t>(number.word[l / 2] >> (l % 2 * 32)); };
    word = {static_cast<std::uint32_t>(i), limb(0) << shift, __funnelshift_l(limb(0), limb(1), shift),
            __funnelshift_l(limb(1), limb(2), shift)};
  } else {
    const std::uint64_t shifted = number.word[0] << lowest_key_bit(Limbs, bits);
    word.limb[0] = static_cast<std::uint32_t>(shifted);
    if constexpr (Limbs == 2) word.limb[1] = static_cast<std::uint32_t>(shifted >> 32);
  }
  words[i] = word;
}

template <int Limbs, class Order, bool IsNarrow = false>
void launch_extraction(const context& ctx, const sort_problem& p, const sort_buffers& b, std::uint32_t low,
                       std::uint32_t bits, const void* order, void* words) {
  launch(ctx, extract_key_words<Limbs, Order, IsNarrow>, ceil_div(p.count, block_threads), b.in.data, b.in.stride_bytes,
         p.key, p.count, low, bits, static_cast<const Order*>(order), static_cast<sort_word<Limbs>*>(words));
}

}  // namespace

void extract_words(const context& ctx, const sort_problem& problem, const sort_buffers& buffers, std::uint32_t limbs,
                   std::uint32_t low, std::uint32_t bits, const void* order, std::uint64_t order_bytes, void* words) {
  const bool is_whole = order == nullptr && bits == problem.key.bits;
  const auto launch_for =
      is_whole && is_narrow(problem.key)
          ? (limbs == 1 ? launch_extraction<1, std::uint32_t, true> : launch_extraction<2, std::uint32_t, true>)
      : limbs == 4       ? launch_extraction<4, std::uint32_t>
      : order_bytes == 4 ? (limbs == 1 ? launch_extraction<1, std::uint32_t> : launch_extraction<2, std::uint32_t>)
      : limbs == 1       ? launch_extraction<1, std::uint64_t>
                         : launch_extraction<2, std::uint64_t>;
  launch_for(ctx, problem, buffers, low, bits, order, words);
}

}  // namespace sheaf::cuda
