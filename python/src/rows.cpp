#include "rows.hpp"

#include <algorithm>
#include <string>

#include "call.hpp"
#include "errors.hpp"

namespace sheaf::python {
namespace {

struct named_number {
  value_type value;
  element type;
};

constexpr named_number all_numbers[] = {
    {value_type::f16, {number::floating, 2}},       {value_type::bf16, {number::brain_floating, 2}},
    {value_type::f32, {number::floating, 4}},       {value_type::f64, {number::floating, 8}},
    {value_type::i8, {number::signed_integer, 1}},  {value_type::u8, {number::unsigned_integer, 1}},
    {value_type::i16, {number::signed_integer, 2}}, {value_type::u16, {number::unsigned_integer, 2}},
    {value_type::i32, {number::signed_integer, 4}}, {value_type::u32, {number::unsigned_integer, 4}},
    {value_type::i64, {number::signed_integer, 8}}, {value_type::u64, {number::unsigned_integer, 8}},
};

// "float32" for the string, numpy.float32, numpy.dtype("float32") and torch.float32.
std::string name_of_dtype(nb::handle dtype) {
  if (nb::isinstance<nb::str>(dtype)) return nb::cast<std::string>(dtype);
  if (PyType_Check(dtype.ptr())) return nb::cast<std::string>(nb::str(nb::getattr(dtype, "__name__")));
  const auto text = nb::cast<std::string>(nb::str(dtype));
  return text.substr(text.rfind('.') + 1);
}

}  // namespace

value_type number_type_of(const array& a) {
  for (const named_number& known : all_numbers) {
    if (a.type.kind == known.type.kind && a.type.bytes == known.type.bytes && !a.type.is_swapped) return known.value;
  }
  refuse("{}: {} has {}, not float16, bfloat16, float32, float64 or integers of 8 to 64 bits", a.use.call, a.use.what,
         name_of(a.type));
}

const_values numbers_of(const array& a) {
  a.require_one_dimension();
  return {a.side_by_side(), a.count(), number_type_of(a)};
}

std::span<const std::int64_t> row_shape(const array& a, int leading) {
  return {a.shape.data() + leading, static_cast<std::size_t>(a.dimensions - leading)};
}

std::vector<std::int64_t> shape_of_rows(std::int64_t rows, std::span<const std::int64_t> row) {
  std::vector<std::int64_t> shape{rows};
  shape.insert(shape.end(), row.begin(), row.end());
  return shape;
}

void require_rows_like(const array& out, std::span<const std::int64_t> row, const char* like) {
  if (!std::ranges::equal(row_shape(out), row)) {
    refuse("{}: rows of {} have not the shape of rows of {}", out.use.call, out.use.what, like);
  }
}

const_value_rows rows_of(const array& a, int leading) {
  const value_type type = number_type_of(a);
  std::uint64_t values_per_row = 1;
  for (const std::int64_t n : row_shape(a, leading)) values_per_row *= static_cast<std::uint64_t>(n);
  if (leading == 1) {
    const const_records rows = a.as_records();
    return {rows.data, rows.count, values_per_row, type, rows.stride_bytes};
  }
  std::uint64_t count = 1;
  for (int d = 0; d < leading; ++d) count *= static_cast<std::uint64_t>(a.shape[static_cast<std::size_t>(d)]);
  return {a.side_by_side(), count, values_per_row, type};
}

value_rows rows_to_write(const array& a) {
  const const_value_rows seen = rows_of(a);
  return {a.data, seen.count, seen.values_per_row, seen.type, seen.stride_bytes};
}

const element* element_named(nb::handle dtype, const char* call) {
  if (dtype.is_none()) return nullptr;
  const std::string name = name_of_dtype(dtype);
  std::string all;
  for (const named_number& known : all_numbers) {
    if (name == name_of(known.type)) return &known.type;
    all += (all.empty() ? "'" : ", '") + name_of(known.type) + "'";
  }
  refuse("{}: dtype is '{}', which is none of {}", call, name, all);
}

}  // namespace sheaf::python
