#include "memory.hpp"

#include <memory>

#include "errors.hpp"

namespace sheaf::python {
namespace {

struct exported {
  dlpack::versioned_tensor tensor{};
  std::int64_t count = 0;
  std::int64_t step = 1;
  nb::object holder;
};

struct exported_before_versions {
  dlpack::managed_tensor tensor{};
  std::int64_t count = 0;
  std::int64_t step = 1;
  nb::object holder;
};

// Whoever took a tensor may give it back on a thread without the interpreter's lock.
template <class Exported, class Tensor>
void give_back(Tensor* tensor) {
  const nb::gil_scoped_acquire lock;
  delete static_cast<Exported*>(tensor->manager);
}

template <class Exported>
Exported* export_tensor(nb::handle object) {
  const memory& m = *nb::inst_ptr<memory>(object);
  auto* const made = new Exported;
  made->holder = nb::borrow(object);
  made->count = static_cast<std::int64_t>(m.count);
  made->tensor.manager = made;
  const dlpack::device place = m.device >= 0 ? dlpack::device{dlpack::cuda, m.device} : dlpack::device{dlpack::cpu, 0};
  made->tensor.tensor = {m.data, place, 1, m.type.exchange, &made->count, &made->step, 0};
  made->tensor.deleter = [](auto* tensor) { give_back<Exported>(tensor); };
  return made;
}

// A capsule that nobody has taken gives the tensor back.
void drop_versioned(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned") == 0) return;
  auto* tensor = static_cast<dlpack::versioned_tensor*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
  tensor->deleter(tensor);
}
void drop(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
  auto* tensor = static_cast<dlpack::managed_tensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  tensor->deleter(tensor);
}

nb::object to_dlpack(nb::handle self, nb::handle max_version) {
  if (!max_version.is_none()) {
    dlpack::versioned_tensor* const tensor = tensor_of(self);
    return nb::steal(PyCapsule_New(tensor, "dltensor_versioned", drop_versioned));
  }
  auto* const made = export_tensor<exported_before_versions>(self);
  return nb::steal(PyCapsule_New(&made->tensor, "dltensor", drop));
}

// The struct module's letter for an element.
const char* format_of(const element& type) {
  switch (type.kind) {
    case number::boolean: return "?";
    case number::floating: return type.bytes == 4 ? "f" : "d";
    case number::unsigned_integer: return type.bytes == 4 ? "I" : "Q";
    default: return type.bytes == 4 ? "i" : "q";
  }
}

int get_buffer(PyObject* object, Py_buffer* view, int flags) {
  const memory& m = *nb::inst_ptr<memory>(object);
  if (m.device >= 0) {
    PyErr_SetString(PyExc_BufferError, "the memory of a CUDA device");
    return -1;
  }
  static char nothing = 0;
  const auto bytes = static_cast<Py_ssize_t>(m.count * m.type.bytes);
  if (PyBuffer_FillInfo(view, object, bytes > 0 ? m.data : &nothing, bytes, m.is_writable ? 0 : 1, flags) != 0) {
    return -1;
  }
  view->itemsize = m.type.bytes;
  if ((flags & PyBUF_FORMAT) != 0) view->format = const_cast<char*>(format_of(m.type));
  if ((flags & PyBUF_ND) != 0) {
    auto* const sizes = new Py_ssize_t[2]{static_cast<Py_ssize_t>(m.count), static_cast<Py_ssize_t>(m.type.bytes)};
    view->internal = sizes;
    view->shape = sizes;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) view->strides = sizes + 1;
  }
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }

PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                       {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                       {0, nullptr}};

nb::dict interface_of(const memory& m) {
  if (m.device < 0) throw nb::attribute_error("__cuda_array_interface__");
  nb::dict said;
  said["shape"] = nb::make_tuple(m.count);
  said["typestr"] = nb::str(fmt::format("{}{}",
                                        m.type.kind == number::floating  ? "<f"
                                        : m.type.kind == number::boolean ? "|b"
                                                                         : "<i",
                                        m.type.bytes)
                                .c_str());
  said["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(m.data), !m.is_writable);
  said["version"] = 3;
  said["strides"] = nb::none();
  said["stream"] = nb::none();
  return said;
}

}  // namespace

dlpack::versioned_tensor* tensor_of(nb::handle memory_object) {
  auto* const made = export_tensor<exported>(memory_object);
  made->tensor.version = {1, 0};
  made->tensor.flags = nb::inst_ptr<memory>(memory_object)->is_writable ? 0 : dlpack::read_only;
  return &made->tensor;
}

void bind_memory(nb::module_& module) {
  nb::class_<memory>(module, "Memory", nb::type_slots(slots),
                     "Memory that the library made, for other libraries to take: by DLPack, the buffer protocol and\n"
                     "``__cuda_array_interface__``.")
      .def("__len__", [](const memory& m) { return m.count; })
      .def(
          "__dlpack__",
          [](nb::handle self, nb::handle, nb::handle max_version, nb::handle, nb::handle) {
            return to_dlpack(self, max_version);
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(), "The memory as a capsule of DLPack.")
      .def(
          "__dlpack_device__",
          [](const memory& m) {
            return m.device >= 0 ? nb::make_tuple(int{dlpack::cuda}, m.device) : nb::make_tuple(int{dlpack::cpu}, 0);
          },
          "The device of the memory, as DLPack counts them.")
      .def_prop_ro("__cuda_array_interface__", interface_of, "The memory as CUDA's array interface.");
}

}  // namespace sheaf::python
