#pragma once

#include "primitives/sort.hpp"

namespace sheaf::cuda {

/// How sort_by_words sorts the words.
enum class word_sort_algorithm {
  msd,          ///< MSD radix sort, groups of small bins finished by a bin sort in shared memory
  msd_bitonic,  ///< MSD radix sort, groups of small bins finished by a bitonic network
  onesweep,     ///< LSD radix sort in one kernel; of words of one or two limbs
};

/// Queues a planned sort: encodes rows as words, sorts these, and writes rows, or gathers them by the sorted row
/// numbers. cuda.msd, cuda.msd_bitonic and cuda.onesweep run this.
void sort_by_words(const context& ctx, const char* operation, const primitives::sort_problem& p,
                   const plan::planned& plan, const primitives::sort_buffers& b, std::byte* scratch,
                   word_sort_algorithm algorithm);

}  // namespace sheaf::cuda
