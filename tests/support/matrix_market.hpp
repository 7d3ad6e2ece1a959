#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests {

inline std::span<const std::byte> bytes_of(const std::string& file) {
  return std::as_bytes(std::span(file.data(), file.size()));
}

template <class Value = double>
io::csr_matrix<Value> parse_market(const std::string& file, const io::matrix_market_options& options = {}) {
  return io::parse_matrix_market<Value>(bytes_of(file), "m.mtx", options);
}

template <class Value = double>
void expect_market_error(const std::string& file, std::string_view message,
                         const io::matrix_market_options& options = {}) {
  expect_error(error_code::bad_input, message, [&] { parse_market<Value>(file, options); });
}

/// An entry at a place that is counted from 0.
template <class Value>
struct placed_value {
  std::uint64_t row;
  std::uint64_t column;
  Value value;

  using bits = std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>;
  bool operator==(const placed_value& other) const {
    return row == other.row && column == other.column && std::bit_cast<bits>(value) == std::bit_cast<bits>(other.value);
  }
  friend std::ostream& operator<<(std::ostream& out, const placed_value& entry) {
    return out << '(' << entry.row << ", " << entry.column << ") " << entry.value;
  }
};

template <class Value>
std::vector<placed_value<Value>> entries_of(const io::csr_matrix<Value>& matrix) {
  std::vector<placed_value<Value>> entries;
  std::visit(
      [&](const auto& columns) {
        for (std::uint64_t row = 0; row < matrix.rows; ++row) {
          for (std::uint64_t i = matrix.row_offsets.at(row); i < matrix.row_offsets.at(row + 1); ++i) {
            entries.push_back({row, columns.at(i), matrix.values.at(i)});
          }
        }
      },
      matrix.column_indices);
  return entries;
}

template <class Value>
void expect_same_matrix(const io::csr_matrix<Value>& left, const io::csr_matrix<Value>& right) {
  EXPECT_EQ(left.rows, right.rows);
  EXPECT_EQ(left.columns, right.columns);
  EXPECT_EQ(left.row_offsets, right.row_offsets);
  EXPECT_EQ(left.column_indices, right.column_indices);
  EXPECT_EQ(entries_of(left), entries_of(right));
}

using doubles = std::vector<placed_value<double>>;
using floats = std::vector<placed_value<float>>;

/// The text as a gzip file of one member.
inline std::string gzipped(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string file(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(file.data());
  stream.avail_out = static_cast<uInt>(file.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  deflateEnd(&stream);
  return file.substr(0, stream.total_out);
}

}  // namespace sheaf::tests
