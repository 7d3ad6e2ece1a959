#include "distributed/petsc_peers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <petscksp.h>

namespace sheaf::petsc_peers {
namespace {

static_assert(std::is_same_v<PetscScalar, double>, "PETSc of other scalars than double is no peer");

constexpr double tolerance = 1e-9;  ///< of sums in another order, relative to the largest of them

/// PETSc's own error handler has printed what happened, and where.
void require(PetscErrorCode code) { CHKERRABORT(MPI_COMM_WORLD, code); }

template <class Object>
using owner = std::shared_ptr<std::remove_pointer_t<Object>>;

template <class Object>
owner<Object> owned(Object object, PetscErrorCode (*destroy)(Object*)) {
  return {object, [destroy](Object o) { require(destroy(&o)); }};
}

/// Counts as PETSc has them, of 32 or 64 bits; ends the job where they do not fit.
PetscInt as_petsc(std::uint64_t count) {
  if (!std::in_range<PetscInt>(count)) {
    std::fprintf(stderr, "%llu does not fit PETSc's integers of %zu bytes\n", static_cast<unsigned long long>(count),
                 sizeof(PetscInt));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return static_cast<PetscInt>(count);
}

template <class Count>
std::vector<PetscInt> as_petsc(std::span<const Count> counts) {
  std::vector<PetscInt> all(counts.size());
  std::transform(counts.begin(), counts.end(), all.begin(), [](Count count) { return as_petsc(count); });
  return all;
}

/// A vector over all ranks, of as many values on this one.
owner<Vec> make_vector(std::size_t count) {
  Vec v = nullptr;
  require(VecCreateMPI(MPI_COMM_WORLD, as_petsc(count), PETSC_DETERMINE, &v));
  return owned(v, VecDestroy);
}

owner<Vec> make_vector(std::span<const double> values) {
  auto v = make_vector(values.size());
  double* array = nullptr;
  require(VecGetArray(v.get(), &array));
  std::copy(values.begin(), values.end(), array);
  require(VecRestoreArray(v.get(), &array));
  return v;
}

/// @param most  by which values may differ, relative to the largest that is expected on any rank
void require_equal(const char* what, const owner<Vec>& found, std::span<const double> expected, double most) {
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const double* array = nullptr;
  require(VecGetArrayRead(found.get(), &array));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(array[i] - expected[i]) <= most * largest) continue;  // false for NaN
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "%s: value %zu of rank %d is %.17g by PETSc, %.17g by ours\n", what, i, rank, array[i],
                 expected[i]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  require(VecRestoreArrayRead(found.get(), &array));
}

/// A matrix's rows with integers of PETSc's size; the caller's values.
struct petsc_rows {
  std::vector<PetscInt> offsets;
  std::vector<PetscInt> columns;
  std::span<const double> values;

  explicit petsc_rows(const matrix_rows& a)
      : offsets(as_petsc(a.offsets)), columns(as_petsc(a.columns)), values(a.values) {}
};

owner<Mat> make_matrix(const petsc_rows& rows) {
  const auto count = static_cast<PetscInt>(rows.offsets.size() - 1);
  Mat a = nullptr;
  require(MatCreateMPIAIJWithArrays(MPI_COMM_WORLD, count, count, PETSC_DETERMINE, PETSC_DETERMINE, rows.offsets.data(),
                                    rows.columns.data(), rows.values.data(), &a));
  return owned(a, MatDestroy);
}

/// No residual meets a tolerance of 0. The natural norm is a sum that the method has anyway: without a preconditioner
/// it is that of the residual, which ours knows after each iteration, too.
owner<KSP> make_solver(const owner<Mat>& a, int iterations) {
  KSP created = nullptr;
  require(KSPCreate(MPI_COMM_WORLD, &created));
  auto solver = owned(created, KSPDestroy);
  PC preconditioner = nullptr;
  require(KSPSetOperators(created, a.get(), a.get()));
  require(KSPSetType(created, KSPCG));
  require(KSPGetPC(created, &preconditioner));
  require(PCSetType(preconditioner, PCNONE));
  require(KSPSetNormType(created, KSP_NORM_NATURAL));
  require(KSPSetTolerances(created, 0, 0, PETSC_DEFAULT, iterations));
  require(KSPSetUp(created));
  return solver;
}

}  // namespace

void initialize() { require(PetscInitializeNoArguments()); }
void finalize() { require(PetscFinalize()); }

std::function<void()> prepare_gather(std::span<const double> table, std::span<const std::uint32_t> list,
                                     std::span<const double> expected) {
  const auto in = make_vector(table);
  const auto out = make_vector(list.size());
  const std::vector<PetscInt> places = as_petsc(list);
  PetscInt first = 0;
  require(VecGetOwnershipRange(out.get(), &first, nullptr));
  IS from = nullptr;
  IS to = nullptr;
  VecScatter created = nullptr;
  require(ISCreateGeneral(MPI_COMM_WORLD, as_petsc(places.size()), places.data(), PETSC_COPY_VALUES, &from));
  require(ISCreateStride(MPI_COMM_WORLD, as_petsc(places.size()), first, 1, &to));
  require(VecScatterCreate(in.get(), from, out.get(), to, &created));
  require(ISDestroy(&from));
  require(ISDestroy(&to));
  std::function<void()> run = [in, out, scatter = owned(created, VecScatterDestroy)] {
    require(VecScatterBegin(scatter.get(), in.get(), out.get(), INSERT_VALUES, SCATTER_FORWARD));
    require(VecScatterEnd(scatter.get(), in.get(), out.get(), INSERT_VALUES, SCATTER_FORWARD));
  };
  run();
  require_equal("gather", out, expected, 0);
  return run;
}

std::function<void()> prepare_product(const matrix_rows& a, std::span<const double> x,
                                      std::span<const double> expected) {
  const auto y = make_vector(expected.size());
  std::function<void()> run = [matrix = make_matrix(petsc_rows(a)), in = make_vector(x), y] {
    require(MatMult(matrix.get(), in.get(), y.get()));
  };
  run();
  require_equal("product", y, expected, tolerance);
  return run;
}

conjugate_gradient_calls prepare_conjugate_gradient(const matrix_rows& a, std::span<const double> b, int iterations,
                                                    std::span<const double> expected) {
  const auto x = make_vector(expected.size());
  const auto right_side = make_vector(b);
  const auto rows = std::make_shared<const petsc_rows>(a);
  const auto solver = make_solver(make_matrix(*rows), iterations);  // has the matrix
  conjugate_gradient_calls calls;
  calls.solve = [=] { require(KSPSolve(solver.get(), right_side.get(), x.get())); };
  calls.make_and_solve = [=] {
    require(KSPSolve(make_solver(make_matrix(*rows), iterations).get(), right_side.get(), x.get()));
  };
  for (const auto& call : {calls.make_and_solve, calls.solve}) {
    require(VecSet(x.get(), 0));
    call();
    require_equal("conjugate gradient", x, expected, tolerance);
  }
  PetscInt done = 0;
  require(KSPGetIterationNumber(solver.get(), &done));
  if (done != iterations) {
    std::fprintf(stderr, "PETSc did %lld iterations, not %d\n", static_cast<long long>(done), iterations);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return calls;
}

}  // namespace sheaf::petsc_peers
