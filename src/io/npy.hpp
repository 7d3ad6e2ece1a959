#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::io {

/// What the elements of an array are.
struct npy_type {
  std::string descr;  ///< as headers write it, quotes included, in UTF-8: '<f4' or [('x', '<f4'), ('y', '<i8')]
  char kind = 'V';    ///< numpy's letter; V for raw bytes and structures
  char order = '|';   ///< '<' little-endian, '>' big-endian, '|' where there is none
  std::uint64_t item_bytes = 0;  ///< may be 0: strings without letters, structures without fields
};

/// An array that lies in memory somewhere else, in C order.
struct npy_array {
  npy_type type;
  std::vector<std::uint64_t> shape;  ///< empty: one element without a row
  const std::byte* data = nullptr;   ///< may have any alignment
  std::uint64_t data_bytes = 0;      ///< elements times item_bytes, exactly
};

/// Whether the bytes start as every .npy file does.
bool starts_as_npy(std::span<const std::byte> file) noexcept;

/// Reads the header of an .npy file of version 1, 2 or 3, checks that its data are there, and borrows them.
/// Every type of a fixed size is read; no element is looked at.
/// @throws error(bad_input) naming origin, byte offset or key, and the value: not .npy, a header that is not one,
/// objects (which only pickle reads), Fortran order, more or less data than the shape says.
npy_array parse_npy(std::span<const std::byte> file, const std::string& origin);

/// Reads a type as a header's descr writes it, quotes included. @throws error(bad_input)
npy_type parse_npy_type(std::string_view descr, const std::string& origin);

/// What an .npy file of this type and shape starts with: a multiple of 64 bytes; version 1 where it will do, 2 if it is
/// long, 3 if descr has letters that Latin-1 has not.
std::string format_npy_header(const npy_type& type, std::span<const std::uint64_t> shape);

/// As Python writes it: (), (3,), (3, 4).
std::string shape_text(std::span<const std::uint64_t> shape);

}  // namespace sheaf::io
