#include "lab/description/labels.hpp"

#include <bit>

#include <fmt/format.h>

namespace sheaf::primitives {

label_part varying(std::string text) { return {.text = std::move(text), .varies = true}; }
label_part varying(std::uint64_t number, std::string_view unit) {
  return {.text = fmt::to_string(number), .varies = true, .number = number, .unit = unit};
}
label_part varying_count(std::uint64_t number) {
  return {.text = count_text(number), .varies = true, .number = number};
}

std::string count_text(std::uint64_t count) {
  constexpr std::uint64_t million = 1'000'000;
  if (std::has_single_bit(count)) return fmt::format("2^{}", std::countr_zero(count));
  return count < million ? grouped_digits(count) : fmt::format("{:.1f} million", static_cast<double>(count) / million);
}

std::string grouped_digits(std::uint64_t number) {
  std::string text = fmt::to_string(number);
  for (std::size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, 1, ',');
  return text;
}

std::string order_text(std::string_view name) {
  const std::string_view word = name.substr(0, name.find(':'));
  if (word == "zipf") return "Zipf";
  if (word == "two") return "two values";
  if (word == "few") return "1000 values";
  if (word == "reverse") return "in reverse order";
  return std::string(word);
}

std::string list_text(const input_pattern& pattern) {
  switch (pattern.kind) {
    case pattern_kind::identity: return "list in order";
    case pattern_kind::reverse: return "list in reverse order";
    case pattern_kind::permutation: return "random permutation";
    case pattern_kind::same: return "one record for all";
    case pattern_kind::uniform: return "random list with repeats";
    case pattern_kind::zipf: return "Zipf list";
    case pattern_kind::strided: return fmt::format("stride of {} records", pattern.parameter);
    case pattern_kind::partitioned: return fmt::format("{} ascending streams", pattern.parameter);
    case pattern_kind::drawn: return fmt::format("{} ascending streams drawn at random", pattern.parameter);
    case pattern_kind::clustered: return fmt::format("random in windows of {} records", count_text(pattern.parameter));
  }
  return name(pattern);
}

}  // namespace sheaf::primitives
