#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <sheaf/export.hpp>

namespace sheaf {

/// What kind of thing went wrong. The message of the error says what, where and which value.
enum class error_code {
  bad_argument,         ///< a wrong call: lengths, widths, memory, overlap; thrown before any work
  bad_index,            ///< an index names no record; thrown by context::wait()
  bad_input,            ///< a file is not what it should be; the message names file, place and value
  no_variant,           ///< nothing can run this problem; the message lists every reason
  out_of_memory,        ///< host or device memory is short
  io_failure,           ///< an output cannot be written: full disk, no permission
  backend_unavailable,  ///< not built in, no such device, left with the parent by fork(), or threads cannot start
  device_failure,       ///< the device reported a failure of its own
  measurement_failed,   ///< what calibrate() measured makes no sense, time after time; the message says what may help
  internal,             ///< a promise of the library broke
};

/// The name of a code, such as "bad_argument".
SHEAF_API std::string_view name(error_code code) noexcept;

/// The one exception type of the library, but for std::bad_alloc where the host has not a few bytes left.
class SHEAF_API error : public std::runtime_error {
 public:
  error(error_code code, const std::string& message);
  ~error() override;

  error_code code() const noexcept { return code_; }

 private:
  error_code code_;
};

}  // namespace sheaf
