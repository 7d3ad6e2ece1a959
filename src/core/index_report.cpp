#include "core/index_report.hpp"

#include <fmt/format.h>

namespace sheaf::core {

std::string message(const index_report& report) {
  const index_words& words = *report.words;
  if (words.text != nullptr) return words.text(words, report);
  const auto value = static_cast<std::int64_t>(report.value);
  const std::string shown = report.is_signed != 0 ? fmt::to_string(value) : fmt::to_string(report.value);
  const char* const where = report.is_signed != 0 && value < 0 ? "outside" : "past";
  return fmt::format("{}: {}[{}] is {}, {} {} {} {}", words.call, words.list, report.position, shown, where,
                     words.whose, report.limit, words.named);
}

}  // namespace sheaf::core
