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

#include "distributed/movement/cost.hpp"
#include "distributed/petsc_peers.hpp"
#include "distributed/sort/cost.hpp"
#include "distributed/sparse/cost.hpp"

// Calls on MPI's processes of one thread each, beside one process of as many threads, and beside what one would write
// by hand and PETSc; all in the same run, in turns. Prints medians, and what the model of docs/scale-out.md makes of
// rates that are measured here. No test: `mpiexec.mpich -n 2 sheaf-mpich-rates [ROWS]`, or
// `mpiexec.openmpi --bind-to none -n 2 sheaf-openmpi-rates [ROWS]`: Open MPI would give the process that works alone
// one core for all of its threads.

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

double median_of(const std::function<void()>& work) {
  std::vector<double> times(7);
  for (double& time : times) time = timed(work);
  return median(times);
}

/// What the model counts with: of messages as long as a group's longest, and of 8 bytes, to the next process and from
/// the one before.
distributed::link_rates measure_link() {
  const int next = (rank + 1) % size;
  const int before = (rank + size - 1) % size;
  constexpr int message_bytes = 64 << 20;
  std::vector<char> sent(message_bytes, 1);
  std::vector<char> got(message_bytes, 2);
  const auto swap = [&](int bytes) {
    MPI_Sendrecv(sent.data(), bytes, MPI_CHAR, next, 0, got.data(), bytes, MPI_CHAR, before, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  };
  constexpr int swaps = 1000;
  distributed::link_rates rates;
  rates.bytes_per_second = message_bytes / median_of([&] { swap(message_bytes); });
  rates.message_seconds = median_of([&] {
                            for (int i = 0; i < swaps; ++i) swap(8);
                          }) /
                          swaps;
  return rates;
}

void print_model(const char* what, double predicted, double measured) {
  if (rank == 0) {
    std::printf("  %-24s model %8.2f ms, measured %8.2f ms: %.2f\n", what, predicted * 1e3, measured * 1e3,
                predicted / measured);
    std::fflush(stdout);
  }
}

/// What others would call, on all ranks; empty: it is not there.
struct peer {
  const char* name;
  std::function<void()> run;
};

/// Returns the seconds of `ours`.
double compare(const char* what, const std::function<void()>& ours, const std::function<void()>& one,
               std::vector<peer> peers = {}) {
  std::erase_if(peers, [](const peer& p) { return !p.run; });
  std::vector<std::vector<double>> times(2 + peers.size());
  for (int turn = 0; turn < 7; ++turn) {
    times[0].push_back(timed(ours));
    times[1].push_back(timed_alone(one));
    for (std::size_t i = 0; i < peers.size(); ++i) times[2 + i].push_back(timed(peers[i].run));
  }
  const double mine = median(times[0]);
  if (rank != 0) return mine;
  const double alone = median(times[1]);
  std::printf("%-28s %8.2f ms on %d ranks, %8.2f ms in one process of %d threads: %.2f", what, mine * 1e3, size,
              alone * 1e3, size, alone / mine);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const double seconds = median(times[2 + i]);
    std::printf("; %s %8.2f ms: %.2f", peers[i].name, seconds * 1e3, seconds / mine);
  }
  std::printf("\n");
  std::fflush(stdout);
  return mine;
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

/// What all of it is measured with.
struct setting {
  const distributed::group& ranks;
  const context& own;    ///< of this process
  const context& alone;  ///< of the process that works alone
  distributed::link_rates link;
  double call;  ///< seconds of a call that moves nothing
};

void run_movement(const setting& s, std::uint64_t rows) {
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

  std::vector<std::uint32_t> bins(my_keys.size());
  std::vector<std::uint64_t> histogram(2048);
  const double pass = median_of([&] {
    for (std::size_t i = 0; i < my_keys.size(); ++i)
      ++histogram[bins[i] = static_cast<std::uint32_t>(my_keys[i] >> 53)];
  });
  const auto one_pass = [&](std::uint64_t) { return pass; };
  const double sort_alone = median_of([&] { sheaf::sort_keys(s.own, my_keys, my_out); });
  auto inner_list = my_list;
  for (auto& i : inner_list) i = static_cast<std::uint32_t>(i % my_keys.size());
  const double gather_alone = median_of([&] { sheaf::gather(s.own, my_keys, inner_list, my_out); });
  if (rank == 0) {
    std::printf("link %.2f GB/s each way, %.2f us a message; %.1f us a call; a pass over a process's rows %.2f ms\n",
                s.link.bytes_per_second / 1e9, s.link.message_seconds * 1e6, s.call * 1e6, pass * 1e3);
  }

  const double sort_seconds = compare(
      "sort u64", [&] { distributed::sort_keys(s.ranks, my_keys); }, [&] { sheaf::sort_keys(s.alone, keys, out); },
      {{"by hand", [&] { sort_by_hand(my_keys); }}});
  print_model("sort u64",
              distributed::sort_cost({rows, 8, {}, sort_key::of<std::uint64_t>()}, size, s.ranks.bounds(),
                                     {[&](std::uint64_t, std::uint32_t) { return sort_alone; }, one_pass, {}}, s.link)
                  .seconds(),
              sort_seconds);
  const double gather_seconds = compare(
      "gather 8 bytes", [&] { distributed::gather(s.ranks, my_keys, where, my_list, my_out); },
      [&] { sheaf::gather(s.alone, keys, list, out); });
  print_model("gather 8 bytes",
              distributed::movement_cost({rows, rows, 8, false}, size, s.ranks.bounds(),
                                         {[&](std::uint64_t, std::uint64_t) { return gather_alone; }, {}, {}, one_pass},
                                         s.link, false)
                  .seconds(),
              gather_seconds);
}

void run_prepared_gather(const setting& s, std::uint64_t rows) {
  std::mt19937_64 random(6);
  std::vector<double> table(rows);
  for (std::uint64_t i = 0; i < rows; ++i) table[i] = static_cast<double>(i);
  std::vector<std::uint32_t> list(rows);
  for (auto& i : list) i = static_cast<std::uint32_t>(random() % rows);
  const auto where = distributed::layout::even(rows, size, 256);
  const auto my_table = part_of(table, where);
  const auto my_list = part_of(list, where);
  std::vector<double> out(rank == 0 ? rows : my_list.size());
  std::vector<double> my_out(my_list.size());
  const auto prepared = distributed::prepare_gather(s.ranks, my_list, where);
  prepared.run(my_table, my_out);
  const auto petsc = petsc_peers::prepare_gather(my_table, my_list, my_out);
  compare(
      "gather 8 bytes, prepared", [&] { prepared.run(my_table, my_out); },
      [&] { sheaf::gather(s.alone, table, list, out); }, {{"PETSc", petsc}});
}

/// The 7-point grid of about an eighth as many unknowns as rows, and this process's rows of it.
struct grid {
  std::uint64_t n = 0;
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  std::vector<std::uint64_t> my_offsets;
  std::vector<std::uint32_t> my_columns;
  std::vector<double> my_values;

  explicit grid(std::uint64_t rows) {
    const auto side = static_cast<std::int64_t>(std::cbrt(static_cast<double>(rows) / 8));
    n = static_cast<std::uint64_t>(side * side * side);
    for (std::int64_t r = 0; r < static_cast<std::int64_t>(n); ++r) {
      for (const std::int64_t d :
           {-side * side, -side, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, side, side * side}) {
        if (r + d < 0 || r + d >= static_cast<std::int64_t>(n)) continue;
        columns.push_back(static_cast<std::uint32_t>(r + d));
        values.push_back(d == 0 ? 6.5 : -1);
      }
      offsets.push_back(columns.size());
    }
    const distributed::layout parts = layout();
    for (std::uint64_t r = parts.begin(rank); r <= parts.end(rank); ++r)
      my_offsets.push_back(offsets[r] - offsets[parts.begin(rank)]);
    const auto entry = [&](auto& all) {
      using vector = std::remove_cvref_t<decltype(all)>;
      return vector(all.begin() + static_cast<std::ptrdiff_t>(offsets[parts.begin(rank)]),
                    all.begin() + static_cast<std::ptrdiff_t>(offsets[parts.end(rank)]));
    };
    my_columns = entry(columns);
    my_values = entry(values);
  }
  distributed::layout layout() const { return distributed::layout::even(n, size, distributed::system_block_rows); }
  csr_view whole() const { return {n, n, offsets, columns, values}; }
  petsc_peers::matrix_rows my_rows() const { return {my_offsets, my_columns, my_values}; }
  csr_view mine() const { return {my_offsets.size() - 1, n, my_offsets, my_columns, my_values}; }
};

/// Values that differ from place to place, so that a wrong column shows.
std::vector<double> uneven_values(std::uint64_t count) {
  std::vector<double> values(count);
  for (std::uint64_t i = 0; i < count; ++i) values[i] = 1 + static_cast<double>(i * 37 % 101) / 101;
  return values;
}

void run_product(const setting& s, const grid& g) {
  const auto parts = g.layout();
  const std::vector<double> x = uneven_values(g.n);
  std::vector<double> y(g.n);
  const std::vector<double> my_x = part_of(x, parts);
  std::vector<double> my_y(my_x.size());
  const auto prepared = distributed::prepare_spmv(s.ranks, g.mine(), parts, parts);
  const double product_alone = median_of([&] { sheaf::spmv(s.own, g.mine(), x, my_y); });
  const distributed::system_shape shape{g.n, g.columns.size(), prepared.report().halo};
  prepared.run(my_x, my_y);
  const auto petsc = petsc_peers::prepare_product(g.my_rows(), my_x, my_y);
  const double product_seconds = compare(
      "spmv, 7-point grid", [&] { prepared.run(my_x, my_y); }, [&] { sheaf::spmv(s.alone, g.whole(), x, y); },
      {{"PETSc", petsc}});
  print_model("spmv, 7-point grid", distributed::product_cost(size, shape, {product_alone, 0}, s.link).seconds(),
              product_seconds);
}

void run_iterations(const setting& s, const grid& g) {
  const auto parts = g.layout();
  const std::vector<double> x = uneven_values(g.n);
  std::vector<double> y(g.n);
  const std::vector<double> my_x = part_of(x, parts);
  std::vector<double> my_y(my_x.size());
  const auto& my_offsets = g.my_offsets;
  const auto prepared = distributed::prepare_spmv(s.ranks, g.mine(), parts, parts);
  const distributed::system_shape shape{g.n, g.columns.size(), prepared.report().halo};
  conjugate_gradient_options options;
  options.tolerance = 0;
  options.iteration_limit = 30;
  options.keeps_last = true;
  // This process's rows without the columns of others: the same work, and no halo.
  std::vector<std::uint64_t> inner_offsets{0};
  std::vector<std::uint32_t> inner_columns;
  std::vector<double> inner_values;
  for (std::uint64_t r = 0; r < my_x.size(); ++r) {
    for (std::uint64_t i = my_offsets[r]; i < my_offsets[r + 1]; ++i) {
      const std::uint64_t c = g.my_columns[i] - parts.begin(rank);
      if (c >= my_x.size()) continue;
      inner_columns.push_back(static_cast<std::uint32_t>(c));
      inner_values.push_back(g.my_values[i]);
    }
    inner_offsets.push_back(inner_columns.size());
  }
  const csr_view inner(my_x.size(), my_x.size(), inner_offsets, inner_columns, inner_values);
  const double iterations_alone = median_of([&] {
    std::fill(my_y.begin(), my_y.end(), 0);
    sheaf::conjugate_gradient(s.own, inner, my_x, my_y, options);
  });
  const auto ours = [&] {
    std::fill(my_y.begin(), my_y.end(), 0);
    distributed::conjugate_gradient(s.ranks, g.mine(), parts, my_x, my_y, options);
  };
  ours();
  const auto petsc =
      petsc_peers::prepare_conjugate_gradient(g.my_rows(), my_x, static_cast<int>(options.iteration_limit), my_y);
  const double iterations_seconds = compare("30 iterations of CG", ours,
                                            [&] {
                                              std::fill(y.begin(), y.end(), 0);
                                              sheaf::conjugate_gradient(s.alone, g.whole(), x, y, options);
                                            },
                                            {{"PETSc", petsc.solve}, {"PETSc from the rows on", petsc.make_and_solve}});
  const double iterations = static_cast<double>(options.iteration_limit);
  print_model(
      "30 iterations of CG",
      iterations * distributed::iteration_cost(size, shape, {0, iterations_alone / iterations}, s.link).seconds(),
      iterations_seconds);
}

void run(std::uint64_t rows) {
  const distributed::group ranks = distributed::over(context::cpu(1), MPI_COMM_WORLD);
  const context own = context::cpu(1);
  const context alone = context::cpu(size);
  constexpr int calls = 100;
  const double call = median_of([&] {
                        for (int i = 0; i < calls; ++i) distributed::layout::of(ranks, 1);
                      }) /
                      calls;
  const setting s{ranks, own, alone, measure_link(), call};
  run_movement(s, rows);
  run_prepared_gather(s, rows);
  const grid g(rows);
  run_product(s, g);
  run_iterations(s, g);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  petsc_peers::initialize();
  run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::uint64_t{1} << 24);
  petsc_peers::finalize();
  MPI_Finalize();
  return 0;
}
