#include "array.hpp"
#include "errors.hpp"

// What DLPack's exchange does not look at, of torch's own tensors.
namespace sheaf::python {
namespace {

// An attribute of a class of tensors, read without a search where the class computes it. Nothing here is given back:
// the class lives as long as torch.
class tensor_attribute {
 public:
  tensor_attribute(nb::handle type, const char* name)
      : name_(nb::steal(PyUnicode_InternFromString(name)).release()), found_(nb::getattr(type, name).release()) {
    get_ = reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(found_.ptr()), Py_tp_descr_get));
  }

  bool is(nb::handle tensor, nb::handle value) const {
    const nb::object got = nb::steal(get_ == nullptr ? PyObject_GetAttr(tensor.ptr(), name_.ptr())
                                                     : get_(found_.ptr(), tensor.ptr(), nullptr));
    if (!got.is_valid()) throw nb::python_error();
    return got.is(value);
  }

 private:
  nb::handle name_;
  nb::handle found_;
  descrgetfunc get_ = nullptr;
};

// A method without arguments that answers yes or no.
class tensor_question {
 public:
  tensor_question(nb::handle type, const char* name) : method_(nb::getattr(type, name).release()) {}
  bool answer(nb::handle tensor) const { return nb::object(method_(tensor)).is(nb::handle(Py_True)); }

 private:
  nb::handle method_;
};

struct tensor_class {
  explicit tensor_class(nb::handle type)
      : layout(type, "layout"),
        requires_grad(type, "requires_grad"),
        is_neg(type, "is_neg"),
        is_conj(type, "is_conj") {}

  nb::handle strided = nb::object(nb::module_::import_("torch").attr("strided")).release();
  tensor_attribute layout;
  tensor_attribute requires_grad;
  tensor_question is_neg;
  tensor_question is_conj;
};

}  // namespace

void array::require_plain_tensor() const {
  static const auto* const known = new tensor_class(source.type());  // torch.Tensor's, which Parameter inherits
  if (!known->layout.is(source, known->strided)) {
    refuse("{}: {} is a sparse tensor; sheaf.csr takes those of the layout torch.sparse_csr", use.call, use.what);
  }
  if (known->requires_grad.is(source, nb::handle(Py_True))) {
    refuse("{}: {} requires a gradient, which this call does not compute; pass x.detach()", use.call, use.what);
  }
  if (known->is_neg.answer(source) || known->is_conj.answer(source)) {
    refuse("{}: {} is a negated or conjugate view; pass x.resolve_neg().resolve_conj()", use.call, use.what);
  }
}

}  // namespace sheaf::python
