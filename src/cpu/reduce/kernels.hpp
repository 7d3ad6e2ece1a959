#pragma once

#include "primitives/reduce/rows.hpp"

// Loops over the values of rows, one for each pair of types and each operation, behind pointers. What calls them knows
// neither: it says which rows are combined into which sums.
namespace sheaf::cpu {

/// Rows of a list, each to be combined with a row of out where it lies.
struct scattered_rows {
  std::byte* out;  ///< row 0
  std::uint64_t out_stride;
  const std::byte* in;  ///< row 0
  std::uint64_t in_stride;
  const std::uint32_t* slots;   ///< of each row in out
  const std::uint32_t* places;  ///< of each row in `in`
  std::uint64_t rows;
  std::uint64_t width;
  bool prefetches_out;
  bool prefetches_in;
};

/// Rows of one width. Sums lie side by side, in the type in which rows are combined.
struct reduction_kernels {
  /// sums[k] = sums[k] op weights[j] * row(j)[k] for each j in order, where row j lies at base + offsets[j]. With
  /// `is_first`, sums hold nothing yet, and the identity element takes their place. Weights, if the kernels have any,
  /// are in the type of the sums.
  void (*combine)(void* sums, const std::byte* base, const std::uint64_t* offsets, const void* weights,
                  std::uint64_t rows, std::uint64_t width, bool is_first);
  /// out[slots[j]][k] = out[slots[j]][k] op in[places[j]][k] for each j in order; null unless `in_place`
  void (*scatter)(const scattered_rows& rows);
  /// sums[k] = sums[k] op piece[k], of what rows were combined to.
  void (*merge)(void* sums, const void* piece, std::uint64_t width);
  /// sums[k] = out[k]
  void (*load)(void* sums, const void* out, std::uint64_t width);
  /// out[k] = sums[k], of a mean divided by `rows`
  void (*store)(void* out, const void* sums, std::uint64_t width, std::uint64_t rows);
  /// out[k] = the identity element
  void (*clear)(void* out, std::uint64_t width);
  /// out[k] = out[k] + rows, or without `adds` rows: of a count
  void (*count)(void* out, std::uint64_t width, std::uint64_t rows, bool adds);
  /// out[k] = alpha sums[k] + beta out[k], of floats; beta = 0 does not read out
  void (*scale)(void* out, const void* sums, std::uint64_t width, double alpha, double beta);
  std::uint64_t sum_bytes;  ///< of one value of the sums
  bool in_place;            ///< sums have the type of out, and store() copies them
};

/// The kernels of rows of `in` that are combined into rows of `out`. Those of a count combine nothing.
reduction_kernels kernels_of_rows(value_type in, value_type out, reduction op, bool has_weights, std::uint64_t width);

/// Their `scatter`; null unless rows are combined in the type of out.
void (*scatter_kernel_of(value_type in, value_type out, reduction op, std::uint64_t width))(const scattered_rows&);

/// Writes `count` weights from `first` on in the type of the sums, f32 or f64.
void convert_weights(const_values weights, std::uint64_t first, std::uint64_t count, value_type sum, void* to);

}  // namespace sheaf::cpu
