#include "cuda/sort/radix/launch.cuh"

namespace sheaf::cuda {

std::uint64_t radix_scratch_bytes(const word_sort& s) {
  return with_limbs(s.limbs, [&](auto limbs) {
    return with_value_width<limbs()>(
        s.value_bytes, [&](auto values) { return radix_scratch(s, tile_words<limbs(), values()>(s), nullptr).bytes; });
  });
}

void run_radix_sort(const context& ctx, const word_sort& s, std::byte* scratch, group_finisher finisher) {
  with_limbs(s.limbs, [&](auto limbs) { run_radix_sort_of<limbs()>(ctx, s, scratch, finisher); });
}

}  // namespace sheaf::cuda
