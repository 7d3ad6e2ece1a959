#include "opengl/sparse/cost.hpp"

#include "opengl/device/record_numbers.hpp"

namespace sheaf::opengl {
namespace {

using primitives::spmv_problem;

constexpr std::uint64_t width = sizeof(float);

}  // namespace

const char* unsummable(const spmv_problem& p) noexcept {
  if (p.value != value_type::f32) return "frame buffers have 32 bits a channel, but the values are f64";
  if (p.sum_bytes() != width) return "frame buffers have 32 bits a channel, but the sums are f64";
  if (p.rows > most_record_numbers || p.columns > most_record_numbers)
    return "shaders count rows and columns in 32 bits";
  return nullptr;
}

const char* no_points_for(const spmv_problem& p) noexcept {
  if (const char* const why = unsummable(p)) return why;
  return p.has_row_ends ? "a point is one entry, but rows with ends of their own may share entries" : nullptr;
}

void add_vectors(plan::planned& plan, const spmv_problem& p, const machine& m) {
  plan.add("vectors", m.uploaded((p.x_count() + (p.reads_y ? p.y_count() : 0)) * width));
  plan.add("passes", pass_seconds(m, p.y_count(), 0) + (p.reads_y ? m.step_seconds : 0));
  plan.add("readback", m.read_back(p.y_count() * width));
}

}  // namespace sheaf::opengl
