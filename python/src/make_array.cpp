#include <string>
#include <vector>

#include "array.hpp"
#include "errors.hpp"
#include "memory.hpp"

namespace sheaf::python {
namespace {

nb::tuple tuple_of(std::span<const std::int64_t> shape) {
  nb::list sizes;
  for (const std::int64_t n : shape) sizes.append(n);
  return nb::tuple(sizes);
}

// The name by which NumPy, CuPy and torch call a type.
std::string type_name(const element& type) {
  if (type.kind == number::bytes) return fmt::format("S{}", type.bytes);
  if (type.kind == number::time) return "int64";
  if (type.kind == number::opaque) return fmt::format("V{}", type.bytes);
  element native = type;
  native.is_swapped = false;
  return name_of(native);
}

dlpack::data_type exchange_type(const element& type) {
  if (type.exchange.bits != 0) return type.exchange;
  const auto bits = static_cast<std::uint8_t>(8 * type.bytes);
  switch (type.kind) {
    case number::boolean: return {dlpack::boolean, 8, 1};
    case number::signed_integer: return {dlpack::signed_integer, bits, 1};
    case number::unsigned_integer: return {dlpack::unsigned_integer, bits, 1};
    case number::floating: return {dlpack::floating, bits, 1};
    case number::brain_floating: return {dlpack::brain_floating, bits, 1};
    case number::complex: return {dlpack::complex, bits, 1};
    default: return {dlpack::unsigned_integer, 8, static_cast<std::uint16_t>(type.bytes)};
  }
}

// The type of NumPy, which has bfloat16 from ml_dtypes alone.
nb::object numpy_type(const element& type, const char* call) {
  if (type.kind == number::brain_floating) {
    try {
      return nb::module_::import_("ml_dtypes").attr("bfloat16");
    } catch (const nb::python_error& e) {
      if (!e.matches(PyExc_ImportError)) throw;
    }
    refuse("{}: NumPy has no bfloat16 without ml_dtypes; give the outputs", call);
  }
  const nb::str named(type_name(type).c_str());
  if (!type.is_swapped) return named;
  return nb::module_::import_("numpy").attr("dtype")(named).attr("newbyteorder")(">");
}

void set_allocation_error(void*, const char* kind, const char* message) {
  PyErr_Format(PyExc_MemoryError, "%s: %s", kind, message);
}

nb::object make_by_exchange(const array& like, std::span<const std::int64_t> shape, const element& type) {
  std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  const dlpack::device place =
      like.is_on_device() ? dlpack::device{dlpack::cuda, like.device} : dlpack::device{dlpack::cpu, 0};
  dlpack::tensor prototype{nullptr, place, static_cast<std::int32_t>(shape.size()), exchange_type(type), sizes.data(),
                           nullptr, 0};
  dlpack::versioned_tensor* made = nullptr;
  void* object = nullptr;
  if (like.exchange->allocate(&prototype, &made, nullptr, set_allocation_error) != 0 ||
      like.exchange->object_from_managed(made, &object) != 0) {
    throw nb::python_error();
  }
  return nb::steal(static_cast<PyObject*>(object));
}

}  // namespace

nb::object make_array(const array& like, std::span<const std::int64_t> shape, const element* type, const char* call) {
  const nb::tuple sizes = tuple_of(shape);
  const bool is_same = type == nullptr;
  const element& wanted = is_same ? like.type : *type;
  switch (like.origin) {
    case array_library::exchange: return make_by_exchange(like, shape, wanted);
    case array_library::torch: {
      const nb::module_ torch = nb::module_::import_("torch");
      const nb::object named =
          is_same ? nb::object(like.source.attr("dtype")) : nb::object(torch.attr(type_name(wanted).c_str()));
      return torch.attr("empty")(sizes, nb::arg("dtype") = named, nb::arg("device") = like.source.attr("device"));
    }
    case array_library::cupy: {
      const nb::object named =
          is_same ? nb::object(like.source.attr("dtype")) : nb::object(nb::str(type_name(wanted).c_str()));
      return nb::module_::import_("cupy").attr("empty")(sizes, named);
    }
    case array_library::numpy:
    case array_library::other: break;
  }
  if (like.is_on_device()) {
    const auto name = nb::cast<std::string>(nb::str(nb::getattr(like.source.type(), "__name__")));
    refuse("{}: nobody knows how to make a {}; give the outputs", call, name);
  }
  static nb::object* const empty = new nb::object(nb::module_::import_("numpy").attr("empty"));
  if (is_same && like.origin == array_library::numpy) return (*empty)(sizes, like.source.attr("dtype"));
  return (*empty)(sizes, numpy_type(wanted, call));
}

nb::object wrap_memory(const array& like, void* data, std::uint64_t count, const element& type, nb::object owner,
                       bool is_writable) {
  const nb::object held = nb::cast(memory{data, count, type, like.device, std::move(owner), is_writable});
  if (like.origin == array_library::exchange && like.exchange->object_from_managed != nullptr) {
    void* object = nullptr;
    if (like.exchange->object_from_managed(tensor_of(held), &object) != 0) throw nb::python_error();
    return nb::steal(static_cast<PyObject*>(object));
  }
  if (like.origin == array_library::torch) return nb::module_::import_("torch").attr("from_dlpack")(held);
  if (like.origin == array_library::cupy) return nb::module_::import_("cupy").attr("from_dlpack")(held);
  if (!like.is_on_device()) {
    return nb::module_::import_("numpy").attr("frombuffer")(held, nb::str(type_name(type).c_str()));
  }
  return held;  // it speaks DLPack and __cuda_array_interface__
}

}  // namespace sheaf::python
