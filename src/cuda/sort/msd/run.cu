#include "cuda/sort/msd/launch.cuh"

namespace sheaf::cuda {

std::uint64_t msd_scratch_bytes(const word_sort& s) {
  return with_limbs(s.limbs, [&](auto limbs) { return msd_scratch(s, pass_tile_words<limbs()>, nullptr).bytes; });
}

void run_msd_sort(const context& ctx, const char* operation, const word_sort& s, std::byte* scratch) {
  if (s.value_bytes > 0) {
    return s.limbs == 1 ? run_pair_sort<1>(ctx, operation, s, scratch) : run_pair_sort<2>(ctx, operation, s, scratch);
  }
  with_limbs(s.limbs, [&](auto limbs) { run_word_sort<limbs()>(ctx, operation, s, scratch); });
}

}  // namespace sheaf::cuda
