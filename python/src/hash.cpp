#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include <sheaf/hash_search.hpp>

#include "calls.hpp"
#include "documents_of_keys.hpp"
#include "errors.hpp"

// HashIndex.
namespace sheaf::python {
namespace {

using nb::arg;

/// An index of keys, searched on the context that it was built on unless a call names another.
struct hash_index_object {
  nb::object ctx;  // outlives the index, whose memory may come from it
  hash_index index;
};

const_records keys_in(const array& keys) {
  keys.require_one_dimension();
  return keys.as_records();
}

void build(hash_index_object* at, nb::handle keys, double load, nb::handle ctx, std::string_view variant) {
  call c("HashIndex", {nb::str("deferred"), ctx});
  const array from = c.in(keys, "keys");
  if (from.type.is_swapped) refuse("HashIndex: keys has {}", name_of(from.type));
  const const_records rows = keys_in(from);
  const hash_build_options options{load, variant};
  std::optional<hash_index> made;
  const nb::object kept = context_object(c);
  c.run(
      bytes_of_preparations, [&](const context& where) { made.emplace(build_hash_index(where, rows, options)); },
      [&](const context& where) { return explain_build_hash_index(where, rows, options); });
  new (at) hash_index_object{kept, std::move(*made)};
}

// The element that a record number is: signed where it fits, so that -1 says "none".
const element& id_element(const hash_index& index) {
  if (bytes(index.id_type()) == 8) return int64_element;
  return index.count() <= 0x7fffffff ? int32_element : uint32_element;
}

nb::handle context_of(const hash_index_object& self, nb::handle ctx) {
  return ctx.is_none() ? nb::handle(self.ctx) : ctx;
}

nb::object find(const hash_index_object& self, nb::handle probes, nb::handle out, nb::handle check, nb::handle ctx,
                std::string_view variant) {
  call c("HashIndex.find", {check, context_of(self, ctx)});
  const array from = c.in(probes, "probes");
  const const_records rows = keys_in(from);
  const std::int64_t count[] = {from.shape[0]};
  nb::object result;
  const array to = c.out_or_new(out, "out", from, count, &id_element(self.index), result);
  const index_output ids = to.as_index_output();
  const hash_search_options options{variant};
  c.run(
      rows.count * 64, [&](const context& where) { hash_find(where, self.index, rows, ids, options); },
      [&](const context& where) { return explain_hash_find(where, self.index, rows, options); });
  return result;
}

nb::object count(const hash_index_object& self, nb::handle probes, nb::handle out, nb::handle check, nb::handle ctx,
                 std::string_view variant) {
  call c("HashIndex.count", {check, context_of(self, ctx)});
  const array from = c.in(probes, "probes");
  const const_records rows = keys_in(from);
  const std::int64_t count_of[] = {from.shape[0]};
  nb::object result;
  const array to = c.out_or_new(out, "out", from, count_of, &int64_element, result);
  const index_output counts = to.as_index_output();
  const hash_search_options options{variant};
  c.run(
      rows.count * 64, [&](const context& where) { hash_count(where, self.index, rows, counts, options); },
      [&](const context& where) { return explain_hash_count(where, self.index, rows, counts, options); });
  return result;
}

nb::object contains(const hash_index_object& self, nb::handle probes, nb::handle out, nb::handle check, nb::handle ctx,
                    std::string_view variant) {
  call c("HashIndex.contains", {check, context_of(self, ctx)});
  const array from = c.in(probes, "probes");
  const const_records rows = keys_in(from);
  const std::int64_t count_of[] = {from.shape[0]};
  nb::object result;
  const array to = c.out_or_new(out, "out", from, count_of, &bool_element, result);
  if (to.type.bytes != 1) refuse("{}: out has {}, not bool", c.name, name_of(to.type));
  to.require_one_dimension();
  const records found{to.side_by_side(), to.rows(), 1};
  const hash_search_options options{variant};
  c.run(
      rows.count * 64, [&](const context& where) { hash_contains(where, self.index, rows, found, options); },
      [&](const context& where) { return explain_hash_contains(where, self.index, rows, options); });
  return result;
}

// Deletes a buffer, and before it nothing: the context that it came from is held by the buffer itself.
nb::object owner_of(buffer memory, nb::object ctx) {
  struct held {
    nb::object ctx;
    buffer memory;
  };
  auto* const kept = new held{std::move(ctx), std::move(memory)};
  return nb::capsule(kept, [](void* p) noexcept { delete static_cast<held*>(p); });
}

nb::object search(const hash_index_object& self, nb::handle probes, nb::handle check, nb::handle ctx,
                  std::string_view variant) {
  call c("HashIndex.search", {check, context_of(self, ctx)});
  const array from = c.in(probes, "probes");
  const const_records rows = keys_in(from);
  hash_matches found;
  const hash_search_options options{variant};
  c.run(
      rows.count * 64, [&](const context& where) { found = hash_search(where, self.index, rows, options); },
      [&](const context& where) { return explain_hash_search(where, self.index, rows, options); });
  const nb::object kept = context_object(c);
  void* const offsets = found.offset_memory.data();
  void* const ids = found.id_memory.data();
  nb::object offset_array =
      wrap_memory(from, offsets, found.probes + 1, int64_element, owner_of(std::move(found.offset_memory), kept), true);
  nb::object id_array = found.total == 0
                            ? make_array(from, std::vector<std::int64_t>{0}, &id_element(self.index), c.name)
                            : wrap_memory(from, ids, found.total, id_element(self.index),
                                          owner_of(std::move(found.id_memory), kept), true);
  return nb::make_tuple(offset_array, id_array);
}

}  // namespace

void bind_hash(nb::module_& m) {
  const auto deferred = arg("check") = "deferred";
  const auto no_context = arg("ctx") = nb::none();
  const auto no_variant = arg("variant") = "";
  const auto no_out = arg("out") = nb::none();
  nb::class_<hash_index_object>(m, "HashIndex", documents::hash_index)
      .def("__init__", build, arg("keys"), nb::kw_only(), arg("load") = 0.0, no_context, no_variant)
      .def("find", find, arg("probes"), nb::kw_only(), no_out, deferred, no_context, no_variant, documents::hash_find)
      .def("count", count, arg("probes"), nb::kw_only(), no_out, deferred, no_context, no_variant,
           documents::hash_count)
      .def("contains", contains, arg("probes"), nb::kw_only(), no_out, deferred, no_context, no_variant,
           documents::hash_contains)
      .def("search", search, arg("probes"), nb::kw_only(), deferred, no_context, no_variant, documents::hash_search)
      .def("__len__", [](const hash_index_object& h) { return h.index.count(); })
      .def_prop_ro("distinct", [](const hash_index_object& h) { return h.index.distinct(); })
      .def_prop_ro("longest_chain", [](const hash_index_object& h) { return h.index.longest_chain(); })
      .def_prop_ro("nbytes", [](const hash_index_object& h) { return h.index.bytes(); })
      .def_prop_ro("load", [](const hash_index_object& h) { return h.index.load(); })
      .def_prop_ro("variant", [](const hash_index_object& h) { return std::string(h.index.variant()); })
      .def("__repr__", [](const hash_index_object& h) {
        return fmt::format("sheaf.HashIndex of {} keys, {} distinct, {} bytes", h.index.count(), h.index.distinct(),
                           h.index.bytes());
      });
}

}  // namespace sheaf::python
