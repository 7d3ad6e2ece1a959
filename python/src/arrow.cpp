#include <bit>
#include <charconv>
#include <cstring>
#include <string_view>

#include "array.hpp"
#include "errors.hpp"

// Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html): one column of one width, without
// nulls. The layouts of its structures are fixed.
namespace sheaf::python {
namespace {

struct arrow_schema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t children_count;
  arrow_schema** children;
  arrow_schema* dictionary;
  void (*release)(arrow_schema*);
  void* private_data;
};

struct arrow_array {
  std::int64_t length;
  std::int64_t null_count;  ///< -1: not counted yet
  std::int64_t offset;
  std::int64_t buffers_count;
  std::int64_t children_count;
  const void** buffers;
  arrow_array** children;
  arrow_array* dictionary;
  void (*release)(arrow_array*);
  void* private_data;
};

// Bytes 0: no column of one width.
element element_of(std::string_view format) {
  constexpr std::string_view integers = "cCsSiIlL";
  if (format.size() == 1) {
    const std::size_t found = integers.find(format[0]);
    if (found != std::string_view::npos) {
      const auto bytes = static_cast<std::uint32_t>(1U << (found / 2));
      return {found % 2 == 0 ? number::signed_integer : number::unsigned_integer, bytes};
    }
    if (format == "e") return {number::floating, 2};
    if (format == "f") return {number::floating, 4};
    if (format == "g") return {number::floating, 8};
    return {};
  }
  if (format.starts_with("w:")) {
    std::uint32_t bytes = 0;
    std::from_chars(format.data() + 2, format.data() + format.size(), bytes);
    return {number::opaque, bytes};
  }
  if (format == "tdD" || format == "tts" || format == "ttm") return {number::signed_integer, 4};
  if (format.starts_with("td") || format.starts_with("ts") || format.starts_with("tt") || format.starts_with("tD")) {
    return {number::signed_integer, 8};
  }
  return {};
}

bool has_nulls(const arrow_array& column) {
  if (column.null_count >= 0) return column.null_count > 0;
  const auto* const bits = static_cast<const unsigned char*>(column.buffers[0]);
  if (bits == nullptr) return false;
  for (std::int64_t i = column.offset; i < column.offset + column.length; ++i) {
    if ((bits[i / 8] >> (i % 8) & 1) == 0) return true;
  }
  return false;
}

}  // namespace

bool array::take_arrow() {
  if (!nb::hasattr(source, "__arrow_c_array__")) return false;
  capsules_ = source.attr("__arrow_c_array__")();
  const nb::object schema_capsule = capsules_[0];
  const nb::object array_capsule = capsules_[1];
  const auto* const schema =
      static_cast<const arrow_schema*>(PyCapsule_GetPointer(schema_capsule.ptr(), "arrow_schema"));
  const auto* const column = static_cast<const arrow_array*>(PyCapsule_GetPointer(array_capsule.ptr(), "arrow_array"));
  if (schema == nullptr || column == nullptr) throw nb::python_error();
  type = element_of(schema->format);
  if (type.bytes == 0 || column->buffers_count != 2 || column->dictionary != nullptr) {
    refuse("{}: {} is a column of Arrow's type '{}', which is no column of numbers of one width", use.call, use.what,
           schema->format);
  }
  if (has_nulls(*column)) refuse("{}: {} is a column with nulls", use.call, use.what);
  set_dimensions(1);
  shape[0] = column->length;
  strides[0] = type.bytes;
  data = static_cast<std::byte*>(const_cast<void*>(column->buffers[1])) +
         column->offset * static_cast<std::int64_t>(type.bytes);
  is_read_only = true;
  return true;
}

}  // namespace sheaf::python
