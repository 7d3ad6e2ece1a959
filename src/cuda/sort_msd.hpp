#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sheaf/context.hpp>

// A sort from the highest digit down (He et al. 2007, section 4.1), steered by the device: levels of passes over the
// buckets that are too large for shared memory, then one kernel that finishes the others there. The host knows neither
// the buckets nor how many levels it takes.
namespace sheaf::cuda {

/// Where a sort's words go once they are in order: word i to element i of each array that has a part of it.
struct word_target {
  struct part_target {
    std::byte* data = nullptr;  ///< null: the part goes nowhere
    std::uint64_t stride = 0;
  };
  void* words = nullptr;  ///< the words as they are; else the parts apart, the key as it was before it became a number
  std::array<part_target, 4> parts{};
  std::array<std::uint32_t, 4> key_mask{};  ///< the bits of each part that are key
  bool is_signed = false;
  bool is_floating = false;
  bool descending = false;
};

/// Words of parts * 4 bytes (1 to 4 parts), fewer than 2^32, whose keys are the bits from key_low up to key_high.
struct msd_sort {
  std::uint32_t parts = 0;
  std::uint32_t key_low = 0;
  std::uint32_t key_high = 0;
  bool ordered = false;  ///< words of equal keys keep their order; else these are equal, or any order will do
  bool bitonic = false;  ///< buckets are finished as in the 2007 paper
  std::uint64_t count = 0;
  const void* in = nullptr;
  void* buffers[2] = {};  ///< that passes write to in turn, the first one first; may be in, and the target's words
  word_target target;
};

std::uint64_t msd_scratch_bytes(const msd_sort& s);
/// Queues the sort; scratch is free again when the stream is past it.
void run_msd_sort(const context& ctx, const char* what, const msd_sort& s, std::byte* scratch);

}  // namespace sheaf::cuda
