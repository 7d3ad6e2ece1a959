#include <bit>
#include <cmath>

#include <sheaf/distributed/conjugate_gradient.hpp>

#include "distributed/devices/sparse.hpp"
#include "distributed/matrices.hpp"
#include "distributed/ranks.hpp"
#include "distributed/state.hpp"
#include "support/failing_memory.hpp"

namespace sheaf::tests::distributed_sparse_test {
namespace {

using namespace distributed;

template <class Value>
void expect_bits(const std::vector<Value>& got, const std::vector<Value>& right) {
  ASSERT_EQ(got.size(), right.size());
  using bits = std::conditional_t<sizeof(Value) == 8, std::uint64_t, std::uint32_t>;
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(std::bit_cast<bits>(got[i]), std::bit_cast<bits>(right[i])) << i << ": " << got[i] << " and " << right[i];
}

template <class Value, class Column = std::uint32_t, class Offset = std::uint64_t>
void check_product(const group& ranks, kind k, std::uint64_t rows, std::uint64_t columns, spread row_spread,
                   spread column_spread, spmv_sums sums = spmv_sums::as_values) {
  SCOPED_TRACE("kind " + std::to_string(static_cast<int>(k)) + ", " + std::to_string(rows) + " x " +
               std::to_string(columns) + ", " + name(row_spread) + " rows, " + name(column_spread) + " columns");
  const auto a = make<Value, Column, Offset>(k, rows, columns);
  const auto x = vector_of<Value>(columns, 3);
  const auto y_before = vector_of<Value>(rows, 4);
  const layout row_parts = layout_of(row_spread, rows, ranks.size());
  const layout column_parts = layout_of(column_spread, columns, ranks.size());
  const auto mine = a.part(row_parts, ranks.rank());
  const auto my_x = part_of(x, column_parts, ranks.rank());
  const distributed::prepared_spmv prepared =
      distributed::prepare_spmv(ranks, mine.view(), row_parts, column_parts, sums);
  for (const double beta : {0.0, 0.75}) {
    spmv_options options;
    options.alpha = -1.5;
    options.beta = beta;
    options.sums = sums;
    auto expected = y_before;
    sheaf::spmv(context::cpu(1), a.view(), x, expected, options);
    const auto right = part_of(expected, row_parts, ranks.rank());
    auto y = part_of(y_before, row_parts, ranks.rank());
    distributed::spmv(ranks, mine.view(), row_parts, column_parts, my_x, y, options);
    expect_bits(y, right);
    for (int run = 0; run < 2; ++run) {
      y = part_of(y_before, row_parts, ranks.rank());
      prepared.run(my_x, y, -1.5, beta);
      expect_bits(y, right);
    }
  }
}

limits small_rounds() {
  limits bounds;
  bounds.message_bytes = 64;
  return bounds;
}
limits grid_of_ranks() {
  limits bounds;
  bounds.two_level_ranks = 2;
  return bounds;
}

TEST(DistributedSpmv, HasTheBitsOfOneProcess) {
  for (const limits& bounds : {limits{}, small_rounds(), grid_of_ranks()}) {
    on_ranks_both_ways(
        [](const group& ranks) {
          for (const kind k : all_kinds) {
            for (const spread s : all_spreads) {
              check_product<double>(ranks, k, 1500, 1500, s, s);
              check_product<float>(ranks, k, 1500, 700, s, spread::even);
            }
            check_product<double, std::int64_t, std::int32_t>(ranks, k, 700, 3000, spread::uneven, spread::one_has_all);
            check_product<float>(ranks, k, 900, 900, spread::even, spread::even, spmv_sums::f64);
          }
          // So many columns, and so few entries, that these are listed.
          check_product<double>(ranks, kind::scattered, 300, 200'000, spread::uneven, spread::uneven);
          check_product<float, std::uint64_t>(ranks, kind::empty_rows, 700, 100'000, spread::even, spread::some_empty);
          check_product<double>(ranks, kind::banded, 40000, 40000, spread::even, spread::even);  // has interior rows
          check_product<double>(ranks, kind::grid, 40000, 40000, spread::even, spread::even);
        },
        bounds);
  }
}

TEST(DistributedSpmv, IsPreparedByAllThreads) {
  if (!ranks_are_threads() || !takes_both_ways()) return;
  for (const bool by_primitives : {false, true}) {
    run_in_one_process(2, 3, {}, [&](const group& ranks) {
      ranks.state().goes_by_primitives = by_primitives;
      for (const kind k : all_kinds) check_product<double>(ranks, k, 60000, 60000, spread::even, spread::uneven);
    });
  }
}

TEST(DistributedSpmv, MultipliesInteriorRowsWhileTheHaloTravels) {
  on_ranks_both_ways([](const group& ranks) {
    const auto a = make<double>(kind::grid, 60000, 60000);
    const layout rows = layout::even(60000, ranks.size(), 256);
    const auto mine = a.part(rows, ranks.rank());
    const distributed::spmv_preparation found = distributed::prepare_spmv(ranks, mine.view(), rows, rows).report();
    const std::uint64_t sides = (ranks.rank() > 0 ? 1 : 0) + (ranks.rank() + 1 < ranks.size() ? 1 : 0);
    EXPECT_EQ(found.halo, 100 * sides);
    EXPECT_EQ(found.sent, 100 * sides);
    EXPECT_GE(found.interior_rows, mine.rows() - 512);
  });
}

TEST(DistributedSpmv, KeepsOfTheHaloOnlyWhatOthersAskFor) {
  on_ranks_both_ways([](const group& ranks) {
    // A permutation, so that every entry is a column of its own, and most are of other ranks.
    const std::uint64_t n = 40000;
    const layout rows = layout::even(n, ranks.size());
    const std::uint64_t count = rows.count(ranks.rank());
    std::vector<std::uint64_t> begins(count + 1);
    std::vector<std::uint32_t> column(count);
    for (std::uint64_t r = 0; r < count; ++r) {
      begins[r + 1] = r + 1;
      column[r] = static_cast<std::uint32_t>((rows.begin(ranks.rank()) + r) * 7919 % n);
    }
    const std::vector<double> value(count, 1.5);
    failing_memory memory(ranks.local());
    context ctx = ranks.local();
    ctx.use(memory.resource());
    {
      const auto prepared = distributed::prepare_spmv(ranks, csr_view(count, n, begins, column, value), rows, rows);
      const distributed::spmv_preparation found = prepared.report();
      ASSERT_TRUE(ranks.size() == 1 || found.halo > count / 4);
      // Columns written anew, places that others ask for, and own columns that rows beside the halo have.
      EXPECT_LE(memory.bytes, 4 * count + 4 * found.sent + 8 * (count - found.halo) + 1024);
    }
    ctx.use(memory.under);
  });
}

TEST(DistributedSpmv, TakesRowsWithEndsOfTheirOwn) {
  on_ranks_both_ways([](const group& ranks) {
    // Rows share places: row r has the places from r to r + 4.
    const std::uint64_t n = 600;
    std::vector<std::uint32_t> column(n + 4);
    for (std::uint32_t i = 0; i < column.size(); ++i) column[i] = i * 7 % n;
    const auto value = vector_of<double>(column.size(), 5);
    std::vector<std::uint64_t> begins(n);
    std::vector<std::uint64_t> ends(n);
    for (std::uint64_t r = 0; r < n; ++r) ends[r] = (begins[r] = r) + 4;
    const auto x = vector_of<double>(n, 6);
    std::vector<double> expected(n);
    sheaf::spmv(context::cpu(1), csr_view(n, n, begins, ends, column, value), x, expected);
    const layout rows = layout::even(n, ranks.size());
    const auto my_begins = part_of(begins, rows, ranks.rank());
    const auto my_ends = part_of(ends, rows, ranks.rank());
    std::vector<double> y(my_begins.size());
    distributed::spmv(ranks, csr_view(y.size(), n, my_begins, my_ends, column, value), rows, rows,
                      part_of(x, rows, ranks.rank()), y);
    expect_bits(y, part_of(expected, rows, ranks.rank()));
    // A row's end before its begin, on the last rank.
    auto bad_ends = my_ends;
    if (ranks.rank() == ranks.size() - 1) bad_ends.back() = 1;
    const std::string said = message_of(error_code::bad_index, [&] {
      distributed::spmv(ranks, csr_view(y.size(), n, my_begins, bad_ends, column, value), rows, rows,
                        part_of(x, rows, ranks.rank()), y);
    });
    EXPECT_TRUE(said.starts_with("spmv: row 599 ")) << said;
    ranks.wait();
  });
}

TEST(DistributedSpmv, NamesTheFirstFaultOnEveryRank) {
  on_ranks_both_ways([](const group& ranks) {
    const auto whole = make<double>(kind::grid, 1000, 1000);
    const layout rows = layout::even(1000, ranks.size());
    const auto x = part_of(vector_of<double>(1000, 1), rows, ranks.rank());
    std::vector<double> y(x.size(), 7);
    const auto said_of = [&](const matrix<double>& a) {
      const auto mine = a.part(rows, ranks.rank());
      const auto before = y;
      std::string said =
          message_of(error_code::bad_index, [&] { distributed::spmv(ranks, mine.view(), rows, rows, x, y); });
      EXPECT_EQ(y, before);
      return said;
    };
    auto bad = whole;
    bad.column_of[5000] = 1000;
    bad.column_of[6000] = 4000;
    std::string expected;
    try {
      std::vector<double> all(1000);
      const context ctx = context::cpu(1);
      sheaf::spmv(ctx, bad.view(), vector_of<double>(1000, 1), all);
      ctx.wait();
    } catch (const error& e) {
      expected = e.what();
    }
    EXPECT_EQ(said_of(bad), expected);
    // A row's fault on the last rank comes before.
    auto mine = bad.part(rows, ranks.rank());
    if (ranks.rank() == ranks.size() - 1) mine.offsets[3] = 1 << 20;
    const std::string said =
        message_of(error_code::bad_index, [&] { distributed::spmv(ranks, mine.view(), rows, rows, x, y); });
    EXPECT_TRUE(
        said.starts_with("spmv: row " + std::to_string(rows.begin(ranks.size() - 1) + 2) + " ends at 1048576, past"))
        << said;
    ranks.wait();
  });
}

template <class Value>
void check_system(const group& ranks, std::uint64_t n, const conjugate_gradient_options& given, bool starts_at_zero) {
  SCOPED_TRACE(std::to_string(n) + " rows");
  const auto a = system_of<Value>(n, n / 7 + 2);
  const auto b = vector_of<Value>(n, 9);
  auto x = starts_at_zero ? std::vector<Value>(n) : vector_of<Value>(n, 10);
  const layout rows = layout::even(n, ranks.size(), system_block_rows);
  auto mine = a.part(rows, ranks.rank());
  auto my_x = part_of(x, rows, ranks.rank());
  std::vector<double> history;
  std::vector<double> my_history;
  conjugate_gradient_options options = given;
  options.history = &history;
  options.variant = "cpu.fused";
  const auto expected = sheaf::conjugate_gradient(context::cpu(1), a.view(), b, x, options);
  options.history = &my_history;
  options.variant = {};
  const auto got =
      distributed::conjugate_gradient(ranks, mine.view(), rows, part_of(b, rows, ranks.rank()), my_x, options);
  EXPECT_EQ(got.reason, expected.reason);
  EXPECT_EQ(got.iterations, expected.iterations);
  EXPECT_EQ(got.residual, expected.residual);
  EXPECT_EQ(got.target, expected.target);
  EXPECT_EQ(got.b_norm, expected.b_norm);
  EXPECT_EQ(my_history, history);
  expect_bits(my_x, part_of(x, rows, ranks.rank()));
}

TEST(DistributedConjugateGradient, HasTheBitsOfOneProcess) {
  for (const limits& bounds : {limits{}, small_rounds(), grid_of_ranks()}) {
    on_ranks_both_ways(
        [](const group& ranks) {
          for (const std::uint64_t n : {1, 100, 256, 257, 3000, 20000}) {
            if (n > 3000 && ranks.bounds().message_bytes < 1000) continue;
            conjugate_gradient_options options;
            check_system<double>(ranks, n, options, true);
            check_system<double>(ranks, n, options, false);
            options.preconditioner = preconditioner::jacobi;
            check_system<double>(ranks, n, options, true);
            options.tolerance = 1e-4;
            check_system<float>(ranks, n, options, false);
            options.sums = spmv_sums::f64;
            options.iteration_limit = 3;
            check_system<float>(ranks, n, options, true);
            options.keeps_last = true;
            check_system<float>(ranks, n, options, true);
            options = {};
            options.tolerance = 0;
            options.iteration_limit = 400;
            if (n <= 257) check_system<double>(ranks, n, options, true);
          }
        },
        bounds);
  }
}

TEST(DistributedConjugateGradient, EndsOnAllRanksWhereOneAsks) {
  on_ranks_both_ways([](const group& ranks) {
    const auto a = system_of<double>(2000, 40);
    const layout rows = layout::even(2000, ranks.size(), system_block_rows);
    const auto mine = a.part(rows, ranks.rank());
    const auto b = part_of(vector_of<double>(2000, 2), rows, ranks.rank());
    std::vector<double> x(b.size());
    conjugate_gradient_options options;
    const bool is_last = ranks.rank() == ranks.size() - 1;
    if (is_last) options.progress = [](const conjugate_gradient_progress& p) { return p.iterations < 3; };
    auto got = distributed::conjugate_gradient(ranks, mine.view(), rows, b, x, options);
    EXPECT_EQ(got.reason, stop_reason::stopped);
    EXPECT_EQ(got.iterations, 3U);
    if (is_last)
      options.progress = [](const conjugate_gradient_progress&) -> bool { throw std::runtime_error("mine"); };
    try {
      got = distributed::conjugate_gradient(ranks, mine.view(), rows, b, x, options);
      EXPECT_FALSE(is_last);
      EXPECT_EQ(got.reason, stop_reason::stopped);
    } catch (const std::runtime_error& thrown) {
      EXPECT_TRUE(is_last);
      EXPECT_STREQ(thrown.what(), "mine");
    }
    ranks.wait();  // the group goes on
    const layout odd = layout_of(spread::uneven, 2000, ranks.size());
    if (ranks.size() == 1 || odd.begin(1) % system_block_rows == 0 || odd.count(1) == 0) return;
    const auto part = a.part(odd, ranks.rank());
    std::vector<double> other(part.rows());
    EXPECT_EQ(message_of(error_code::bad_argument,
                         [&] {
                           distributed::conjugate_gradient(ranks, part.view(), odd, std::vector<double>(other.size()),
                                                           other);
                         }),
              "rank 0: conjugate_gradient: part 1 of the rows begins at row " + std::to_string(odd.begin(1)) +
                  ", not at a multiple of 256");
  });
}

TEST(DistributedSpmv, DoesOnTheCpuWhatItDoesOnDevices) {
  on_ranks_both_ways([](const group& ranks) { products_on_devices(ranks); });
}

}  // namespace
}  // namespace sheaf::tests::distributed_sparse_test
