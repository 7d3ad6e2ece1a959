#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/machine_profile.hpp>

namespace sheaf {

/// The profiles that come with the library, in the order of preference.
SHEAF_API std::vector<machine> shipped_machines();
/// The shipped profile nearest to a device of this backend and name.
SHEAF_API machine nearest_machine(backend_kind backend, const std::string& device_name);

/// Reads a profile. @throws error(bad_input) naming file, field and value.
SHEAF_API machine load_machine(const std::string& path);
/// Writes a profile, whole or not at all. @throws error(io_failure)
SHEAF_API void save_machine(const machine& profile, const std::string& path);
/// The same from and to JSON text; `origin` names the text in messages.
SHEAF_API machine parse_machine(const std::string& json, const std::string& origin);
SHEAF_API std::string format_machine(const machine& profile);

struct calibrate_options {
  /// What measuring should take. Points settle sooner with less, and below some 30 s only smaller footprints are
  /// measured.
  double seconds = 60;
  /// Told before each curve and point what is measured next, and which share of the points is done.
  std::function<void(std::string_view what, double done_share)> progress = {};
};

/// Measures the device of a context, with memory from its resource: up to half of the device's memory, at most 2 GB on
/// the CPU and 32 GB on a GPU, for the time of the call. Nothing else should run meanwhile. The profile is neither used
/// nor stored: that is what context::use and store_machine are for.
/// @throws error(device_failure) naming the point and its value where a measurement makes no sense.
SHEAF_API machine calibrate(const context& ctx, const calibrate_options& options = {});

/// $XDG_CACHE_HOME/sheaf/<backend>-<device>.json, or the same under $HOME/.cache: where contexts look for a profile of
/// their device when they are made. @throws error(bad_argument) if neither is set.
SHEAF_API std::string default_machine_path(backend_kind backend, const std::string& device_name);
/// Writes a profile there, making folders as needed, and returns the path. @throws error(io_failure)
SHEAF_API std::string store_machine(const machine& profile);

/// What lies at default_machine_path. A file that is damaged, of another schema or of another device breaks no program:
/// it is not used, and `ignored` says why.
struct stored_machine {
  std::optional<machine> profile;
  std::string ignored;
};
SHEAF_API stored_machine load_stored_machine(backend_kind backend, const std::string& device_name);

}  // namespace sheaf
