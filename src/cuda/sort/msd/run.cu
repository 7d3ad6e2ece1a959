#include "cuda/sort/msd/launch.cuh"

namespace sheaf::cuda {

std::uint64_t msd_scratch_bytes(const word_sort& s) {
  return with_limbs(s.limbs, [&](auto limbs) { return msd_scratch(s, pass_tile_words<limbs()>, nullptr).bytes; });
}

void run_msd_sort(const context& ctx, const char* operation, const word_sort& s, std::byte* scratch) {
  with_limbs(s.limbs, [&](auto limbs) { run_msd_sort_of<limbs()>(ctx, operation, s, scratch); });
}

}  // namespace sheaf::cuda
