#include <nanobind/nanobind.h>

#include <vector>

#include <sheaf/split.hpp>

#include "calls.hpp"
#include "documents_of_keys.hpp"
#include "errors.hpp"

// split, split_index and multi_split.
namespace sheaf::python {
namespace {

using nb::arg;

std::optional<bit_field> bits_of(const call& c, nb::handle bits) {
  if (bits.is_none()) return {};
  if (!nb::isinstance<nb::tuple>(bits) || nb::len(bits) != 2) {
    refuse_type("{}: bits is not a pair, (first bit, number of bits)", c.name);
  }
  return bit_field{nb::cast<std::uint64_t>(bits[0]), nb::cast<std::uint32_t>(bits[1])};
}

const_records categories_in(const call& c, const array& key) {
  const bool is_integer = key.type.kind == number::boolean || key.type.kind == number::signed_integer ||
                          key.type.kind == number::unsigned_integer;
  if (!is_integer || key.type.bytes > 4 || key.type.is_swapped) {
    refuse("{}: {} has {}, and categories are integers of 1, 2 or 4 bytes", c.name, key.use.what, name_of(key.type));
  }
  key.require_one_dimension();
  return key.as_records();
}

// Where categories are found. A key of one byte needs no number of them.
split_key key_of(const call& c, const array* key, nb::handle categories, nb::handle bits) {
  const std::optional<bit_field> field = bits_of(c, bits);
  if (field) {
    if (!categories.is_none()) refuse("{}: either categories or bits", c.name);
    return key == nullptr ? split_key::of_record(*field) : split_key::of(key->as_records(), *field);
  }
  if (key == nullptr) refuse("{}: without a key, bits= says which bits of a record are its category", c.name);
  const const_records numbers = categories_in(c, *key);
  if (!categories.is_none()) return split_key::category(numbers, nb::cast<std::uint64_t>(categories));
  if (key->type.kind == number::boolean) return split_key::category(numbers, 2);
  if (key->type.kind == number::unsigned_integer && key->type.bytes == 1) return split_key::category(numbers, 256);
  refuse("{}: categories= says how many there are", c.name);
}

// An array for where categories begin, with its view; none for keys of more than 32 bits.
struct offsets_output {
  nb::object object = nb::none();
  std::optional<array> view;
  std::span<std::uint64_t> span;

  offsets_output(call& c, const split_key& key, const array& like) {
    if (key.categories == 0) return;
    const std::int64_t count[] = {static_cast<std::int64_t>(key.categories + 1)};
    object = make_array(like, count, &int64_element, c.name);
    view.emplace(c.out(object, "offsets"));
    span = {static_cast<std::uint64_t*>(view->data), static_cast<std::size_t>(count[0])};
  }
};

nb::object split_rows(nb::handle a, nb::handle key_object, nb::handle categories, nb::handle bits, bool stable,
                      nb::handle out, nb::handle check, nb::handle ctx, std::string_view variant) {
  call c("split", {check, ctx});
  const array from = c.in(a, "a");
  std::optional<array> keys;
  if (!key_object.is_none()) keys.emplace(c.in(key_object, "key"));
  const split_key key = key_of(c, keys ? &*keys : nullptr, categories, bits);
  nb::object result;
  const array to =
      c.out_or_new(out, "out", from, {from.shape.data(), static_cast<std::size_t>(from.dimensions)}, nullptr, result);
  const offsets_output offsets(c, key, from);
  const const_records rows = from.as_records();
  const records written = to.as_output();
  const split_options options{variant};
  c.run(
      rows.count * rows.record_bytes,
      [&](const context& where) {
        if (stable) {
          split(where, rows, key, written, offsets.span, options);
        } else {
          split_unstable(where, rows, key, written, offsets.span, options);
        }
      },
      [&](const context& where) { return explain_split(where, rows, key, stable, options); });
  return nb::make_tuple(result, offsets.object);
}

nb::object split_order(nb::handle key_object, nb::handle categories, nb::handle bits, bool inverse, nb::handle dtype,
                       nb::handle out, nb::handle check, nb::handle ctx, std::string_view variant) {
  call c("split_index", {check, ctx});
  const array keys = c.in(key_object, "key");
  const split_key key = key_of(c, &keys, categories, bits);
  const element* const elements[] = {&int64_element, &int32_element, &uint32_element, &uint64_element};
  const element& type = *elements[choice_of(dtype, {"int64", "int32", "uint32", "uint64"}, c.name, "dtype")];
  const std::int64_t count[] = {keys.shape[0]};
  nb::object result;
  const array to = c.out_or_new(out, "out", keys, count, &type, result);
  const offsets_output offsets(c, key, keys);
  const index_output index = to.as_index_output();
  const split_options options{variant};
  c.run(
      index.count * 8,
      [&](const context& where) {
        if (inverse) {
          split_scatter_index(where, key, index, offsets.span, options);
        } else {
          split_gather_index(where, key, index, offsets.span, options);
        }
      },
      [&](const context& where) {
        return inverse ? explain_split_scatter_index(where, key, index.type, options)
                       : explain_split_gather_index(where, key, index.type, options);
      });
  return nb::make_tuple(result, offsets.object);
}

nb::object split_to_many(nb::handle a, nb::handle first, nb::handle category, std::uint64_t categories,
                         nb::handle check, nb::handle ctx, std::string_view variant) {
  call c("multi_split", {check, ctx});
  const array from = c.in(a, "a");
  const array begins = c.in(first, "first");
  const array of = c.in(category, "category");
  const index_span begin = begins.as_index();
  if (bytes(begin.type) != 8) refuse("{}: first has {}, not int64 or uint64", c.name, name_of(begins.type));
  const split_key like = split_key::category(categories_in(c, of), categories);
  std::vector<std::int64_t> shape(from.shape.begin(), from.shape.begin() + from.dimensions);
  shape[0] = static_cast<std::int64_t>(of.rows());
  nb::object result, source;
  const array to = c.out_or_new(nb::none(), "out", from, shape, nullptr, result);
  const std::int64_t count[] = {shape[0]};
  const array sources = c.out_or_new(nb::none(), "sources", from, count, &int64_element, source);
  const offsets_output offsets(c, like, from);
  const const_records rows = from.as_records();
  const membership members{{static_cast<const std::uint64_t*>(begin.data), begin.count}, like.keys, categories};
  const records written = to.as_output();
  const index_output numbers = sources.as_index_output();
  const split_options options{variant};
  c.run(written.count * (8 + written.record_bytes),
        [&](const context& where) { multi_split(where, rows, members, written, numbers, offsets.span, options); });
  return nb::make_tuple(result, source, offsets.object);
}

}  // namespace

void bind_split(nb::module_& m) {
  const auto deferred = arg("check") = "deferred";
  const auto no_context = arg("ctx") = nb::none();
  const auto no_variant = arg("variant") = "";
  const auto no_out = arg("out") = nb::none();
  const auto no_categories = arg("categories") = nb::none();
  const auto no_bits = arg("bits") = nb::none();
  m.def("split", split_rows, arg("a"), arg("key") = nb::none(), no_categories, nb::kw_only(), no_bits,
        arg("stable") = true, no_out, deferred, no_context, no_variant, documents::split);
  m.def("split_index", split_order, arg("key"), no_categories, nb::kw_only(), no_bits, arg("inverse") = false,
        arg("dtype") = "int64", no_out, deferred, no_context, no_variant, documents::split_index);
  m.def("multi_split", split_to_many, arg("a"), arg("first"), arg("category"), arg("categories"), nb::kw_only(),
        deferred, no_context, no_variant, documents::multi_split);
}

}  // namespace sheaf::python
