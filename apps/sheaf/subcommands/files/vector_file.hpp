#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "apps/sheaf/files/failure.hpp"

namespace sheaf::cli {

/// A number as Value, float or double.
/// @param place  returns where the number stands, "x.npy: [3]"; called for the message alone
/// @throws error(code) for a number that is finite and would become infinite
template <class Value, class Place>
Value narrowed(double number, error_code code, const Place& place) {
  const auto narrow = static_cast<Value>(number);
  if constexpr (std::is_same_v<Value, float>) {
    if (std::isinf(narrow) && std::isfinite(number)) {
      io::throw_error(code, "{} is {}, which f32 cannot hold; --value-type f64 does", place(), number);
    }
  }
  return narrow;
}

/// The numbers of an .npy or .npz array of f4 or f8, of either order of bytes, as Value, float or double: as many as a
/// matrix has rows or columns.
/// @param of  "rows", for messages
/// @throws error(bad_input) for other files, and for a finite number that Value does not hold
template <class Value>
std::vector<Value> read_vector(const std::string& path, std::uint64_t count, std::string_view of,
                               const std::string& matrix);

/// The numbers of a vector beside a matrix: of an .npy file as read_vector has them, or of a MatrixMarket file of one
/// column or one row, gzip or not; ones where no file is named.
template <class Value>
std::vector<Value> read_matrix_vector(const std::string& path, std::uint64_t count, std::string_view of,
                                      const std::string& matrix, int threads);

/// Refuses what read_vector refuses by the file's header, and does not read its numbers.
void look_at_vector(const std::string& path, std::uint64_t count, std::string_view of, const std::string& matrix);
/// The same beside a matrix. Returns whether all of the file was read, as one of MatrixMarket has to be.
template <class Value>
bool look_at_matrix_vector(const std::string& path, std::uint64_t count, std::string_view of, const std::string& matrix,
                           int threads);

}  // namespace sheaf::cli
