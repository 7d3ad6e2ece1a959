#pragma once

#include "papers/ujaldon2005/opengl/forms.hpp"
#include "primitives/edges/edge_sum.hpp"
#include "primitives/sparse/spmv.hpp"

// Geometry in host memory (Ujaldon and Saltz 2005, section 5.1, "Type of memory"): the vertices of a product or of a
// sum over edges are built once, and every run sends them to the device before it draws. The library's prepared
// objects keep them there; drawing and answers are the same. Bad indices are left out and surface at ctx.wait().
namespace sheaf::opengl {

/// y = A x of f32 by points, where a scheme looks x up.
class product_from_host {
 public:
  /// @throws error(bad_argument) unless the matrix is one of f32 that a context of OpenGL can take
  product_from_host(const context& ctx, const csr_view& a, lookup_scheme scheme);
  ~product_from_host();
  product_from_host(const product_from_host&) = delete;
  product_from_host& operator=(const product_from_host&) = delete;

  void run(const_values x, values y);
  /// That every run sends, beside x.
  std::uint64_t vertex_bytes() const noexcept;
  /// Of x, that every run uploads for the lookups.
  std::uint64_t texture_bytes() const noexcept;

 private:
  struct kept;

  std::unique_ptr<kept> kept_;
};

/// A sum over edges without weights, of f32, in two passes over points.
class edge_sum_from_host {
 public:
  /// @throws error(bad_argument) unless they are edges that a context of OpenGL can take
  edge_sum_from_host(const context& ctx, const edge_view& edges, std::uint64_t nodes, std::uint32_t components,
                     edge_function function);
  ~edge_sum_from_host();
  edge_sum_from_host(const edge_sum_from_host&) = delete;
  edge_sum_from_host& operator=(const edge_sum_from_host&) = delete;

  void run(const_values values_of_nodes, values result);
  /// That every run sends, beside the nodes' values.
  std::uint64_t vertex_bytes() const noexcept;
  /// Of the nodes' values, that every run uploads.
  std::uint64_t texture_bytes() const noexcept;

 private:
  struct kept;

  std::unique_ptr<kept> kept_;
};

}  // namespace sheaf::opengl
