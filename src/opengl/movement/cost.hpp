#pragma once

#include "opengl/device/state.hpp"
#include "primitives/movement/problem.hpp"

// What plans of this backend are priced from. Each call brings its arrays to the device and back, and a profile's
// random reads, random writes and atomic additions are texture lookups, points, and points that blend.
namespace sheaf::opengl {

/// Bytes of the texel that holds a record of 4, 8, 12 or 16 bytes.
std::uint64_t texel_bytes(std::uint64_t record_bytes) noexcept;

/// Bytes of the scratch that write_record_numbers() fills.
std::uint64_t record_number_bytes(const primitives::movement& movement) noexcept;

/// Why no variant of this backend moves these records, or null.
const char* unmovable(const primitives::movement& movement) noexcept;

/// The sizes at which the plan's context cuts arrays; without a context those of usual drivers.
size_limits limits_of(const plan::scope& scope) noexcept;

/// A gather by texture lookups that brings so many bytes of its list to the device.
plan::planned lookup_plan(const primitives::movement& movement, const machine& profile, std::uint64_t list_bytes);
/// A scatter by points likewise.
plan::planned point_plan(const primitives::movement& movement, const machine& profile, std::uint64_t list_bytes);

/// The plan of a preparation that uploads so many bytes, by the plan of a run without them.
/// @param more  what it decides besides a run's seconds
template <class Decision, class Problem, class... More>
plan::planned prepared_plan(const Problem& problem, const plan::scope& scope, std::uint64_t uploaded_bytes,
                            const plan::planned& run, const More&... more) {
  if (!run.applicable()) return run;
  plan::planned plan;
  plan.decided.set(Decision{run.seconds, more...});
  plan.add("upload", scope.machine.uploaded(uploaded_bytes));
  plan.add("runs", static_cast<double>(problem.expected_runs) * run.seconds);
  return plan;
}

/// Rendering passes: one for each tile of what is drawn to and each piece of what it is drawn from.
double pass_seconds(const machine& machine, std::uint64_t drawn_to, std::uint64_t drawn_from);

}  // namespace sheaf::opengl
