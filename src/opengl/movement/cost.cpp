#include "opengl/movement/cost.hpp"

#include "opengl/device/record_numbers.hpp"
#include "opengl/device/transfer.hpp"

namespace sheaf::opengl {
namespace {

// Plans know sizes and no device. Drivers of the last ten years have textures with sides of 16384 texels, or longer
// ones.
constexpr std::uint64_t texels_of_a_tile = std::uint64_t{1} << 28;

}  // namespace

std::uint64_t texel_bytes(std::uint64_t record_bytes) noexcept { return texels_for(record_bytes).bytes; }

std::uint64_t record_number_bytes(const primitives::movement& m) noexcept { return m.count * sizeof(std::uint32_t); }

const char* unmovable(const primitives::movement& m) noexcept {
  if (const char* const why = no_texel_for(m.record_bytes)) return why;
  return m.indexed_count > most_record_numbers ? "indices of 32 bits name fewer records" : nullptr;
}

double pass_seconds(const machine& m, std::uint64_t drawn_to, std::uint64_t drawn_from) {
  const std::uint64_t passes = (drawn_to / texels_of_a_tile + 1) * (drawn_from / texels_of_a_tile + 1);
  return m.launch_seconds + m.step_seconds * static_cast<double>(passes);
}

}  // namespace sheaf::opengl
