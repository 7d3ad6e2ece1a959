#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include <mpi.h>
#include <sheaf/distributed/conjugate_gradient.hpp>
#include <sheaf/distributed/gather.hpp>
#include <sheaf/distributed/mpi.hpp>
#include <sheaf/distributed/sort.hpp>
#include <sheaf/gather.hpp>

// Calls on MPI's processes of one thread each, beside one process of as many threads, and beside what one would write
// by hand; all in the same run, in turns. Prints medians. No test: `mpiexec -n 2 sheaf-mpich-rates [ROWS]`.

namespace {

using namespace sheaf;
using clock_type = std::chrono::steady_clock;

int rank = 0;
int size = 0;

/// Waits without taking a processor from the process that works alone.
void wait_for_all() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0; usleep(200)) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

double timed(const std::function<void()>& work) {
  wait_for_all();
  MPI_Barrier(MPI_COMM_WORLD);
  const auto start = clock_type::now();
  work();
  MPI_Barrier(MPI_COMM_WORLD);
  return std::chrono::duration<double>(clock_type::now() - start).count();
}

double timed_alone(const std::function<void()>& work) {
  wait_for_all();
  double seconds = 0;
  if (rank == 0) {
    const auto start = clock_type::now();
    work();
    seconds = std::chrono::duration<double>(clock_type::now() - start).count();
  }
  wait_for_all();
  return seconds;
}

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

/// @param peer  by hand, on all ranks; empty: none
void compare(const char* what, const std::function<void()>& ours, const std::function<void()>& one,
             const std::function<void()>& peer = {}) {
  std::vector<double> times[3];
  for (int turn = 0; turn < 7; ++turn) {
    times[0].push_back(timed(ours));
    times[1].push_back(timed_alone(one));
    if (peer) times[2].push_back(timed(peer));
  }
  if (rank != 0) return;
  const double mine = median(times[0]);
  const double alone = median(times[1]);
  std::printf("%-28s %8.2f ms on %d ranks, %8.2f ms in one process of %d threads: %.2f", what, mine * 1e3, size,
              alone * 1e3, size, alone / mine);
  if (peer) std::printf("; by hand %8.2f ms: %.2f", median(times[2]) * 1e3, median(times[2]) / mine);
  std::printf("\n");
  std::fflush(stdout);
}

/// Sorts by samples, MPI_Alltoallv and std::sort.
void sort_by_hand(const std::vector<std::uint64_t>& mine) {
  std::vector<std::uint64_t> sample;
  for (std::size_t i = 0; i < 1000 && !mine.empty(); ++i) sample.push_back(mine[i * mine.size() / 1000]);
  std::vector<std::uint64_t> all(sample.size() * static_cast<std::size_t>(size));
  MPI_Allgather(sample.data(), static_cast<int>(sample.size()), MPI_UINT64_T, all.data(),
                static_cast<int>(sample.size()), MPI_UINT64_T, MPI_COMM_WORLD);
  std::sort(all.begin(), all.end());
  std::vector<std::uint64_t> bounds;
  for (int r = 1; r < size; ++r) bounds.push_back(all[static_cast<std::size_t>(r) * 1000]);
  const auto part = [&](std::uint64_t k) {
    return static_cast<std::size_t>(std::upper_bound(bounds.begin(), bounds.end(), k) - bounds.begin());
  };
  std::vector<int> sent(static_cast<std::size_t>(size));
  std::vector<int> got(sent.size());
  std::vector<int> sent_at(sent.size());
  std::vector<int> got_at(sent.size());
  for (const std::uint64_t k : mine) ++sent[part(k)];
  MPI_Alltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (std::size_t r = 1; r < sent.size(); ++r) {
    sent_at[r] = sent_at[r - 1] + sent[r - 1];
    got_at[r] = got_at[r - 1] + got[r - 1];
  }
  std::vector<std::uint64_t> packed(mine.size());
  std::vector<int> cursor = sent_at;
  for (const std::uint64_t k : mine) packed[static_cast<std::size_t>(cursor[part(k)]++)] = k;
  std::vector<std::uint64_t> sorted(static_cast<std::size_t>(got_at.back() + got.back()));
  MPI_Alltoallv(packed.data(), sent.data(), sent_at.data(), MPI_UINT64_T, sorted.data(), got.data(), got_at.data(),
                MPI_UINT64_T, MPI_COMM_WORLD);
  std::sort(sorted.begin(), sorted.end());
}

