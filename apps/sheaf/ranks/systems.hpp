#pragma once

#include <string>
#include <vector>

#include <sheaf/conjugate_gradient.hpp>

#include "apps/sheaf/nas.hpp"
#include "apps/sheaf/ranks/process.hpp"
#include "apps/sheaf/ranks/report.hpp"

// Products and systems on ranks. Each reads all of a matrix' text, and keeps the rows that are its own. Ranks are
// `threads`, or what work_on_ranks() takes where there are none.
namespace sheaf::cli {

struct spmv_on_ranks_options {
  const common_options& common;
  std::string matrix;
  std::string x;
  std::string y;  ///< read where beta is not 0
  std::string output;
  double alpha = 1;
  double beta = 0;
  bool narrow = false;  ///< f32
};
void spmv_on_ranks(const spmv_on_ranks_options& options, const rank_threads& threads = {});

struct solve_on_ranks_options {
  const common_options& common;
  std::string matrix;
  std::string b;
  std::string output;
  std::string history;  ///< may be empty
  conjugate_gradient_options method;
  bool narrow = false;
  /// Throws what is wrong with the outputs.
  std::function<void()> require_outputs;
  /// The text of the history.
  std::function<std::string(const std::vector<double>&, double b_norm)> csv_of;
};

/// What came of a system, as the first rank knows it; of other processes of MPI it has no more than is_first.
struct solved_on_ranks {
  bool is_first = false;  ///< whether this process says so
  conjugate_gradient_result result;
  std::uint64_t rows = 0;
  std::uint64_t nonzeros = 0;
  double seconds = 0;
  std::string diagonal_mistake;  ///< where jacobi met one
  workers all;
};
solved_on_ranks solve_on_ranks(const solve_on_ranks_options& options, const rank_threads& threads = {});

struct npb_on_ranks_options {
  const common_options& common;
  const jobs::nas_class& of;
  std::string matrix;  ///< empty: each rank makes its rows
  bool narrow = false;
};

struct npb_on_ranks {
  bool is_first = false;
  jobs::nas_answer answer;
  std::uint64_t nonzeros = 0;
  workers all;
};
npb_on_ranks run_npb_on_ranks(const npb_on_ranks_options& options, const rank_threads& threads = {});

}  // namespace sheaf::cli
