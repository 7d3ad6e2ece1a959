#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::cli {

/// The numbers of an .npy or .npz array of f4 or f8, of either order of bytes, as Value, float or double: as many as a
/// matrix has rows or columns.
/// @param of  "rows", for messages
template <class Value>
std::vector<Value> read_vector(const std::string& path, std::uint64_t count, std::string_view of,
                               const std::string& matrix);

extern template std::vector<float> read_vector(const std::string&, std::uint64_t, std::string_view, const std::string&);
extern template std::vector<double> read_vector(const std::string&, std::uint64_t, std::string_view,
                                                const std::string&);

}  // namespace sheaf::cli
