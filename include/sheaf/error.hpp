#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <sheaf/export.hpp>

namespace sheaf {

/// The kind of an error. Its message says what is wrong, where, and which value is at fault.
enum class error_code {
  bad_argument,         ///< a wrong call: lengths, widths, types, memory, overlap; thrown before any work
  bad_index,            ///< an index names no record, or nodes do not form a list; thrown by calls that wait
  bad_input,            ///< a file does not hold what it should; the message names file, place and value
  no_variant,           ///< no variant can run this problem; the message lists every reason
  out_of_memory,        ///< host or device memory is short, or the context's scratch limit is too low
  io_failure,           ///< an output cannot be written: full disk, no permission
  backend_unavailable,  ///< not built in, no such device, left with the parent by fork(), or threads cannot start
  device_failure,       ///< the device reported a failure of its own
  measurement_failed,   ///< most figures of calibrate() were implausible repeatedly; the message says what may help
  internal,             ///< the library broke one of its own promises
};

/// The name of a code, such as "bad_argument".
SHEAF_API std::string_view name(error_code code) noexcept;

/// The exception type of the library. Where the host has hardly any memory left, std::bad_alloc is thrown instead.
/// Exceptions of the caller's functions pass through.
class SHEAF_API error : public std::runtime_error {
 public:
  error(error_code code, const std::string& message);
  ~error() override;

  error_code code() const noexcept { return code_; }

 private:
  error_code code_;
};

}  // namespace sheaf
