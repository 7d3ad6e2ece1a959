#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include <sheaf/distributed/mpi.hpp>
#include <sheaf/distributed/sort.hpp>

#include "calls.hpp"

namespace distributed = sheaf::distributed;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    //! [distributed::mpi_transport]
    // For a transport alone, as the control transport of GPUs; over() makes the group at once.
    const std::shared_ptr<distributed::transport> between = distributed::mpi_transport(MPI_COMM_WORLD);
    const distributed::group by_hand(sheaf::context::cpu(1), between, {.wait_seconds = 60});
    //! [distributed::mpi_transport]
    by_hand.wait();
    //! [distributed::over]
    const distributed::group ranks = distributed::over(sheaf::context::cpu(1), MPI_COMM_WORLD);
    const std::vector<std::uint64_t> my_keys{static_cast<std::uint64_t>(100 - ranks.rank())};
    const auto sorted = distributed::sort_keys(ranks, my_keys);
    std::printf("rank %d has %llu rows of %llu\n", ranks.rank(), static_cast<unsigned long long>(sorted.rows.count),
                static_cast<unsigned long long>(sorted.where.count()));
    //! [distributed::over]
    calls::expect(sorted.where.count() == static_cast<std::uint64_t>(ranks.size()));
  } catch (const sheaf::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