template <class T>
std::vector<T> part_of(const std::vector<T>& whole, const distributed::layout& rows) {
  return {whole.begin() + static_cast<std::ptrdiff_t>(rows.begin(rank)),
          whole.begin() + static_cast<std::ptrdiff_t>(rows.end(rank))};
}

void run(std::uint64_t rows) {
  const distributed::group ranks = distributed::over(context::cpu(1), MPI_COMM_WORLD);
  const context alone = context::cpu(size);
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> keys(rows);
  for (auto& k : keys) k = random();
  std::vector<std::uint32_t> list(rows);
  for (auto& i : list) i = static_cast<std::uint32_t>(random() % rows);
  const auto where = distributed::layout::even(rows, size, 256);
  const auto my_keys = part_of(keys, where);
  const auto my_list = part_of(list, where);
  std::vector<std::uint64_t> out(rank == 0 ? rows : my_keys.size());
  const std::span<std::uint64_t> my_out(out.data(), my_keys.size());

  compare(
      "sort u64", [&] { distributed::sort_keys(ranks, my_keys); }, [&] { sheaf::sort_keys(alone, keys, out); },
      [&] { sort_by_hand(my_keys); });
  compare(
      "gather 8 bytes", [&] { distributed::gather(ranks, my_keys, where, my_list, my_out); },
      [&] { sheaf::gather(alone, keys, list, out); });

  // The 7-point grid.
  const auto side = static_cast<std::int64_t>(std::cbrt(static_cast<double>(rows) / 8));
  const auto n = static_cast<std::uint64_t>(side * side * side);
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  for (std::int64_t r = 0; r < static_cast<std::int64_t>(n); ++r) {
    for (const std::int64_t d :
         {-side * side, -side, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, side, side * side}) {
      if (r + d < 0 || r + d >= static_cast<std::int64_t>(n)) continue;
      columns.push_back(static_cast<std::uint32_t>(r + d));
      values.push_back(d == 0 ? 6.5 : -1);
    }
    offsets.push_back(columns.size());
  }
  const auto parts = distributed::layout::even(n, size, distributed::system_block_rows);
  std::vector<std::uint64_t> my_offsets;
  for (std::uint64_t r = parts.begin(rank); r <= parts.end(rank); ++r)
    my_offsets.push_back(offsets[r] - offsets[parts.begin(rank)]);
  const auto entry = [&](auto& all) {
    using vector = std::remove_cvref_t<decltype(all)>;
    return vector(all.begin() + static_cast<std::ptrdiff_t>(offsets[parts.begin(rank)]),
                  all.begin() + static_cast<std::ptrdiff_t>(offsets[parts.end(rank)]));
  };
  const auto my_columns = entry(columns);
  const auto my_values = entry(values);
  const csr_view whole(n, n, offsets, columns, values);
  const csr_view mine(parts.count(rank), n, my_offsets, my_columns, my_values);
  std::vector<double> x(n, 1);
  std::vector<double> y(n);
  std::vector<double> my_x(parts.count(rank), 1);
  std::vector<double> my_y(my_x.size());
  const auto prepared = distributed::prepare_spmv(ranks, mine, parts, parts);
  compare(
      "spmv, 7-point grid", [&] { prepared.run(my_x, my_y); }, [&] { sheaf::spmv(alone, whole, x, y); });
  conjugate_gradient_options options;
  options.tolerance = 0;
  options.iteration_limit = 30;
  options.keeps_last = true;
  compare(
      "30 iterations of CG",
      [&] {
        std::fill(my_y.begin(), my_y.end(), 0);
        distributed::conjugate_gradient(ranks, mine, parts, my_x, my_y, options);
      },
      [&] {
        std::fill(y.begin(), y.end(), 0);
        sheaf::conjugate_gradient(alone, whole, x, y, options);
      });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::uint64_t{1} << 24);
  MPI_Finalize();
  return 0;
}
