#include "array.hpp"

#include <utility>

#include "errors.hpp"
#include "numpy_array.hpp"

namespace sheaf::python {

std::string name_of(const element& type) {
  const std::uint32_t bits = 8 * type.bytes;
  const char* const order = type.is_swapped ? " of the other byte order" : "";
  switch (type.kind) {
    case number::boolean: return "bool";
    case number::signed_integer: return fmt::format("int{}{}", bits, order);
    case number::unsigned_integer: return fmt::format("uint{}{}", bits, order);
    case number::floating: return fmt::format("float{}{}", bits, order);
    case number::brain_floating: return fmt::format("bfloat{}{}", bits, order);
    case number::complex: return fmt::format("complex{}{}", bits, order);
    case number::time: return fmt::format("a time of {} bytes{}", type.bytes, order);
    case number::bytes: return fmt::format("strings of {} bytes", type.bytes);
    case number::opaque: break;
  }
  return fmt::format("records of {} bytes", type.bytes);
}

array::array(nb::handle from, const array_use& how) : source(from), use(how) {
  if (!take_plain_numpy()) take_by_protocol();
  if (use.is_written && is_read_only) refuse("{}: {} is read-only", use.call, use.what);
  if (dimensions == 0) refuse("{}: {} has no dimensions; give it one: x.reshape(1)", use.call, use.what);
}

bool array::take_plain_numpy() {
  if (reinterpret_cast<PyObject*>(Py_TYPE(source.ptr())) != plain_numpy_class()) return false;
  origin = array_library::numpy;
  const auto& head = *reinterpret_cast<const numpy_array*>(source.ptr());
  const element* const known = element_of_number(*head.type);
  if (known == nullptr || head.dimensions > most_dimensions) return false;
  type = *known;
  data = head.data;
  dimensions = head.dimensions;
  is_read_only = (head.flags & numpy_is_writable) == 0;
  for (int d = 0; d < dimensions; ++d) {
    const auto at = static_cast<std::size_t>(d);
    shape[at] = head.shape[d];
    strides[at] = head.strides[d];
  }
  return true;
}

void array::take_by_protocol() {
  const nb::handle from = source;
  const array_type& known = array_type_of(from);
  origin = known.origin;
  exchange = known.exchange;
  if (known.refused != nullptr) refuse_type("{}: {} {}", use.call, use.what, known.refused);
  const bool is_taken = (exchange != nullptr && take_exchange(known)) ||
                        (PyObject_CheckBuffer(from.ptr()) != 0 && take_buffer()) || take_array_interface() ||
                        take_dlpack() || take_cuda_interface() || take_arrow();
  if (!is_taken) {
    const auto name = nb::cast<std::string>(nb::str(nb::getattr(from.type(), "__name__", nb::str("?"))));
    refuse_type(
        "{}: {} is a {}, which is no array by any of buffer protocol, __array_interface__, DLPack, "
        "__cuda_array_interface__ and __arrow_c_array__",
        use.call, use.what, name);
  }
}

held_memory::~held_memory() {
  if (auto* const buffer = std::get_if<Py_buffer>(&held_)) PyBuffer_Release(buffer);
  if (auto* const tensor = std::get_if<dlpack::managed_tensor*>(&held_); tensor != nullptr && (*tensor)->deleter) {
    (*tensor)->deleter(*tensor);
  }
  if (auto* const tensor = std::get_if<dlpack::versioned_tensor*>(&held_); tensor != nullptr && (*tensor)->deleter) {
    (*tensor)->deleter(*tensor);
  }
}

void array::set_dimensions(std::int64_t count) {
  if (count > most_dimensions) {
    refuse("{}: {} has {} dimensions, more than {}", use.call, use.what, count, most_dimensions);
  }
  dimensions = static_cast<int>(count);
}

void array::lay_side_by_side() {
  std::int64_t step = type.bytes;
  for (int d = dimensions - 1; d >= 0; --d) {
    strides[static_cast<std::size_t>(d)] = step;
    step *= shape[static_cast<std::size_t>(d)];
  }
}

std::uint64_t array::count() const {
  std::uint64_t product = 1;
  for (int d = 0; d < dimensions; ++d) product *= static_cast<std::uint64_t>(shape[static_cast<std::size_t>(d)]);
  return product;
}

std::uint64_t array::row_bytes() const {
  std::uint64_t product = type.bytes;
  for (const std::int64_t n : dimensions_of_row()) product *= static_cast<std::uint64_t>(n);
  return product;
}

const_records array::as_records() const {
  const std::uint64_t width = row_bytes();
  if (rows() > 0 && width > 0) {
    std::int64_t step = type.bytes;
    for (int d = dimensions - 1; d > 0; --d) {
      const auto at = static_cast<std::size_t>(d);
      if (shape[at] != 1 && strides[at] != step) {
        refuse(
            "{}: the elements of a row of {} do not lie side by side, and no call copies in silence; "
            "numpy.ascontiguousarray or x.contiguous() copies",
            use.call, use.what);
      }
      step *= shape[at];
    }
    if (rows() > 1 && strides[0] < static_cast<std::int64_t>(width)) {
      refuse("{}: rows of {} lie {} bytes apart and have {}; reversed and broadcast arrays are to be copied first",
             use.call, use.what, strides[0], width);
    }
  }
  const std::uint64_t stride = rows() > 1 && width > 0 ? static_cast<std::uint64_t>(strides[0]) : width;
  return {data, rows(), width, stride};
}

records array::as_output() const {
  const const_records seen = as_records();
  return {data, seen.count, seen.record_bytes, seen.stride_bytes};
}

void* array::side_by_side() const {
  std::int64_t step = type.bytes;
  if (count() == 0) return data;
  for (int d = dimensions - 1; d >= 0; --d) {
    const auto at = static_cast<std::size_t>(d);
    if (shape[at] != 1 && strides[at] != step) {
      refuse(
          "{}: the elements of {} do not lie side by side, and no call copies in silence; "
          "numpy.ascontiguousarray or x.contiguous() copies",
          use.call, use.what);
    }
    step *= shape[at];
  }
  return data;
}

void array::require_one_dimension() const {
  if (dimensions != 1) refuse("{}: {} has {} dimensions, not 1", use.call, use.what, dimensions);
}

namespace {

index_type index_type_of(const array& a) {
  const bool is_signed = a.type.kind == number::signed_integer;
  const bool is_index = (is_signed || a.type.kind == number::unsigned_integer) && !a.type.is_swapped &&
                        (a.type.bytes == 4 || a.type.bytes == 8);
  if (!is_index) {
    refuse("{}: {} has {}, not int32, int64, uint32 or uint64", a.use.call, a.use.what, name_of(a.type));
  }
  if (a.type.bytes == 4) return is_signed ? index_type::i32 : index_type::u32;
  return is_signed ? index_type::i64 : index_type::u64;
}

value_type value_type_of_array(const array& a) {
  const bool is_wide = a.type.bytes == 8;
  if ((a.type.bytes == 4 || is_wide) && !a.type.is_swapped) {
    switch (a.type.kind) {
      case number::signed_integer: return is_wide ? value_type::i64 : value_type::i32;
      case number::unsigned_integer: return is_wide ? value_type::u64 : value_type::u32;
      case number::floating: return is_wide ? value_type::f64 : value_type::f32;
      default: break;
    }
  }
  refuse("{}: {} has {}, not int32, int64, uint32, uint64, float32 or float64", a.use.call, a.use.what,
         name_of(a.type));
}

}  // namespace

index_span array::as_index(bool any_shape) const {
  if (!any_shape) require_one_dimension();
  return {side_by_side(), count(), index_type_of(*this)};
}

index_output array::as_index_output() const {
  require_one_dimension();
  return {side_by_side(), count(), index_type_of(*this)};
}

const_values array::as_values(bool any_shape) const {
  if (!any_shape) require_one_dimension();
  return {side_by_side(), count(), value_type_of_array(*this)};
}

values array::as_values_output(bool any_shape) const {
  if (!any_shape) require_one_dimension();
  return {side_by_side(), count(), value_type_of_array(*this)};
}

}  // namespace sheaf::python
