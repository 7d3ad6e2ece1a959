#include "primitives/backends.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/printable.hpp"

namespace sheaf::primitives {
namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    words.push_back(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(text.size(), words.back().size() + 1));
  }
  return words;
}

std::vector<std::string_view> names_of_variants(const variant_table& of) {
  std::vector<std::string_view> names;
  for (const variant_tables* const backend : all_backends()) {
    for (const variant_table& t : *backend) {
      if (!t.is_of_primitive_of(of)) continue;
      for (std::size_t v = 0; v < t.size(); ++v) names.push_back(t.name(v));
    }
  }
  return names;
}

}  // namespace

void require_known_variant(std::string_view primitive, std::string_view variant) {
  std::vector<std::string_view> all_calls;
  for (const variant_table& t : reference::variants) {
    const std::vector<std::string_view> calls = words_of(t.calls());
    all_calls.insert(all_calls.end(), calls.begin(), calls.end());
    if (std::ranges::find(calls, primitive) == calls.end()) continue;
    const std::vector<std::string_view> names = names_of_variants(t);
    if (std::ranges::find(names, variant) != names.end()) return;
    throw error(error_code::bad_argument, fmt::format("SHEAF_VARIANT: {}: no variant is named '{}'; there are {}",
                                                      primitive, core::printable(variant), fmt::join(names, ", ")));
  }
  throw error(error_code::bad_argument, fmt::format("SHEAF_VARIANT: '{}' is not a primitive; there are {}",
                                                    core::printable(primitive), fmt::join(all_calls, ", ")));
}

}  // namespace sheaf::primitives
