#include <sheaf/error.hpp>

namespace sheaf {

std::string_view name(error_code code) noexcept {
  switch (code) {
    case error_code::bad_argument: return "bad_argument";
    case error_code::bad_index: return "bad_index";
    case error_code::bad_input: return "bad_input";
    case error_code::no_variant: return "no_variant";
    case error_code::out_of_memory: return "out_of_memory";
    case error_code::io_failure: return "io_failure";
    case error_code::backend_unavailable: return "backend_unavailable";
    case error_code::device_failure: return "device_failure";
    case error_code::measurement_failed: return "measurement_failed";
    case error_code::internal: return "internal";
  }
  return "unknown";
}

error::error(error_code code, const std::string& message) : std::runtime_error(message), code_(code) {}
error::~error() = default;

}  // namespace sheaf
