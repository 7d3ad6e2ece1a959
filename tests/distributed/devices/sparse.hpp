#pragma once

#include <bit>
#include <cmath>
#include <cstdio>
#include <span>

#include <sheaf/distributed/conjugate_gradient.hpp>

#include "distributed/collectives.hpp"
#include "distributed/matrices.hpp"
#include "distributed/ranks.hpp"

// Trials of products and systems on groups whose contexts may be devices: arrays are made on the host and copied to
// where the contexts work, and answers are compared with plain loops on the host.
namespace sheaf::tests {
namespace products_of_devices {

using distributed::group;
using distributed::layout;

template <class T>
buffer brought(const context& ctx, const std::vector<T>& host) {
  buffer to(ctx, host.size() * sizeof(T));
  copy_bytes(ctx, to.data(), host.data(), to.size());
  return to;
}

template <class T>
std::vector<T> fetched(const context& ctx, const buffer& from) {
  std::vector<T> host(from.size() / sizeof(T));
  copy_bytes(ctx, host.data(), from.data(), from.size());
  return host;
}

template <class T>
const_values values_in(const buffer& of) {
  return {of.data(), of.size() / sizeof(T), sizeof(T) == 8 ? value_type::f64 : value_type::f32};
}
template <class T>
values values_in(buffer& of) {
  return {of.data(), of.size() / sizeof(T), sizeof(T) == 8 ? value_type::f64 : value_type::f32};
}

/// A rank's part of a matrix where its context works.
template <class Value, class Column, class Offset>
struct device_matrix {
  device_matrix(const context& ctx, const matrix<Value, Column, Offset>& host)
      : offsets(brought(ctx, host.offsets)),
        column_of(brought(ctx, host.column_of)),
        value_of(brought(ctx, host.value_of)),
        view(host.view()) {
    view.row_begins.data = offsets.data();
    view.column_indices.data = column_of.data();
    view.values.data = value_of.data();
  }

  buffer offsets, column_of, value_of;
  csr_view view;
};

/// A number that differs where the bits of a vector differ, whose parts all ranks have.
template <class Value>
std::uint64_t hash_of(const group& ranks, const std::vector<Value>& mine) {
  const auto all = distributed::all_gather_parts(ranks.state(), std::as_bytes(std::span(mine)));
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::byte b : all.data) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3U;
  return hash;
}

/// The same matrix, with small whole numbers for values: sums have one answer then, in any order.
template <class Value, class Column, class Offset>
matrix<Value, Column, Offset> with_whole_numbers(matrix<Value, Column, Offset> a) {
  for (std::size_t i = 0; i < a.value_of.size(); ++i) a.value_of[i] = static_cast<Value>(i % 7) - 3;
  return a;
}
template <class Value>
std::vector<Value> whole_numbers(std::uint64_t count) {
  std::vector<Value> all(count);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Value>(i % 5 + 1);
  return all;
}

/// Rows of alpha A x + beta y, and how far rounding may lead from them.
struct right_rows {
  std::vector<double> sum;
  std::vector<double> error;
};
template <class Value, class Column, class Offset>
right_rows rows_of(const matrix<Value, Column, Offset>& a, const std::vector<Value>& x, const std::vector<Value>& y,
                   double alpha, double beta) {
  right_rows right;
  for (std::size_t r = 0; r < a.rows(); ++r) {
    double sum = 0;
    double magnitude = 0;
    for (auto place = static_cast<std::size_t>(a.offsets[r]); place < static_cast<std::size_t>(a.offsets[r + 1]);
         ++place) {
      const double product =
          static_cast<double>(a.value_of[place]) * static_cast<double>(x[static_cast<std::size_t>(a.column_of[place])]);
      sum += product;
      magnitude += std::abs(product);
    }
    const auto entries = static_cast<double>(a.offsets[r + 1] - a.offsets[r]) + 2;
    right.sum.push_back(alpha * sum + beta * static_cast<double>(y[r]));
    right.error.push_back(static_cast<double>(std::numeric_limits<Value>::epsilon()) * entries *
                          (std::abs(alpha) * magnitude + std::abs(beta * static_cast<double>(y[r])) + 1));
  }
  return right;
}

/// A product and its preparation in one layout; the hash of what was multiplied.
template <class Value, class Column, class Offset>
std::uint64_t check_product(const group& ranks, const matrix<Value, Column, Offset>& a, const std::vector<Value>& x,
                            const std::vector<Value>& y, const right_rows& right, bool is_exact, const layout& rows,
                            const layout& columns, const spmv_options& options) {
  const context& ctx = ranks.local();
  const device_matrix<Value, Column, Offset> mine(ctx, a.part(rows, ranks.rank()));
  const buffer my_x = brought(ctx, part_of(x, columns, ranks.rank()));
  const auto before = part_of(y, rows, ranks.rank());
  const auto first = static_cast<std::size_t>(rows.begin(ranks.rank()));
  const auto expect = [&](const std::vector<Value>& got) {
    ASSERT_EQ(got.size(), before.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(got[i]), right.sum[first + i], is_exact ? 0 : right.error[first + i])
          << "row " << first + i;
    }
  };
  buffer my_y = brought(ctx, before);
  distributed::spmv(ranks, mine.view, rows, columns, values_in<Value>(std::as_const(my_x)), values_in<Value>(my_y),
                    options);
  const auto once = fetched<Value>(ctx, my_y);
  expect(once);
  const auto prepared = distributed::prepare_spmv(ranks, mine.view, rows, columns, options.sums);
  for (int run = 0; run < 2; ++run) {
    buffer again = brought(ctx, before);
    prepared.run(values_in<Value>(std::as_const(my_x)), values_in<Value>(again), options.alpha, options.beta);
    EXPECT_TRUE(fetched<Value>(ctx, again) == once) << "a run of the prepared product has other bits";
  }
  ranks.wait();
  return hash_of(ranks, once);
}

