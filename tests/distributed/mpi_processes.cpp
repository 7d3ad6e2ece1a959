#include <memory>

#include <mpi.h>
#include <sheaf/distributed/mpi.hpp>

#include "distributed/ranks.hpp"

namespace sheaf::tests {

void on_ranks(const std::function<void(const distributed::group&)>& test, const distributed::limits& bounds) {
  EXPECT_NO_THROW({
    // Not the communicator of all processes, whose ranks others may use.
    MPI_Comm caller = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &caller);
    {
      const distributed::group ranks = distributed::over(context::cpu(1), caller, bounds);
      test(ranks);
    }
    MPI_Comm_free(&caller);
  });
}

bool ranks_are_threads() { return false; }

}  // namespace sheaf::tests

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // Ranks but the first say only what fails.
  if (rank != 0) testing::GTEST_FLAG(brief) = true;
  const int failed = RUN_ALL_TESTS();
  int any_failed = 0;
  MPI_Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any_failed;
}
