#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <sheaf/csr.hpp>
#include <sheaf/distributed/layout.hpp>

// Matrices of which ranks have parts.
namespace sheaf::tests {

/// A whole matrix, and a rank's part of it.
template <class Value, class Column = std::uint32_t, class Offset = std::uint64_t>
struct matrix {
  std::uint64_t columns = 0;
  std::vector<Offset> offsets{0};
  std::vector<Column> column_of;
  std::vector<Value> value_of;

  std::uint64_t rows() const { return offsets.size() - 1; }
  csr_view view() const { return {rows(), columns, offsets, column_of, value_of}; }
  matrix part(const distributed::layout& of, int rank) const {
    matrix out;
    out.columns = columns;
    const auto begin = static_cast<std::size_t>(of.begin(rank));
    const auto end = static_cast<std::size_t>(of.end(rank));
    for (std::size_t r = begin; r < end; ++r)
      out.offsets.push_back(static_cast<Offset>(offsets[r + 1] - offsets[begin]));
    out.column_of.assign(column_of.begin() + static_cast<std::ptrdiff_t>(offsets[begin]),
                         column_of.begin() + static_cast<std::ptrdiff_t>(offsets[end]));
    out.value_of.assign(value_of.begin() + static_cast<std::ptrdiff_t>(offsets[begin]),
                        value_of.begin() + static_cast<std::ptrdiff_t>(offsets[end]));
    return out;
  }
};

enum class kind { banded, scattered, grid, long_row, empty_rows };
constexpr kind all_kinds[] = {kind::banded, kind::scattered, kind::grid, kind::long_row, kind::empty_rows};

template <class Value, class Column = std::uint32_t, class Offset = std::uint64_t>
matrix<Value, Column, Offset> make(kind k, std::uint64_t rows, std::uint64_t columns) {
  std::mt19937_64 random(rows + 7 * columns);
  const auto number = [&] { return static_cast<Value>(static_cast<double>(random() % 20001) / 10000 - 1); };
  matrix<Value, Column, Offset> a;
  a.columns = columns;
  for (std::uint64_t r = 0; r < rows; ++r) {
    std::vector<std::uint64_t> of_row;
    const std::uint64_t middle = rows == columns ? r : r * columns / rows;
    if (k == kind::banded) {
      for (std::uint64_t d = 0; d < 7; ++d) of_row.push_back((middle + columns + 3 - d) % columns);  // descending, too
    } else if (k == kind::scattered) {
      for (std::uint64_t i = 0; i < 5; ++i) of_row.push_back(random() % columns);
    } else if (k == kind::grid) {
      for (const std::int64_t d : {-100, -10, -1, 0, 1, 10, 100}) {
        const std::int64_t c = static_cast<std::int64_t>(middle) + d;
        if (c >= 0 && c < static_cast<std::int64_t>(columns)) of_row.push_back(static_cast<std::uint64_t>(c));
      }
    } else if (k == kind::long_row) {
      for (std::uint64_t i = 0; i < (r == rows / 2 ? 9000U : 2U); ++i) of_row.push_back(random() % columns);
    } else if (r % 3 == 1) {
      of_row = {middle, middle, columns - 1};  // repeats
    }
    for (const std::uint64_t c : of_row) {
      a.column_of.push_back(static_cast<Column>(c));
      a.value_of.push_back(number());
    }
    a.offsets.push_back(static_cast<Offset>(a.column_of.size()));
  }
  return a;
}

template <class Value>
std::vector<Value> vector_of(std::uint64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Value> all(count);
  for (Value& v : all) v = static_cast<Value>(static_cast<double>(random() % 200001) / 100000 - 1);
  return all;
}

/// Symmetric, diagonally dominant.
template <class Value>
matrix<Value> system_of(std::uint64_t n, std::uint64_t reach) {
  matrix<Value> a;
  a.columns = n;
  std::mt19937_64 random(n);
  for (std::uint64_t r = 0; r < n; ++r) {
    for (const std::int64_t d : {-static_cast<std::int64_t>(reach), std::int64_t{-1}, std::int64_t{0}, std::int64_t{1},
                                 static_cast<std::int64_t>(reach)}) {
      const std::int64_t c = static_cast<std::int64_t>(r) + d;
      if (c < 0 || c >= static_cast<std::int64_t>(n)) continue;
      a.column_of.push_back(static_cast<std::uint32_t>(c));
      a.value_of.push_back(d == 0 ? static_cast<Value>(4.01 + static_cast<double>(r % 5)) : Value{-1});
    }
    a.offsets.push_back(a.column_of.size());
  }
  return a;
}

}  // namespace sheaf::tests