/// A matrix in several layouts, which have the same bits.
template <class Value, class Column, class Offset>
std::uint64_t check_layouts(const group& ranks, kind k, std::uint64_t rows, std::uint64_t columns,
                            spmv_sums sums = spmv_sums::as_values) {
  const auto a = make<Value, Column, Offset>(k, rows, columns);
  const auto whole = with_whole_numbers(a);
  const auto x = vector_of<Value>(columns, 3);
  const auto y = vector_of<Value>(rows, 4);
  const auto whole_x = whole_numbers<Value>(columns);
  const auto whole_y = whole_numbers<Value>(rows);
  std::uint64_t hash = 0;
  for (const double beta : {0.0, 0.75}) {
    spmv_options options;
    options.alpha = -1.5;
    options.beta = beta;
    options.sums = sums;
    const right_rows right = rows_of(a, x, y, -1.5, beta);
    const right_rows exact = rows_of(whole, whole_x, whole_y, -1.5, beta);
    std::uint64_t of_first = 0;
    for (const spread s : all_spreads) {
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(k)) + ", " + std::to_string(rows) + " x " +
                   std::to_string(columns) + ", values of " + std::to_string(sizeof(Value)) + " bytes, " + name(s) +
                   ", beta " + std::to_string(beta));
      const layout row_parts = layout_of(s, rows, ranks.size());
      const layout column_parts = layout_of(s, columns, ranks.size());
      check_product(ranks, whole, whole_x, whole_y, exact, true, row_parts, column_parts, options);
      const std::uint64_t found = check_product(ranks, a, x, y, right, false, row_parts, column_parts, options);
      if (s == all_spreads[0]) of_first = found;
      EXPECT_EQ(found, of_first) << "a layout has other bits";
    }
    hash = hash * 31 + of_first;
  }
  return hash;
}

template <class Value>
std::uint64_t check_system(const group& ranks, std::uint64_t n, const conjugate_gradient_options& given) {
  SCOPED_TRACE("a system of " + std::to_string(n) + " rows, values of " + std::to_string(sizeof(Value)) + " bytes");
  const context& ctx = ranks.local();
  const auto a = system_of<Value>(n, n / 7 + 2);
  const auto b = vector_of<Value>(n, 9);
  std::vector<double> history;
  conjugate_gradient_options options = given;
  options.history = &history;
  std::uint64_t hash = 0;
  std::uint64_t of_first = 0;
  for (const bool one_has_all : {false, true}) {
    const layout rows = one_has_all ? layout_of(spread::one_has_all, n, ranks.size())
                                    : layout::even(n, ranks.size(), distributed::system_block_rows);
    const device_matrix<Value, std::uint32_t, std::uint64_t> mine(ctx, a.part(rows, ranks.rank()));
    const buffer my_b = brought(ctx, part_of(b, rows, ranks.rank()));
    buffer my_x = brought(ctx, std::vector<Value>(static_cast<std::size_t>(rows.count(ranks.rank()))));
    const auto got = distributed::conjugate_gradient(ranks, mine.view, rows, values_in<Value>(std::as_const(my_b)),
                                                     values_in<Value>(my_x), options);
    EXPECT_EQ(history.size(), got.iterations + 1);
    const auto my_part = fetched<Value>(ctx, my_x);
    const auto all = distributed::all_gather_parts(ranks.state(), std::as_bytes(std::span(my_part)));
    std::vector<Value> x(n);
    if (all.data.size() != n * sizeof(Value)) {
      ADD_FAILURE() << "parts of x have " << all.data.size() << " bytes";
      return 0;
    }
    std::copy(all.data.begin(), all.data.end(), reinterpret_cast<std::byte*>(x.data()));
    const right_rows product = rows_of(a, x, x, 1, 0);
    double residual = 0;
    double b_squared = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double difference = static_cast<double>(b[i]) - product.sum[i];
      residual += difference * difference;
      b_squared += static_cast<double>(b[i]) * static_cast<double>(b[i]);
    }
    residual = std::sqrt(residual);
    EXPECT_NEAR(got.b_norm, std::sqrt(b_squared), 1e-12 * std::sqrt(b_squared));
    EXPECT_NEAR(got.residual, residual,
                1e-3 * residual + 100 * static_cast<double>(std::numeric_limits<Value>::epsilon()) * got.b_norm);
    if (given.iteration_limit == conjugate_gradient_options::automatic_limit) {
      EXPECT_EQ(name(got.reason), "converged");
      EXPECT_LE(residual, 1.001 * got.target +
                              10 * static_cast<double>(std::numeric_limits<Value>::epsilon()) * std::sqrt(b_squared));
    } else {
      EXPECT_EQ(got.iterations, given.iteration_limit);
      EXPECT_EQ(name(got.reason), "limit");
    }
    hash = hash_of(ranks, my_part);
    for (const double norm : history) hash = hash * 31 + std::bit_cast<std::uint64_t>(norm);
    hash = hash * 31 + std::bit_cast<std::uint64_t>(got.residual);
    if (!one_has_all) of_first = hash;
    EXPECT_EQ(hash, of_first) << "a layout has other bits";
  }
  return hash;
}

