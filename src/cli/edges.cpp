#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sheaf/edge_sum.hpp>
#include <sheaf/machine_profile.hpp>

#include "cli/files/dual_set.hpp"
#include "cli/files/vector_file.hpp"
#include "cli/movement.hpp"
#include "core/backends.hpp"
#include "core/context_state.hpp"
#include "io/arrays/contents.hpp"
#include "io/mesh/su2.hpp"
#include "jobs/checks/edges.hpp"
#include "mesh/dual.hpp"
#include "mesh/edges.hpp"
#include "primitives/entries/words.hpp"

// The subcommand edges, which sums over the edges of a mesh or graph.
namespace sheaf::cli {
namespace {

constexpr const char* footer =
    "MESH is an SU2 mesh (.su2), gzip or not, whose edges are those of its elements, in ascending order of their\n"
    "nodes; or an array of E x 2 node numbers, one row for each edge: .npy or .npz (file.npz:NAME) of whole numbers.\n"
    "VALUES is an array of f4 or f8 with a row of 1 to 8 components for each node; without it, values are the\n"
    "positions of the mesh's nodes. Each edge (i, j) adds to the result at i and subtracts at j, by --function:\n"
    "  inverse_square       w (u_j - u_i) / |u_j - u_i|^3, the force between two nodes at these positions\n"
    "  weighted_difference  w (u_j - u_i), whose sum is minus the graph's Laplacian\n"
    "where w is 1, or of --weights. The edges are prepared and summed --runs times; the report has the time of a run\n"
    "with preparation and without, and after how many runs preparing pays. Loading is the copy to the device, if\n"
    "there is one, and the preparation. Only the preparation has to pay: runs without it need the copy, too.\n\n"
    "--dual PREFIX writes the mesh's median dual, which finite volumes take: PREFIX.volumes.npy has the volume of\n"
    "each node's cell, PREFIX.normals.npy the normal of each edge's dual face, from the edge's first node to its\n"
    "second, and PREFIX.edges.npy these nodes. The report has the volume of all cells, the closure error (how far the\n"
    "worst cell is from closed, as a share of its surface), and how many elements are flat, of no volume, or were\n"
    "reoriented, because their volume was negative.\n\n"
    "Example: the forces between the nodes of a mesh, and how long they take\n"
    "  sheaf edges wing.su2 -o forces.npy --verify\n"
    "The edges of a mesh, with volumes and normals, to wing.edges.npy, wing.volumes.npy and wing.normals.npy\n"
    "  sheaf edges wing.su2 --dual wing\n"
    "Differences of what nodes hold, along the edges of a graph\n"
    "  python3 -c \"import numpy as np; np.save('edges.npy', np.array([[0, 1], [1, 2]]))\"\n"
    "  python3 -c \"import numpy as np; np.save('values.npy', np.array([[1.0], [2], [4]]))\"\n"
    "  sheaf edges edges.npy values.npy --function weighted_difference -o flows.npy";

constexpr std::uint64_t default_runs = 100;

struct edges_command {
  common_options common;
  std::string mesh;
  std::string values;
  std::string weights;
  std::string output;
  std::string dual;  ///< prefix of the files of the median dual; empty: it is not asked for
  edge_function function = edge_function::inverse_square;
  bool narrow = false;
  std::uint64_t runs = default_runs;
};

[[noreturn]] void refuse(error_code code, const std::string& what) { throw error(code, what); }

/// A graph in host memory, read from a file of either kind.
struct graph {
  std::optional<io::unstructured_mesh> mesh;
  std::vector<mesh::edge> of_mesh;
  std::optional<mesh::dual_mesh> dual;  ///< which has the edges then
  std::optional<io::index_file> pairs;

