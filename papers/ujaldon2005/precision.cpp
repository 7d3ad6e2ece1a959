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
  // A pipeline's calls upload everything in every run: what is prepared is faster.
  if (place.ctx.backend() == backend_kind::opengl) {
    std::erase_if(calls, [](const timed_call& c) { return !c.is_prepared; });
  }
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
  rows.row({place.name, type_text<Value>, time_text(best->time.median_seconds), fmt::format("{:.1e}", error), "-", "-",
            (best->is_prepared ? "prepared " : "") + best->who});
}

#if SHEAF_HAS_OPENGL
using opengl::channel_bits;

/// Seconds by the bits of frame buffers and of textures: 8, 16, 32.
using precision_times = std::array<std::array<double, 3>, 3>;

opengl::precision_figures measured_at(const context& ctx, const matrix_input& in,
                                      const opengl::pipeline_precision& precision, int runs) {
  const io::csr_matrix<float>& m = *in.matrix;
  std::vector<float> y(m.rows);
  return opengl::spmv_at_precision(ctx, jobs::view_of(m), vector_for<float>(m.columns), y, precision, runs);
}

opengl::precision_figures measured_at(const context& ctx, const mesh_input& in,
                                      const opengl::pipeline_precision& precision, int runs) {
  const edge_terms terms;
  const std::vector<float> places(in.edges->coordinates.begin(), in.edges->coordinates.end());
  std::vector<float> sums(places.size());
  const edge_view edges(index_span{in.edges->edges.data(), 2 * in.edges->edges.size(), index_type::u32});
  return opengl::edge_sum_at_precision(ctx, edges, places, sums, in.edges->dimensions, terms.function, precision, runs);
}

constexpr std::pair<channel_bits, const char*> all_bits[] = {
    {channel_bits::fixed8, "8"}, {channel_bits::float16, "16"}, {channel_bits::float32, "32"}};

/// What a row says of the bound: how large it is, or how many sums have one where it is out of range.
std::string bound_text(const opengl::precision_figures& found) {
  if (found.is_in_range()) return fmt::format("{:.1e}", found.largest_bound);
  return fmt::format("out of range, {:.0f} % held", std::floor(100 * found.bounded_share));
}

/// Textures and frame buffers of 8, 16 and 32 bits for a channel. Returns the times, by frame buffers and textures. A
/// row whose precision is out of range is printed, and counts only if a sum is past its own bound.
template <class Input>
precision_times print_bits(paper_run& run, const table& rows, const call_place& place, const Input& in) {
  const int runs = run.size() == run_size::tiny ? 1 : run.size() == run_size::small ? 2 : opengl::most_precision_runs;
  precision_times times{};
  for (std::size_t of_pixel = 0; of_pixel < std::size(all_bits); ++of_pixel) {
    for (std::size_t of_texel = 0; of_texel < std::size(all_bits); ++of_texel) {
      const auto& [pixel, pixel_text] = all_bits[of_pixel];
      const auto& [texel, texel_text] = all_bits[of_texel];
      const opengl::precision_figures found =
          measured_at(place.ctx, in, {.texture = texel, .frame_buffer = pixel}, runs);
      times[of_pixel][of_texel] = found.seconds;
      rows.row({place.name, fmt::format("{} bits", pixel_text), time_text(found.seconds),
                fmt::format("{:.1e}", found.largest_error), fmt::format("{:.1e}", found.mean_error), bound_text(found),
                fmt::format("points, textures of {}", texel_text)});
      if (!found.is_right()) {
        fmt::print("  WRONG: {} of {} bits a texel, {} a pixel: {} sums are past their bounds\n", in.name, texel_text,
                   pixel_text, found.beyond);
      }
      if (found.is_right() && !found.is_in_range()) continue;
      run.results.push_back({.figure = "ujaldon2005/3",
                             .input = fmt::format("{}, {} bits a texel, {} a pixel", in.name, texel_text, pixel_text),
                             .machine = run.machine_of(place.name),
                             .where = place.name,
                             .backend = place.ctx.backend(),
                             .who = "points",
                             .is_prepared = true,
                             .time = {found.seconds, found.seconds, found.seconds, 1},
                             .largest_error = found.largest_error,
                             .verified = found.is_right()});
    }
  }
  return times;
}

/// The means of 16 bits' times over those of 8, of textures and of frame buffers.
void print_gains(const precision_times& times, spread& of_pixels) {
  spread of_texels;
  spread pixels;
  for (std::size_t i = 0; i < std::size(all_bits); ++i) {
    of_texels.add(times[i][1] / times[i][0]);
    pixels.add(times[1][i] / times[0][i]);
  }
  fmt::print("  times of 16 bits over those of 8: textures {:.2f}, frame buffers {:.2f} (the paper: 1, none slower)\n",
             of_texels.mean(), pixels.mean());
  of_pixels.add(pixels);
}
#endif

/// @param of_pixels  takes the means of 16 bits' times over those of 8, of frame buffers
template <class Input>
void print_input(paper_run& run, const Input& in, [[maybe_unused]] spread& of_pixels) {
  fmt::print("\n  # {}\n", in.name);
  const table rows({"where          ", "values", "run", "error", "mean error", "bound                 ",
                    "call                    "});
  for (const machine_place& p : run.places) {
    print_fastest<float>(run, rows, p.place, in);
    print_fastest<double>(run, rows, p.place, in);
#if SHEAF_HAS_OPENGL
    if (p.place.ctx.backend() == backend_kind::opengl) print_gains(print_bits(run, rows, p.place, in), of_pixels);
#endif
  }
}

}  // namespace

void figure_3(paper_run& run) {
  print_caption("Figure 3. Precision", "neither kernel is slower with 16 bits for a color than with 8.");
  fmt::print(
      "  The paper, of errors: 8 bits a color ended the computation with unrealistic values; 16 and 32 bits may "
      "improve\n"
      "  accuracy without hurting efficiency. It gives none.\n"
      "  error: the largest one over the largest value, both beside long sums of the same inputs; mean: the root of "
      "the\n"
      "  mean square. bound: of the largest error, by the number format and the terms of each sum. Each sum is held to "
      "a\n"
      "  bound of its own. Out of range: sums of zeros would be within the bounds; the answer does not count as "
      "verified.\n");
  spread of_forces;
  spread of_products;
  for (const mesh_input& in : run.meshes()) print_input(run, in, of_forces);
  for (const matrix_input& in : run.matrices()) {
    if (in.of != nullptr || run.size() != run_size::small) print_input(run, in, of_products);
  }
  for (const auto& [what, times] : {std::pair{"forces", &of_forces}, std::pair{"products", &of_products}}) {
    if (times->count() == 0) continue;
    run.conclusions.push_back({fmt::format("{}: time of 16 bits a color over 8", what), "not slower",
                               fmt::format("{:.2f} ({:.2f} to {:.2f})", times->mean(), times->least(), times->most())});
  }
}

}  // namespace sheaf::bench::papers::ujaldon2005
