#pragma once

#include <sheaf/edge_sum.hpp>

#include "lab/harness/report.hpp"
#include "lab/harness/scale_out/results.hpp"

namespace sheaf::bench {

/// What `sheaf-bench edges` is asked for.
struct edges_request {
  bool is_requested = false;
  std::vector<std::string> files;  ///< SU2 meshes; empty: boxes of its own
  /// Of the boxes, which have some seven edges a node: 10^5 to 10^8.
  std::vector<std::uint64_t> nodes{15'000, 150'000, 1'500'000, 14'600'000};
  std::vector<std::string> orders{"natural", "random", "prepared"};  ///< of the nodes
  std::vector<std::uint32_t> components{3};                          ///< of a node's value
  edge_function function = edge_function::weighted_difference;
  double seconds = 2;   ///< no round of a mesh begins after this time, but for the first three
  bool narrow = false;  ///< f32
  bool quick = false;   ///< small boxes, which show that everything runs; their times mean nothing
};

/// Times sums over the edges of each mesh by a plain loop, by atomic additions, by every variant and prepared, in turn;
/// prints a row for each with its median time, the bytes that a sum has to move, the share of the time in which this
/// machine streams as many, and how many runs make up for preparing. What memory does not hold is left out, with a line
/// that says so. Returns the rows. @throws error(bad_input) for a file
std::vector<input_result> run_edges(const context& ctx, const edges_request& request);

/// What `sheaf-bench spmv` is asked for.
struct spmv_request {
  bool is_requested = false;
  std::vector<std::string> files;  ///< MatrixMarket files; empty: matrices of its own
  double seconds = 2;              ///< no round of a matrix begins after this time, but for the first three
  bool quick = false;              ///< small matrices, which show that everything runs; their times mean nothing
  bool large = false;              ///< matrices that no cache holds
  bool unseen = false;             ///< matrices to judge by and not to tune to; not with large
  bool transposed = false;
  bool unordered = false;  ///< sums of transposed products
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

/// What `sheaf-bench scale-out` is asked for.
struct scale_out_request {
  bool is_requested = false;
  int devices = 2;                      ///< GPUs of this machine from number 0 on, or ranks on the CPU
  std::vector<std::string> transports;  ///< between GPUs: copies, nccl; empty: copies
  std::vector<std::string> calls;       ///< empty: all
  std::vector<std::uint64_t> rows{std::uint64_t{1} << 20, std::uint64_t{1} << 24, std::uint64_t{1} << 27};
  std::uint64_t rounds = 7;
  std::uint64_t iterations = 100;  ///< of conjugate gradient, whose time is divided by them
  bool no_peer = false;

  bool wants(std::string_view call) const;
};

/// Times calls between devices beside the same call on one of them with as many rows, in turn and in one run, and what
/// the link between devices takes; prints rows with what a model made of these predicts, and compares answers with
/// those of one device for all rows. Says which rows are left out. @param are_named  a backend without so many devices
/// is an error. @throws error(bad_argument) for a named backend, or transports, of which nothing can be measured;
/// error(backend_unavailable)
scale_out::results run_scale_out(const scale_out_request& request, std::span<const backend_kind> backends, int threads,
                                 bool are_named);

}  // namespace sheaf::bench
