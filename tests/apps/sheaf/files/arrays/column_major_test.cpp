#include "apps/sheaf/files/arrays/column_major.hpp"

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sheaf::tests::apps_sheaf_files_arrays_column_major_test {
namespace {

using shape_list = std::vector<std::uint64_t>;

/// An item's bytes are its place in C order, so that each item is known wherever it lies.
std::string item_of(std::uint64_t place, std::uint64_t bytes) {
  std::string item(bytes, '\0');
  for (std::uint64_t i = 0; i < bytes; ++i) item[i] = static_cast<char>(place >> (8 * (i % 8)) ^ (i / 8 * 31));
  return item;
}

/// The array in Fortran order: item by item, the first index fastest.
std::string column_major(const shape_list& shape, std::uint64_t item_bytes) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  std::string data;
  shape_list index(shape.size(), 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t place = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) place = place * shape[axis] + index[axis];
    data += item_of(place, item_bytes);
    for (std::size_t axis = 0; axis < shape.size() && ++index[axis] == shape[axis]; ++axis) index[axis] = 0;
  }
  return data;
}

void expect_rows(const shape_list& shape, std::uint64_t item_bytes, std::uint64_t first, std::uint64_t number) {
  const std::string data = column_major(shape, item_bytes);
  const std::uint64_t row_items = data.size() / item_bytes / shape[0];
  std::string rows(number * row_items * item_bytes, '?');
  io::read_column_major(
      [&](std::uint64_t offset, void* to, std::uint64_t bytes) {
        ASSERT_LE(offset + bytes, data.size());
        if (bytes > 0) std::memcpy(to, data.data() + offset, bytes);
      },
      shape, item_bytes, first, number, reinterpret_cast<std::byte*>(rows.data()));
  std::string expected;
  for (std::uint64_t i = first * row_items; i < (first + number) * row_items; ++i) expected += item_of(i, item_bytes);
  EXPECT_TRUE(rows == expected) << ::testing::PrintToString(shape) << " of " << item_bytes << ", rows from " << first
                                << ", " << number;
}

TEST(ColumnMajor, RowsAreInTheOrderOfC) {
  for (const shape_list& shape : std::vector<shape_list>{
           {1, 1}, {2, 3}, {3, 2}, {7, 1, 5}, {2, 3, 4}, {4, 3, 2, 5}, {1, 9}, {65, 66}, {129, 3}}) {
    for (const std::uint64_t item_bytes : {1, 2, 3, 4, 8, 12, 16, 40}) {
      expect_rows(shape, item_bytes, 0, shape[0]);
      expect_rows(shape, item_bytes, shape[0] / 2, shape[0] - shape[0] / 2);
      expect_rows(shape, item_bytes, shape[0] - 1, 1);
      expect_rows(shape, item_bytes, 0, 0);
    }
  }
}

TEST(ColumnMajor, BlocksMeetWithoutGaps) {
  expect_rows({65537, 3}, 1, 0, 65537);  // a column is one item longer than its piece
  expect_rows({8193, 70}, 8, 0, 8193);   // columns do not fit into one block
  expect_rows({8193, 70}, 8, 8192, 1);
  expect_rows({3, 5, 131073}, 4, 0, 3);  // many short columns
  expect_rows({3, 5, 131073}, 4, 1, 2);
  expect_rows({2, 3}, 3 << 20, 0, 2);  // items of the size of a block
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_arrays_column_major_test
