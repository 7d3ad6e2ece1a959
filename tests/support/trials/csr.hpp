#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/error.hpp>
#include <sheaf/spmv.hpp>

#include "apps/sheaf/nas.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "primitives/sparse/spmv.hpp"
#include "support/contexts.hpp"
#include "support/placed.hpp"

namespace sheaf::tests {

struct csr_entry {
  std::uint64_t column;
  double value;
};

/// A matrix by its rows.
struct sparse_rows {
  std::string name;
  std::uint64_t columns = 0;
  std::vector<std::vector<csr_entry>> rows;

  std::uint64_t entries() const {
    std::uint64_t sum = 0;
    for (const auto& row : rows) sum += row.size();
    return sum;
  }
};

/// A number in (-1, 1) with few bits left of its last place, so that f32 holds it.
inline double drawn_value(std::uint64_t seed) {
  return static_cast<float>(static_cast<double>(static_cast<std::int64_t>(inputs::mix(seed))) / 9.3e18);
}

/// A matrix of that many rows, whose row r has the columns that columns_of(r) returns.
template <class ColumnsOf>
sparse_rows made_rows(std::string name, std::uint64_t rows, std::uint64_t columns, ColumnsOf columns_of) {
  sparse_rows made{std::move(name), columns, {}};
  made.rows.resize(rows);
  std::uint64_t place = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    for (const std::uint64_t c : columns_of(r)) made.rows[r].push_back({c, drawn_value(++place)});
  }
  return made;
}

using column_list = std::vector<std::uint64_t>;

inline column_list drawn_columns(std::uint64_t row, std::uint64_t count, std::uint64_t columns) {
  column_list drawn;
  for (std::uint64_t i = 0; i < count && columns > 0; ++i) drawn.push_back(inputs::mix(row * 1031 + i) % columns);
  return drawn;
}

inline sparse_rows banded(std::uint64_t n, std::uint64_t half) {
  return made_rows(fmt::format("{} rows, band {}", n, half), n, n, [&](std::uint64_t r) {
    column_list c;
    for (std::uint64_t i = r < half ? 0 : r - half; i <= std::min(n - 1, r + half); ++i) c.push_back(i);
    return c;
  });
}

inline sparse_rows grid_3d(std::uint64_t side) {
  const std::uint64_t n = side * side * side;
  return made_rows(fmt::format("7-point grid of {}", n), n, n, [&](std::uint64_t r) {
    column_list c;
    for (const std::uint64_t step : {side * side, side, std::uint64_t{1}}) {
      if (r >= step) c.push_back(r - step);
    }
    c.push_back(r);
    for (const std::uint64_t step : {std::uint64_t{1}, side, side * side}) {
      if (r + step < n) c.push_back(r + step);
    }
    return c;
  });
}

inline sparse_rows grid_27(std::uint64_t side) {
  return made_rows(fmt::format("27-point grid of side {}", side), side * side * side, side * side * side,
                   [side](std::uint64_t r) {
                     const auto near = [side](std::uint64_t at) {
                       column_list c;
                       for (std::uint64_t i = at == 0 ? 0 : at - 1; i <= std::min(side - 1, at + 1); ++i)
                         c.push_back(i);
                       return c;
                     };
                     column_list c;
                     for (const std::uint64_t z : near(r / side / side)) {
                       for (const std::uint64_t y : near(r / side % side)) {
                         for (const std::uint64_t x : near(r % side)) c.push_back((z * side + y) * side + x);
                       }
                     }
                     return c;
                   });
}

/// Edges of a recursive matrix (Chakrabarti, Zhan and Faloutsos 2004): most are of few rows and columns.
inline sparse_rows r_mat(unsigned bits, std::uint64_t per_row) {
  const std::uint64_t n = std::uint64_t{1} << bits;
  std::vector<column_list> columns(n);
  for (std::uint64_t i = 0; i < per_row * n; ++i) {
    std::uint64_t row = 0;
    std::uint64_t column = 0;
    for (unsigned bit = 0; bit < bits; ++bit) {
      const std::uint64_t draw = inputs::mix(64 * i + bit) % 100;
      row = 2 * row + (draw < 76 ? 0 : 1);
      column = 2 * column + (draw < 57 || (draw >= 76 && draw < 95) ? 0 : 1);
    }
    columns[row].push_back(column);
  }
  return made_rows(fmt::format("R-MAT of 2^{}", bits), n, n, [&](std::uint64_t r) { return columns[r]; });
}

