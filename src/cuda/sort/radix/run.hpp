#pragma once

#include <sheaf/context.hpp>

#include "cuda/sort/words/word_sort.hpp"

// The radix sort of words, by the digits of the key from the lowest up, or by codes that ascend with the key. Codes
// take fewer passes for most keys; each group of words with neighbouring codes is then sorted in shared memory. The
// host reads nothing back: what the sample of the keys says is known on the device alone.
namespace sheaf::cuda {

struct radix_arguments;
/// Queues a caller's kernel that finishes groups, in place of those of this folder; not called if the host knows that
/// the sort goes by digits. The 2007 paper's bitonic sort of groups is one.
using group_finisher = void (*)(const context& ctx, const radix_arguments& args);

/// The limit of a list's words, exclusive, because a tile state has 31 bits for a number.
constexpr std::uint64_t sorted_words_limit = std::uint64_t{1} << 31;

/// How often a block loads words to count them, where it has one tile.
std::uint32_t counting_rounds(const word_sort& sort);
/// Bytes of scratch that run_radix_sort takes.
std::uint64_t radix_scratch_bytes(const word_sort& sort);
/// Queues a sort of words, stable as far as can be seen (value_width), alone or, of one and two limbs, with values of 4
/// or 8 bytes (of one limb, method onesweep: or 16). Scratch is free again when the stream is past it.
void run_radix_sort(const context& ctx, const word_sort& sort, std::byte* scratch, group_finisher finisher = nullptr);

}  // namespace sheaf::cuda
