#include "apps/sheaf/files/npy.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "apps/sheaf/files/arrays/npy_type.hpp"
#include "apps/sheaf/files/arrays/python_literal.hpp"
#include "apps/sheaf/files/failure.hpp"

namespace sheaf::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::uint64_t most_preamble_bytes = 12;
constexpr std::uint64_t most_header_bytes = most_npy_front_bytes - most_preamble_bytes;  // thousands of fields
static_assert(magic.size() == npy_magic_bytes);
constexpr std::size_t most_dimensions = 64;
constexpr std::size_t header_alignment = 64;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

unsigned byte_at(std::span<const std::byte> bytes, std::size_t i) { return std::to_integer<unsigned>(bytes[i]); }

// The parts of a file, with its header as text.
struct framing {
  unsigned version = 0;
  std::uint64_t header_offset = 0;
  std::string_view header;
};

framing find_header(std::span<const std::byte> front, std::uint64_t file_bytes, const std::string& origin) {
  if (!starts_as_npy(front)) {
    fail(origin, "byte 0: not an .npy file: it starts with '{}', not '\\x93NUMPY'",
         printable(as_text(front.first(std::min(front.size(), magic.size())))));
  }
  if (file_bytes < 10) fail(origin, "byte {}: the file ends inside its preamble", file_bytes);
  const unsigned version = byte_at(front, 6);
  if (version < 1 || version > 3 || byte_at(front, 7) != 0) {
    fail(origin, "byte 6: version {}.{} is not 1.0, 2.0 or 3.0", version, byte_at(front, 7));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t offset = 8 + length_bytes;
  if (file_bytes < offset) fail(origin, "byte {}: the file ends inside its preamble", file_bytes);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= std::uint64_t{byte_at(front, 8 + i)} << (8 * i);
  if (length > file_bytes - offset) {
    fail(origin, "byte 8: a header of {} bytes is announced, but {} bytes follow", length, file_bytes - offset);
  }
  if (length > most_header_bytes) {
    fail(origin, "byte 8: a header of {} bytes is announced, more than the {} that are read", length,
         most_header_bytes);
  }
  return {version, offset, as_text(front.subspan(offset, length))};
}

struct header_fields {
  const python_value* descr = nullptr;
  const python_value* fortran_order = nullptr;
  const python_value* shape = nullptr;
};

header_fields find_fields(const python_value& dict, const framing& frame, const std::string& origin) {
  if (dict.type != python_value::kind::dict) {
    fail(origin, "byte {}: the header is not a dict: {}", frame.header_offset, printable(frame.header));
  }
  header_fields fields;
  const auto name_of = [](const python_value& key) { return key.type == python_value::kind::text ? key.text : ""; };
  for (std::size_t i = 0; i < dict.items.size(); i += 2) {
    const python_value& key = dict.items[i];
    const python_value** field = name_of(key) == "descr"           ? &fields.descr
                                 : name_of(key) == "fortran_order" ? &fields.fortran_order
                                 : name_of(key) == "shape"         ? &fields.shape
                                                                   : nullptr;
    const std::string_view source = frame.header.substr(key.begin, key.end - key.begin);
    const std::uint64_t place = frame.header_offset + key.begin;
    if (field == nullptr)
      fail(origin, "byte {}: key {} is not descr, fortran_order or shape", place, printable(source));
    if (*field != nullptr) fail(origin, "byte {}: key {} appears twice", place, printable(source));
    *field = &dict.items[i + 1];
  }
  if (fields.descr == nullptr) fail(origin, "the header has no key 'descr'");
  if (fields.fortran_order == nullptr) fail(origin, "the header has no key 'fortran_order'");
  if (fields.shape == nullptr) fail(origin, "the header has no key 'shape'");
  return fields;
}

std::string_view source_of(const python_value& value, std::string_view header) {
  return header.substr(value.begin, value.end - value.begin);
}

std::vector<std::uint64_t> read_shape(const python_value& value, std::string_view header, const std::string& origin) {
  const std::string shown = printable(source_of(value, header));
  if (value.type != python_value::kind::tuple) fail(origin, "shape is {}, not a tuple of whole numbers", shown);
  if (value.items.size() > most_dimensions) {
    fail(origin, "shape has {} dimensions, more than {}", value.items.size(), most_dimensions);
  }
  std::vector<std::uint64_t> shape;
  for (const python_value& extent : value.items) {
    if (extent.type != python_value::kind::integer || !extent.whole) {
      fail(origin, "shape is {}: {} is not a number of elements", shown, printable(source_of(extent, header)));
    }
    shape.push_back(*extent.whole);
  }
  return shape;
}

// An extent of 0 makes an array empty; the other extents are checked all the same.
std::uint64_t data_bytes_of(const npy_array& array, const std::string& origin) {
  std::uint64_t bytes = array.type.item_bytes;
  bool empty = bytes == 0;
  bytes = std::max<std::uint64_t>(bytes, 1);
  for (const std::uint64_t extent : array.shape) {
    empty = empty || extent == 0;
    if (__builtin_mul_overflow(bytes, std::max<std::uint64_t>(extent, 1), &bytes) || bytes >> 63 != 0) {
      fail(origin, "shape is {}: more elements of {} bytes than memory can hold", shape_text(array.shape),
           array.type.item_bytes);
    }
  }
  return empty ? 0 : bytes;
}

bool is_column_major(const python_value& fortran_order, const npy_array& array, std::string_view header,
                     const std::string& origin) {
  if (fortran_order.type != python_value::kind::boolean) {
    fail(origin, "fortran_order is {}, not True or False", printable(source_of(fortran_order, header)));
  }
  const auto long_axes = std::ranges::count_if(array.shape, [](std::uint64_t e) { return e != 1; });
  return fortran_order.truth && long_axes > 1 && array.data_bytes > 0;
}

std::string utf8_of_latin1(std::string_view text) {
  std::string utf8;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      utf8 += c;
    } else {
      utf8 += static_cast<char>(0xc0 | (byte >> 6));
      utf8 += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return utf8;
}

void make_utf8_of_latin1(npy_type& type) {
  type.descr = utf8_of_latin1(type.descr);
  for (npy_field& field : type.fields) {
    field.name = utf8_of_latin1(field.name);
    field.title = utf8_of_latin1(field.title);
    make_utf8_of_latin1(field.type);
  }
}

// Converts UTF-8 text to Latin-1; returns false if it has letters outside Latin-1, whose lead bytes are not c2 or c3.
bool latin1_of_utf8(std::string_view utf8, std::string& latin1) {
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    if (byte < 0x80) {
      latin1 += utf8[i];
    } else if ((byte == 0xc2 || byte == 0xc3) && i + 1 < utf8.size()) {
      latin1 += static_cast<char>((byte << 6) | (static_cast<unsigned char>(utf8[++i]) & 0x3f));
    } else {
      return false;
    }
  }
  return true;
}

