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

/// Reads a profile from a file. @throws error(bad_input) naming file, field and value.
SHEAF_API machine load_machine(const std::string& path);
/// Writes a profile, whole or not at all. @throws error(io_failure), error(bad_argument) for an empty path
SHEAF_API void save_machine(const machine& profile, const std::string& path);
/// Reads a profile from JSON text. `origin` names the text in messages. @throws error(bad_input) as load_machine does.
SHEAF_API machine parse_machine(const std::string& json, const std::string& origin);
/// The profile as the JSON text that save_machine writes.
SHEAF_API std::string format_machine(const machine& profile);

struct calibrate_options {
  /// Time that the measurement should take, above 0. A CPU of which nothing else takes time needs some 6 s. Where other
  /// programs keep all processors, it may take three times as long, and in any case 10 s, 60 s on a GPU. With less time
  /// a point is repeated less often, and below 9 s on a CPU, 20 s on CUDA and 70 s on OpenGL only smaller footprints
  /// are measured.
  double seconds = 60;
  /// Called before each step of the measurement, with the name of the step and the share of the points that is done.
  std::function<void(std::string_view what, double done_share)> progress = {};
  /// Called at the end for each figure that the profile leaves out, with its name, its value and the reason, and for
  /// each curve or figure of the shipped profile that stands for what was left out.
  std::function<void(std::string_view left_out)> warn = {};
};

/// Measures the device of a context. The call takes memory from the context's resource: up to half of the device's
/// memory, at most 2 GiB on the CPU, 32 GiB on CUDA and 512 MiB on OpenGL. The profile is neither used nor stored;
/// context::use and store_machine do that.
///
/// What else runs on the device makes the call take longer and changes the figures little: a figure is the least time
/// that two of several runs reached, in two passes over all figures or more, and for accesses and copies of the CPU
/// processor time. So threads that a quota lets run in turn seem faster together than they are. What another program
/// takes all the time, such as half of the memory's bandwidth, the figures lack. A figure that is implausible beside
/// its neighbours is measured again, for up to a quarter of the time more. A point of a curve that remains implausible
/// is left out, and predictions take its neighbours. If these are more than half of a curve, the curve of the shipped
/// profile stands for it, scaled to the other points; for a figure outside of the curves, that of the shipped profile.
/// So it is with figures that the time does not reach.
/// @throws error(measurement_failed), naming the first figure, its value and what may help, if more than half of all
/// figures are implausible; error(bad_argument) if options.seconds is not above 0; error(out_of_memory)
SHEAF_API machine calibrate(const context& ctx, const calibrate_options& options = {});

/// The file in which a new context looks for a profile of its device: $XDG_CACHE_HOME/sheaf/<backend>-<device>.json, or
/// $HOME/.cache/sheaf/<backend>-<device>.json. In <device> a hyphen stands for what lies between letters and digits.
/// @throws error(bad_argument) if neither variable holds an absolute path.
SHEAF_API std::string default_machine_path(backend_kind backend, const std::string& device_name);
/// Writes a profile to default_machine_path, makes folders as needed, and returns the path. @throws error(io_failure),
/// and what default_machine_path throws
SHEAF_API std::string store_machine(const machine& profile);

/// The profile at default_machine_path, if it can be used. A file that is damaged, of another schema or of another
/// device is ignored.
struct stored_machine {
  std::optional<machine> profile;  ///< empty if there is no file, or if it is ignored
  std::string ignored;             ///< why the file is ignored; else empty
};
/// Reads default_machine_path. Throws nothing for what the file holds.
SHEAF_API stored_machine load_stored_machine(backend_kind backend, const std::string& device_name);

}  // namespace sheaf
