#include "cuda/sort/radix/launch.cuh"

namespace sheaf::cuda {

std::uint64_t radix_scratch_bytes(const word_sort& s) {
  return with_limbs(s.limbs, [&](auto limbs) {
    return with_value_width<limbs()>(
        s.value_bytes, [&](auto values) { return radix_scratch(s, tile_words<limbs(), values()>(s), nullptr).bytes; });
  });
}

std::uint32_t counting_rounds(const word_sort& s) {
  const int words = with_limbs(s.limbs, [&](auto limbs) {
    return with_value_width<limbs()>(s.value_bytes, [&](auto values) {
      if (has_short_tiles<limbs(), values()>(s.count)) {
        return tile_tuning<limbs(), values(), tile_length::of_short_list>::words_per_thread;
      }
      return has_codes_kernel(s) ? tile_tuning<limbs(), values(), tile_length::of_coded_list>::words_per_thread
                                 : tile_tuning<limbs(), values(), tile_length::of_long_list>::words_per_thread;
    });
  });
  return static_cast<std::uint32_t>(ceil_div(static_cast<std::uint32_t>(words), counted_words_per_thread));
}

void run_radix_sort(const context& ctx, const word_sort& s, std::byte* scratch, group_finisher finisher) {
  with_limbs(s.limbs, [&](auto limbs) { run_radix_sort_of<limbs()>(ctx, s, scratch, finisher); });
}

}  // namespace sheaf::cuda
