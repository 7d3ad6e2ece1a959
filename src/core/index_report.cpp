#include "core/index_report.hpp"

#include <fmt/format.h>

namespace sheaf::core {

std::string message(const index_report& report) {
  const index_wording& wording = *report.wording;
  if (wording.text != nullptr) return wording.text(wording, report);
  const auto value = static_cast<std::int64_t>(report.value);
  const std::string shown = report.is_signed != 0 ? fmt::to_string(value) : fmt::to_string(report.value);
  const char* const where = report.is_signed != 0 && value < 0 ? "outside" : "past";
  return fmt::format("{}: {}[{}] is {}, {} {} {} {}", wording.call, wording.list, report.position, shown, where,
                     wording.whose, report.limit, wording.named);
}

}  // namespace sheaf::core