/// A bad column on the last rank that has rows ends the call on all ranks, and y keeps its value.
inline void check_fault(const group& ranks) {
  const context& ctx = ranks.local();
  auto a = make<double>(kind::grid, 1000, 1000);
  a.column_of[6000] = 4000;
  const layout rows = layout::even(1000, ranks.size());
  const device_matrix<double, std::uint32_t, std::uint64_t> mine(ctx, a.part(rows, ranks.rank()));
  const buffer x = brought(ctx, part_of(vector_of<double>(1000, 1), rows, ranks.rank()));
  const std::vector<double> before(x.size() / sizeof(double), 7);
  buffer y = brought(ctx, before);
  const std::string said = message_of(error_code::bad_index, [&] {
    distributed::spmv(ranks, mine.view, rows, rows, values_in<double>(std::as_const(x)), values_in<double>(y));
  });
  EXPECT_TRUE(said.starts_with("spmv: column_indices[6000], of row ")) << said;
  EXPECT_TRUE(fetched<double>(ctx, y) == before);
  ranks.wait();
}

}  // namespace products_of_devices

/// Products, prepared products and systems on a group. Returns a hash of the answers, which any number of ranks have
/// alike on one kind of device, and prints it.
inline std::uint64_t products_on_devices(const distributed::group& ranks) {
  using namespace products_of_devices;
  std::uint64_t products = 0;
  for (const kind k : all_kinds) {
    products = products * 31 + check_layouts<double, std::uint32_t, std::uint64_t>(ranks, k, 1500, 1500);
    products = products * 31 + check_layouts<float, std::uint64_t, std::uint32_t>(ranks, k, 1500, 700);
    products = products * 31 + check_layouts<float, std::int32_t, std::int64_t>(ranks, k, 900, 900, spmv_sums::f64);
    products = products * 31 + check_layouts<double, std::uint64_t, std::uint64_t>(ranks, k, 40, 3000);
  }
  // So many columns, and so few entries, that these are listed.
  products = products * 31 + check_layouts<double, std::uint32_t, std::uint64_t>(ranks, kind::scattered, 300, 200'000);
  products = products * 31 + check_layouts<double, std::uint32_t, std::uint32_t>(ranks, kind::grid, 40000, 40000);
  products = products * 31 + check_layouts<float, std::uint32_t, std::uint64_t>(ranks, kind::banded, 40000, 40000);
  check_fault(ranks);
  std::uint64_t systems = 0;
  for (const std::uint64_t n : {1, 257, 3000, 20000}) {
    conjugate_gradient_options options;
    systems = systems * 31 + check_system<double>(ranks, n, options);
    options.preconditioner = preconditioner::jacobi;
    systems = systems * 31 + check_system<double>(ranks, n, options);
    options.tolerance = 1e-4;
    systems = systems * 31 + check_system<float>(ranks, n, options);
    if (n == 1) continue;
    options.iteration_limit = 3;
    options.tolerance = 0;
    options.sums = spmv_sums::f64;
    systems = systems * 31 + check_system<float>(ranks, n, options);
  }
  if (ranks.rank() == 0) {
    std::printf("%d ranks: products %016llx, systems %016llx\n", ranks.size(),
                static_cast<unsigned long long>(products), static_cast<unsigned long long>(systems));
    std::fflush(stdout);
  }
  return products * 31 + systems;
}

}  // namespace sheaf::tests