template <class Matrix>
sparse_rows rows_of(std::string name, const Matrix& read) {
  sparse_rows m{std::move(name), read.columns, std::vector<std::vector<csr_entry>>(read.rows)};
  const auto& columns = std::get<std::vector<std::uint32_t>>(read.column_indices);
  for (std::uint64_t r = 0; r < read.rows; ++r) {
    for (std::uint64_t p = read.row_offsets[r]; p < read.row_offsets[r + 1]; ++p) {
      m.rows[r].push_back({columns[p], read.values[p]});
    }
  }
  return m;
}

/// A matrix as the conjugate gradient benchmark of NAS has them, with values that f32 holds.
inline sparse_rows nas(std::uint64_t n, std::uint64_t vector_entries) {
  sparse_rows m =
      rows_of(fmt::format("NAS matrix of {} rows", n), jobs::nas_matrix({"tests'", n, vector_entries, 1, 10, 0, 0}, 1));
  for (auto& row : m.rows) {
    for (csr_entry& e : row) e.value = static_cast<float>(e.value);
  }
  return m;
}

inline sparse_rows transposed(const sparse_rows& m) {
  sparse_rows t{m.name + ", transposed", m.rows.size(), std::vector<std::vector<csr_entry>>(m.columns)};
  for (std::uint64_t r = 0; r < m.rows.size(); ++r) {
    for (const csr_entry& e : m.rows[r]) t.rows[e.column].push_back({r, e.value});
  }
  return t;
}

inline sparse_rows at_random(std::uint64_t rows, std::uint64_t columns, std::uint64_t per_row) {
  return made_rows(fmt::format("{} x {} at random, {} a row", rows, columns, per_row), rows, columns,
                   [&](std::uint64_t r) { return drawn_columns(r, inputs::mix(r) % (2 * per_row + 1), columns); });
}

inline sparse_rows power_law(std::uint64_t n, std::uint64_t longest) {
  return made_rows(fmt::format("{} rows of a power law", n), n, n,
                   [&](std::uint64_t r) { return drawn_columns(r, longest / (1 + inputs::mix(r + 7) % n), n); });
}

