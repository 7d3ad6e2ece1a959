#include "primitives/enum_names.hpp"

#include <algorithm>
#include <iterator>

#include "plan/pattern_kind_names.hpp"

namespace sheaf::primitives {
namespace {

using plan::pattern_kind_name;
using plan::pattern_kind_names;

struct key_word {
  std::string_view text;
  key_type type;
  std::uint64_t bits_of_unit;  ///< the number behind the word counts bits, or bytes
};
constexpr key_word key_words[] = {{"bytes", key_type::bytes, 8},
                                  {"u", key_type::unsigned_integer, 1},
                                  {"i", key_type::signed_integer, 1},
                                  {"f", key_type::floating, 1}};

}  // namespace

std::string_view name(index_type type) noexcept { return text_of(type, index_types); }
std::string_view name(value_type type) noexcept { return text_of(type, value_types); }
std::string_view name(reduction op) noexcept { return text_of(op, reductions); }

std::string name(const access_pattern& pattern) {
  const auto& row = *std::ranges::find(pattern_kind_names, pattern.shape, &pattern_kind_name::kind);
  return row.takes_number ? fmt::format("{}:{}", row.text, pattern.parameter) : std::string(row.text);
}

std::string key_name(key_type type, std::uint64_t key_bytes) {
  const auto& row = *std::ranges::find(key_words, type, &key_word::type);
  return fmt::format("{}{}", row.text, 8 * key_bytes / row.bits_of_unit);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto shown = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; shown >= 1024 && unit + 1 < std::size(units); ++unit) shown /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.4g} {}", shown, units[unit]);
}

index_type parse_index_type(std::string_view text) { return value_of(text, index_types, "an index type"); }
value_type parse_value_type(std::string_view text) { return value_of(text, number_types, "a value type"); }
value_type parse_row_type(std::string_view text) { return value_of(text, value_types, "a value type"); }
reduction_order parse_reduction_order(std::string_view text) { return value_of(text, reduction_orders, "an order"); }

access_pattern parse_access_pattern(std::string_view text) {
  const std::string_view shape = text.substr(0, text.find(':'));
  for (const pattern_kind_name& row : pattern_kind_names) {
    if (row.text != shape) continue;
    if (!row.takes_number && shape.size() == text.size()) return {row.kind, 0};
    if (!row.takes_number || shape.size() == text.size()) break;
    const std::optional<std::uint64_t> parameter = parse_number(text.substr(shape.size() + 1));
    if (!parameter || *parameter == 0) break;
    return {row.kind, *parameter};
  }
  refuse(
      "'{}' is not an access pattern: unknown, sequential, random, partitioned:N, clustered:N, strided:N, skewed, "
      "repeated:N",
      core::printable(text));
}

std::optional<key_kind> parse_key_name(std::string_view text) {
  for (const key_word& k : key_words) {
    if (!text.starts_with(k.text)) continue;
    const std::uint64_t bits = parse_number<std::uint32_t>(text.substr(k.text.size())).value_or(0) * k.bits_of_unit;
    if (bits == 0 || bits % 8 != 0) return std::nullopt;
    return key_kind{k.type, bits / 8};
  }
  return std::nullopt;
}

}  // namespace sheaf::primitives
