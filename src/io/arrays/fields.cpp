#include "io/arrays/fields.hpp"

#include <algorithm>
#include <vector>

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

}  // namespace

std::optional<npy_field> find_field(const npy_type& type, std::string_view name) {
  if (name.empty()) return std::nullopt;
  const auto is_called = [&](const npy_field& f) { return f.name == name || f.title == name; };
  const auto found = std::find_if(type.fields.begin(), type.fields.end(), is_called);
  if (found != type.fields.end()) {
    if (std::count_if(type.fields.begin(), type.fields.end(), is_called) > 1) return std::nullopt;
    return *found;
  }
  for (std::size_t point = name.find('.'); point != name.npos; point = name.find('.', point + 1)) {
    const std::optional<npy_field> outer = find_field(type, name.substr(0, point));
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
