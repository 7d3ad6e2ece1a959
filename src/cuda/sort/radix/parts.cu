#include "cuda/sort/radix/parts.cuh"

namespace sheaf::cuda {

std::uint64_t part_sort_scratch_bytes(const word_sort& s, const words_in_parts& list) {
  return s.limbs == 1 ? part_sort_scratch_bytes_of<1>(s, list) : part_sort_scratch_bytes_of<2>(s, list);
}

void sort_in_parts(const context& ctx, const word_sort& s, const words_in_parts& list, std::byte* scratch) {
  s.limbs == 1 ? sort_in_parts_of<1>(ctx, s, list, scratch) : sort_in_parts_of<2>(ctx, s, list, scratch);
}

}  // namespace sheaf::cuda
