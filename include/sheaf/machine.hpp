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
/// The shipped profile of this device, else the first shipped profile of its backend.
SHEAF_API machine nearest_machine(backend_kind backend, const std::string& device_name);

/// Reads a profile. @throws error(bad_input) naming file, field and value.
SHEAF_API machine load_machine(const std::string& path);
/// Writes a profile, whole or not at all. @throws error(io_failure)
SHEAF_API void save_machine(const machine& profile, const std::string& path);
/// Reads a profile from JSON text. `origin` names the text in messages. @throws error(bad_input) as load_machine does.
SHEAF_API machine parse_machine(const std::string& json, const std::string& origin);
/// A profile as the JSON text that save_machine writes.
SHEAF_API std::string format_machine(const machine& profile);

struct calibrate_options {
  /// Time that the measurement should take. With less time a point is repeated less often, and below some 30 s only
  /// smaller footprints are measured.
  double seconds = 60;
  /// Called before each curve and point with the name of what is measured next and the share of the points that is
  /// done.
  std::function<void(std::string_view what, double done_share)> progress = {};
  /// Called at the end for each point of a curve that the profile leaves out, with its name, its value and why.
  std::function<void(std::string_view left_out)> warn = {};
};

/// Measures the device of a context. The call takes memory from the context's resource: up to half of the device's
/// memory, at most 2 GB on the CPU and 32 GB on a GPU. The profile is neither used nor stored; context::use and
/// store_machine do that.
///
/// Nothing else should run on the device during the call. A figure is the lower quartile of several runs. One that
/// makes no sense beside its neighbours is measured again, for up to a quarter of the time more; a point of a curve
/// that still makes none is left out, and predictions take its neighbours.
/// @throws error(measurement_failed) naming the figure, its value and what may help, where a figure that is no point of
/// a curve makes no sense, or more than half of the points of a curve.
SHEAF_API machine calibrate(const context& ctx, const calibrate_options& options = {});

/// The file in which a new context looks for a profile of its device: $XDG_CACHE_HOME/sheaf/<backend>-<device>.json, or
/// $HOME/.cache/sheaf/<backend>-<device>.json. @throws error(bad_argument) if neither variable is set.
SHEAF_API std::string default_machine_path(backend_kind backend, const std::string& device_name);
/// Writes a profile to default_machine_path, makes folders as needed, and returns the path. @throws error(io_failure)
SHEAF_API std::string store_machine(const machine& profile);

/// The profile at default_machine_path. A file that is damaged, of another schema or of another device breaks no
/// program: it is not used.
struct stored_machine {
  std::optional<machine> profile;  ///< empty if there is no file, or one that is not used
  std::string ignored;             ///< why the file is not used; empty if it is used or there is none
};
/// Reads default_machine_path. Throws nothing for what the file holds.
SHEAF_API stored_machine load_stored_machine(backend_kind backend, const std::string& device_name);

}  // namespace sheaf