// The offset of the first byte that is not UTF-8, or the size. Overlong forms and surrogates pass, because descr is
// only copied from file to file.
std::size_t first_not_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80         ? 1
                               : byte >> 5 == 0x6  ? 2
                               : byte >> 4 == 0xe  ? 3
                               : byte >> 3 == 0x1e ? 4
                                                   : 0;
    if (length == 0 || length > text.size() - i) return i;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return i;
    }
    i += length;
  }
  return text.size();
}

// The array of a header, whose data are not looked at, and where the header ends.
npy_array read_header(std::span<const std::byte> front, std::uint64_t file_bytes, const std::string& origin,
                      std::uint64_t& header_end) {
  const framing frame = find_header(front, file_bytes, origin);
  if (const std::size_t place = first_not_utf8(frame.header); frame.version == 3 && place < frame.header.size()) {
    fail(origin, "byte {}: not UTF-8, which version 3 headers are: {}", frame.header_offset + place,
         printable(frame.header.substr(place, 4)));
  }
  const python_value dict = parse_python_literal(frame.header, origin, frame.header_offset);
  const header_fields fields = find_fields(dict, frame, origin);
  npy_array array;
  array.type = read_npy_type(*fields.descr, frame.header, origin);
  if (frame.version < 3) make_utf8_of_latin1(array.type);
  array.shape = read_shape(*fields.shape, frame.header, origin);
  array.data_bytes = data_bytes_of(array, origin);
  array.column_major = is_column_major(*fields.fortran_order, array, frame.header, origin);
  header_end = frame.header_offset + frame.header.size();
  return array;
}

