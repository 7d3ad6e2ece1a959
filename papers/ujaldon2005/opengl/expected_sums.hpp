#pragma once

#include <span>
#include <vector>

#include "papers/ujaldon2005/opengl/error_bounds.hpp"
#include "primitives/edges/edge_sum.hpp"
#include "primitives/sparse/spmv.hpp"

// The sums that products and edges have in f64, and how far those of a precision may be from them.
namespace sheaf::opengl {

/// Errors are differences from sums in f64, divided by the largest of these.
struct precision_figures {
  double largest_error = 0;
  double mean_error = 0;     ///< the root of the mean of the squares
  double largest_bound = 0;  ///< of an error; infinite where a precision has none
  double bounded_share = 1;  ///< of the sums, whose bound is below the largest sum
  std::uint64_t beyond = 0;  ///< sums that are no numbers or differ by more than their bounds
  double seconds = 0;        ///< of a run whose geometry and textures lie on the device: draws and readback

  bool is_right() const noexcept { return beyond == 0; }
  /// Whether sums that are all 0 would be past their bounds. Else the precision is out of its range.
  bool is_in_range() const noexcept { return largest_bound < 1; }
};

/// How numbers are scaled for texels: (number - center) / gain, which is in [-1, 1].
struct texel_scale {
  double centers[most_channels] = {};  ///< by components
  double gain = 1;

  double scaled(float number, std::uint32_t component) const { return (number - centers[component]) / gain; }
  bounded_number texel(channel_bits bits, float number, std::uint32_t component) const;
};

struct expected_sums {
  texel_scale scale;
  double limit = 1;                 ///< no sum on its way is past it
  std::vector<double> sums = {};    ///< of f64
  std::vector<double> bounds = {};  ///< of their errors

  /// What a precision's sums are; but no time.
  precision_figures judged(std::span<const float> found) const;
};

/// Of y = A x. x is scaled by its largest value, unless texels are floats: then by a power of two, which is exact.
expected_sums expected_product(const primitives::spmv_problem& problem, const csr_view& a, const float* x,
                               const pipeline_precision& precision);
/// Of sums over edges, drawn in pieces of so many, each of which adds at all first ends, then subtracts at all second
/// ones. Only differences count, so that texels of 8 and 16 bits, which have few digits, hold the distances from the
/// middle of all nodes. The first edge of a bad end becomes `first_bad`.
expected_sums expected_edge_sums(const primitives::edge_sum_problem& problem, const edge_view& edges,
                                 const float* node_values, const pipeline_precision& precision,
                                 std::uint64_t edges_of_piece, std::uint64_t& first_bad);

}  // namespace sheaf::opengl
