#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/conjugate_gradient.hpp>

#include "primitives/sparse/conjugate_gradient.hpp"
#include "support/trials/csr.hpp"

namespace sheaf::tests {

/// The matrix whose entry (r, c) is value_of(r, c) where `of` has one. value_of is symmetric if the places are.
template <class ValueOf>
sparse_rows with_values(sparse_rows of, ValueOf value_of) {
  for (std::uint64_t r = 0; r < of.rows.size(); ++r) {
    for (csr_entry& e : of.rows[r]) e.value = value_of(r, e.column);
  }
  return of;
}

/// The Laplacian of a grid, whose condition grows with its side.
inline sparse_rows laplacian(std::uint64_t side) {
  return with_values(grid_3d(side), [](std::uint64_t r, std::uint64_t c) { return r == c ? 6.0 : -1.0; });
}

inline sparse_rows diagonal_matrix(std::string name, const std::vector<double>& values) {
  sparse_rows m{std::move(name), values.size(), {}};
  for (std::uint64_t r = 0; r < values.size(); ++r) m.rows.push_back({{r, values[r]}});
  return m;
}

/// Symmetric places at random, some of them several times; the diagonal is larger than the rest of its row.
inline sparse_rows dominant_at_random(std::uint64_t n, std::uint64_t per_row) {
  sparse_rows m{fmt::format("{} rows at random", n), n, {}};
  m.rows.resize(n);
  for (std::uint64_t i = 0; i < n * per_row; ++i) {
    const std::uint64_t r = inputs::mix(2 * i) % n;
    const std::uint64_t c = inputs::mix(2 * i + 1) % n;
    if (r == c) continue;
    m.rows[r].push_back({c, drawn_value(i)});
    m.rows[c].push_back({r, drawn_value(i)});
  }
  for (std::uint64_t r = 0; r < n; ++r) {
    double sum = 0.01 * static_cast<double>(1 + r % 100);
    for (const csr_entry& e : m.rows[r]) sum += std::abs(e.value);
    m.rows[r].insert(m.rows[r].begin() + static_cast<std::ptrdiff_t>(m.rows[r].size() / 2), {r, sum / 2});
    m.rows[r].push_back({r, sum / 2});  // the diagonal in two entries
  }
  return m;
}

/// Rows and columns of very different scale, which Jacobi takes out.
inline sparse_rows badly_scaled(std::uint64_t side) {
  sparse_rows m = laplacian(side);
  m.name += ", scaled badly";
  const auto scale = [](std::uint64_t r) { return std::ldexp(1.0, static_cast<int>(inputs::mix(r) % 9)); };
  return with_values(std::move(m),
                     [scale](std::uint64_t r, std::uint64_t c) { return (r == c ? 6.0 : -1.0) * scale(r) * scale(c); });
}

/// What was asked of one system, and what came of it.
struct solved_system {
  conjugate_gradient_result result;
  image x;
  std::vector<double> history;
};

using value_at = std::function<double(std::uint64_t)>;

/// Solves with a matrix that was placed. Only x may change.
inline solved_system solve_placed(const context& ctx, const csr_view& a, const value_at& b_of, const value_at& x_of,
                                  conjugate_gradient_options o) {
  const value_type type = a.values.type;
  solved_system solved;
  const image b = numbers(a.rows, type, b_of, false);
  const image x = numbers(a.rows, type, x_of, true);
  const placed placed_b(ctx, b);
  const placed placed_x(ctx, x);
  o.history = &solved.history;
  solved.result =
      conjugate_gradient(ctx, a, const_values_of(placed_b.view(), type), values_of(placed_x.view(), type), o);
  expect_bytes(placed_b.download(), b, "b");
  solved.x = x;
  solved.x.bytes = placed_x.download();
  image around = solved.x;
  std::memcpy(around.bytes.data() + around.first, x.bytes.data() + x.first, x.count * x.record_bytes);
  expect_bytes(around.bytes, x, "bytes around x");
  return solved;
}

/// |b - A x| in long sums.
inline double residual_of(const sparse_rows& m, const value_at& b_of, const image& x, value_type type) {
  const bool is_narrow = type == value_type::f32;
  const auto stored = [&](double value) { return is_narrow ? static_cast<double>(static_cast<float>(value)) : value; };
  long double squared = 0;
  for (std::uint64_t r = 0; r < m.rows.size(); ++r) {
    long double rest = stored(b_of(r));
    for (const csr_entry& e : m.rows[r]) {
      rest -= static_cast<long double>(stored(e.value)) * number_at(x, e.column, type);
    }
    squared += rest * rest;
  }
  return std::sqrt(static_cast<double>(squared));
}

/// Contexts on whose backend the planner has something to choose from, with seven threads on the CPU, too.
inline std::vector<named_context> system_contexts() {
  std::vector<named_context> all = every_context();
  all.push_back({"cpu with 7 threads", context::cpu(7)});
  std::erase_if(all, [](const named_context& where) {
    const auto variants = primitives::conjugate_gradient_variants();
    return std::none_of(variants.begin(), variants.end(), [&](const auto& v) {
      return v.works_on(where.ctx.backend()) && !v.name.starts_with("reference.");
    });
  });
  return all;
}

/// The contexts of these that a variant works on.
inline std::vector<named_context> system_contexts_of(std::string_view variant) {
  std::vector<named_context> all = system_contexts();
  std::erase_if(all, [&](const named_context& where) {
    for (const auto& v : primitives::conjugate_gradient_variants()) {
      if (v.name == variant) return !v.works_on(where.ctx.backend());
    }
    return false;
  });
  return all;
}

}  // namespace sheaf::tests
