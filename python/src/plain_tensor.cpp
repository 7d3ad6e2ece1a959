#include "array.hpp"
#include "errors.hpp"

// What DLPack's exchange does not look at, of torch's own tensors.
namespace sheaf::python {
namespace {

// An attribute of torch.Tensor that its class computes, read without a search by name.
class tensor_property {
 public:
  tensor_property(nb::handle type, const char* name)
      : getter_(nb::getattr(type, name).release()),
        get_(reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(getter_.ptr()), Py_tp_descr_get))) {}

  nb::object of(nb::handle tensor) const {
    PyObject* const value = get_(getter_.ptr(), tensor.ptr(), nullptr);
    if (value == nullptr) throw nb::python_error();
    return nb::steal(value);
  }

 private:
  nb::handle getter_;  // never given back: it lives as long as torch
  descrgetfunc get_;
};

struct tensor_properties {
  nb::handle torch_tensor = nb::object(nb::module_::import_("torch").attr("Tensor")).release();
  nb::handle strided = nb::object(nb::module_::import_("torch").attr("strided")).release();
  tensor_property layout{torch_tensor, "layout"};
  tensor_property requires_grad{torch_tensor, "requires_grad"};
  nb::handle is_neg = nb::getattr(torch_tensor, "is_neg").release();
  nb::handle is_conj = nb::getattr(torch_tensor, "is_conj").release();
};

}  // namespace

void array::require_plain_tensor() const {
  static const auto* const torch = new tensor_properties;
  if (!torch->layout.of(source).is(torch->strided)) {
    refuse("{}: {} is a sparse tensor; sheaf.csr takes those of the layout torch.sparse_csr", use.call, use.what);
  }
  if (torch->requires_grad.of(source).is(nb::handle(Py_True))) {
    refuse("{}: {} requires a gradient, which this call does not compute; pass x.detach()", use.call, use.what);
  }
  if (torch->is_neg(source).is(nb::handle(Py_True)) || torch->is_conj(source).is(nb::handle(Py_True))) {
    refuse("{}: {} is a negated or conjugate view; pass x.resolve_neg().resolve_conj()", use.call, use.what);
  }
}

}  // namespace sheaf::python
