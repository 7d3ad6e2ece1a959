#include "apps/sheaf/files/arrays/fields.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/printable.hpp"

namespace sheaf::io {
namespace {

constexpr std::size_t most_names_shown = 20;

void append_names(const npy_type& type, const std::string& before, std::vector<std::string>& names) {
  for (const npy_field& field : type.fields) {
    if (names.size() > most_names_shown) return;
    if (field.name.empty()) continue;
    if (field.type.fields.empty() || field.count != 1) {
      names.push_back(core::printable(before + field.name));
    } else {
      append_names(field.type, before + field.name + ".", names);
    }
  }
}

std::ptrdiff_t fields_called(const npy_type& type, std::string_view name) {
  return std::ranges::count_if(type.fields, [&](const npy_field& f) { return f.name == name || f.title == name; });
}

/// A field of the type itself, not of one of its fields.
std::optional<npy_field> own_field(const npy_type& type, std::string_view name) {
  if (name.empty() || fields_called(type, name) != 1) return std::nullopt;
  return *std::ranges::find_if(type.fields, [&](const npy_field& f) { return f.name == name || f.title == name; });
}

}  // namespace

std::optional<npy_field> find_field(const npy_type& type, std::string_view name) {
  if (name.empty()) return std::nullopt;
  if (fields_called(type, name) > 0) return own_field(type, name);
  for (std::size_t point = name.find('.'); point != name.npos; point = name.find('.', point + 1)) {
    const std::optional<npy_field> outer = own_field(type, name.substr(0, point));
    if (!outer || outer->count != 1) continue;
    if (auto inner = find_field(outer->type, name.substr(point + 1))) {
      inner->offset += outer->offset;
      return inner;
    }
  }
  return std::nullopt;
}

std::string field_names(const npy_type& type) {
  std::vector<std::string> names;
  append_names(type, "", names);
  const bool all = names.size() <= most_names_shown;
  if (!all) names.resize(most_names_shown);
  return fmt::format("{}{}", fmt::join(names, ", "), all ? "" : " and more");
}

}  // namespace sheaf::io