/// Matrices of every shape that the promises name.
inline std::vector<sparse_rows> every_matrix() {
  std::vector<sparse_rows> all;
  all.push_back(banded(500, 3));
  all.push_back(grid_3d(9));
  all.push_back(grid_27(7));
  all.push_back(r_mat(9, 8));
  all.push_back(nas(300, 4));
  all.push_back(at_random(700, 300, 6));
  all.push_back(at_random(3, 100'000, 40));
  all.push_back(power_law(2000, 60'000));
  all.push_back(made_rows("one dense row", 300, 20'000, [](std::uint64_t r) {
    return r == 123 ? drawn_columns(r, 20'000, 20'000) : drawn_columns(r, r % 3, 20'000);
  }));
  all.push_back(made_rows("one dense column", 3000, 50, [](std::uint64_t) { return column_list{17}; }));
  all.push_back(made_rows("empty rows", 1000, 10, [](std::uint64_t r) {
    return r % 7 == 0 ? column_list{r % 10, 3} : column_list{};
  }));
  all.push_back(made_rows("no entries", 20, 30, [](std::uint64_t) { return column_list{}; }));
  all.push_back(made_rows("0 x 40", 0, 40, [](std::uint64_t) { return column_list{}; }));
  all.push_back(made_rows("40 x 0", 40, 0, [](std::uint64_t) { return column_list{}; }));
  all.push_back(made_rows("0 x 0", 0, 0, [](std::uint64_t) { return column_list{}; }));
  all.push_back(made_rows("1 x 1", 1, 1, [](std::uint64_t) { return column_list{0}; }));
  all.push_back(made_rows("all entries in one row", 30, 100'000,
                          [](std::uint64_t r) { return r == 29 ? drawn_columns(r, 90'001, 100'000) : column_list{}; }));
  for (const std::uint64_t length : {4095, 4096, 4097, 8192, 8193}) {
    all.push_back(made_rows(fmt::format("rows of {}", length), 5, 977,
                            [&](std::uint64_t r) { return drawn_columns(r, length, 977); }));
  }
  return all;
}

/// How a matrix lies in memory.
struct csr_layout {
  value_type value = value_type::f64;
  index_type offset = index_type::u64;
  index_type column = index_type::u32;
  bool has_row_ends = false;  ///< rows in another order, with gaps
  std::string description() const {
    constexpr const char* values[] = {"i32", "u32", "i64", "u64", "f32", "f64"};
    constexpr const char* indices[] = {"u32", "u64", "i32", "i64"};
    return fmt::format("{}, {} offsets, {} columns, {}", values[static_cast<int>(value)],
                       indices[static_cast<int>(offset)], indices[static_cast<int>(column)],
                       has_row_ends ? "four arrays" : "three arrays");
  }
};

inline void set_number(image& of, std::uint64_t i, value_type type, double number) {
  const auto narrow = static_cast<float>(number);
  std::memcpy(of.record(i), type == value_type::f32 ? static_cast<const void*>(&narrow) : &number, bytes(type));
}
inline double number_at(const image& of, std::uint64_t i, value_type type) {
  float narrow = 0;
  double wide = 0;
  if (type == value_type::f64) {
    std::memcpy(&wide, of.record(i), 8);
    return wide;
  }
  std::memcpy(&narrow, of.record(i), 4);
  return narrow;
}

/// The arrays of a matrix, which end where their memory ends.
struct csr_images {
  csr_layout layout;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  image begins, ends, column_indices, values;

  csr_images(const sparse_rows& m, const csr_layout& how) : layout(how), rows(m.rows.size()), columns(m.columns) {
    constexpr std::uint64_t gap = 3;
    const std::uint64_t places = m.entries() + (how.has_row_ends ? gap * rows : 0);
    const std::uint64_t index_width = bytes(how.column);
    begins = poisoned(rows + (how.has_row_ends ? 0 : 1), bytes(how.offset), bytes(how.offset), 0, false);
    ends = poisoned(how.has_row_ends ? rows : 0, bytes(how.offset), bytes(how.offset), 0, false);
    column_indices = poisoned(places, index_width, index_width, 0, false);
    values = poisoned(places, bytes(how.value), bytes(how.value), 0, false);
    std::uint64_t place = 0;
    if (!how.has_row_ends) set_entry(begins, 0, 0);
    for (std::uint64_t i = 0; i < rows; ++i) {
      const std::uint64_t r = how.has_row_ends ? rows - 1 - i : i;
      if (how.has_row_ends) set_entry(begins, r, place);
      for (const csr_entry& e : m.rows[r]) {
        set_entry(column_indices, place, e.column);
        set_number(values, place++, how.value, e.value);
      }
      if (how.has_row_ends) {
        set_entry(ends, r, place);
        place += gap;
      } else {
        set_entry(begins, i + 1, place);
      }
    }
  }
};

/// The arrays of a matrix in a context's memory.
class placed_csr {
 public:
  placed_csr(const context& ctx, const csr_images& images)
      : images_(images),
        begins_(ctx, images.begins),
        ends_(ctx, images.ends),
        columns_(ctx, images.column_indices),
        values_(ctx, images.values) {}
  csr_view view() const {
    const csr_layout& how = images_.layout;
    const index_span begins(begins_.view().data, begins_.view().count, how.offset);
    const index_span columns(columns_.view().data, columns_.view().count, how.column);
    const const_values values(values_.view().data, values_.view().count, how.value);
    if (!how.has_row_ends) return {images_.rows, images_.columns, begins, columns, values};
    const index_span ends(ends_.view().data, ends_.view().count, how.offset);
    return {images_.rows, images_.columns, begins, ends, columns, values};
  }
  void expect_unchanged() const {
    expect_bytes(begins_.download(), images_.begins, "row begins");
    expect_bytes(columns_.download(), images_.column_indices, "columns");
    expect_bytes(values_.download(), images_.values, "values");
  }

 private:
  const csr_images& images_;
  placed begins_, ends_, columns_, values_;
};

/// Whether a variant of CUDA multiplies by transposed matrices, and by no others.
inline bool is_for_transposed_on_cuda(std::string_view variant) {
  return variant == "cuda.atomic" || variant == "cuda.fixed_point";
}

/// What a product must be, and how far from it rounding may lead in any order of sums.
struct expected_product {
  std::vector<long double> y;
  std::vector<long double> bound;
};

inline double x_at(std::uint64_t i) { return drawn_value(i + 1'000'003); }
inline double y_at(std::uint64_t i) { return drawn_value(i + 9'000'011); }

inline expected_product expected_of(const sparse_rows& m, const spmv_options& o, value_type type) {
  const std::uint64_t count = o.transposed ? m.columns : m.rows.size();
  std::vector<long double> sum(count, 0);
  std::vector<long double> magnitude(count, 0);
  std::vector<std::uint64_t> terms(count, 0);
  for (std::uint64_t r = 0; r < m.rows.size(); ++r) {
    for (const csr_entry& e : m.rows[r]) {
      const std::uint64_t to = o.transposed ? e.column : r;
      const long double product = static_cast<long double>(e.value) * x_at(o.transposed ? r : e.column);
      sum[to] += product;
      magnitude[to] += std::abs(product);
      ++terms[to];
    }
  }
  const bool is_narrow = type == value_type::f32;
  const long double last = is_narrow ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  const bool sums_wide = is_narrow && o.sums == spmv_sums::f64;
  const long double of_sums = sums_wide ? std::numeric_limits<double>::epsilon() : last;
  expected_product expected;
  for (std::uint64_t i = 0; i < count; ++i) {
    const long double before = o.beta == 0 ? 0 : o.beta * static_cast<long double>(y_at(i));
    const long double y = o.alpha * sum[i] + before;
    const long double size = std::abs(o.alpha) * magnitude[i] + std::abs(before);
    expected.y.push_back(y);
    expected.bound.push_back(static_cast<long double>(terms[i] + 3) * of_sums * size + last * std::abs(y) +
                             (sums_wide ? 0 : 2 * last * size));
  }
  return expected;
}

/// x or y in host memory.
template <class NumberAt>
image numbers(std::uint64_t count, value_type type, NumberAt number_of, bool guarded_end) {
  image made = poisoned(count, bytes(type), bytes(type), 0, guarded_end);
  for (std::uint64_t i = 0; i < count; ++i) set_number(made, i, type, number_of(i));
  return made;
}

inline values values_of(records r, value_type type) { return {r.data, r.count, type}; }
inline const_values const_values_of(records r, value_type type) { return {r.data, r.count, type}; }

/// Runs the product of a matrix that was placed, and returns y. Only y and what lies around it may change.
inline image product_of(const context& ctx, const csr_view& a, const spmv_options& o) {
  const value_type type = a.values.type;
  const image x = numbers(o.transposed ? a.rows : a.columns, type, x_at, false);
  // Without beta, y is not read: it has NaN, which would spread.
  const image y = numbers(
      o.transposed ? a.columns : a.rows, type,
      [&](std::uint64_t i) { return o.beta == 0 ? std::numeric_limits<double>::quiet_NaN() : y_at(i); }, true);
  const placed placed_x(ctx, x);
  const placed placed_y(ctx, y);
  spmv(ctx, a, const_values_of(placed_x.view(), type), values_of(placed_y.view(), type), o);
  ctx.wait();
  expect_bytes(placed_x.download(), x, "x");
  image found = y;
  found.bytes = placed_y.download();
  return found;
}

inline void expect_near(const image& found, const expected_product& expected, value_type type) {
  ASSERT_EQ(found.count, expected.y.size());
  for (std::uint64_t i = 0; i < found.count; ++i) {
    const long double difference = std::abs(static_cast<long double>(number_at(found, i, type)) - expected.y[i]);
    ASSERT_TRUE(difference <= expected.bound[i])
        << "y[" << i << "] is " << number_at(found, i, type) << ", not " << static_cast<double>(expected.y[i]);
  }
  image around = found;
  const image before = poisoned(found.count, found.record_bytes, found.stride_bytes);
  std::memcpy(around.bytes.data() + around.first, before.bytes.data() + before.first, found.count * found.record_bytes);
  expect_bytes(around.bytes, before, "bytes around y");
}

/// Whether the planner has something to choose from on this backend.
inline bool is_spmv_planned_on(const context& ctx) {
  const auto all = primitives::spmv_variants();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& v) { return v.works_on(ctx.backend()) && !v.name.starts_with("reference."); });
}

inline std::vector<named_context> spmv_contexts() {
  std::vector<named_context> all = every_context();
  std::erase_if(all, [](const named_context& where) { return !is_spmv_planned_on(where.ctx); });
  return all;
}

}  // namespace sheaf::tests
