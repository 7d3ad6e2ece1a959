#include "apps/sheaf/files/arrays/npy_type.hpp"

#include <algorithm>
#include <charconv>

#include "apps/sheaf/files/failure.hpp"

namespace sheaf::io {
namespace {

// The sizes that may follow a type letter.
struct kind_row {
  char letter;
  char kind;
  std::uint64_t unit_bytes;                ///< bytes of one unit of the length
  std::span<const std::uint64_t> lengths;  ///< lengths that exist; empty: any
};

constexpr std::uint64_t one[] = {1};
constexpr std::uint64_t integers[] = {1, 2, 4, 8};
constexpr std::uint64_t floats[] = {2, 4, 8, 12, 16};
constexpr std::uint64_t complexes[] = {8, 16, 24, 32};
constexpr std::uint64_t eight[] = {8};
constexpr kind_row kinds[] = {
    {'b', 'b', 1, one},       {'i', 'i', 1, integers}, {'u', 'u', 1, integers}, {'f', 'f', 1, floats},
    {'c', 'c', 1, complexes}, {'m', 'm', 1, eight},    {'M', 'M', 1, eight},    {'S', 'S', 1, {}},
    {'a', 'S', 1, {}},        {'U', 'U', 4, {}},       {'V', 'V', 1, {}},
};

// The characters that a Python string has between its quotes: a backslash before a quote or a backslash is not one of
// them. Other escapes, which stand for letters that no field should have in its name, stay as they are written.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escapes =
        text[i] == '\\' && i + 1 < text.size() && std::string_view("\\'\"").find(text[i + 1]) != text.npos;
    if (escapes) ++i;
    plain += text[i];
  }
  return plain;
}

class type_reader {
 public:
  type_reader(std::string_view header, const std::string& origin) : header_(header), origin_(origin) {}

  npy_type read(const python_value& descr) const {
    npy_type type;
    if (descr.type == python_value::kind::text) {
      type = read_simple(descr);
    } else if (descr.type == python_value::kind::list) {
      read_fields(descr, type);
    } else if (descr.type == python_value::kind::tuple && descr.items.size() == 2) {
      type.item_bytes = times(read(descr.items[0]).item_bytes, repeats(descr.items[1]), descr);
    } else {
      fail(descr, "is neither a type string nor a list of fields");
    }
    type.descr = source_of(descr);
    return type;
  }

 private:
  npy_type read_simple(const python_value& descr) const {
    std::string_view rest = descr.text;
    npy_type type;
    type.order =
        '<';  // without a mark it is the writer's byte order, which is little-endian on every machine that this runs on
    if (!rest.empty() && (rest[0] == '<' || rest[0] == '>' || rest[0] == '|' || rest[0] == '=')) {
      if (rest[0] == '>') type.order = '>';
      rest.remove_prefix(1);
    }
    if (!rest.empty() && rest[0] == 'O')
      fail(descr, "holds Python objects, which only pickle reads; sheaf moves bytes");
    if (rest == "?") rest = "b1";
    const auto row =
        std::ranges::find_if(kinds, [&](const kind_row& k) { return !rest.empty() && k.letter == rest[0]; });
    if (row == std::end(kinds)) fail(descr, "is not a type that sheaf knows");
    rest.remove_prefix(1);
    std::uint64_t length = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const std::string_view unit = rest.substr(static_cast<std::size_t>(end - rest.data()));
    const bool known = row->lengths.empty() || std::ranges::find(row->lengths, length) != row->lengths.end();
    if (problem != std::errc{} || !known || !is_unit(unit, row->kind)) fail(descr, "is not a type that sheaf knows");
    type.kind = row->kind;
    type.item_bytes = times(length, row->unit_bytes, descr);
    if (type.item_bytes == 1 || type.kind == 'S' || type.kind == 'V') type.order = '|';
    return type;
  }

  // Dates and durations have a unit, [ns] or [25s]; other types have none.
  static bool is_unit(std::string_view unit, char kind) {
    if (unit.empty()) return true;
    const bool dated = kind == 'm' || kind == 'M';
    return dated && unit.size() > 2 && unit.front() == '[' && unit.back() == ']' &&
           std::all_of(unit.begin() + 1, unit.end() - 1, [](char c) {
             return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'Y' || c == 'M' || c == 'W' || c == 'D' ||
                    c == '/';
           });
  }

  // (name, type) or (name, type, shape); a name may be a pair of title and name.
  void read_fields(const python_value& list, npy_type& type) const {
    for (const python_value& field : list.items) {
      if (field.type != python_value::kind::tuple || field.items.size() < 2 || field.items.size() > 3) {
        fail(field, "is not a field: (name, type) or (name, type, shape)");
      }
      npy_field read = named(field.items[0]);
      read.offset = type.item_bytes;
      if (field.items.size() == 3) read.count = repeats(field.items[2]);
      // The type of an element, where the field's own is one of several: ('<f4', (3,)).
      const python_value* element = &field.items[1];
      while (element->type == python_value::kind::tuple && element->items.size() == 2) {
        read.count = times(read.count, repeats(element->items[1]), field);
        element = &element->items[0];
      }
      read.type = this->read(*element);
      const std::uint64_t bytes = times(read.type.item_bytes, read.count, field);
      if (__builtin_add_overflow(type.item_bytes, bytes, &type.item_bytes) || type.item_bytes >> 63 != 0) {
        fail(list, "is wider than memory");
      }
      type.fields.push_back(std::move(read));
    }
  }

  npy_field named(const python_value& name) const {
    const auto is_text = [](const python_value& v) { return v.type == python_value::kind::text; };
    npy_field field;
    if (is_text(name)) {
      field.name = unescaped(name.text);
    } else if (name.type == python_value::kind::tuple && name.items.size() == 2 && is_text(name.items[0]) &&
               is_text(name.items[1])) {
      field.title = unescaped(name.items[0].text);
      field.name = unescaped(name.items[1].text);
    } else {
      fail(name, "is not the name of a field");
    }
    return field;
  }

  std::uint64_t repeats(const python_value& shape) const {
    if (shape.type == python_value::kind::integer && shape.whole) return *shape.whole;
    if (shape.type != python_value::kind::tuple) fail(shape, "is not the shape of a field");
    std::uint64_t count = 1;
    for (const python_value& extent : shape.items) {
      if (extent.type != python_value::kind::integer || !extent.whole) fail(shape, "is not the shape of a field");
      count = times(count, *extent.whole, shape);
    }
    return count;
  }

  std::uint64_t times(std::uint64_t a, std::uint64_t b, const python_value& place) const {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product) || product >> 63 != 0) fail(place, "is wider than memory");
    return product;
  }

  std::string_view source_of(const python_value& value) const {
    return header_.substr(value.begin, value.end - value.begin);
  }

  [[noreturn]] void fail(const python_value& value, std::string_view what) const {
    io::fail(origin_, "descr: {} {}", printable(source_of(value)), what);
  }

  std::string_view header_;
  const std::string& origin_;
};

}  // namespace

npy_type read_npy_type(const python_value& descr, std::string_view header, const std::string& origin) {
  return type_reader(header, origin).read(descr);
}

}  // namespace sheaf::io
