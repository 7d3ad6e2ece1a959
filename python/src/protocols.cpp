#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "array.hpp"
#include "device.hpp"
#include "errors.hpp"

// The protocols by which arrays are taken, in the order in which they are tried (python/README.md).
namespace sheaf::python {
namespace {

constexpr bool host_is_little = true;  // as everywhere that this is built

number kind_of(char code) {
  switch (code) {
    case '?': return number::boolean;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n': return number::signed_integer;  // NOLINT
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N': return number::unsigned_integer;  // NOLINT
    case 'e':
    case 'f':
    case 'd':
    case 'g': return number::floating;  // NOLINT
    case 'c':
    case 's': return number::bytes;  // NOLINT
    default: return number::opaque;
  }
}

// Whether a field of a record is a pointer to an object; names of fields stand between colons.
bool has_objects(std::string_view format) {
  bool in_name = false;
  for (const char c : format) {
    if (c == ':') in_name = !in_name;
    if (!in_name && (c == 'O' || c == '&')) return true;
  }
  return false;
}

// The element that a format of the struct module describes: "<i", "10s", "T{i:a:d:b:}".
element element_of_format(std::string_view format, std::uint32_t bytes) {
  element found{number::opaque, bytes};
  bool is_little = host_is_little;
  if (!format.empty() && std::strchr("@=<>!^", format[0]) != nullptr) {
    is_little = format[0] != '>' && format[0] != '!' ? host_is_little : false;
    format.remove_prefix(1);
  }
  if (format.size() == 1) {
    found.kind = kind_of(format[0]);
  } else if (format.size() == 2 && format[0] == 'Z') {
    found.kind = number::complex;
  } else if (format.ends_with('s') && format.find('{') == std::string_view::npos) {
    found.kind = number::bytes;
  }
  found.is_swapped = is_little != host_is_little && bytes > 1 && found.kind != number::bytes;
  return found;
}

// The element that a type string of NumPy's array interface describes: "<i4", "|S5", "<M8[ns]".
element element_of_typestr(std::string_view text) {
  element found;
  if (text.size() < 3) return found;
  const char* const end = text.data() + text.size();
  std::uint32_t size = 0;
  const auto parsed = std::from_chars(text.data() + 2, end, size);
  if (parsed.ec != std::errc{}) return found;
  found.bytes = size;
  switch (text[1]) {
    case 'b': found.kind = number::boolean; break;
    case 'i': found.kind = number::signed_integer; break;
    case 'u': found.kind = number::unsigned_integer; break;
    case 'f': found.kind = number::floating; break;
    case 'c': found.kind = number::complex; break;
    case 'M':
    case 'm': found.kind = number::time; break;  // NOLINT
    case 'S': found.kind = number::bytes; break;
    case 'U': found.bytes *= 4; break;
    case 'V': break;
    default: found.bytes = 0; break;  // objects, and what later versions may add
  }
  found.is_swapped = text[0] == '>' && found.bytes > 1;
  return found;
}

element element_of_dlpack(const dlpack::data_type& type) {
  element found{number::opaque, static_cast<std::uint32_t>((type.bits * type.lanes + 7) / 8), false, type};
  if (type.lanes != 1) return found;
  switch (type.code) {
    case dlpack::signed_integer: found.kind = number::signed_integer; break;
    case dlpack::unsigned_integer: found.kind = number::unsigned_integer; break;
    case dlpack::floating: found.kind = number::floating; break;
    case dlpack::brain_floating: found.kind = number::brain_floating; break;
    case dlpack::complex: found.kind = number::complex; break;
    case dlpack::boolean: found.kind = number::boolean; break;
    default: break;  // narrower floats move as they are
  }
  return found;
}

}  // namespace

bool array::take_exchange(const array_type& known) {
  if (known.is_tensor_of_torch) require_plain_tensor();
  if (exchange->view_of_object != nullptr) {
    dlpack::tensor seen;  // NOLINT: the call fills it
    if (exchange->view_of_object(source.ptr(), &seen) != 0) throw nb::python_error();
    take_tensor(seen, 0);
  } else {
    dlpack::versioned_tensor* taken = nullptr;
    if (exchange->managed_from_object(source.ptr(), &taken) != 0) throw nb::python_error();
    held_.hold(taken);
    take_tensor(taken->tensor, taken->flags);
  }
  if (is_on_device()) {
    void* current = nullptr;
    if (exchange->current_stream(dlpack::cuda, device, &current) != 0) throw nb::python_error();
    stream = static_cast<CUstream_st*>(current);
    has_stream = true;
  }
  return true;
}

bool array::take_buffer() {
  Py_buffer view;  // NOLINT: the call fills it
  if (PyObject_GetBuffer(source.ptr(), &view, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    PyErr_Clear();  // a later protocol may take it, such as datetime64's
    return false;
  }
  held_.hold(view);
  const std::string_view format = view.format == nullptr ? "B" : view.format;
  if (has_objects(format)) refuse("{}: {} holds Python objects, which are no records", use.call, use.what);
  set_dimensions(view.ndim);
  type = element_of_format(format, static_cast<std::uint32_t>(view.itemsize));
  data = view.buf;
  is_read_only = view.readonly != 0;
  for (int d = 0; d < dimensions; ++d) {
    const auto at = static_cast<std::size_t>(d);
    shape[at] = view.shape[d];
    strides[at] = view.strides[d];
  }
  return true;
}

void array::take_interface(nb::dict interface) {
  const nb::tuple sizes = nb::cast<nb::tuple>(interface["shape"]);
  set_dimensions(static_cast<std::int64_t>(nb::len(sizes)));
  const auto typestr = nb::cast<nb::str>(interface["typestr"]);
  type = element_of_typestr(typestr.c_str());
  if (type.bytes == 0) {
    refuse("{}: {} has elements of type '{}', which are no records of one width", use.call, use.what, typestr.c_str());
  }
  if (interface.contains("mask") && !interface["mask"].is_none()) refuse("{}: {} has a mask", use.call, use.what);
  for (int d = 0; d < dimensions; ++d) shape[static_cast<std::size_t>(d)] = nb::cast<std::int64_t>(sizes[d]);
  lay_side_by_side();
  if (interface.contains("strides") && !interface["strides"].is_none()) {
    const nb::tuple steps = nb::cast<nb::tuple>(interface["strides"]);
    if (static_cast<int>(nb::len(steps)) != dimensions) refuse("{}: {} has odd strides", use.call, use.what);
    for (int d = 0; d < dimensions; ++d) strides[static_cast<std::size_t>(d)] = nb::cast<std::int64_t>(steps[d]);
  }
  const nb::object place = interface.contains("data") ? nb::object(interface["data"]) : nb::none();
  if (!nb::isinstance<nb::tuple>(place)) refuse("{}: {} says no address of its own", use.call, use.what);
  data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(place[0]));
  is_read_only = nb::cast<bool>(place[1]);
}

bool array::take_array_interface() {
  const nb::object interface = nb::getattr(source, "__array_interface__", nb::none());
  if (!nb::isinstance<nb::dict>(interface)) return false;
  if (origin == array_library::numpy) {
    const nb::object element_type = source.attr("dtype");
    if (element_type.attr("kind").equal(nb::str("T"))) {
      refuse("{}: {} holds strings of any length, which are no records of one width", use.call, use.what);
    }
    if (nb::cast<bool>(element_type.attr("hasobject"))) {
      refuse("{}: {} holds Python objects, which are no records", use.call, use.what);
    }
  }
  take_interface(nb::borrow<nb::dict>(interface));
  // The interface has no letter for it: the type of ml_dtypes is told by its name.
  if (origin == array_library::numpy && type.kind == number::opaque && type.bytes == 2 &&
      nb::object(source.attr("dtype").attr("name")).equal(nb::str("bfloat16"))) {
    type.kind = number::brain_floating;
  }
  return true;
}

void array::take_tensor(const dlpack::tensor& tensor, std::uint64_t flags) {
  if ((flags & dlpack::is_copied) != 0) {
    refuse("{}: {} would be copied by the library that it is from", use.call, use.what);
  }
  switch (tensor.device.kind) {
    case dlpack::cpu:
    case dlpack::cuda_host: device = -1; break;
    case dlpack::cuda:
    case dlpack::cuda_managed: device = tensor.device.id; break;
    default:
      refuse("{}: {} is in the memory of a device that is neither the CPU nor one of CUDA (DLPack's {})", use.call,
             use.what, static_cast<int>(tensor.device.kind));
  }
  type = element_of_dlpack(tensor.type);
  if (type.bytes == 0 || (tensor.type.bits * tensor.type.lanes) % 8 != 0) {
    refuse("{}: {} has elements of less than a byte", use.call, use.what);
  }
  set_dimensions(tensor.dimensions);
  data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  is_read_only = (flags & dlpack::read_only) != 0;
  for (int d = 0; d < dimensions; ++d) shape[static_cast<std::size_t>(d)] = tensor.shape[d];
  lay_side_by_side();
  if (tensor.strides == nullptr) return;
  for (int d = 0; d < dimensions; ++d) {
    strides[static_cast<std::size_t>(d)] = tensor.strides[d] * static_cast<std::int64_t>(type.bytes);
  }
}

// The stream on which the array's library works now. Without a library that says so it is the default stream.
void array::note_stream() {
  if (origin == array_library::cupy) {
    const nb::module_ cuda = nb::module_::import_("cupy.cuda");
    stream = reinterpret_cast<CUstream_st*>(nb::cast<std::uintptr_t>(cuda.attr("get_current_stream")().attr("ptr")));
    has_stream = true;
  } else if (origin == array_library::torch) {
    const nb::module_ cuda = nb::module_::import_("torch.cuda");
    stream = reinterpret_cast<CUstream_st*>(
        nb::cast<std::uintptr_t>(cuda.attr("current_stream")(device).attr("cuda_stream")));
    has_stream = true;
  }
}

bool array::take_dlpack() {
  if (!nb::hasattr(source, "__dlpack__") || !nb::hasattr(source, "__dlpack_device__")) return false;
  const nb::object place = source.attr("__dlpack_device__")();
  const int kind = nb::cast<int>(place[0]);
  nb::dict keywords;
  if (kind == dlpack::cuda || kind == dlpack::cuda_managed) {
    device = nb::cast<int>(place[1]);
    note_stream();
    CUstream_st* const consumer = use.has_stream ? use.stream : stream;
    // 0 is forbidden, for it may mean two streams; 1 is the default stream.
    keywords["stream"] = consumer == nullptr ? std::uintptr_t{1} : reinterpret_cast<std::uintptr_t>(consumer);
  }
  const nb::object method = source.attr("__dlpack__");
  nb::object capsule;
  try {
    nb::dict with_version;
    for (const auto item : keywords) with_version[item.first] = item.second;
    with_version["max_version"] = nb::make_tuple(1, 3);
    capsule = method(**with_version);
  } catch (const nb::python_error& e) {
    // A column of Arrow that has nulls, and what else DLPack has no word for.
    if (nb::hasattr(source, "__arrow_c_array__")) return false;
    if (!e.matches(PyExc_TypeError)) throw;
    capsule = method(**keywords);
  }
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0) {
    auto* const taken =
        static_cast<dlpack::versioned_tensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (taken->version.major != 1) refuse("{}: {} speaks DLPack {}", use.call, use.what, taken->version.major);
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    held_.hold(taken);
    take_tensor(taken->tensor, taken->flags);
    return true;
  }
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor") == 0) {
    refuse_type("{}: __dlpack__ of {} returned no capsule of a tensor", use.call, use.what);
  }
  auto* const taken = static_cast<dlpack::managed_tensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  held_.hold(taken);
  take_tensor(taken->tensor, 0);
  return true;
}

bool array::take_cuda_interface() {
  const nb::object interface = nb::getattr(source, "__cuda_array_interface__", nb::none());
  if (!nb::isinstance<nb::dict>(interface)) return false;
  const auto known = nb::borrow<nb::dict>(interface);
  take_interface(known);
  device = device_of_address(data);
  note_stream();
  if (known.contains("stream") && !known["stream"].is_none()) {
    // 1 and 2 are CUDA's own handles of its default streams.
    stream = reinterpret_cast<CUstream_st*>(nb::cast<std::uintptr_t>(known["stream"]));
    has_stream = true;
  }
  return true;
}

}  // namespace sheaf::python