  index_span ends() const {
    if (pairs) return pairs->indices();
    const std::vector<mesh::edge>& edges = dual ? dual->edges : of_mesh;
    return {edges.data(), 2 * edges.size(), index_type::u32};
  }
};

mesh::dual_mesh dual_of(const std::string& path, const context& cpu, const io::unstructured_mesh& from) {
  try {
    return mesh::median_dual(cpu, from);
  } catch (const error& e) {
    if (e.code() != error_code::bad_argument) throw;
    const std::string_view words = e.what();
    constexpr std::string_view any_mesh = "mesh: ";
    refuse(error_code::bad_input,
           fmt::format("{}: {}", path, words.starts_with(any_mesh) ? words.substr(any_mesh.size()) : words));
  }
}

graph read_graph(const edges_command& o, int threads) {
  graph g;
  if (io::names_array(o.mesh)) {
    g.pairs.emplace(o.mesh, std::nullopt, "the header of an .npy file");
    const auto shape = g.pairs->shape();
    if (shape.size() != 2 || shape[1] != 2) {
      refuse(error_code::bad_input, fmt::format("{}: edges have shape (E, 2), one row of two nodes for each", o.mesh));
    }
    if (o.values.empty()) {
      refuse(error_code::bad_argument, fmt::format("VALUES is needed: {} has no positions of nodes", o.mesh));
    }
    return g;
  }
  g.mesh = io::read_su2(o.mesh, {.threads = threads});
  const context cpu = context::cpu(threads);
  if (o.dual.empty()) {
    g.of_mesh = mesh::edges_of(cpu, *g.mesh);
  } else {
    g.dual = dual_of(o.mesh, cpu, *g.mesh);
  }
  return g;
}

/// Values of the nodes, and how many components each has.
template <class Value>
struct node_numbers {
  std::vector<Value> values;
  std::uint64_t nodes = 0;
  std::uint32_t components = 0;
};

/// Numbers as Value, float or double. @throws error(bad_input) for one that is finite and would become infinite;
/// `place` says where it is
template <class Value, class Place>
std::vector<Value> narrowed(std::vector<double> numbers, const Place& place) {
  if constexpr (std::is_same_v<Value, double>) {
    return numbers;
  } else {
    std::vector<Value> narrow(numbers.size());
    for (std::uint64_t i = 0; i < numbers.size(); ++i) {
      narrow[i] = static_cast<Value>(numbers[i]);
      if (std::isfinite(numbers[i]) && !std::isfinite(narrow[i])) {
        refuse(error_code::bad_input,
               fmt::format("{} is {:g}, which f32 does not hold; leave out --f32", place(i), numbers[i]));
      }
    }
    return narrow;
  }
}

template <class Value>
node_numbers<Value> read_nodes(const edges_command& o, const graph& g) {
  node_numbers<Value> n;
  if (o.values.empty()) {
    n.nodes = g.mesh->nodes();
    n.components = static_cast<std::uint32_t>(g.mesh->dimension);
    n.values = narrowed<Value>(g.mesh->coordinates, [&](std::uint64_t i) {
      return fmt::format("{}: node {}: coordinate {}", o.mesh, i / n.components, i % n.components);
    });
    return n;
  }
  const io::record_file file(o.values, 0, "the header of an .npy file");
  const std::span<const std::uint64_t> shape = file.shape();
  n.nodes = shape.empty() ? 1 : shape[0];
  const std::uint64_t components = shape.size() < 2 ? 1 : shape[1];
  if (shape.size() > 2 || components < 1 || components > most_edge_components) {
    refuse(error_code::bad_input, fmt::format("{}: values have shape (N) or (N, C), with 1 to {} components C",
                                              o.values, most_edge_components));
  }
  n.components = static_cast<std::uint32_t>(components);
  if (g.mesh && g.mesh->nodes() != n.nodes) {
    refuse(error_code::bad_input,
           fmt::format("{}: {} rows, but {} has {} nodes", o.values, n.nodes, o.mesh, g.mesh->nodes()));
  }
  n.values = narrowed<Value>(
      read_vector<double>(o.values, n.nodes * components, "numbers of nodes", o.mesh), [&](std::uint64_t i) {
        return fmt::format("{}: node {}: component {}", o.values, i / components, i % components);
      });
  return n;
}

template <class Value>
std::vector<Value> read_weights(const edges_command& o, std::uint64_t edges) {
  if (o.weights.empty()) return {};
  return narrowed<Value>(read_vector<double>(o.weights, edges, "edges", o.mesh),
                         [&](std::uint64_t i) { return fmt::format("{}: the weight of edge {}", o.weights, i); });
}

/// What the sums took.
struct timing {
  double seconds = std::numeric_limits<double>::infinity();     ///< the least of all prepared runs
  double mean_seconds = 0;                                      ///< of all prepared runs
  double unprepared = std::numeric_limits<double>::infinity();  ///< the least of the calls without preparation
  double copy_seconds = 0;                                      ///< of edges, values, weights and positions to a device
  edge_sum_preparation preparation;

