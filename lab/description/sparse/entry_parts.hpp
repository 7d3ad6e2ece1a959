#pragma once

#include <initializer_list>

#include "lab/description/job.hpp"
#include "lab/description/sparse/items.hpp"
#include "lab/description/sparse/problem.hpp"
#include "primitives/sparse/spmv.hpp"

// What the entries of products by sparse matrices and of systems with such matrices share.
namespace sheaf::primitives {

namespace sparse_fields {
extern const problem_field entries;
extern const problem_field rows;  ///< one for every 16 entries unless given
extern const problem_field offset_type;
extern const problem_field value_type;
extern const problem_field sums;
extern const problem_field row_ends;
extern const problem_field columns;
extern const problem_field transposed;
extern const problem_field order;  ///< of a transposed product's sums

void usual_rows(problem_spec& problem);
void usual_column_type(problem_spec& problem);
void usual_offset_type(problem_spec& problem);
}  // namespace sparse_fields

/// "u32+f32", or "u32+u64+f32" where row offsets have a type of their own.
std::string text_of_types(const problem_spec& problem);
/// "+f64_sums+row_ends"
std::string text_of_layout(const problem_spec& problem);
/// A word of an entry's types, and what it sets.
struct own_word {
  std::string_view text;
  bool sparse_part::*member;
};
/// Reads both, and a word that sets `own`. Refuses a type that does not begin with types, and any other word.
void read_type(const name_part& type, problem_spec& problem, std::initializer_list<own_word> own,
               std::string_view words_expected);
/// The pattern of nonzeros, the rows, the columns and the entries of a row.
std::string text_of_pattern(const problem_spec& problem);
void read_pattern(const name_part& pattern, problem_spec& problem);
std::string label_of_matrix(const problem_spec& problem);
access_pattern hint_of_matrix(const problem_spec& problem);
/// Refuses entries of a row that no grid has.
void require_grid(const name_part& pattern, const problem_spec& problem);

/// The order in which terms of a transposed product are added.
reduction_order order_of(const problem_spec& problem);
spmv_problem product_of(const problem_spec& problem, backend_kind backend);

}  // namespace sheaf::primitives

namespace sheaf::jobs {

matrix_source source_of_matrix(const problem_spec& problem, std::uint64_t copy);
/// The arrays of an spmv, and why such a matrix or its product cannot be generated or checked.
array_shapes shapes_of_product(const problem_spec& problem);
std::string unchecked_product(const problem_spec& problem);
/// Fills the arrays of a matrix.
void fill_matrix_array(const context& ctx, const problem_spec& problem, std::uint64_t copy, std::size_t place,
                       records array);

}  // namespace sheaf::jobs
