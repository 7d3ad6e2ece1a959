#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::io {

struct npy_field;

/// The type of the elements of an array.
struct npy_type {
  std::string descr;  ///< as headers write it, quotes included, in UTF-8: '<f4' or [('x', '<f4'), ('y', '<i8')]
  char kind = 'V';    ///< numpy's letter; V for raw bytes and structures
  char order = '|';   ///< '<' little-endian, '>' big-endian, '|' if it has no byte order
  std::uint64_t item_bytes = 0;   ///< may be 0: empty strings, structures without fields
  std::vector<npy_field> fields;  ///< of a structure, in order, with the fields without a name that pad it
};

/// A field of a structure: one element, or several side by side.
struct npy_field {
  std::string name;   ///< in UTF-8; empty for padding
  std::string title;  ///< its other name, mostly empty
  std::uint64_t offset = 0;
  std::uint64_t count = 1;  ///< elements
  npy_type type;            ///< of an element
};

/// A view of an array, whose memory belongs to somebody else.
struct npy_array {
  npy_type type;
  std::vector<std::uint64_t> shape;  ///< empty: one element without a row
  /// The first axis runs fastest, as in Fortran, and not the last. False where both are one order.
  bool column_major = false;
  const std::byte* data = nullptr;  ///< may have any alignment
  std::uint64_t data_bytes = 0;     ///< elements times item_bytes, exactly
};

/// Bytes from the start of a file in which the header of every array lies that is read.
constexpr std::uint64_t most_npy_front_bytes = (std::uint64_t{1} << 20) + 12;

/// Whether the bytes start with the magic string of .npy files.
bool starts_as_npy(std::span<const std::byte> file) noexcept;
constexpr std::size_t npy_magic_bytes = 6;

/// Reads the header of an .npy file of version 1, 2 or 3, checks the size of its data, and returns a view of them.
/// Accepts every type of fixed size; does not read elements.
/// @throws error(bad_input) naming origin, byte offset or key, and the value: not an .npy file, a malformed header,
/// objects (which only pickle reads), more or less data than the shape says.
npy_array parse_npy(std::span<const std::byte> file, const std::string& origin);

/// Reads an array as parse_npy does, of a file of which only the front is at hand: all of it, or most_npy_front_bytes.
/// The data of the array are null; they are the last data_bytes of the file.
npy_array parse_npy_front(std::span<const std::byte> front, std::uint64_t file_bytes, const std::string& origin);

/// What the beginning of a stream says of all of it.
struct npy_announcement {
  bool is_none = false;                     ///< it is not an .npy file, or a malformed one
  std::optional<std::uint64_t> file_bytes;  ///< of the header and the data, once the header is there
};
npy_announcement announced_by_npy(std::span<const std::byte> front);

/// Reads a type in the notation of a header's descr, quotes included. @throws error(bad_input)
npy_type parse_npy_type(std::string_view descr, const std::string& origin);

/// The type with the bytes of a number in the order of this machine: '<i8' of '>i8'. Structures stay as they are.
npy_type native_type(const npy_type& type);

/// The header of an .npy file of this type and shape, in C order, a multiple of 64 bytes: version 1 if possible, 2 if
/// it is long, 3 if descr has letters outside Latin-1.
std::string format_npy_header(const npy_type& type, std::span<const std::uint64_t> shape);

/// The shape as Python writes it: (), (3,), (3, 4).
std::string shape_text(std::span<const std::uint64_t> shape);

}  // namespace sheaf::io
