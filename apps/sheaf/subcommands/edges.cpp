#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sheaf/edge_sum.hpp>
#include <sheaf/machine_profile.hpp>

#include "apps/sheaf/checks/edges.hpp"
#include "apps/sheaf/subcommands/edges_report.hpp"
#include "apps/sheaf/subcommands/files/dual_set.hpp"
#include "apps/sheaf/subcommands/files/edge_graph.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "core/backends.hpp"
#include "primitives/words.hpp"

// The subcommand edges, which sums over the edges of a mesh or graph.
namespace sheaf::cli {
namespace {

constexpr const char* edges_footer =
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
    "reoriented, because their volume was negative. Elements of markers that lie inside the mesh, and those that a\n"
    "marker before has, too, are no boundary: a warning counts them.\n\n"
    "A mesh of several zones (NZONE, IZONE) is read whole: zones follow each other in the order of the file, and the\n"
    "nodes of a zone are numbered behind those of the zones before it, so that no edge joins two zones; markers of "
    "one\n"
    "name are one. --zone K reads the zone of IZONE K alone, whose nodes begin at 0. An element that is there twice is "
    "an\n"
    "error. What SU2 does not read of a mesh, as boxes for deformation (FFD), is ignored. Warnings go to standard "
    "error\n"
    "and into the report of --json; --quiet prints none.\n\n"
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
  edge_files files;
  std::string output;
  std::string dual;  ///< prefix of the files of the median dual; empty: it is not asked for
  edge_function function = edge_function::inverse_square;
  bool narrow = false;
  std::uint64_t runs = default_runs;
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

template <class Value>
void run_typed(const edges_command& o) {
  const context ctx = o.common.make_context();
  require_f32_where_needed(ctx, o.narrow);
  const edge_files& files = o.files;
  if (!o.output.empty()) require_output(o.output, {files.mesh, files.values, files.weights});
  require_mesh_where_needed(files);
  std::optional<output_set> dual_files;
  if (!o.dual.empty()) dual_files.emplace(open_dual(o.dual, {files.mesh, files.values, files.weights}, o.output));
  const edge_graph g = read_edge_graph(files, o.common.host_threads());
  print_edge_warnings(o.common, g.warnings);
  const node_numbers<Value> n = read_node_numbers<Value>(files, g);
  const index_span ends = g.ends();
  const std::uint64_t edges = ends.count / 2;
  const std::vector<Value> weights = read_edge_weights<Value>(files, edges);

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

  edges_timing t;
  constexpr std::uint64_t most_calls = 10;  // without preparation: enough to find the least time
  const std::uint64_t calls = o.common.is_reference() ? o.runs : std::min(o.runs, most_calls);
  double mean_unprepared = 0;
  for (std::uint64_t call = 0; call < calls; ++call) {
    const edge_sum_options options{.variant = o.common.variant()};
    const double seconds =
        timed(ctx, files.mesh, [&] { edge_sum(ctx, view, from, weighted, to, n.components, o.function, options); });
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
      const double seconds = timed(ctx, files.mesh, [&] { prepared.run(from, weighted, to, o.function); });
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
  print_edges(o.common, ctx,
              {files.mesh, o.output, n.nodes, edges, n.components, o.runs, o.narrow, o.function, t, dual, g.warnings});
}

}  // namespace

void add_edges(CLI::App& app) {
  const auto o = std::make_shared<edges_command>();
  CLI::App* subcommand = app.add_subcommand("edges", "Sum over the edges of a mesh or graph");
  subcommand->add_option("MESH", o->files.mesh, "An SU2 mesh, gzip or not, or an .npy or .npz array of edges")
      ->required()
      ->type_name("");
  subcommand
      ->add_option("VALUES", o->files.values, "Of the nodes: .npy or .npz of f4 or f8; positions if there is none")
      ->type_name("");
  subcommand->add_option("-o,--output", o->output, "Where the result goes, whole or not at all")->type_name("FILE");
  subcommand->add_option("--dual", o->dual, "Write the mesh's median dual to three files, whole or not at all")
      ->type_name("PREFIX");
  add_number(
      *subcommand, "--zone", 1, 1'000'000'000, [o](std::uint64_t zone) { o->files.zone = zone; },
      "Read only that zone of the mesh, whose IZONE this is; all if it is not given");
  subcommand->add_option("--weights", o->files.weights, "Of the edges: .npy or .npz of f4 or f8; ones if there is none")
      ->type_name("FILE");
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
  subcommand->footer(edges_footer);
  subcommand->callback([o] {
    o->files.has_dual = !o->dual.empty();
    o->narrow ? run_typed<float>(*o) : run_typed<double>(*o);
  });
}

}  // namespace sheaf::cli
