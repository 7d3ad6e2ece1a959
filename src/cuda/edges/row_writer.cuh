#pragma once

#include <sheaf/cuda/detail/edge_arguments.hpp>

namespace sheaf::cuda {

/// Entries of the longest list of a slice whose lists lie interleaved. Of longer ones all lanes sum one.
constexpr std::uint32_t longest_in_rows = 64;

/// How a warp writes the lists of a slice in rows (edge_kernels::list_arguments), a lane each. All lanes call its
/// functions.
class row_writer {
 public:
  /// @param longest  takes note of a long list
  __device__ __forceinline__ row_writer(std::uint32_t length, std::uint32_t* longest)
      : length_(length), rows_(__reduce_max_sync(~0U, length)) {
    if (threadIdx.x % 32 == 0 && rows_ >= edge_kernels::long_list) atomicMax(longest, rows_);
  }

  /// What begins says of the lane's node, whose list begins at `begin`.
  __device__ __forceinline__ std::uint64_t begin_word(std::uint64_t begin) const {
    return begin | (rows_ > longest_in_rows && threadIdx.x % 32 == 0 ? edge_kernels::whole_lists : 0);
  }

  /// Calls put(place, entry) for the entries of the lane's list or, where lists lie one after another, of other lanes'
  /// lists: with the place in the slice's rows, and the number of the entry from the first of the slice on, as if all
  /// lists lay one after another.
  template <class Put>
  __device__ __forceinline__ void for_each(std::uint32_t begin, Put put) const {
    const unsigned lane = threadIdx.x % 32;
    if (rows_ > longest_in_rows) {
      const std::uint32_t end = __shfl_sync(~0U, begin + length_, 31);
      for (std::uint32_t k = lane; k < end; k += 32) put(k, k);
      return;
    }
    std::uint32_t row_begin = 0;
    for (std::uint32_t row = 0; row < rows_; ++row) {
      const unsigned having = __ballot_sync(~0U, row < length_);
      if (row < length_) put(row_begin + __popc(having & ((1U << lane) - 1)), begin + row);
      row_begin += __popc(having);
    }
  }

 private:
  std::uint32_t length_;
  std::uint32_t rows_;
};

}  // namespace sheaf::cuda
