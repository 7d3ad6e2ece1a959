// Sorts numbers that lie on two processes of MPI, and checks the part of each.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <mpi.h>

#include <sheaf/distributed/mpi.hpp>
#include <sheaf/distributed/sort.hpp>

namespace {

bool is_right(MPI_Comm all) {
  const sheaf::distributed::group ranks = sheaf::distributed::over(sheaf::context::cpu(1), all);
  if (ranks.size() != 2) return false;
  constexpr std::uint64_t each = 1000;
  std::vector<std::uint64_t> mine;
  for (std::uint64_t i = 0; i < each; ++i)
    mine.push_back(2 * each - 1 - (2 * i + static_cast<std::uint64_t>(ranks.rank())));
  const auto sorted = sheaf::distributed::sort_keys(ranks, mine);
  bool right = sorted.rows.count == each;
  for (std::uint64_t i = 0; right && i < each; ++i)
    right = sorted.rows.as<std::uint64_t>()[i] == sorted.where.begin(ranks.rank()) + i;
  // The exception of one process passes to both, with its type.
  try {
    ranks.agree([&] {
      if (ranks.rank() == 1) throw sheaf::error(sheaf::error_code::bad_input, "no file");
    });
    return false;
  } catch (const sheaf::error& e) {
    return right && e.code() == sheaf::error_code::bad_input;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bool right = is_right(MPI_COMM_WORLD);
  if (!right) std::fprintf(stderr, "consumer_mpi: a wrong answer\n");
  MPI_Finalize();
  return right ? 0 : 1;
}
