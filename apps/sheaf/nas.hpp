#pragma once

#include <functional>
#include <span>

#include <sheaf/conjugate_gradient.hpp>

#include "apps/sheaf/files/sparse/csr_matrix.hpp"

// The conjugate gradient benchmark of the NAS Parallel Benchmarks (Bailey et al., RNR-94-007, section CG): the inverse
// power method, whose systems are solved by 25 steps of conjugate gradient each.
namespace sheaf::jobs {

/// A size of the benchmark, with the answer that it must give.
struct nas_class {
  std::string_view name;  ///< "S"
  std::uint64_t rows;
  std::uint64_t vector_entries;  ///< nonzeros of the random vectors that the matrix is made of
  std::uint64_t iterations;      ///< of the inverse power method
  double shift;
  double zeta;             ///< the estimate of an eigenvalue after the last iteration
  std::uint64_t nonzeros;  ///< of the matrix
};

/// S, W, A, B, C.
std::span<const nas_class> nas_classes();
/// @throws error(bad_argument) for another name
const nas_class& nas_class_named(std::string_view name);

/// The negative of the benchmark's matrix, which is negative definite: the sum of omega_i v_i v_i^T over random sparse
/// vectors v_i, whose weights omega_i fall geometrically from 1 to 0.1, less (shift - 0.1) on the diagonal. Solutions
/// change their sign with the matrix, and nothing else. Sums have the order of i, so every bit is the benchmark's.
io::csr_matrix<double> nas_matrix(const nas_class& of, int threads);
/// Rows [first, end) of it, without the others. All random vectors are drawn, which takes some 16 bytes for each of
/// their entries.
io::csr_matrix<double> nas_rows(const nas_class& of, std::uint64_t first, std::uint64_t end, int threads);

struct nas_options {
  std::string_view variant = {};  ///< of conjugate_gradient
  /// Called after each iteration with its number, from 1 on, the residual and zeta.
  std::function<void(std::uint64_t, double, double)> progress = {};
};

/// How conjugate_gradient solves the systems.
conjugate_gradient_options nas_system_options(std::string_view variant = {});
/// What conjugate_gradient would do with the systems of the benchmark. @param a  may be a shape without arrays
explanation explain_nas(const context& ctx, const csr_view& a, std::string_view variant);
/// Iterations of conjugate gradient in the timed part of a class.
constexpr std::uint64_t nas_steps_of_a_system = 25;

struct nas_answer {
  double zeta = 0;
  double residual = 0;         ///< of the last system
  double seconds = 0;          ///< of all iterations
  double loading_seconds = 0;  ///< of the matrix and the vectors, into memory of another backend; 0 on the CPU
  double mop_per_second = 0;   ///< by the benchmark's count of operations
  /// Of the first system that did not take its 25 steps; limit if all did.
  stop_reason reason = stop_reason::limit;
  bool is_right = false;  ///< zeta is the official one to nas_precision, relative
  std::string variant;    ///< what solved the last system
};

/// How near to the official zeta the benchmark must come. It prescribes 1e-10 and f64; zeta of f32 is not official.
template <class Value>
constexpr double nas_precision = sizeof(Value) == sizeof(double) ? 1e-10 : 1e-4;

/// Runs the benchmark as prescribed: one iteration that is not timed, then those of the class from the start.
/// With values of f32, matrix and vectors are of f32, and so are sums of products; dot products are of f64.
/// @param matrix  nas_matrix(of), with_values() of f32 or f64; in host memory, from where a context of another backend
///                gets a copy
template <class Value>
nas_answer run_nas(const context& ctx, const nas_class& of, const io::csr_matrix<Value>& matrix,
                   const nas_options& options = {});

/// Runs the benchmark by a solver of the caller's.
/// @param x, z   vectors of all rows
/// @param solve  solves A z = x, where z is 0
template <class Value>
nas_answer run_nas(const nas_class& of, std::span<Value> x, std::span<Value> z,
                   const std::function<conjugate_gradient_result()>& solve, const nas_options& options = {});

}  // namespace sheaf::jobs
