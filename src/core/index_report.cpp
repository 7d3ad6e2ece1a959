#include "core/index_report.hpp"

#include <fmt/format.h>

namespace sheaf::core {

std::string message(const index_report& report) {
  if (report.role == index_role::category) {
    return fmt::format("split: category[{}] is {}, past the {} categories", report.position, report.value,
                       report.limit);
  }
  const bool gathers = report.role == index_role::gather_index;
  const auto value = static_cast<std::int64_t>(report.value);
  const std::string shown = report.is_signed != 0 ? fmt::to_string(value) : fmt::to_string(report.value);
  return fmt::format("{}: index[{}] is {}, {} {} {} records", gathers ? "gather" : "scatter", report.position, shown,
                     report.is_signed != 0 && value < 0 ? "outside" : "past", gathers ? "the table's" : "the output's",
                     report.limit);
}

}  // namespace sheaf::core
