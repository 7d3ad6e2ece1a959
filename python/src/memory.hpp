#pragma once

#include <nanobind/nanobind.h>

#include "array.hpp"

namespace sheaf::python {

/// Elements in memory that the library made, as an object that other libraries take.
struct memory {
  void* data = nullptr;
  std::uint64_t count = 0;
  element type;
  int device = -1;
  nb::object owner;
  bool is_writable = true;
};

/// A tensor of DLPack that holds the object of a memory.
dlpack::versioned_tensor* tensor_of(nb::handle memory_object);

void bind_memory(nb::module_& module);

}  // namespace sheaf::python
