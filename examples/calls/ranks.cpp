#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include <sheaf/distributed/conjugate_gradient.hpp>
#include <sheaf/distributed/gather.hpp>
#include <sheaf/distributed/group.hpp>
#include <sheaf/distributed/layout.hpp>
#include <sheaf/distributed/scatter.hpp>
#include <sheaf/distributed/sort.hpp>
#include <sheaf/distributed/split.hpp>
#include <sheaf/distributed/spmv.hpp>
#include <sheaf/distributed/tcp.hpp>

#include "calls.hpp"

namespace calls {
namespace {

namespace distributed = sheaf::distributed;

void talk(const distributed::group& ranks) {
  //! [distributed::group]
  std::printf("rank %d of %d on %d threads, messages of at most %llu bytes\n", ranks.rank(), ranks.size(),
              ranks.local().threads(), static_cast<unsigned long long>(ranks.bounds().message_bytes));
  ranks.require_same("the number of records", 1000);     // throws on all ranks where they disagree
  ranks.agree([] { std::printf("opening a file\n"); });  // if one rank throws an error, all do
  ranks.wait();                                          // until the work of all ranks is done
  const bool failed = false;
  if (failed) ranks.abandon("the input is broken");  // what other ranks then throw
  //! [distributed::group]
}

void lay_out(const distributed::group& ranks) {
  //! [distributed::layout]
  const auto even = distributed::layout::even(10, ranks.size());                // parts of equal length
  const auto given = distributed::layout::at({0, 7, 10});                       // two ranks: rows 0 to 6, 7 to 9
  const auto mine = distributed::layout::of(ranks, ranks.rank() == 0 ? 7 : 3);  // what each rank has: the same
  const bool same = mine == given && mine.ranks() == 2 && mine.count() == 10 && mine.count(1) == 3;
  const bool here = mine.begin(1) == 7 && mine.end(1) == 10 && mine.owner(8) == 1 && mine.begins().back() == 10;
  //! [distributed::layout]
  expect(same && here && even.count(0) == 5);
}

void gather_from_all(const distributed::group& ranks) {
  //! [distributed::gather]
  const std::vector<int> my_rows{10 * ranks.rank(), 10 * ranks.rank() + 1};  // rows 0, 1 and 10, 11 of one table
  const auto table_rows = distributed::layout::even(4, ranks.size());
  const std::vector<std::uint32_t> my_index{3, 0};
  std::vector<int> out(2);
  distributed::gather(ranks, my_rows, table_rows, my_index, out);
  ranks.wait();  // out is 11, 0 on every rank
  //! [distributed::gather]
  expect(out == std::vector<int>{11, 0});
  //! [distributed::prepare_gather]
  const distributed::prepared_gather take = distributed::prepare_gather(ranks, my_index, table_rows);
  //! [distributed::prepare_gather]
  //! [distributed::prepared_gather]
  take.run(my_rows, out);  // as often as wanted, for records of any width
  //! [distributed::prepared_gather]
}

void scatter_to_all(const distributed::group& ranks) {
  const auto me = static_cast<std::uint64_t>(ranks.rank());
  //! [distributed::scatter]
  const std::vector<std::uint64_t> my_records{100 + me};
  const std::vector<std::uint32_t> my_index{ranks.rank() == 0 ? 3U : 0U};
  const auto out_rows = distributed::layout::even(4, ranks.size());
  std::vector<std::uint64_t> my_out(2, 0);
  distributed::scatter(ranks, my_records, my_index, my_out, out_rows);
  ranks.wait();  // the whole output is 101, 0, 0, 100
  //! [distributed::scatter]
  expect(my_out == (me == 0 ? std::vector<std::uint64_t>{101, 0} : std::vector<std::uint64_t>{0, 100}));
  //! [distributed::scatter_reduce]
  const std::vector<double> ones{1.0};
  std::vector<double> my_sums(2, 0.0);
  distributed::scatter_reduce(ranks, sheaf::const_value_rows(ones), std::vector<int>{2},
                              sheaf::value_rows(sheaf::values(my_sums)), out_rows, sheaf::reduction::add);
  ranks.wait();  // slot 2, the first of rank 1, is the number of ranks
  //! [distributed::scatter_reduce]
  expect(me == 0 || my_sums[0] == 2.0);
  //! [distributed::prepare_scatter]
  const distributed::prepared_scatter put = distributed::prepare_scatter(ranks, my_index, out_rows);
  //! [distributed::prepare_scatter]
  //! [distributed::prepared_scatter]
  put.run(my_records, my_out);
  put.run_reduce(sheaf::const_value_rows(ones), sheaf::value_rows(sheaf::values(my_sums)), sheaf::reduction::add);
  //! [distributed::prepared_scatter]
  ranks.wait();
}

void sort_all(const distributed::group& ranks) {
  const auto me = static_cast<std::uint64_t>(ranks.rank());
  //! [distributed::sort_keys]
  const std::vector<std::uint64_t> my_keys{7 - me, 20 + me};
  const distributed::sorted_records sorted = distributed::sort_keys(ranks, my_keys);
  //! [distributed::sort_keys]
  //! [distributed::owned_records]
  for (const std::uint64_t key : sorted.rows.as<std::uint64_t>()) {
    std::printf("rank %d has %llu\n", ranks.rank(), static_cast<unsigned long long>(key));
  }
  //! [distributed::owned_records]
  expect(sorted.rows.as<std::uint64_t>()[0] == (me == 0 ? 6 : 20));
  //! [distributed::sort_records]
  const auto rows = distributed::sort_records(ranks, my_keys, sheaf::sort_key::of<std::uint64_t>(true));
  //! [distributed::sort_records]
  //! [distributed::sort_pairs]
  const std::vector<float> my_values{0.5F, 1.5F};
  const sheaf::const_records columns[] = {my_values};
  const distributed::sorted_pairs pairs =
      distributed::sort_pairs(ranks, my_keys, sheaf::sort_key::of<std::uint64_t>(), columns);
  //! [distributed::sort_pairs]
  expect(rows.where.count() == 4 && pairs.values.size() == 1);
  //! [distributed::split]
  const distributed::split_records parts =
      distributed::split(ranks, my_keys, sheaf::split_key::of_record({.first = 0, .count = 1}));
  // parts.rows has this rank's part of: all even keys, then all odd ones, which begin at parts.offsets[1].
  //! [distributed::split]
  expect(parts.offsets[1] == 2);
}

void multiply_by_rows(const distributed::group& ranks) {
  const auto me = static_cast<std::uint64_t>(ranks.rank());
  //! [distributed::spmv]
  // Each rank has one row of the matrix 2 -1; -1 2, with columns of the whole.
  const std::vector<std::uint32_t> offsets{0, 2}, columns{0, 1};
  const std::vector<double> entries = me == 0 ? std::vector<double>{2, -1} : std::vector<double>{-1, 2};
  const sheaf::csr_view my_part(1, 2, offsets, columns, entries);
  const auto rows = distributed::layout::even(2, ranks.size());
  const std::vector<double> my_x{1.0 + static_cast<double>(me)};  // x is 1, 2
  std::vector<double> my_y(1);
  distributed::spmv(ranks, my_part, rows, rows, my_x, my_y);  // y is 0, 3
  //! [distributed::spmv]
  ranks.wait();
  expect(my_y[0] == (me == 0 ? 0.0 : 3.0));
  //! [distributed::prepare_spmv]
  const distributed::prepared_spmv product = distributed::prepare_spmv(ranks, my_part, rows, rows);
  //! [distributed::prepare_spmv]
  //! [distributed::prepared_spmv]
  product.run(my_x, my_y);
  std::printf("a product needs %llu values of other ranks\n", static_cast<unsigned long long>(product.report().halo));
  //! [distributed::prepared_spmv]
}

void solve_by_rows(const distributed::group& ranks) {
  //! [distributed::conjugate_gradient]
  // 512 rows of the matrix 2 I: parts begin at multiples of system_block_rows.
  const auto rows = distributed::layout::even(512, ranks.size(), distributed::system_block_rows);
  const std::uint64_t my_count = rows.count(ranks.rank()), my_first = rows.begin(ranks.rank());
  std::vector<std::uint32_t> offsets(my_count + 1), columns(my_count);
  for (std::uint32_t i = 0; i < my_count; ++i) {
    offsets[i + 1] = i + 1;
    columns[i] = static_cast<std::uint32_t>(my_first) + i;
  }
  const std::vector<double> entries(my_count, 2.0), b(my_count, 1.0);
  std::vector<double> x(my_count, 0.0);
  const sheaf::csr_view my_part(my_count, 512, offsets, columns, entries);
  const auto result = distributed::conjugate_gradient(ranks, my_part, rows, b, x);  // x is 0.5 everywhere
  //! [distributed::conjugate_gradient]
  expect(result.converged() && x[0] == 0.5);
}

void show_groups(const distributed::group& ranks) {
  talk(ranks);
  lay_out(ranks);
  gather_from_all(ranks);
  scatter_to_all(ranks);
  sort_all(ranks);
  multiply_by_rows(ranks);
  solve_by_rows(ranks);
}

}  // namespace

void show_ranks() {
  //! [distributed::run_in_one_process]
  distributed::run_in_one_process(2, 1, {}, [](const distributed::group& ranks) {
    const std::vector<std::uint64_t> my_keys{9 - static_cast<std::uint64_t>(ranks.rank())};
    const auto sorted = distributed::sort_keys(ranks, my_keys);  // 8 on rank 0, 9 on rank 1
  });
  //! [distributed::run_in_one_process]
  distributed::run_in_one_process(2, 1, {}, show_groups);
  {
    //! [distributed::transports_in_one_process]
    const auto between = distributed::transports_in_one_process(2);
    const auto work = [](std::shared_ptr<distributed::transport> mine) {
      const distributed::group ranks(sheaf::context::cpu(1), std::move(mine));
      ranks.wait();
    };
    std::thread other(work, between[1]);
    work(between[0]);
    other.join();
    //! [distributed::transports_in_one_process]
  }
  {
    const auto port = static_cast<std::uint16_t>(20000 + getpid() % 10000);
    //! [distributed::tcp_transport]
    const auto work = [&](int rank) {  // on each of two processes; here they are threads
      const auto mine = distributed::tcp_transport(rank, 2, {.host = "127.0.0.1", .port = port, .wait_seconds = 20});
      const distributed::group ranks(sheaf::context::cpu(1), mine, {.wait_seconds = 20});
      ranks.wait();
    };
    //! [distributed::tcp_transport]
    std::thread other(work, 1);
    work(0);
    other.join();
  }
}

}  // namespace calls
