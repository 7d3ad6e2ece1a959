#include "jax_call.hpp"

#include <new>
#include <string>

#include "errors.hpp"

namespace sheaf::python {
namespace {

std::uint64_t product(const buffer_in& buffer, std::size_t first, std::size_t last) {
  const auto sizes = buffer.dimensions();
  std::uint64_t all = 1;
  for (std::size_t d = first; d < last; ++d) all *= static_cast<std::uint64_t>(sizes[d]);
  return all;
}

std::size_t dimensions_of(const buffer_in& buffer, std::size_t leading) {
  const std::size_t all = buffer.dimensions().size();
  if (all < leading) refuse("an array has {} dimensions, fewer than {}", all, leading);
  return all;
}

index_type index_type_of(const buffer_in& buffer) {
  switch (buffer.element_type()) {
    case ffi::S32: return index_type::i32;
    case ffi::S64: return index_type::i64;
    case ffi::U32: return index_type::u32;
    case ffi::U64: return index_type::u64;
    default: refuse("an index is not of int32, int64, uint32 or uint64");
  }
}

}  // namespace

value_type number_type_of(const buffer_in& buffer) {
  switch (buffer.element_type()) {
    case ffi::F16: return value_type::f16;
    case ffi::BF16: return value_type::bf16;
    case ffi::F32: return value_type::f32;
    case ffi::F64: return value_type::f64;
    case ffi::S8: return value_type::i8;
    case ffi::S16: return value_type::i16;
    case ffi::S32: return value_type::i32;
    case ffi::S64: return value_type::i64;
    case ffi::U8: return value_type::u8;
    case ffi::U16: return value_type::u16;
    case ffi::U32: return value_type::u32;
    case ffi::U64: return value_type::u64;
    default: refuse("values are not of float16, bfloat16, float32, float64 or integers of 8 to 64 bits");
  }
}

const_records records_of(const buffer_in& buffer, std::size_t leading) {
  const std::size_t all = dimensions_of(buffer, leading);
  return {buffer.untyped_data(), product(buffer, 0, leading),
          product(buffer, leading, all) * ffi::ByteWidth(buffer.element_type())};
}

records records_of(buffer_out& buffer, std::size_t leading) {
  const const_records seen = records_of(*buffer, leading);
  return {buffer->untyped_data(), seen.count, seen.record_bytes};
}

const_value_rows rows_of(const buffer_in& buffer, std::size_t leading) {
  const std::size_t all = dimensions_of(buffer, leading);
  return {buffer.untyped_data(), product(buffer, 0, leading), product(buffer, leading, all), number_type_of(buffer)};
}

value_rows rows_of(buffer_out& buffer) {
  const const_value_rows seen = rows_of(*buffer, 1);
  return {buffer->untyped_data(), seen.count, seen.values_per_row, seen.type};
}

const_values values_of(const buffer_in& buffer) {
  return {buffer.untyped_data(), buffer.element_count(), number_type_of(buffer)};
}

values values_of(buffer_out& buffer) {
  return {buffer->untyped_data(), buffer->element_count(), number_type_of(*buffer)};
}

index_span index_of(const buffer_in& buffer) {
  return {buffer.untyped_data(), buffer.element_count(), index_type_of(buffer)};
}

index_output index_of(buffer_out& buffer) {
  return {buffer->untyped_data(), buffer->element_count(), index_type_of(*buffer)};
}

sort_key key_of(const buffer_in& buffer, bool descending) {
  key_field field{0, static_cast<std::uint32_t>(ffi::ByteWidth(buffer.element_type())), key_type::unsigned_integer,
                  descending};
  if (buffer.element_type() == ffi::PRED) return field;
  switch (number_type_of(buffer)) {
    // Sign and magnitude order floats by their bits, wherever the exponent ends: bfloat16 is no exception.
    case value_type::f16:
    case value_type::bf16:
    case value_type::f32:
    case value_type::f64: field.type = key_type::floating; break;
    case value_type::i8:
    case value_type::i16:
    case value_type::i32:
    case value_type::i64: field.type = key_type::signed_integer; break;
    default: break;
  }
  return field;
}

ffi::Error status_of(const std::exception& thrown) {
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr) {
    return {ffi::ErrorCode::kResourceExhausted, "the host has no memory left"};
  }
  const auto* const known = dynamic_cast<const error*>(&thrown);
  if (known == nullptr) return {ffi::ErrorCode::kInternal, thrown.what()};
  const auto code = [known] {
    switch (known->code()) {
      case error_code::bad_argument:
      case error_code::bad_input: return ffi::ErrorCode::kInvalidArgument;
      case error_code::bad_index: return ffi::ErrorCode::kOutOfRange;
      case error_code::no_variant:
      case error_code::backend_unavailable: return ffi::ErrorCode::kUnimplemented;
      case error_code::out_of_memory: return ffi::ErrorCode::kResourceExhausted;
      default: return ffi::ErrorCode::kInternal;
    }
  }();
  return {code, known->what()};
}

}  // namespace sheaf::python
