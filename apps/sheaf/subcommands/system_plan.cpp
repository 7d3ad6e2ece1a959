#include "apps/sheaf/subcommands/system_plan.hpp"

#include "lab/description/sparse/problem.hpp"

namespace sheaf::cli {

call_words words_of_system(const csr_view& a, bool has_jacobi, const access_pattern& pattern) {
  primitives::problem_spec problem{.primitive = "conjugate_gradient",
                                   .record_bytes = bytes(a.values.type),
                                   .index = a.column_indices.type,
                                   .count = a.values.count,
                                   .value = a.values.type,
                                   .table = a.rows,
                                   .access = pattern};
  auto& matrix = problem.part<primitives::sparse_part>();
  matrix.columns = a.columns;
  matrix.offset = a.row_begins.type;
  matrix.has_jacobi = has_jacobi;
  return call_words_of(problem);
}

planned_work work_of_system(std::string subcommand, planned_call call, std::vector<std::string> read) {
  planned_work work = work_of(std::move(subcommand), std::move(call), std::move(read));
  work.iteration_seconds = work.predicted_seconds;
  work.is_predicted = false;
  return work;
}

}  // namespace sheaf::cli
