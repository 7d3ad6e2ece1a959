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

bool takes_both_ways() { return false; }

namespace distributed_mpi_test {
namespace {

TEST(Communicator, OfNoGroupIsRefused) {
  const auto said_of = [](MPI_Comm c) {
    return message_of(error_code::device_failure, [&] { distributed::over(context::cpu(1), c); });
  };
  EXPECT_EQ(said_of(MPI_COMM_NULL), "group: the transport has no ranks");
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1) return;
  // Between the first process and all others.
  MPI_Comm side = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : 1, rank, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 7, &both);
  EXPECT_EQ(said_of(both), "group: the transport has no ranks");
  MPI_Comm_free(&both);
  MPI_Comm_free(&side);
}

}  // namespace
}  // namespace distributed_mpi_test

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
  try {
    sheaf::distributed::over(sheaf::context::cpu(1), MPI_COMM_WORLD);
    any_failed = 1;
  } catch (const sheaf::error& thrown) {
    if (thrown.code() != sheaf::error_code::device_failure) any_failed = 1;
  }
  return any_failed;
}
