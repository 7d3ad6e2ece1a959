#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include <sheaf/sort.hpp>

#include "calls.hpp"
#include "documents_of_keys.hpp"
#include "errors.hpp"

// sort, argsort and sort_pairs.
namespace sheaf::python {
namespace {

using nb::arg;

key_field field_of(const call& c, const element& type, std::uint64_t offset, bool descending, const std::string& what) {
  key_field field{offset, type.bytes, key_type::unsigned_integer, descending};
  switch (type.kind) {
    case number::boolean:
    case number::unsigned_integer: break;
    case number::signed_integer:
    case number::time: field.type = key_type::signed_integer; break;
    case number::floating:
      if (type.bytes != 2 && type.bytes != 4 && type.bytes != 8) {
        refuse("{}: {} has {}, and floats of 2, 4 and 8 bytes are sorted", c.name, what, name_of(type));
      }
      field.type = key_type::floating;
      break;
    case number::bytes: field.type = key_type::bytes; break;
    case number::brain_floating:
    case number::complex:
    case number::opaque: refuse("{}: {} has {}, which have no order", c.name, what, name_of(type));
  }
  if (type.is_swapped) {
    if (field.type != key_type::unsigned_integer) refuse("{}: {} has {}", c.name, what, name_of(type));
    field.type = key_type::bytes;  // the highest byte first
  }
  return field;
}

// The element of one field of a structured dtype of NumPy.
element element_of_dtype(const call& c, nb::handle dtype, const std::string& what) {
  element found;
  found.bytes = nb::cast<std::uint32_t>(dtype.attr("itemsize"));
  const std::string kind = nb::cast<std::string>(dtype.attr("kind"));
  if (!dtype.attr("subdtype").is_none() || !dtype.attr("names").is_none()) {
    refuse("{}: field {} has parts of its own; name one that is a number or a string", c.name, what);
  }
  const std::string_view kinds = "biufcmMS";
  const number numbers[] = {number::boolean,  number::signed_integer, number::unsigned_integer,
                            number::floating, number::complex,        number::time,
                            number::time,     number::bytes};
  const std::size_t at = kinds.find(kind);
  if (at != std::string_view::npos) found.kind = numbers[at];
  found.is_swapped = nb::cast<std::string>(dtype.attr("byteorder")) == ">" && found.bytes > 1;
  return found;
}

// One of `descending`: a bool for all keys, or one for each.
bool descends(const call& c, nb::handle descending, std::size_t key, std::size_t keys) {
  if (nb::isinstance<nb::bool_>(descending)) return nb::cast<bool>(descending);
  if (!nb::isinstance<nb::list>(descending) && !nb::isinstance<nb::tuple>(descending)) {
    refuse_type("{}: descending is neither a bool nor a list of bools", c.name);
  }
  if (nb::len(descending) != keys) {
    refuse("{}: descending has {} entries for {} keys", c.name, nb::len(descending), keys);
  }
  const nb::object entry = descending[key];
  if (!nb::isinstance<nb::bool_>(entry)) refuse_type("{}: descending[{}] is not a bool", c.name, key);
  return nb::cast<bool>(entry);
}

key_field named_field(const call& c, const array& a, const std::string& name, bool descending) {
  const nb::object fields = nb::getattr(nb::getattr(a.source, "dtype", nb::none()), "fields", nb::none());
  if (fields.is_none()) refuse("{}: {} has no fields, and '{}' is to be one", c.name, a.use.what, name);
  const nb::object found = fields.attr("get")(name);
  if (found.is_none()) refuse("{}: {} has no field '{}'", c.name, a.use.what, name);
  return field_of(c, element_of_dtype(c, found[0], name), nb::cast<std::uint64_t>(found[1]), descending,
                  fmt::format("field '{}'", name));
}

key_field column_field(const call& c, const array& a, std::int64_t column, bool descending) {
  if (a.dimensions != 2)
    refuse("{}: {} has {} dimensions; only rows of 2 have columns", c.name, a.use.what, a.dimensions);
  if (column < 0 || column >= a.shape[1]) {
    refuse("{}: column {} is none of {}'s {}", c.name, column, a.use.what, a.shape[1]);
  }
  return field_of(c, a.type, static_cast<std::uint64_t>(column) * a.type.bytes, descending, a.use.what);
}

// What rows are compared by: `keys`, or all of an element.
sort_key key_of(const call& c, const array& a, nb::handle keys, nb::handle descending) {
  std::vector<nb::object> named;
  if (nb::isinstance<nb::list>(keys) || nb::isinstance<nb::tuple>(keys)) {
    for (const nb::handle key : keys) named.push_back(nb::borrow(key));
    if (named.empty()) refuse("{}: keys is empty", c.name);
  } else if (!keys.is_none()) {
    named.push_back(nb::borrow(keys));
  } else {
    const nb::object names = nb::getattr(nb::getattr(a.source, "dtype", nb::none()), "names", nb::none());
    if (names.is_none()) {
      if (a.dimensions != 1) {
        refuse("{}: {} has {} dimensions; keys= names the columns by which its rows are sorted", c.name, a.use.what,
               a.dimensions);
      }
      return field_of(c, a.type, 0, descends(c, descending, 0, 1), a.use.what);
    }
    for (const nb::handle key : names) named.push_back(nb::borrow(key));
  }
  if (named.size() > sort_key::most_fields)
    refuse("{}: {} keys, more than {}", c.name, named.size(), sort_key::most_fields);
  sort_key key(key_field{});
  key.count = 0;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const bool down = descends(c, descending, i, named.size());
    if (nb::isinstance<nb::str>(named[i])) {
      key.fields.at(key.count++) = named_field(c, a, nb::cast<std::string>(named[i]), down);
    } else if (nb::isinstance<nb::int_>(named[i])) {
      key.fields.at(key.count++) = column_field(c, a, nb::cast<std::int64_t>(named[i]), down);
    } else {
      refuse_type("{}: keys[{}] is neither the name of a field nor the number of a column", c.name, i);
    }
  }
  return key;
}

void require_same_shape(const call& c, const array& out, const array& in) {
  bool agrees = out.dimensions == in.dimensions && out.type.bytes == in.type.bytes && out.type.kind == in.type.kind;
  for (int d = 0; agrees && d < in.dimensions; ++d) {
    agrees = out.shape[static_cast<std::size_t>(d)] == in.shape[static_cast<std::size_t>(d)];
  }
  if (!agrees) refuse("{}: {} has not the shape and elements of {}", c.name, out.use.what, in.use.what);
}

std::span<const std::int64_t> shape_of(const array& a) {
  return {a.shape.data(), static_cast<std::size_t>(a.dimensions)};
}

nb::object sort_rows(nb::handle a, nb::handle keys, nb::handle descending, nb::handle out, nb::handle check,
                     nb::handle ctx, std::string_view variant) {
  call c("sort", {check, ctx});
  const array from = c.in(a, "a");
  const sort_key key = key_of(c, from, keys, descending);
  nb::object result;
  const array to = c.out_or_new(out, "out", from, shape_of(from), nullptr, result);
  require_same_shape(c, to, from);
  const const_records rows = from.as_records();
  const records sorted = to.as_output();
  const sort_options options{variant};
  c.run(
      rows.count * rows.record_bytes * 8,
      [&](const context& where) { sort_records(where, rows, key, sorted, options); },
      [&](const context& where) { return explain_sort_records(where, rows, key, options); });
  return result;
}

const element& index_element(const call& c, nb::handle dtype) {
  const element* const elements[] = {&int64_element, &int32_element, &uint32_element, &uint64_element};
  return *elements[choice_of(dtype, {"int64", "int32", "uint32", "uint64"}, c.name, "dtype")];
}

nb::object argsort_rows(nb::handle a, nb::handle keys, nb::handle descending, nb::handle dtype, nb::handle out,
                        nb::handle check, nb::handle ctx, std::string_view variant) {
  call c("argsort", {check, ctx});
  const array from = c.in(a, "a");
  const sort_key key = key_of(c, from, keys, descending);
  const std::int64_t count[] = {from.shape[0]};
  nb::object result;
  const array to = c.out_or_new(out, "out", from, count, &index_element(c, dtype), result);
  const const_records rows = from.as_records();
  const index_output order = to.as_index_output();
  const sort_options options{variant};
  c.run(
      rows.count * rows.record_bytes * 8,
      [&](const context& where) { sort_gather_index(where, rows, key, order, options); },
      [&](const context& where) { return explain_sort_gather_index(where, rows, key, order.type, options); });
  return result;
}

nb::object sort_columns(nb::handle k, nb::args values, nb::kwargs keywords) {
  nb::object keys = nb::none(), descending = nb::bool_(false), check = nb::str("deferred"), ctx = nb::none();
  std::string variant;
  for (const auto [name, value] : keywords) {
    const auto text = nb::cast<std::string>(name);
    if (text == "keys")
      keys = nb::borrow(value);
    else if (text == "descending")
      descending = nb::borrow(value);
    else if (text == "check")
      check = nb::borrow(value);
    else if (text == "ctx")
      ctx = nb::borrow(value);
    else if (text == "variant")
      variant = nb::cast<std::string>(value);
    else
      refuse_type("sort_pairs: there is no option {}", text);
  }
  call c("sort_pairs", {check, ctx});
  const array from = c.in(k, "keys");
  const sort_key key = key_of(c, from, keys, descending);
  nb::list results;
  nb::object result;
  const array to = c.out_or_new(nb::none(), "keys_out", from, shape_of(from), nullptr, result);
  results.append(result);
  std::vector<array> inputs, outputs;
  std::vector<sort_column> columns;
  inputs.reserve(values.size());
  outputs.reserve(values.size());
  for (const nb::handle value : values) {
    inputs.push_back(c.in(value, "values"));
    const array& in = inputs.back();
    outputs.push_back(c.out_or_new(nb::none(), "values_out", in, shape_of(in), nullptr, result));
    results.append(result);
    columns.push_back({in.as_records(), outputs.back().as_output()});
  }
  const const_records rows = from.as_records();
  const records sorted = to.as_output();
  const sort_options options{variant};
  c.run(
      rows.count * rows.record_bytes * 8,
      [&](const context& where) { sort_pairs(where, rows, key, sorted, columns, options); },
      [&](const context& where) { return explain_sort_pairs(where, rows, key, true, columns, options); });
  return nb::tuple(results);
}

}  // namespace

void bind_sort(nb::module_& m) {
  const auto deferred = arg("check") = "deferred";
  const auto no_context = arg("ctx") = nb::none();
  const auto no_variant = arg("variant") = "";
  const auto no_out = arg("out") = nb::none();
  const auto no_keys = arg("keys") = nb::none();
  const auto ascending = arg("descending") = false;
  m.def("sort", sort_rows, arg("a"), nb::kw_only(), no_keys, ascending, no_out, deferred, no_context, no_variant,
        documents::sort);
  m.def("argsort", argsort_rows, arg("a"), nb::kw_only(), no_keys, ascending, arg("dtype") = "int64", no_out, deferred,
        no_context, no_variant, documents::argsort);
  m.def("sort_pairs", sort_columns, arg("k"), arg("values"), arg("options"),
        nb::sig("def sort_pairs(k: object, *values: object, keys: object = None, descending: object = False, "
                "check: str = 'deferred', ctx: context | None = None, variant: str = '') -> tuple"),
        documents::sort_pairs);
}

}  // namespace sheaf::python
