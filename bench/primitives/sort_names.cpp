#include "bench/primitives/sort_names.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::bench {
namespace {

constexpr std::uint64_t most_key_bytes = 16;
constexpr std::uint64_t most_record_bytes = 65536;

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

[[noreturn]] void refuse_layout(std::string_view text) {
  throw error(error_code::bad_argument,
              fmt::format("'{}' is not a sort; there are u32, u64+16, bytes10/100, u64/index and the like", text));
}

void read_key(std::string_view text, std::string_view key, sort_layout& layout) {
  const bool is_bytes = key.starts_with("bytes");
  const std::uint64_t width = number_in(key.substr(is_bytes ? 5 : std::min<std::size_t>(1, key.size()))).value_or(0);
  layout.key_bytes = is_bytes ? width : width / 8;
  if (layout.key_bytes == 0 || layout.key_bytes > most_key_bytes || (!is_bytes && width % 8 != 0)) refuse_layout(text);
  if (is_bytes) {
    layout.number = key_type::bytes;
  } else if (key.front() == 'f' && (width == 32 || width == 64)) {
    layout.number = key_type::floating;
  } else if (key.front() == 'i' && width <= 64) {
    layout.number = key_type::signed_integer;
  } else if (key.front() != 'u') {
    refuse_layout(text);
  }
}

}  // namespace

sort_layout parse_sort_layout(std::string_view text) {
  const std::size_t key_end = text.find_first_of("+/");
  sort_layout layout;
  read_key(text, text.substr(0, key_end), layout);
  layout.record_bytes = layout.key_bytes;
  if (key_end == std::string_view::npos) return layout;
  const std::string_view after_key = text.substr(key_end + 1);
  if (text[key_end] == '/' && after_key == "index") {
    layout.primitive = primitive::sort_gather_index;
    layout.record_bytes = 0;
    return layout;
  }
  layout.primitive = text[key_end] == '+' ? primitive::sort_pairs : primitive::sort_records;
  layout.record_bytes = number_in(after_key).value_or(0);
  const bool holds_key = layout.primitive == primitive::sort_pairs || layout.record_bytes > layout.key_bytes;
  if (layout.record_bytes == 0 || layout.record_bytes > most_record_bytes || !holds_key) refuse_layout(text);
  return layout;
}

bit_range parse_bit_range(std::string_view text) {
  if (text == "all") return {};
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto first = number_in(text.substr(0, colon));
    const auto end = number_in(text.substr(colon + 1));
    if (first && end && *first < *end && *end <= 64) {
      return {static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*end - *first)};
    }
  }
  throw error(error_code::bad_argument, fmt::format("'{}' is not a range of bits; there are all, 8:16, ...", text));
}

std::vector<sort_layout> usual_sort_layouts() {
  std::vector<sort_layout> layouts;
  for (const char* text : {"u32", "u64", "u96", "u128", "i32", "f32", "f64", "u32+4", "u64+4", "u64+8", "u64+16",
                           "u64/16", "u64/32", "bytes10/100", "u64/128", "u32/index", "u64/index"}) {
    layouts.push_back(parse_sort_layout(text));
  }
  return layouts;
}

}  // namespace sheaf::bench
