#pragma once

#include <sheaf/edge_sum.hpp>

// Checks sums over edges in host memory, edge by edge.
namespace sheaf::jobs {

/// The exact sums over some edges, for answers of any order of additions. The ends are nodes; the arrays are not needed
/// once it is made.
class exact_edge_sums {
 public:
  exact_edge_sums(const edge_view& edges, const_values node_values, const_values weights, std::uint32_t components,
                  edge_function function);
  ~exact_edge_sums();
  exact_edge_sums(exact_edge_sums&&) noexcept;
  exact_edge_sums& operator=(exact_edge_sums&&) noexcept;

  /// The first value of a result, as many and of the type of the node values, that no order of sums explains: it
  /// differs from the exact sum by more than (n + 8) eps times the sum of the magnitudes of its n terms, and by more
  /// than is lost where numbers below the least normal one are taken for zero, as some devices do. A node with terms
  /// that overflow on their way or together, or with neighbours so near that the square of their distance loses digits,
  /// is not judged.
  std::optional<std::string> mistake(const_values result) const;
  /// The largest difference of a result from the exact sums, over the largest of these; 0 if they are all 0.
  double largest_error(const_values result) const;

 private:
  struct all_sums;
  std::unique_ptr<all_sums> sums_;
};

/// exact_edge_sums::mistake of one result, which has as many values as the nodes.
std::optional<std::string> edge_sum_mistake(const edge_view& edges, const_values node_values, const_values weights,
                                            const_values result, std::uint32_t components, edge_function function);

}  // namespace sheaf::jobs
