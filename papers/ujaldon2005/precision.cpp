#include <fmt/format.h>

#include "apps/sheaf/context_array.hpp"
#include "lab/harness/edges/calls.hpp"
#include "lab/harness/sparse/calls.hpp"
#include "papers/ujaldon2005/figures.hpp"

#if SHEAF_HAS_OPENGL
#include "papers/ujaldon2005/opengl/precision.hpp"
#endif

// Figure 3 and section 6.2: time and error by the precision of values. Sums of the library are of f32 and f64; textures
// and frame buffers of 8 and 16 bits are for measuring alone.
namespace sheaf::bench::papers::ujaldon2005 {
namespace {

template <class Value>
constexpr const char* type_text = sizeof(Value) == 8 ? "f64" : "f32";

template <class Value>
std::vector<timed_call> precision_calls(const call_place& place, const matrix_input& in) {
  std::vector<timed_call> calls;
  add_product_calls<Value>(place, std::make_shared<io::csr_matrix<Value>>(io::with_values<Value>(*in.matrix)), calls);
  return calls;
}

template <class Value>
std::vector<timed_call> precision_calls(const call_place& place, const mesh_input& in) {
  std::vector<timed_call> calls;
  add_edge_calls<Value>(place, judge_edges<Value>(in.edges, {}), calls);
  return calls;
}

/// The fastest call of this precision on this place, with its error.
template <class Value, class Input>
void print_fastest(paper_run& run, const table& rows, const call_place& place, const Input& in) {
  std::vector<timed_call> calls = precision_calls<Value>(place, in);
  if (calls.empty()) return;
  const std::size_t first = run.results.size();
  run.measure(3, fmt::format("{}, {}", in.name, type_text<Value>), calls);
  const timed_call* best = &calls.front();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].mistake();  // leaves this call's answer, of which the error is
    run.results[first + i].largest_error = calls[i].largest_error();
    if (calls[i].time.median_seconds < best->time.median_seconds) best = &calls[i];
  }
  const double error = run.results[first + static_cast<std::size_t>(best - calls.data())].largest_error;
  rows.row({place.name, type_text<Value>, time_text(best->time.median_seconds), fmt::format("{:.1e}", error),
            (best->is_prepared ? "prepared " : "") + best->who});
}

#if SHEAF_HAS_OPENGL
using opengl::channel_bits;

opengl::precision_figures measured_at(const context& ctx, const matrix_input& in,
                                      const opengl::pipeline_precision& precision) {
  const io::csr_matrix<float>& m = *in.matrix;
  std::vector<float> y(m.rows);
  return opengl::spmv_at_precision(ctx, jobs::view_of(m), vector_for<float>(m.columns), y, precision);
}

opengl::precision_figures measured_at(const context& ctx, const mesh_input& in,
                                      const opengl::pipeline_precision& precision) {
  const edge_terms terms;
  const std::vector<float> places(in.edges->coordinates.begin(), in.edges->coordinates.end());
  std::vector<float> sums(places.size());
  const edge_view edges(index_span{in.edges->edges.data(), 2 * in.edges->edges.size(), index_type::u32});
  return opengl::edge_sum_at_precision(ctx, edges, places, sums, in.edges->dimensions, terms.function, precision);
}

// Positions in textures of few bits bring neighbouring nodes together, whose force then is any number. What is wrong
// shows with 32 bits.
bool is_plausible(const opengl::precision_figures& found, channel_bits texel, channel_bits pixel) {
  const bool has_all_bits = texel == channel_bits::float32 && pixel == channel_bits::float32;
  return std::isfinite(found.largest_error) && (!has_all_bits || found.largest_error < 1e-2);
}

/// Textures and frame buffers of 8, 16 and 32 bits for a channel.
template <class Input>
void print_bits(paper_run& run, const table& rows, const call_place& place, const Input& in) {
  constexpr std::pair<channel_bits, const char*> all[] = {
      {channel_bits::fixed8, "8"}, {channel_bits::float16, "16"}, {channel_bits::float32, "32"}};
  for (const auto& [pixel, pixel_text] : all) {
    for (const auto& [texel, texel_text] : all) {
      const opengl::precision_figures found = measured_at(place.ctx, in, {.texture = texel, .frame_buffer = pixel});
      rows.row({place.name, fmt::format("{} bits", pixel_text), time_text(found.seconds),
                fmt::format("{:.1e}", found.largest_error), fmt::format("points, textures of {}", texel_text)});
      run.results.push_back({.figure = "ujaldon2005/3",
                             .input = fmt::format("{}, {} bits a texel, {} a pixel", in.name, texel_text, pixel_text),
                             .machine = run.machine_of(place.name),
                             .where = place.name,
                             .backend = place.ctx.backend(),
                             .who = "points",
                             .is_prepared = true,
                             .time = {found.seconds, found.seconds, found.seconds, 1},
                             .largest_error = found.largest_error,
                             .verified = is_plausible(found, texel, pixel)});
    }
  }
}
#endif

template <class Input>
void print_input(paper_run& run, const Input& in) {
  fmt::print("\n  # {}\n", in.name);
  const table rows({"where          ", "values", "run", "error", "call                    "});
  for (const machine_place& p : run.places) {
    print_fastest<float>(run, rows, p.place, in);
    print_fastest<double>(run, rows, p.place, in);
#if SHEAF_HAS_OPENGL
    if (p.place.ctx.backend() == backend_kind::opengl) print_bits(run, rows, p.place, in);
#endif
  }
}

}  // namespace

void figure_3(paper_run& run) {
  print_caption("Figure 3. Precision", "neither kernel is slower with 16 bits for a color than with 8.");
  fmt::print("  error: the largest one over the largest value, both beside long sums of the same inputs.\n");
  for (const mesh_input& in : run.meshes()) print_input(run, in);
  for (const matrix_input& in : run.matrices()) print_input(run, in);
}

}  // namespace sheaf::bench::papers::ujaldon2005