  double runs_per_second() const { return 1 / std::max(seconds, 1e-9); }
  double loading_seconds() const { return copy_seconds + preparation.preparation_seconds; }
};

/// Arrays of a context, and the time that it took to bring them there: 0 where they stay where they are.
class timed_inputs {
 public:
  explicit timed_inputs(const context& ctx) : ctx_(ctx) {}
  context_input place(const void* host, std::uint64_t bytes) {
    const auto begin = std::chrono::steady_clock::now();
    context_input there(ctx_, host, bytes);
    ctx_.wait();
    if (!works_in_place(ctx_)) {
      seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    return there;
  }
  double seconds() const noexcept { return seconds_; }

 private:
  context ctx_;
  double seconds_ = 0;
};

/// Runs until preparing has paid, by what was measured; none where it never does.
std::optional<std::uint64_t> runs_to_pay(const timing& t) {
  if (t.preparation.variant == "kept" || t.seconds >= t.unprepared) return std::nullopt;
  return static_cast<std::uint64_t>(t.preparation.preparation_seconds / (t.unprepared - t.seconds)) + 1;
}

/// What the report says of the median dual.
struct dual_report {
  mesh::dual_check check;
  std::uint64_t flat_elements = 0;
  std::uint64_t reoriented_elements = 0;
  std::vector<std::string> outputs;
};

nlohmann::json json_of(const dual_report& d) {
  return {{"volume", d.check.volume},
          {"closure_error", d.check.closure_error},
          {"flat_elements", d.flat_elements},
          {"reoriented_elements", d.reoriented_elements},
          {"outputs", d.outputs}};
}

std::string elements_text(std::uint64_t count, const char* kind) {
  return fmt::format("{} {} element{}", count, kind, count == 1 ? "" : "s");
}

void print_dual(const dual_report& d) {
  fmt::print("dual: volume {:.9g}, closure error {:.2g}, {}, {}\n", d.check.volume, d.check.closure_error,
             elements_text(d.flat_elements, "flat"), elements_text(d.reoriented_elements, "reoriented"));
}

template <class Value>
void report(const edges_command& o, const context& ctx, std::uint64_t edges, const node_numbers<Value>& n,
            const timing& t, const std::optional<dual_report>& dual) {
  if (o.common.quiet) return;
  const edge_sum_preparation& p = t.preparation;
  const std::optional<std::uint64_t> pays = runs_to_pay(t);
  if (o.common.json) {
    nlohmann::json document{{"command", "edges"},
                            {"backend", name(ctx.backend())},
                            {"threads", ctx.threads()},
                            {"device", ctx.state().device_name},
                            {"machine", ctx.profile().name},
                            {"mesh", o.mesh},
                            {"nodes", n.nodes},
                            {"edges", edges},
                            {"components", n.components},
                            {"value_type", o.narrow ? "f32" : "f64"},
                            {"function", primitives::text_of(o.function, primitives::edge_functions)},
                            {"variant", p.run_variant},
                            {"runs", o.runs},
                            {"seconds", t.seconds},
                            {"mean_seconds", t.mean_seconds},
                            {"runs_per_second", t.runs_per_second()},
                            {"unprepared_variant", p.unprepared_variant},
                            {"unprepared_seconds", t.unprepared},
                            {"loading_seconds", t.loading_seconds()},
                            {"copy_seconds", t.copy_seconds},
                            {"preparation_seconds", p.preparation_seconds},
                            {"preparation",
                             {{"variant", p.variant},
                              {"run_variant", p.run_variant},
                              {"kept_bytes", p.kept_bytes},
                              {"trial_seconds", p.trial_seconds}}},
                            {"verified", o.common.verify},
                            {"output", o.output}};
    document["pays_after_runs"] = pays ? nlohmann::json(*pays) : nlohmann::json();
    if (dual) document["dual"] = json_of(*dual);
    return print_json(document);
  }
  fmt::print("{}: {} nodes, {} edges, {} components\n", o.mesh, n.nodes, edges, n.components);
  fmt::print("edges: {} in {}, {:.4g} runs a second; {} in the mean of {} runs{}\n", p.run_variant,
             seconds_text(t.seconds), t.runs_per_second(), seconds_text(t.mean_seconds), o.runs,
             o.common.verify ? "; verified" : "");
  std::string loading = seconds_text(t.loading_seconds());
  if (t.copy_seconds > 0) loading += fmt::format(", {} of it the copy to the device", seconds_text(t.copy_seconds));
  if (p.variant != "kept" && p.variant != p.run_variant) {
    loading += fmt::format(", and {} does not suit these edges", p.variant);
  }
  fmt::print("  loading: {}; without, {} in {}; {}\n", loading, p.unprepared_variant, seconds_text(t.unprepared),
             pays ? fmt::format("preparing pays after {} runs", *pays) : "preparing gains nothing here");
  if (dual) print_dual(*dual);
}

template <class Value>
void run_typed(const edges_command& o) {
  const context ctx = o.common.make_context();
  require_f32_where_needed(ctx, o.narrow);
  if (!o.output.empty()) require_not_an_input(o.output, {o.mesh, o.values, o.weights});
  std::optional<output_set> dual_files;
  if (!o.dual.empty()) {
    if (io::names_array(o.mesh)) {
      refuse(error_code::bad_argument, fmt::format("--dual needs a mesh, and {} has edges alone", o.mesh));
    }
    dual_files.emplace(open_dual(o.dual, {o.mesh, o.values, o.weights}, o.output));
  }
  const graph g = read_graph(o, o.common.host_threads());
  const node_numbers<Value> n = read_nodes<Value>(o, g);
  const index_span ends = g.ends();
  const std::uint64_t edges = ends.count / 2;
  const std::vector<Value> weights = read_weights<Value>(o, edges);

  const value_type type = value_type_of<Value>();
  timed_inputs inputs(ctx);
  const context_input ends_in = inputs.place(ends.data, ends.count * bytes(ends.type));
  const context_input values_in = inputs.place(n.values.data(), n.values.size() * sizeof(Value));
  const context_input weights_in = inputs.place(weights.data(), weights.size() * sizeof(Value));
  const edge_view view(index_span{ends_in.data(), ends.count, ends.type});
  const const_values from(values_in.data(), n.values.size(), type);
  const const_values weighted(weights_in.data(), weights.size(), type);
  const std::uint64_t row_bytes = n.components * sizeof(Value);
  std::optional<record_output> file;
  if (!o.output.empty()) {
    const std::uint64_t shape[] = {n.nodes, n.components};
    file.emplace(o.output, rows_header(sizeof(Value) == 8 ? "'<f8'" : "'<f4'", shape), n.nodes, row_bytes);
  }
  buffer device_result;
  std::vector<Value> result(n.values.size());
  const bool is_host = core::backend_of(ctx.backend()).uses_host_memory;
  if (!is_host) device_result = buffer(ctx, n.nodes * row_bytes);
  const values to(is_host ? static_cast<void*>(result.data()) : device_result.data(), result.size(), type);

  timing t;
  constexpr std::uint64_t most_calls = 10;  // without preparation: enough to find the least time
  const std::uint64_t calls = o.common.is_reference() ? o.runs : std::min(o.runs, most_calls);
  double mean_unprepared = 0;
  for (std::uint64_t call = 0; call < calls; ++call) {
    const edge_sum_options options{.variant = o.common.variant()};
    const double seconds =
        timed(ctx, o.mesh, [&] { edge_sum(ctx, view, from, weighted, to, n.components, o.function, options); });
    t.unprepared = std::min(t.unprepared, seconds);
    mean_unprepared += seconds / static_cast<double>(calls);
  }
  if (o.common.is_reference()) {  // its runs are its calls
    t.seconds = t.unprepared;
    t.mean_seconds = mean_unprepared;
    t.preparation.variant = "kept";
    t.preparation.run_variant = t.preparation.unprepared_variant = o.common.variant();
  } else {
    const std::span<const double> places = g.mesh ? std::span(g.mesh->coordinates) : std::span<const double>();
    const context_input places_in = inputs.place(places.data(), places.size_bytes());
    const prepared_edge_sum prepared =
        prepare_edge_sum(ctx, view, n.nodes, n.components, o.runs,
                         {.coordinates = {places_in.data(), places.size(), value_type::f64},
                          .value = type,
                          .function = o.function,
                          .edge_weights = weights.empty() ? 0U : 1U});
    t.preparation = prepared.report();
    for (std::uint64_t run = 0; run < o.runs; ++run) {
      const double seconds = timed(ctx, o.mesh, [&] { prepared.run(from, weighted, to, o.function); });
      t.seconds = std::min(t.seconds, seconds);
      t.mean_seconds += seconds / static_cast<double>(o.runs);
    }
  }
  t.copy_seconds = inputs.seconds();
  if (!is_host) copy_bytes(ctx, result.data(), to.data, n.nodes * row_bytes);
  if (o.common.verify) {
    const auto mistake = jobs::edge_sum_mistake(edge_view(ends), n.values, weights, result, n.components, o.function);
    if (mistake) throw verification_failed(*mistake);
  }
  if (file) std::copy_n(reinterpret_cast<const std::byte*>(result.data()), file->bytes(), file->rows().data);
  std::optional<dual_report> dual;
  if (dual_files) {
    write_dual(*dual_files, *g.mesh, *g.dual);
    dual = {mesh::check_dual(*g.mesh, *g.dual), g.dual->flat_elements, g.dual->reoriented_elements,
            dual_files->paths()};
    dual_files->commit(file ? &file->finish() : nullptr);
  } else if (file) {
    file->commit();
  }
  report(o, ctx, edges, n, t, dual);
}

}  // namespace

void add_edges(CLI::App& app) {
  const auto o = std::make_shared<edges_command>();
  CLI::App* subcommand = app.add_subcommand("edges", "Sum over the edges of a mesh or graph");
  subcommand->add_option("MESH", o->mesh, "An SU2 mesh, gzip or not, or an .npy or .npz array of edges")
      ->required()
      ->type_name("")
      ->check(file_name());
  subcommand->add_option("VALUES", o->values, "Of the nodes: .npy or .npz of f4 or f8; positions if there is none")
      ->type_name("")
      ->check(file_name());
  subcommand->add_option("-o,--output", o->output, "Where the result goes, whole or not at all")
      ->type_name("FILE")
      ->check(file_name());
  subcommand->add_option("--dual", o->dual, "Write the mesh's median dual to three files, whole or not at all")
      ->type_name("PREFIX")
      ->check(file_name());
  subcommand->add_option("--weights", o->weights, "Of the edges: .npy or .npz of f4 or f8; ones if there is none")
      ->type_name("FILE")
      ->check(file_name());
  subcommand
      ->add_option_function<std::string>(
          "--function",
          [o](const std::string& text) {
            o->function = primitives::value_of(text, primitives::edge_functions, "a function of edges");
          },
          "What an edge contributes: inverse_square (the default) or weighted_difference")
      ->type_name("FUNCTION");
  subcommand->add_flag("--f32", o->narrow, "Sum in f32, not f64; --backend opengl needs it");
  add_number(
      *subcommand, "--runs", 1, 1'000'000'000, [o](std::uint64_t n) { o->runs = n; },
      "Prepare the edges and sum that many times; 100 if it is not given");
  o->common.add_context_to(*subcommand);
  o->common.add_memory_to(*subcommand);
  o->common.add_verify_to(*subcommand, "Check the answer by long sums, against what rounding may make of them");
  o->common.add_json_to(*subcommand);
  o->common.add_quiet_to(*subcommand);
  subcommand->footer(footer);
  subcommand->callback([o] { o->narrow ? run_typed<float>(*o) : run_typed<double>(*o); });
}

}  // namespace sheaf::cli
