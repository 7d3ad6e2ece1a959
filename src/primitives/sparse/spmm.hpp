#pragma once

#include <sheaf/spmm.hpp>

#include "primitives/reduce/rows.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::primitives {

/// What plans know of a product: sizes and types, never data. Y has at least one row.
struct spmm_problem {
  spmv_problem matrix;  ///< value is the type of A's values, sums is as_values, reads_y says that beta is not 0
  value_type x = value_type::f32;
  value_type y = value_type::f32;
  std::uint64_t values_per_row = 1;
  std::uint64_t x_stride_bytes = 0;
  std::uint64_t y_stride_bytes = 0;
  std::uint32_t x_word_bytes = 1;  ///< widest power of two up to 16 that divides X's address, stride and row
  std::uint32_t y_word_bytes = 1;

  /// The type of products and sums.
  value_type sum() const noexcept { return x == value_type::f64 ? value_type::f64 : value_type::f32; }
  std::uint64_t x_row_bytes() const noexcept { return values_per_row * bytes(x); }
  std::uint64_t y_row_bytes() const noexcept { return values_per_row * bytes(y); }
  std::uint64_t sum_row_bytes() const noexcept { return values_per_row * bytes(sum()); }

  friend bool operator==(const spmm_problem&, const spmm_problem&) = default;
};

inline plan::measured_place place_of(const spmm_problem& p) noexcept {
  return {"spmm", p.matrix.pattern.shape, p.x_row_bytes(), p.matrix.entries, p.matrix.columns};
}

/// Views of a checked call. run() reports faults in the wording of csr_call::spmm.
struct spmm_buffers {
  csr_view a;
  const_value_rows x;
  value_rows y;
  double alpha = 1;
  double beta = 0;
};

using spmm_variant = plan::variant<spmm_problem, spmm_buffers>;

/// All variants of this build, in the order of composition/tables.cpp and of each backend's variants.cpp.
std::span<const spmm_variant> spmm_variants();

constexpr std::string_view spmm_call = "spmm";

/// X and Y fit a matrix whose shape was checked; data may be null.
void require_product_shapes(std::string_view call, const csr_view& a, bool transposed, const_value_rows x,
                            const_value_rows y);
/// They are in ctx's memory, and Y overlaps nothing.
void require_product_memory(std::string_view call, const context& ctx, const csr_view& a, const_value_rows x,
                            const_value_rows y);
spmm_problem describe_spmm(const context& ctx, const csr_view& a, const_value_rows x, const_value_rows y,
                           const spmm_options& options);

}  // namespace sheaf::primitives
