#include "apps/sheaf/files/arrays/column_major.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace sheaf::io {
namespace {

/// Bytes of a block: of one column so many that a read of the file is worth its call, and of as many columns as fill
/// lines of the cache in the rows that are written. Beside few rows, which a caller with little memory asks for, a
/// block is small.
constexpr std::uint64_t column_piece_bytes = std::uint64_t{64} << 10;
constexpr std::uint64_t most_block_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t rows_to_block = 8;

/// Places in a row in the order of columns, in which the array lies: the second axis runs fastest.
class row_places {
 public:
  explicit row_places(std::span<const std::uint64_t> row_shape)
      : extents_(row_shape.begin(), row_shape.end()), index_(extents_.size()), steps_(extents_.size()) {
    std::uint64_t step = 1;
    for (std::size_t axis = extents_.size(); axis-- > 0; step *= extents_[axis]) steps_[axis] = step;
  }

  /// The place of the next column's items.
  std::uint64_t next() {
    const std::uint64_t place = place_;
    for (std::size_t axis = 0; axis < extents_.size(); ++axis) {
      place_ += steps_[axis];
      if (++index_[axis] < extents_[axis]) break;
      place_ -= steps_[axis] * extents_[axis];
      index_[axis] = 0;
    }
    return place;
  }

 private:
  std::vector<std::uint64_t> extents_;
  std::vector<std::uint64_t> index_;
  std::vector<std::uint64_t> steps_;
  std::uint64_t place_ = 0;
};

// A block of columns, side by side, of which `rows` items each become items of rows at the places.
template <std::uint64_t Width>
void transpose(const std::byte* block, std::uint64_t rows, std::span<const std::uint64_t> places, std::uint64_t width,
               std::byte* to, std::uint64_t row_bytes) {
  const std::uint64_t item = Width != 0 ? Width : width;
  constexpr std::uint64_t rows_at_once = 64;  // their lines stay in the cache from column to column
  for (std::uint64_t first = 0; first < rows; first += rows_at_once) {
    const std::uint64_t end = std::min(rows, first + rows_at_once);
    for (std::size_t column = 0; column < places.size(); ++column) {
      const std::byte* from = block + (column * rows + first) * item;
      std::byte* into = to + first * row_bytes + places[column] * item;
      for (std::uint64_t row = first; row < end; ++row, from += item, into += row_bytes) {
        std::memcpy(into, from, item);
      }
    }
  }
}

void transpose_items(const std::byte* block, std::uint64_t rows, std::span<const std::uint64_t> places,
                     std::uint64_t item_bytes, std::byte* to, std::uint64_t row_bytes) {
  switch (item_bytes) {
    case 1: return transpose<1>(block, rows, places, item_bytes, to, row_bytes);
    case 2: return transpose<2>(block, rows, places, item_bytes, to, row_bytes);
    case 4: return transpose<4>(block, rows, places, item_bytes, to, row_bytes);
    case 8: return transpose<8>(block, rows, places, item_bytes, to, row_bytes);
    case 16: return transpose<16>(block, rows, places, item_bytes, to, row_bytes);
    default: return transpose<0>(block, rows, places, item_bytes, to, row_bytes);
  }
}

}  // namespace

void read_column_major(const read_data& read, std::span<const std::uint64_t> shape, std::uint64_t item_bytes,
                       std::uint64_t first, std::uint64_t number, std::byte* to) {
  if (number == 0) return;
  const std::uint64_t all_rows = shape[0];
  std::uint64_t columns = 1;
  for (const std::uint64_t extent : shape.subspan(1)) columns *= extent;
  const std::uint64_t row_bytes = columns * item_bytes;
  const std::uint64_t block_bytes =
      std::clamp(number * row_bytes / rows_to_block, column_piece_bytes, most_block_bytes);
  const std::uint64_t rows = std::min(number, std::max<std::uint64_t>(column_piece_bytes / item_bytes, 1));
  const std::uint64_t columns_at_once = std::min(columns, std::max<std::uint64_t>(block_bytes / item_bytes / rows, 1));
  std::vector<std::byte> block(rows * columns_at_once * item_bytes);
  std::vector<std::uint64_t> places(columns_at_once);
  row_places order(shape.subspan(1));
  for (std::uint64_t column = 0; column < columns; column += columns_at_once) {
    const std::uint64_t width = std::min(columns_at_once, columns - column);
    places.resize(width);
    for (std::uint64_t& place : places) place = order.next();
    for (std::uint64_t row = 0; row < number; row += rows) {
      const std::uint64_t height = std::min(rows, number - row);
      const auto offset_of = [&](std::uint64_t c) { return ((column + c) * all_rows + first + row) * item_bytes; };
      if (height == all_rows) {  // whole columns lie side by side
        read(offset_of(0), block.data(), width * height * item_bytes);
      } else {
        for (std::uint64_t c = 0; c < width; ++c) {
          read(offset_of(c), block.data() + c * height * item_bytes, height * item_bytes);
        }
      }
      transpose_items(block.data(), height, places, item_bytes, to + row * row_bytes, row_bytes);
    }
  }
}

}  // namespace sheaf::io
