#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::tests {

/// The bytes of a list of numbers, as they lie in memory.
template <class T>
std::string bytes_of(const std::vector<T>& list) {
  return {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T)};
}

/// An .npy file by hand, independent of the library's writer: magic, version, length, header, data.
inline std::string npy_file(unsigned version, std::string_view header, std::string_view data) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  for (std::size_t i = 0; i < length_bytes; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file.append(header).append(data);
}

/// An .npy header, padded as numpy pads it.
inline std::string npy_file(std::string_view descr, std::string_view shape, std::string_view data) {
  std::string header =
      "{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': " + std::string(shape) + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  return npy_file(1, header + "\n", data);
}

}  // namespace sheaf::tests
