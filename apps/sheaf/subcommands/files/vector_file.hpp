#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::cli {

/// The numbers of an .npy or .npz array of f4 or f8, of either order of bytes, as Value, float or double: as many as a
/// matrix has rows or columns.
/// @param of  "rows", for messages
/// @throws error(bad_input) for other files, and for a finite number that Value does not hold
template <class Value>
std::vector<Value> read_vector(const std::string& path, std::uint64_t count, std::string_view of,
                               const std::string& matrix);

/// The numbers of a vector beside a matrix: of an .npy file as read_vector has them, or of a MatrixMarket file of one
/// column or one row, gzip or not.
template <class Value>
std::vector<Value> read_matrix_vector(const std::string& path, std::uint64_t count, std::string_view of,
                                      const std::string& matrix, int threads);

extern template std::vector<float> read_vector(const std::string&, std::uint64_t, std::string_view, const std::string&);
extern template std::vector<double> read_vector(const std::string&, std::uint64_t, std::string_view,
                                                const std::string&);
extern template std::vector<float> read_matrix_vector(const std::string&, std::uint64_t, std::string_view,
                                                      const std::string&, int);
extern template std::vector<double> read_matrix_vector(const std::string&, std::uint64_t, std::string_view,
                                                       const std::string&, int);

}  // namespace sheaf::cli
