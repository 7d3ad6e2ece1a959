#pragma once

#include "primitives/sparse/conjugate_gradient_steps.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::primitives {

/// What plans know of a linear system: sizes and types, never data. It has at least one row.
struct conjugate_gradient_problem {
  spmv_problem product;      ///< by the matrix; of an operator only rows, columns, value and sums
  bool is_operator = false;  ///< A is a function of the caller's
  bool has_jacobi = false;
  bool keeps_last = false;
  bool is_captured = false;  ///< into a graph, so that run() waits for nothing and leaves the result as it is

  std::uint64_t vector_bytes() const noexcept { return product.rows * product.value_bytes(); }

  friend bool operator==(const conjugate_gradient_problem&, const conjugate_gradient_problem&) = default;
};

/// Views of a checked call, and what goes on while it runs.
struct conjugate_gradient_buffers {
  csr_view a;                              ///< of an operator empty
  const linear_operator* apply = nullptr;  ///< of a matrix null
  const void* diagonal = nullptr;          ///< of an operator with preconditioner::jacobi
  const void* b = nullptr;
  void* x = nullptr;
  conjugate_gradient_goals goals = {};
  conjugate_gradient_watch* watch = nullptr;
  conjugate_gradient_result* result = nullptr;  ///< run() sets all but the variant
};

/// run() reports faults of the matrix in the wording of csr_call::conjugate_gradient, has not written x then, and
/// returns when the work is done. The seconds of a plan are those of one iteration.
using conjugate_gradient_variant = plan::variant<conjugate_gradient_problem, conjugate_gradient_buffers>;

/// All variants of this build, in the order of composition/tables.cpp and of each backend's variants.cpp.
std::span<const conjugate_gradient_variant> conjugate_gradient_variants();

constexpr std::string_view conjugate_gradient_call = "conjugate_gradient";

}  // namespace sheaf::primitives
