#include "cuda/split/steps.hpp"

#include "cuda/block/category.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"

namespace sheaf::cuda {
namespace {

template <class Word>
__global__ void __launch_bounds__(block_threads)
    search_offsets(const Word* words, std::uint64_t count, word_field field, std::uint64_t categories,
                   std::uint64_t* offsets) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t category = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; category <= categories;
       category += step) {
    std::uint64_t begin = 0;
    std::uint64_t end = count;
    while (begin < end) {
      const std::uint64_t middle = begin + (end - begin) / 2;
      if (category_of(__ldg(words + middle), field) < category) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    offsets[category] = begin;
  }
}

}  // namespace

void find_offsets(const context& ctx, const void* words, std::uint32_t word_bytes, std::uint64_t count,
                  const bit_field& bits, std::uint64_t categories, std::uint64_t* offsets) {
  if (offsets == nullptr) return;
  constexpr std::uint64_t most_blocks = 1 << 16;
  const std::uint64_t blocks = std::min(ceil_div(categories + 1, block_threads), most_blocks);
  const word_field field = word_field_of(bits, word_bytes);
  with_word(word_bytes, [&](auto word) {
    using Word = decltype(word);
    launch(ctx, search_offsets<Word>, blocks, static_cast<const Word*>(words), count, field, categories, offsets);
  });
}

}  // namespace sheaf::cuda
