#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sheaf/context.hpp>

namespace sheaf::bench {

/// What `sheaf-bench spmv` is asked for.
struct spmv_request {
  bool is_requested = false;
  std::vector<std::string> files;  ///< MatrixMarket files; empty: matrices of its own
  double seconds = 2;              ///< no round of a matrix begins after this time, but for the first three
  bool quick = false;              ///< small matrices, which show that everything runs; their times mean nothing
  bool large = false;              ///< matrices that no cache holds
  bool transposed = false;
  bool narrow = false;     ///< f32
  bool wide_sums = false;  ///< f64 sums of f32 values
  bool variants = false;   ///< every variant of the preparation, too
};

/// Times products of each matrix by every variant, prepared, and by the peers that are there, in turn; prints a row for
/// each contender with its least time. Returns whether every answer is right. @throws error(bad_input) for a file
bool run_spmv(const context& ctx, const spmv_request& request);

/// What `sheaf-bench solve` is asked for.
struct solve_request {
  bool is_requested = false;
  std::vector<std::string> files;                   ///< MatrixMarket files; empty: a grid, and matrices of NAS
  std::vector<std::string> classes{"S", "W", "A"};  ///< of NAS
  double seconds = 2;                               ///< as in spmv_request
  double tolerance = 1e-8;
  std::uint64_t limit = 100;  ///< iterations
  bool has_jacobi = false;
  bool quick = false;
  bool is_real = false;  ///< the symmetric positive definite matrices of a folder, with Jacobi and b = A * 1
  std::string data;      ///< that folder, which has matrices/; empty: what SHEAF_DATA_DIR names
};

/// Times conjugate gradient of each system beside the peers that are there, in turn; prints a row for each with its
/// least time. Returns whether every answer is right. @throws error(bad_input) for a file
bool run_solve(const context& ctx, const solve_request& request);

}  // namespace sheaf::bench
