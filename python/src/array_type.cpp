#include "array.hpp"

#include <cstring>
#include <string>
#include <unordered_map>

namespace sheaf::python {
namespace {

constexpr std::size_t most_known_types = 256;

std::string text_of(nb::handle object, const char* attribute) {
  const nb::object value = nb::getattr(object, attribute, nb::none());
  return nb::isinstance<nb::str>(value) ? std::string(nb::cast<nb::str>(value).c_str()) : std::string();
}

// The capsule that the class itself has: a class derived from it, such as a fake tensor, may have no memory at all.
const dlpack::exchange_api* exchange_of(nb::handle type, bool is_tensor_of_torch) {
  const nb::object members = nb::getattr(type, "__dict__", nb::none());
  const bool is_own = PySequence_Contains(members.ptr(), nb::str("__dlpack_c_exchange_api__").ptr()) == 1;
  PyErr_Clear();
  if (!is_own && !is_tensor_of_torch) return nullptr;
  const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return nullptr;
  const auto* api =
      static_cast<const dlpack::exchange_api*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (api != nullptr && api->header.version.major > 1) {
    api = reinterpret_cast<const dlpack::exchange_api*>(api->header.previous);
  }
  return api != nullptr && api->header.version.major == 1 ? api : nullptr;
}

array_type look_at(nb::handle type) {
  array_type found;
  const nb::object ancestors = nb::getattr(type, "__mro__", nb::tuple());
  for (const nb::handle ancestor : ancestors) {
    const std::string module = text_of(ancestor, "__module__");
    const std::string name = text_of(ancestor, "__name__");
    const std::string root = module.substr(0, module.find('.'));
    if (root == "numpy" && name == "MaskedArray") found.refused = "has a mask, which no call looks at";
    if (found.origin != array_library::other) continue;
    if (module == "numpy" && name == "ndarray") found.origin = array_library::numpy;
    if (root == "cupy" && name == "ndarray") found.origin = array_library::cupy;
    if (module == "torch" && name == "Tensor") found.origin = array_library::torch;
  }
  const std::string module = text_of(type, "__module__");
  const std::string name = text_of(type, "__name__");
  found.is_tensor_of_torch =
      (module == "torch" && name == "Tensor") || (module == "torch.nn.parameter" && name == "Parameter");
  found.exchange = exchange_of(type, found.is_tensor_of_torch);
  if (found.exchange != nullptr && found.exchange->allocate != nullptr) found.origin = array_library::exchange;
  if (type.is(nb::handle(reinterpret_cast<PyObject*>(&PyList_Type))) ||
      type.is(nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)))) {
    found.refused = "is no array; numpy.asarray makes one of it";
  }
  return found;
}

}  // namespace

const array_type& array_type_of(nb::handle object) {
  // A class is held, so that no other one gets its address.
  static auto* const known = new std::unordered_map<PyObject*, std::pair<nb::object, array_type>>;
  const nb::handle type = object.type();
  const auto found = known->find(type.ptr());
  if (found != known->end()) return found->second.second;
  array_type looked = look_at(type);
  if (known->size() >= most_known_types) known->clear();  // a program that makes classes in a loop
  return known->emplace(type.ptr(), std::pair(nb::borrow(type), looked)).first->second.second;
}

}  // namespace sheaf::python
