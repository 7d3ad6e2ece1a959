#include "core/index_report.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace sheaf::core {

std::string message(const index_report& report) {
  if (report.role == index_role::category) {
    return fmt::format("split: category[{}] is {}, past the {} categories", report.position, report.value,
                       report.limit);
  }
  const std::array<std::array<std::string_view, 3>, 3> words{{
      {"gather", "the table's", "records"},
      {"scatter", "the output's", "records"},
      {"scatter_reduce", "the output's", "slots"},
  }};
  const auto& [call, whose, what] = words[static_cast<std::size_t>(report.role)];
  const auto value = static_cast<std::int64_t>(report.value);
  const std::string shown = report.is_signed != 0 ? fmt::to_string(value) : fmt::to_string(report.value);
  return fmt::format("{}: index[{}] is {}, {} {} {} {}", call, report.position, shown,
                     report.is_signed != 0 && value < 0 ? "outside" : "past", whose, report.limit, what);
}

}  // namespace sheaf::core
