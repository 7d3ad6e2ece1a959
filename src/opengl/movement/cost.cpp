#include "opengl/movement/cost.hpp"

#include "opengl/device/record_numbers.hpp"
#include "opengl/device/transfer.hpp"

namespace sheaf::opengl {
namespace {

// Drivers of the last ten years have textures with sides of 16384 texels and of 2048 layers, or larger ones. Predicted
// times go by them whatever the device has.
constexpr size_limits usual_limits{.texture_edge = 16384, .texture_layers = 2048};
constexpr std::uint64_t texels_of_a_tile = std::uint64_t{usual_limits.texture_edge} * usual_limits.texture_edge;

}  // namespace

std::uint64_t texel_bytes(std::uint64_t record_bytes) noexcept { return texels_for(record_bytes).bytes; }

std::uint64_t record_number_bytes(const primitives::movement& m) noexcept { return m.count * sizeof(std::uint32_t); }

const char* unmovable(const primitives::movement& m) noexcept {
  if (const char* const why = no_texel_for(m.record_bytes)) return why;
  return m.indexed_count > most_record_numbers ? "indices of 32 bits name fewer records" : nullptr;
}

size_limits limits_of(const plan::scope& scope) noexcept {
  if (scope.context == nullptr || scope.context->backend != backend_kind::opengl) return usual_limits;
  return static_cast<const opengl_state&>(*scope.context).limits();
}

plan::planned lookup_plan(const primitives::movement& movement, const machine& profile, std::uint64_t list_bytes) {
  const std::uint64_t texel = texel_bytes(movement.record_bytes);
  plan::planned plan;
  plan.add("upload", profile.uploaded(movement.indexed_count * texel + list_bytes));
  plan.add("passes", pass_seconds(profile, movement.count, movement.indexed_count));
  plan.add("texture lookups", profile.random_reads(movement.count, texel, movement.indexed_count * texel));
  plan.add("readback", profile.read_back(movement.count * texel));
  return plan;
}

plan::planned point_plan(const primitives::movement& movement, const machine& profile, std::uint64_t list_bytes) {
  const std::uint64_t texel = texel_bytes(movement.record_bytes);
  plan::planned plan;
  plan.add("upload",
           profile.uploaded(movement.indexed_count * texel + movement.count * movement.record_bytes + list_bytes));
  plan.add("passes", pass_seconds(profile, movement.indexed_count, 0));
  plan.add("points", profile.random_writes(movement.count, texel, movement.indexed_count * texel));
  plan.add("readback", profile.read_back(movement.indexed_count * texel));
  return plan;
}

double pass_seconds(const machine& m, std::uint64_t drawn_to, std::uint64_t drawn_from) {
  const std::uint64_t passes = (drawn_to / texels_of_a_tile + 1) * (drawn_from / texels_of_a_tile + 1);
  return m.launch_seconds + m.step_seconds * static_cast<double>(passes);
}

}  // namespace sheaf::opengl