std::string preamble(unsigned version, std::size_t length) {
  std::string bytes(magic);
  bytes += static_cast<char>(version);
  bytes += '\0';
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  for (std::size_t i = 0; i < length_bytes; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes;
}

}  // namespace

bool starts_as_npy(std::span<const std::byte> file) noexcept {
  return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}

npy_array parse_npy(std::span<const std::byte> file, const std::string& origin) {
  npy_array array = parse_npy_front(file, file.size(), origin);
  array.data = file.data() + (file.size() - array.data_bytes);
  return array;
}

npy_array parse_npy_front(std::span<const std::byte> front, std::uint64_t file_bytes, const std::string& origin) {
  std::uint64_t header_end = 0;
  npy_array array = read_header(front, file_bytes, origin, header_end);
  const std::uint64_t found_bytes = file_bytes - header_end;
  if (found_bytes != array.data_bytes) {
    fail(origin, "shape {} of {} takes {} bytes, but {} follow the header: {}", shape_text(array.shape),
         printable(array.type.descr), array.data_bytes, found_bytes,
         found_bytes < array.data_bytes ? "the file is cut short" : "the file is too long");
  }
  return array;
}

npy_announcement announced_by_npy(std::span<const std::byte> front) {
  const std::size_t known = std::min(front.size(), magic.size());
  if (known > 0 && std::memcmp(front.data(), magic.data(), known) != 0) return {true, {}};
  if (front.size() < most_preamble_bytes) return {};
  const std::size_t length_bytes = byte_at(front, 6) == 1 ? 2 : 4;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= std::uint64_t{byte_at(front, 8 + i)} << (8 * i);
  if (length > most_header_bytes) return {true, {}};
  if (front.size() < 8 + length_bytes + length) return {};
  try {
    std::uint64_t header_end = 0;
    const npy_array array = read_header(front, std::numeric_limits<std::uint64_t>::max(), "", header_end);
    return {false, header_end + array.data_bytes};
  } catch (const error&) {
    return {true, {}};  // whoever reads all of it says what is wrong
  }
}

npy_type parse_npy_type(std::string_view descr, const std::string& origin) {
  return read_npy_type(parse_python_literal(descr, origin, 0), descr, origin);
}

npy_type native_type(const npy_type& type) {
  npy_type native = type;
  if (type.order != '>') return native;
  native.order = '<';
  native.descr[native.descr.find('>')] = '<';
  return native;
}

std::string format_npy_header(const npy_type& type, std::span<const std::uint64_t> shape) {
  std::string descr;
  const bool latin1 = latin1_of_utf8(type.descr, descr);
  if (!latin1) descr = type.descr;
  std::string dict = fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': {}, }}", descr, shape_text(shape));
  const auto padded = [&](std::size_t preamble_bytes) {
    return (preamble_bytes + dict.size() + 1 + header_alignment - 1) / header_alignment * header_alignment -
           preamble_bytes;
  };
  const unsigned version = !latin1 ? 3 : padded(10) > 0xffff ? 2 : 1;
  const std::size_t length = padded(version == 1 ? 10 : 12);
  dict.resize(length - 1, ' ');
  return preamble(version, length) + dict + '\n';
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return text + ")";
}

}  // namespace sheaf::io
