#include "lab/sweeps/sort_layout.hpp"

#include <optional>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "primitives/words.hpp"

namespace sheaf::bench {
namespace {

constexpr std::uint64_t most_key_bytes = 16;
constexpr std::uint64_t most_record_bytes = 65536;

[[noreturn]] void refuse_layout(std::string_view text) {
  throw error(error_code::bad_argument,
              fmt::format("'{}' is not a sort; there are u32, u64+16, bytes10/100, u64/index and the like", text));
}

void read_key(std::string_view text, std::string_view key, sort_layout& layout) {
  const std::optional<primitives::key_kind> kind = primitives::parse_key_name(key);
  if (!kind || kind->bytes > most_key_bytes) refuse_layout(text);
  const bool is_known = kind->type == key_type::floating         ? kind->bytes == 4 || kind->bytes == 8
                        : kind->type == key_type::signed_integer ? kind->bytes <= 8
                                                                 : true;
  if (!is_known) refuse_layout(text);
  layout.number = kind->type;
  layout.key_bytes = kind->bytes;
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
    layout.primitive = "sort_gather_index";
    layout.record_bytes = 0;
    return layout;
  }
  layout.primitive = text[key_end] == '+' ? "sort_pairs" : "sort_records";
  layout.record_bytes = primitives::parse_number(after_key).value_or(0);
  const bool holds_key = layout.primitive == "sort_pairs" || layout.record_bytes > layout.key_bytes;
  if (layout.record_bytes == 0 || layout.record_bytes > most_record_bytes || !holds_key) refuse_layout(text);
  return layout;
}

bit_range parse_bit_range(std::string_view text) {
  if (text == "all") return {};
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto first = primitives::parse_number(text.substr(0, colon));
    const auto end = primitives::parse_number(text.substr(colon + 1));
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
