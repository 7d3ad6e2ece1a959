#pragma once

#include "lab/description/items.hpp"
#include "lab/inputs/pattern_function.hpp"

// Function objects for over_items() that fill a rank's part of an array, and sum up its part of an answer: functions of
// the position in the whole, so that one device and many have the same arrays.
namespace sheaf::bench::scale_out {

using jobs::tally;

/// Word i of the part is a random number.
struct fill_random_words {
  std::uint64_t* to;
  std::uint64_t first;  ///< of the part's words in the whole
  std::uint64_t seed;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    to[i] = inputs::mix(seed ^ inputs::mix(first + i));
    return {};
  }
};

/// Values 0 to 15.
struct fill_whole_numbers {
  double* to;
  std::uint64_t first;
  std::uint64_t seed;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    to[i] = static_cast<double>(inputs::mix(seed ^ (first + i)) & 15);
    return {};
  }
};

/// A sum that depends on which word lies where.
struct sum_of_words {
  const std::uint64_t* from;
  std::uint64_t first;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    return {0, inputs::mix(inputs::mix(first + i) ^ from[i])};
  }
};

struct fill_equal_offsets {
  std::uint64_t* to;
  std::uint64_t entries_of_a_row;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    to[i] = i * entries_of_a_row;
    return {};
  }
};

/// Entry i of the part of a 7-point grid, symmetric and positive definite; neighbours that are outside are zeros on the
/// diagonal's place.
struct fill_grid_entries {
  std::uint32_t* columns;
  double* values;
  std::uint64_t first;  ///< row
  std::uint64_t side;
  std::uint64_t rows;  ///< of the whole
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    const std::uint64_t row = first + i / 7;
    const std::uint64_t steps[] = {side * side, side, 1, 0, 1, side, side * side};
    const std::uint64_t step = steps[i % 7];
    const bool is_before = i % 7 < 3;
    const bool is_there = is_before ? step <= row : row + step < rows;
    const std::uint64_t column = is_before ? row - step : row + step;
    columns[i] = static_cast<std::uint32_t>(is_there ? column : row);
    values[i] = step == 0 ? 7.0 : is_there ? -1.0 : 0.0;
    return {};
  }
};

/// Entry i of the part of a band of 16 entries around the diagonal, which wraps around.
struct fill_band_entries {
  std::uint32_t* columns;
  double* values;
  std::uint64_t first;
  std::uint64_t rows;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    const std::uint64_t row = first + i / 16;
    columns[i] = static_cast<std::uint32_t>((row + rows + i % 16 - 8) % rows);
    values[i] = static_cast<double>(i % 16 + 1);
    return {};
  }
};

}  // namespace sheaf::bench::scale_out
