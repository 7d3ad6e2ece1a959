#pragma once

#include <sheaf/error.hpp>

namespace sheaf::cli {

enum exit_code : int {
  exit_done = 0,
  exit_internal = 1,
  exit_usage = 2,
  exit_bad_input = 3,
  exit_verification_failed = 4,
  exit_out_of_space = 5,
  exit_no_backend = 6,
  exit_not_converged = 7,       ///< what was found is written, but is not as good as was asked
  exit_measurement_failed = 8,  ///< the machine was too busy to be measured in full, or at all
};

/// The exit code of a command that an error ended.
constexpr exit_code exit_code_of(error_code code) noexcept {
  switch (code) {
    case error_code::bad_argument:
    case error_code::no_variant: return exit_usage;
    case error_code::bad_input:
    case error_code::bad_index: return exit_bad_input;
    case error_code::out_of_memory:
    case error_code::io_failure: return exit_out_of_space;
    case error_code::backend_unavailable: return exit_no_backend;
    case error_code::measurement_failed: return exit_measurement_failed;
    case error_code::device_failure:
    case error_code::internal: return exit_internal;
  }
  return exit_internal;
}

}  // namespace sheaf::cli
