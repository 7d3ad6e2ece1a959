#include <nanobind/nanobind.h>

#include <algorithm>
#include <string_view>

#include <sheaf/gather.hpp>
#include <sheaf/gather_reduce.hpp>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/spmm.hpp>
#include <sheaf/spmv.hpp>

#include "calls.hpp"
#include "errors.hpp"
#include "jax_call.hpp"

// Handlers of XLA's foreign function interface, by which compiled programs of JAX call the library. sheaf.jax checks
// types and shapes before them; what gets past it, the library refuses.
namespace sheaf::python {
namespace {

// Each call is a struct: `bind` says what XLA passes, `call` does the work.

template <class Place>
auto with_place() {
  return ffi::Ffi::Bind().Ctx<Place>();
}

reduction operation_named(std::string_view op) {
  constexpr std::string_view names[] = {"add", "min", "max", "subtract", "mul", "mean", "count"};
  const auto* const found = std::ranges::find(names, op);
  if (found == std::end(names)) refuse("there is no reduction '{}'", op);
  return static_cast<reduction>(found - std::begin(names));
}

reduction_order order_of(bool in_any_order) {
  return in_any_order ? reduction_order::unordered : reduction_order::deterministic;
}

// The table's rows by an index of any shape.
struct gather_call {
  static constexpr const char* name = "sheaf_gather";

  template <class Place>
  static auto bind() {
    return with_place<Place>().template Arg<buffer_in>().template Arg<buffer_in>().template Ret<ffi::AnyBuffer>();
  }

  static ffi::Error call(place_of_call place, buffer_in table, buffer_in index, buffer_out out) {
    return run(place, out->size_bytes(), [&](const context& ctx) {
      if (out->element_count() == 0) return;
      gather(ctx, records_of(table), index_of(index), records_of(out, index.dimensions().size()));
    });
  }
};

// Rows combined by an index, whose dimensions are the first of the values'; counts of no elements are not wanted.
struct scatter_reduce_call {
  static constexpr const char* name = "sheaf_scatter_reduce";

  template <class Place>
  static auto bind() {
    return with_place<Place>()
        .template Arg<buffer_in>()
        .template Arg<buffer_in>()
        .template Ret<ffi::AnyBuffer>()
        .template Ret<ffi::AnyBuffer>()
        .template Attr<std::string_view>("op")
        .template Attr<bool>("any_order");
  }

  static ffi::Error call(place_of_call place, buffer_in rows, buffer_in index, buffer_out out, buffer_out counts,
                         std::string_view op, bool any_order) {
    return run(place, rows.size_bytes() + out->size_bytes(), [&](const context& ctx) {
      scatter_reduce_rows_options options;
      options.order = order_of(any_order);
      options.start = reduction_start::identity;
      options.counts = values_of(counts);
      const const_value_rows in = rows_of(rows, index.dimensions().size());
      scatter_reduce(ctx, in, index_of(index), rows_of(out), operation_named(op), options);
    });
  }
};

// Rows gathered and combined by segments; weights of no elements are all 1.
struct gather_reduce_call {
  static constexpr const char* name = "sheaf_gather_reduce";

  template <class Place>
  static auto bind() {
    return with_place<Place>()
        .template Arg<buffer_in>()
        .template Arg<buffer_in>()
        .template Arg<buffer_in>()
        .template Arg<buffer_in>()
        .template Ret<ffi::AnyBuffer>()
        .template Attr<std::string_view>("op");
  }

  static ffi::Error call(place_of_call place, buffer_in table, buffer_in index, buffer_in offsets, buffer_in weights,
                         buffer_out out, std::string_view op) {
    const std::uint64_t gathered = index.element_count() * bytes_of_rows(table, 1);
    return run(place, gathered, [&](const context& ctx) {
      gather_reduce_options options;
      options.weights = values_of(weights);
      gather_reduce(ctx, rows_of(table), index_of(index), index_of(offsets), rows_of(out), operation_named(op),
                    options);
    });
  }
};

struct sort_call {
  static constexpr const char* name = "sheaf_sort";

  template <class Place>
  static auto bind() {
    return with_place<Place>().template Arg<buffer_in>().template Ret<ffi::AnyBuffer>().template Attr<bool>(
        "descending");
  }

