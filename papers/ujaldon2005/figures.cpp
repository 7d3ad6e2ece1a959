#include "papers/ujaldon2005/figures.hpp"

#include "core/backends.hpp"
#include "papers/data_folder.hpp"

namespace sheaf::bench::papers {
namespace ujaldon2005 {
namespace {

std::string data_folder(const papers::request& request) {
  return papers::data_folder(request.data, request.size != run_size::tiny);
}

std::string name_of(const context& ctx) {
  if (ctx.backend() != backend_kind::cpu) return std::string(name(ctx.backend()));
  return fmt::format("cpu, {} thread{}", ctx.threads(), ctx.threads() == 1 ? "" : "s");
}

machine_place place_of(const context& ctx, const papers::request& request) {
  const int loadings = request.size == run_size::tiny ? 0 : request.size == run_size::small ? 1 : 3;
  return {{name_of(ctx), ctx, loadings}, platform_of(ctx)};
}

/// A context on the first device of OpenGL, which nothing takes by itself.
std::optional<context> opengl_context() {
  if (!core::backend_of(backend_kind::opengl).has_device()) return std::nullopt;
  try {
    return context::opengl();
  } catch (const error& e) {
    if (e.code() != error_code::backend_unavailable) throw;
  }
  return std::nullopt;
}

std::vector<machine_place> places_of(std::span<const context> contexts, const papers::request& request) {
  std::vector<machine_place> places{place_of(context::cpu(1), request)};
  bool has_opengl = false;
  for (const context& ctx : contexts) {
    has_opengl = has_opengl || ctx.backend() == backend_kind::opengl;
    if (ctx.backend() != backend_kind::cpu || ctx.threads() > 1) places.push_back(place_of(ctx, request));
  }
  if (request.is_backend_named || has_opengl) return places;
  if (const auto ctx = opengl_context()) places.push_back(place_of(*ctx, request));
  return places;
}

}  // namespace

const std::vector<matrix_input>& paper_run::matrices() {
  if (kept_matrices.empty()) kept_matrices = matrices_in(data_folder(request), size());
  return kept_matrices;
}

const std::vector<mesh_input>& paper_run::meshes() {
  if (kept_meshes.empty()) kept_meshes = meshes_in(one_thread().ctx, data_folder(request), size());
  return kept_meshes;
}

timing_limits paper_run::limits() const {
  if (size() == run_size::tiny) return {.seconds = 0, .least_rounds = 1, .least_slow_rounds = 1};
  if (size() == run_size::small) return {.seconds = 0, .least_rounds = 3, .least_slow_rounds = 3};
  return {.seconds = 1, .least_rounds = 20, .least_slow_rounds = 5};
}

std::string paper_run::machine_of(const std::string& where) const {
  for (const machine_place& p : places) {
    if (p.place.name == where) return p.hardware.machine;
  }
  return places.front().hardware.machine;
}

bool paper_run::holds(std::uint64_t bytes) const {
  const auto is_on_host = [](const machine_place& p) {
    return core::backend_of(p.place.ctx.backend()).uses_host_memory;
  };
  const auto on_host = static_cast<std::uint64_t>(std::ranges::count_if(places, is_on_host));
  return std::ranges::all_of(
      places, [&](const machine_place& p) { return bytes <= p.hardware.memory_bytes / (is_on_host(p) ? on_host : 1); });
}

void paper_run::measure(int figure, const std::string& input, std::vector<timed_call>& calls) {
  time_and_check(calls, limits());
  for (const timed_call& call : calls) {
    results.push_back({.figure = fmt::format("ujaldon2005/{}", figure_text(figure)),
                       .input = input,
                       .machine = machine_of(call.where),
                       .where = call.where,
                       .backend = call.backend,
                       .who = call.who,
                       .is_prepared = call.is_prepared,
                       .loading_seconds = call.loading_seconds,
                       .time = call.time,
                       .verified = call.is_right});
  }
}

std::string gain_text(double gain) { return fmt::format("{:.3g}x", gain); }

namespace {

constexpr figure<paper_run> figures[] = {{table_number(1), table_1},
                                         {table_number(3), table_3},
                                         {table_number(4), table_4},
                                         {table_number(5), table_5},
                                         {table_number(6), table_6},
                                         {table_number(7), table_7},
                                         {3, figure_3}};

/// What the text claims of the figures that were asked for.
void print_conclusions(const paper_run& run) {
  if (run.conclusions.empty()) return;
  fmt::print("\nConclusions: what the paper's text claims in one number, and this run's\n");
  for (const conclusion& c : run.conclusions) fmt::print("  {:<46} {:<18} {}\n", c.claim, c.paper, c.here);
}

findings print(std::span<const context> contexts, sessions&, const papers::request& request) {
  paper_run run{.request = request, .places = places_of(contexts, request)};
  std::string title = "\nUjaldon, Saltz: Mapping Irregular Computation onto the Graphics Pipeline (2005)\n";
  findings found;
  for (const auto& [place, hardware] : run.places) {
    title += fmt::format("  {}: {}\n", place.name, hardware.machine);
    found.machines[place.ctx.backend()] = hardware;  // of the CPU the last: all threads where there are several
  }
  print_figures(run, title, figures);
  print_conclusions(run);
  found.input_rows = std::move(run.results);
  return found;
}

}  // namespace
}  // namespace ujaldon2005

paper ujaldon2005_paper() { return {"ujaldon2005", numbers_of(ujaldon2005::figures), true, ujaldon2005::print}; }

}  // namespace sheaf::bench::papers
