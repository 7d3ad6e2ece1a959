#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <sheaf/records.hpp>
#include <sheaf/values.hpp>

#include "dlpack.hpp"

struct CUstream_st;

namespace sheaf::python {

namespace nb = nanobind;

/// How the bytes of an element are read.
enum class number : std::uint8_t {
  boolean,
  signed_integer,
  unsigned_integer,
  floating,
  brain_floating,  ///< the upper half of a float of 32 bits
  complex,
  time,    ///< datetime64 and timedelta64, which are counts in 64 bits
  bytes,   ///< strings of bytes
  opaque,  ///< records, text and numbers that only move
};

struct element {
  number kind = number::opaque;
  std::uint32_t bytes = 0;
  bool is_swapped = false;          ///< of the other byte order
  dlpack::data_type exchange = {};  ///< as DLPack says it; bits 0 if it did not
};

inline constexpr element int32_element{number::signed_integer, 4, false, {dlpack::signed_integer, 32, 1}};
inline constexpr element uint32_element{number::unsigned_integer, 4, false, {dlpack::unsigned_integer, 32, 1}};
inline constexpr element int64_element{number::signed_integer, 8, false, {dlpack::signed_integer, 64, 1}};
inline constexpr element uint64_element{number::unsigned_integer, 8, false, {dlpack::unsigned_integer, 64, 1}};
inline constexpr element bool_element{number::boolean, 1, false, {dlpack::boolean, 8, 1}};

/// What Python calls an element: "int32", "record of 12 bytes".
std::string name_of(const element& type);

/// The library whose arrays an array is one of. Outputs are arrays of the library of the first input.
enum class array_library : std::uint8_t { numpy, exchange, torch, cupy, other };

/// The dimensions of an array.
inline constexpr int most_dimensions = 16;

/// A class of arrays, looked at once.
struct array_type {
  array_library origin = array_library::other;
  const dlpack::exchange_api* exchange = nullptr;
  bool is_tensor_of_torch = false;  ///< or a Parameter: exactly, not a class derived from it
  const char* refused = nullptr;    ///< why no array of this class is taken
};
const array_type& array_type_of(nb::handle object);

/// What a call that takes arrays says of itself.
struct array_use {
  const char* call;  ///< "gather"
  const char* what;  ///< "index"
  bool is_written = false;
  bool has_stream = false;  ///< whether the call's stream is known before its arrays are
  CUstream_st* stream = nullptr;
};

/// What a protocol handed over, to be given back.
class held_memory {
 public:
  held_memory() = default;
  held_memory(held_memory&& other) noexcept : held_(std::exchange(other.held_, std::monostate{})) {}
  held_memory(const held_memory&) = delete;
  held_memory& operator=(const held_memory&) = delete;
  held_memory& operator=(held_memory&&) = delete;
  ~held_memory();
  template <class Held>
  void hold(const Held& what) {
    held_ = what;
  }

 private:
  std::variant<std::monostate, Py_buffer, dlpack::managed_tensor*, dlpack::versioned_tensor*> held_;
};

/// A view of an array of another library, taken by the first protocol of python/README.md that the array has. It copies
/// nothing. The array's memory stays while the view exists and whoever called holds the array.
class array {
 public:
  /// @throws nb::type_error, nb::python_error and error(bad_argument)
  array(nb::handle source, const array_use& use);
  array(array&& other) noexcept = default;
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  array& operator=(array&&) = delete;
  ~array() = default;

  /// Holds the array as long as the view exists.
  void keep() { owner_ = nb::borrow(source); }

  std::uint64_t rows() const { return dimensions == 0 ? 1 : static_cast<std::uint64_t>(shape[0]); }
  std::uint64_t count() const;      ///< of elements
  std::uint64_t row_bytes() const;  ///< bytes of the elements of one row
  std::span<const std::int64_t> dimensions_of_row() const {
    return {shape.data() + 1, static_cast<std::size_t>(dimensions > 0 ? dimensions - 1 : 0)};
  }
  bool is_on_device() const { return device >= 0; }

  /// Rows of axis 0 as records; the elements of a row lie side by side.
  const_records as_records() const;
  records as_output() const;
  /// One-dimensional, or of any shape where `any_shape`, and side by side.
  index_span as_index(bool any_shape = false) const;
  index_output as_index_output() const;
  const_values as_values(bool any_shape = false) const;
  values as_values_output(bool any_shape = false) const;
  /// The first element of elements that lie side by side.
  void* side_by_side() const;
  void require_one_dimension() const;

  nb::handle source;
  array_use use;
  void* data = nullptr;
  int dimensions = 0;
  element type;
  int device = -1;          ///< number of a CUDA device; -1: host memory
  bool has_stream = false;  ///< whether its library has said on which stream it works now
  CUstream_st* stream = nullptr;
  bool is_read_only = false;
  array_library origin = array_library::other;
  const dlpack::exchange_api* exchange = nullptr;
  std::array<std::int64_t, most_dimensions> shape;    // NOLINT: the first `dimensions` are set
  std::array<std::int64_t, most_dimensions> strides;  // NOLINT: bytes

 private:
  bool take_plain_numpy();
  void take_by_protocol();
  void require_plain_tensor() const;
  bool take_exchange(const array_type& known);
  bool take_buffer();
  bool take_array_interface();
  bool take_dlpack();
  bool take_cuda_interface();
  bool take_arrow();
  void take_tensor(const dlpack::tensor& tensor, std::uint64_t flags);
  void take_interface(nb::dict interface);
  void set_dimensions(std::int64_t count);
  void lay_side_by_side();
  void note_stream();

  held_memory held_;
  nb::object owner_;
  nb::object capsules_;  ///< of a column of Arrow
};

/// An array like those of `like`'s library, on its device, uninitialized. Without a type its elements are `like`'s.
nb::object make_array(const array& like, std::span<const std::int64_t> shape, const element* type, const char* call);
/// Memory of the library's own as an array of like's library; `owner` is held as long as that exists.
nb::object wrap_memory(const array& like, void* data, std::uint64_t count, const element& type, nb::object owner,
                       bool is_writable);

}  // namespace sheaf::python