  static ffi::Error call(place_of_call place, buffer_in a, buffer_out out, bool descending) {
    return run(place, a.size_bytes(),
               [&](const context& ctx) { sort_records(ctx, records_of(a), key_of(a, descending), records_of(out)); });
  }
};

struct argsort_call {
  static constexpr const char* name = "sheaf_argsort";

  template <class Place>
  static auto bind() {
    return sort_call::bind<Place>();
  }

  static ffi::Error call(place_of_call place, buffer_in a, buffer_out out, bool descending) {
    return run(place, a.size_bytes() + out->size_bytes(), [&](const context& ctx) {
      sort_gather_index(ctx, records_of(a), key_of(a, descending), index_of(out));
    });
  }
};

csr_view matrix_of(buffer_in data, buffer_in indices, buffer_in indptr, std::uint64_t columns) {
  const index_span offsets = index_of(indptr);
  if (offsets.count == 0) refuse("indptr has no entry; there is one more than rows of the matrix");
  return {offsets.count - 1, columns, offsets, index_of(indices), values_of(data)};
}

// A product by (data, indices, indptr): of a vector, or of the rows of a dense matrix.
struct spmv_call {
  static constexpr const char* name = "sheaf_spmv";

  template <class Place>
  static auto bind() {
    return with_place<Place>()
        .template Arg<buffer_in>()
        .template Arg<buffer_in>()
        .template Arg<buffer_in>()
        .template Arg<buffer_in>()
        .template Ret<ffi::AnyBuffer>()
        .template Attr<bool>("transposed")
        .template Attr<bool>("any_order");
  }

  static ffi::Error call(place_of_call place, buffer_in data, buffer_in indices, buffer_in indptr, buffer_in x,
                         buffer_out y, bool transposed, bool any_order) {
    return run(place, data.size_bytes() + x.size_bytes() + y->size_bytes(), [&](const context& ctx) {
      const std::uint64_t columns = transposed ? y->element_count() : x.element_count();
      spmv_options options;
      options.transposed = transposed;
      options.order = order_of(any_order);
      spmv(ctx, matrix_of(data, indices, indptr, columns), values_of(x), values_of(y), options);
    });
  }
};

struct spmm_call {
  static constexpr const char* name = "sheaf_spmm";

  template <class Place>
  static auto bind() {
    return spmv_call::bind<Place>();
  }

  static ffi::Error call(place_of_call place, buffer_in data, buffer_in indices, buffer_in indptr, buffer_in x,
                         buffer_out y, bool transposed, bool any_order) {
    const std::uint64_t gathered = data.element_count() * bytes_of_rows(x, 1);
    return run(place, gathered + y->size_bytes(), [&](const context& ctx) {
      const value_rows out = rows_of(y);
      const const_value_rows in = rows_of(x);
      spmm_options options;
      options.transposed = transposed;
      options.order = order_of(any_order);
      spmm(ctx, matrix_of(data, indices, indptr, transposed ? out.count : in.count), in, out, options);
    });
  }
};

template <class Call, class Place>
XLA_FFI_Error* handler(XLA_FFI_CallFrame* frame) {
  static auto* const made = Call::template bind<Place>().To(Call::call).release();
  return made->Call(frame);
}

// {"cpu": a capsule, "CUDA": another}, as jax.ffi.register_ffi_target takes them.
template <class Call>
void add_handlers(nb::dict& all) {
  nb::dict platforms;
  platforms["cpu"] = nb::capsule(reinterpret_cast<void*>(handler<Call, on_cpu>));
#if SHEAF_HAS_CUDA
  platforms["CUDA"] = nb::capsule(reinterpret_cast<void*>(handler<Call, on_cuda>));
#endif
  all[Call::name] = platforms;
}

nb::dict handlers() {
  nb::dict all;
  add_handlers<gather_call>(all);
  add_handlers<scatter_reduce_call>(all);
  add_handlers<gather_reduce_call>(all);
  add_handlers<sort_call>(all);
  add_handlers<argsort_call>(all);
  add_handlers<spmv_call>(all);
  add_handlers<spmm_call>(all);
  return all;
}

}  // namespace

void bind_jax(nb::module_& m) {
  m.def("_jax_handlers", handlers);
  m.def("_jax_version", [] { return nb::make_tuple(XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR); });
  m.def("_jax_wait", wait_for_shared_sessions);
}

}  // namespace sheaf::python
