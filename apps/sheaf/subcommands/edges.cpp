#include <chrono>

#include "apps/sheaf/checks/edges.hpp"
#include "apps/sheaf/files/output_check.hpp"
#include "apps/sheaf/subcommands/edges_report.hpp"
#include "apps/sheaf/subcommands/files/edge_graph.hpp"
#include "apps/sheaf/subcommands/files/output_set.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "lab/description/edges/problem.hpp"

// The subcommand edges, which sums over the edges of a mesh or graph.
namespace sheaf::cli {
namespace {

constexpr const char* edges_footer =
    "MESH is an SU2 mesh (.su2), gzip or not, or an array of E x 2 node numbers. The edges of a mesh are those of\n"
    "its elements, in ascending order of their nodes. An array has one row for each edge: .npy or .npz\n"
    "(file.npz:NAME) of whole numbers. VALUES is an array of f4 or f8 with a row of 1 to 8 components for each node;\n"
    "without it, the values are the positions of the mesh's nodes. Each edge (i, j) adds to the result at i and\n"
    "subtracts from it at j, by --function:\n"
    "  inverse_square       w (u_j - u_i) / |u_j - u_i|^3, the force between two nodes at these positions\n"
    "  weighted_difference  w (u_j - u_i), whose sum is minus the graph's Laplacian\n"
    "where w is 1, or the edge's number in --weights. The edges are prepared, unless --variant names how they are\n"
    "summed, and summed --runs times. The report has\n"
    "the time of a run with preparation and without, and after how many runs preparing pays. Loading is the\n"
    "preparation and, if there is one, the copy to the device. Only the preparation has to pay: runs without it need\n"
    "the copy too.\n\n"
    "--dual PREFIX writes the mesh's median dual, which finite volumes need. PREFIX.volumes.npy has the volume of\n"
    "each node's cell. PREFIX.normals.npy has the normal of each edge's dual face, from the edge's first node to its\n"
    "second, and PREFIX.edges.npy has these nodes. The report has the volume of all cells and the closure error (how\n"
    "far the worst cell is from closed, as a share of its surface). It counts flat elements, which have no volume,\n"
    "and elements that were reoriented because their volume was negative. Elements of a marker are not part of the\n"
    "boundary if they lie inside the mesh, or if an earlier marker has them too: a warning counts them.\n\n"
    "A mesh of several zones (NZONE, IZONE) is read whole. Zones follow each other in the order of the file, and the\n"
    "nodes of a zone are numbered after those of the zones before it, so no edge joins two zones. Markers of one\n"
    "name are one marker. --zone K reads only the zone of IZONE K, whose nodes begin at 0. An element that appears\n"
    "twice is an error. Parts of a mesh that SU2 does not read, such as boxes for deformation (FFD), are ignored.\n"
    "Warnings go to standard error and into the report of --json; --quiet prints none.\n\n"
    "Example: the forces between the nodes of a mesh, and how long they take\n"
    "  sheaf edges wing.su2 -o forces.npy --verify\n"
    "The edges of a mesh, with volumes and normals, to wing.edges.npy, wing.volumes.npy and wing.normals.npy\n"
    "  sheaf edges wing.su2 --dual wing\n"
    "Differences of the values of nodes, along the edges of a graph\n"
    "  python3 -c \"import numpy as np; np.save('edges.npy', np.array([[0, 1], [1, 2]]))\"\n"
    "  python3 -c \"import numpy as np; np.save('values.npy', np.array([[1.0], [2], [4]]))\"\n"
    "  sheaf edges edges.npy values.npy --function weighted_difference -o flows.npy";

struct edges_command {
  common_options common;
  edge_files files;
  std::string output;
  std::string dual;  ///< prefix of the files of the median dual; empty: it is not asked for
  edge_function function = edge_function::inverse_square;
  bool narrow = false;

  std::uint64_t runs() const {
    constexpr std::uint64_t usual_runs = 100;
    return common.runs == 0 ? usual_runs : common.runs;
  }
};

/// Arrays of a context, and the time that it took to bring them there: 0 where they stay where they are.
class timed_inputs {
 public:
  explicit timed_inputs(const context& ctx) : ctx_(ctx) {}
  context_input place(const void* host, std::uint64_t bytes) {
    const auto begin = std::chrono::steady_clock::now();
    context_input there(ctx_, host, bytes);
    ctx_.wait();
    if (!jobs::works_in_place(ctx_)) {
      seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    return there;
  }
  double seconds() const noexcept { return seconds_; }

 private:
  context ctx_;
  double seconds_ = 0;
};

enum file_number : std::size_t { volumes_file, normals_file, edges_file };

template <class Number>
void write_array(output_set& files, file_number number, const std::string& header, const std::vector<Number>& numbers) {
  const std::uint64_t bytes = numbers.size() * sizeof(Number);
  files.reserve(number, header.size() + bytes);
  files.write(number, header, numbers.data(), bytes);
}

/// Opens PREFIX.volumes.npy, PREFIX.normals.npy and PREFIX.edges.npy, before there is anything to write.
/// @param output  another output of the call, or empty
/// @throws error(bad_argument) if one of them is an input or that output
output_set open_dual(const std::string& prefix, std::vector<std::string> inputs, const std::string& output) {
  output_set files(prefix, std::move(inputs), "--dual");
  for (const char* const ending : {"volumes.npy", "normals.npy", "edges.npy"}) files.open(ending, 0);
  for (const std::string& path : files.paths()) {
    if (!output.empty() && io::name_one_file(path, output)) {
      primitives::refuse("-o {} and {} of --dual are one file", output, path);
    }
  }
  return files;
}

/// Writes the volumes of the nodes' cells, the normals of the edges' dual faces, from an edge's first node to its
/// second, and the two nodes of each edge: arrays of shapes (N), (E, D) and (E, 2). @throws error(io_failure)
void write_dual(output_set& files, const io::unstructured_mesh& mesh, const mesh::dual_mesh& dual) {
  const std::uint64_t edges = dual.edges.size();
  const std::uint64_t shape_of_normals[] = {edges, static_cast<std::uint64_t>(mesh.dimension)};
  const std::uint64_t shape_of_edges[] = {edges, 2};
  write_array(files, volumes_file, numbers_header("'<f8'", dual.volumes.size()), dual.volumes);
  write_array(files, normals_file, rows_header("'<f8'", shape_of_normals), dual.edge_normals);
  write_array(files, edges_file, rows_header("'<u4'", shape_of_edges), dual.edges);
}

/// The shapes that plans of edge sums go by.
struct edge_shape {
  std::uint64_t edges = 0;
  index_type ends = index_type::u32;
  node_shape nodes;
  std::uint64_t dimensions = 0;  ///< of the nodes' positions; 0 where there are none
  value_type value = value_type::f64;
  bool has_weights = false;

  edge_view view() const { return edge_view(index_span{nullptr, 2 * edges, ends}); }
  const_values values() const { return {nullptr, nodes.nodes * nodes.components, value}; }
  prepare_edge_sum_options preparation(const edges_command& command) const {
    return {.coordinates = {nullptr, nodes.nodes * dimensions, value_type::f64},
            .value = value,
            .function = command.function,
            .edge_weights = has_weights ? 1U : 0U};
  }
};

edge_shape shape_of(const edges_command& command, const edge_graph& graph, const node_shape& nodes) {
  const index_span ends = graph.ends();
  const bool has_weights = !command.files.weights.empty() && ends.count > 0;
  return {ends.count / 2,
          ends.type,
          nodes,
          graph.mesh ? static_cast<std::uint64_t>(graph.mesh->dimension) : 0,
          command.narrow ? value_type::f32 : value_type::f64,
          has_weights};
}

/// The plans of a call without preparation, and of the preparation, which there is none of for a variant that is named.
struct edge_plans {
  planned_call call;
  std::optional<planned_call> preparation;

  const planned_call& of_runs() const { return preparation ? *preparation : call; }
  /// The variant that runs, unless the edges do not suit it or its runs are slower than calls without preparation.
  std::string run_variant() const {
    const std::string chosen = chosen_variant(of_runs().plan);
    return chosen == "kept" ? chosen_variant(call.plan) : chosen;
  }
};

edge_plans plans_of(const edges_command& command, const context& ctx, const edge_shape& shape) {
  primitives::problem_spec problem{.primitive = "edge_sum",
                                   .record_bytes = shape.nodes.components * bytes(shape.value),
                                   .index = shape.ends,
                                   .count = shape.edges,
                                   .value = shape.value,
                                   .table = shape.nodes.nodes};
  problem.part<primitives::edge_part>() = {
      .function = command.function, .has_weights = shape.has_weights, .is_packed = true};
  call_words words = call_words_of(problem);
  const const_values weights(nullptr, shape.has_weights ? shape.edges : 0, shape.value);
  edge_plans plans{
      {words, explain_edge_sum(ctx, shape.view(), shape.values(), weights, {nullptr, shape.values().count, shape.value},
                               shape.nodes.components, command.function, {.variant = command.common.variant()})},
      {}};
  if (command.common.forces_variant()) return plans;
  words.primitive = "prepare_edge_sum";
  words.text += fmt::format(", {} runs", command.runs());
  words.facts.push_back({"runs", command.runs()});
  plans.preparation = planned_call{
      std::move(words), explain_prepare_edge_sum(ctx, shape.view(), shape.nodes.nodes, shape.nodes.components,
                                                 command.runs(), shape.preparation(command))};
  return plans;
}

// Values, weights, the result, and copies of these and the edges on a device.
io::held_memory hold_buffers(const edges_command& command, const context& ctx, const edge_shape& shape) {
  const std::uint64_t value_bytes = bytes_of(shape.values().count, bytes(shape.value));
  const std::uint64_t weight_bytes = shape.has_weights ? bytes_of(shape.edges, bytes(shape.value)) : 0;
  const std::uint64_t copied_bytes = 2 * value_bytes + weight_bytes + bytes_of(2 * shape.edges, bytes(shape.ends)) +
                                     bytes_of(shape.nodes.nodes * shape.dimensions, sizeof(double));
  io::held_memory held({{"the values", value_bytes},
                        {"the weights", weight_bytes},
                        {"the result", value_bytes},
                        {"the result's file", command.output.empty() ? 0 : value_bytes},
                        {"copies on the device", bytes_on_device(ctx, copied_bytes)}});
  command.common.limit_scratch(ctx);
  constexpr std::uint64_t bytes_of_an_exact_sum = 64;
  command.common.require_memory_to_verify(bytes_of(shape.values().count, bytes_of_an_exact_sum));
  return held;
}

void print_edges_plan(const edges_command& command, const context& ctx, const edge_graph& graph) {
  const edge_files& files = command.files;
  const edge_shape shape = shape_of(command, graph, shape_of_nodes(files, graph));
  look_at_weights(files, shape.edges);
  const io::held_memory held = hold_buffers(command, ctx, shape);
  edge_plans plans = plans_of(command, ctx, shape);
  std::vector<std::string> read = read_when_opened({files.mesh, files.values, files.weights});
  if (graph.mesh && read_when_opened({files.mesh}).empty()) read.insert(read.begin(), files.mesh);
  const std::string variant = plans.run_variant();
  planned_work work = work_of("edges", plans.of_runs(), std::move(read));
  work.variant = variant;
  work.predicted_seconds = predicted_run_seconds(work.calls.front().plan);
  if (plans.preparation) {
    work.calls.push_back(std::move(plans.call));
    work.remarks.emplace_back(
        "a preparation that turns out not to suit the edges, or whose runs are slower than edge_sum, is not used");
  }
  print_plan(command.common, ctx, work);
}

/// What is summed, in the context's memory.
struct edge_sums {
  const edges_command& command;
  const context& ctx;
  const edge_view& edges;
  const_values from;
  const_values weights;
  values to;
  std::uint64_t nodes;
  std::uint32_t components;

  /// Calls without preparation. Those of a variant that the caller names are its runs.
  void call(edges_timing& timing) const {
    constexpr std::uint64_t most_calls = 10;  // enough to find the least time
    const bool is_forced = command.common.forces_variant();
    const edge_sum_options options{.variant = command.common.variant()};
    const run_times times = timed_runs(
        ctx, command.files.mesh, is_forced ? command.runs() : std::min(command.runs(), most_calls),
        [&] { edge_sum(ctx, edges, from, weights, to, components, command.function, options); }, timing.plan);
    timing.unprepared = times.least;
    if (!is_forced) return;
    timing.seconds = times.least;
    timing.mean_seconds = times.mean;
    timing.median_seconds = times.median;
    timing.preparation.variant = "kept";
    timing.preparation.run_variant = timing.preparation.unprepared_variant = command.common.variant();
  }
  /// @param places  of the nodes, as f64, or none
  void run_prepared(const_values places, edges_timing& timing) const {
    std::optional<io::progress_step> preparing("preparing the edges");
    const prepared_edge_sum prepared = prepare_edge_sum(ctx, edges, nodes, components, command.runs(),
                                                        {.coordinates = places,
                                                         .value = to.type,
                                                         .function = command.function,
                                                         .edge_weights = weights.count == 0 ? 0U : 1U});
    preparing.reset();
    timing.preparation = prepared.report();
    const io::held_memory kept("what the preparation keeps", timing.preparation.kept_bytes);
    command.common.limit_scratch(ctx);
    const run_times times = timed_runs(
        ctx, command.files.mesh, command.runs(), [&] { prepared.run(from, weights, to, command.function); },
        timing.plan);
    timing.seconds = times.least;
    timing.mean_seconds = times.mean;
    timing.median_seconds = times.median;
  }
};

/// Writes the files of the dual, if it is asked for, and commits all files together.
std::optional<dual_report> write_files(const edge_graph& graph, std::optional<output_set>& dual_files,
                                       std::optional<record_output>& result) {
  if (!dual_files) {
    if (result) result->commit();
    return std::nullopt;
  }
  write_dual(*dual_files, *graph.mesh, *graph.dual);
  const dual_report report{mesh::check_dual(*graph.mesh, *graph.dual), graph.dual->flat_elements,
                           graph.dual->reoriented_elements, dual_files->paths()};
  dual_files->commit(result ? &result->finish() : nullptr);
  return report;
}

template <class Value>
void run_typed(const edges_command& command) {
  const context ctx = command.common.make_context();
  require_f32_where_needed(ctx, command.narrow);
  const edge_files& files = command.files;
  io::require_streams_apart(std::vector{files.mesh, files.values, files.weights});
  if (!command.output.empty()) require_output(command.output, {files.mesh, files.values, files.weights});
  require_mesh_where_needed(files);
  std::optional<output_set> dual_files;
  if (!command.dual.empty() && !command.common.plans_only)
    dual_files.emplace(open_dual(command.dual, {files.mesh, files.values, files.weights}, command.output));
  const edge_graph graph = read_edge_graph(files, command.common.host_threads(), command.common.wanted());
  print_edge_warnings(command.common, graph.warnings);
  if (command.common.plans_only) return print_edges_plan(command, ctx, graph);
  const io::held_memory held = hold_buffers(command, ctx, shape_of(command, graph, shape_of_nodes(files, graph)));
  const node_numbers<Value> numbers = read_node_numbers<Value>(files, graph);
  const index_span ends = graph.ends();
  const std::uint64_t edges = ends.count / 2;
  const std::vector<Value> weights = read_edge_weights<Value>(files, edges);

  constexpr value_type type = value_type_of<Value>();
  timed_inputs inputs(ctx);
  const context_input ends_in = inputs.place(ends.data, ends.count * bytes(ends.type));
  const context_input values_in = inputs.place(numbers.values.data(), numbers.values.size() * sizeof(Value));
  const context_input weights_in = inputs.place(weights.data(), weights.size() * sizeof(Value));
  const edge_view view(index_span{ends_in.data(), ends.count, ends.type});
  std::optional<record_output> file;
  const std::uint64_t shape[] = {numbers.nodes, numbers.components};
  if (!command.output.empty()) {
    file.emplace(command.output, rows_header(float_descr(sizeof(Value)), shape), numbers.nodes,
                 numbers.components * sizeof(Value));
  }
  std::vector<Value> result(numbers.values.size());
  const context_array result_there(ctx, result.data(), result.size() * sizeof(Value));

  edges_timing timing;
  edge_plans plans = plans_of(command, ctx, shape_of(command, graph, numbers));
  timing.predicted_seconds = predicted_run_seconds(plans.of_runs().plan);
  timing.predicted_unprepared_seconds = predicted_seconds(plans.call.plan);
  timing.plan = std::move(plans.call.plan);
  command.common.require_scratch(timing.plan);
  const edge_sums sums{command,
                       ctx,
                       view,
                       {values_in.data(), numbers.values.size(), type},
                       {weights_in.data(), weights.size(), type},
                       {result_there.data(), result.size(), type},
                       numbers.nodes,
                       numbers.components};
  sums.call(timing);
  if (!command.common.forces_variant()) {
    const std::span<const double> places = graph.mesh ? std::span(graph.mesh->coordinates) : std::span<const double>();
    const context_input places_in = inputs.place(places.data(), places.size_bytes());
    sums.run_prepared({places_in.data(), places.size(), value_type::f64}, timing);
  }
  timing.copy_seconds = inputs.seconds();
  result_there.fetch();
  if (command.common.verify) {
    require_right(
        jobs::edge_sum_mistake(edge_view(ends), numbers.values, weights, result, numbers.components, command.function));
  }
  if (file) std::copy_n(reinterpret_cast<const std::byte*>(result.data()), file->bytes(), file->rows().data);
  const std::optional<dual_report> dual = write_files(graph, dual_files, file);
  print_edges(command.common, ctx,
              {files.mesh, command.output, numbers.nodes, edges, numbers.components, command.runs(), command.narrow,
               command.function, timing, dual, graph.warnings});
}

}  // namespace

void add_edges(CLI::App& app) {
  const auto command = std::make_shared<edges_command>();
  CLI::App* subcommand = app.add_subcommand("edges", "Sum over the edges of a mesh or graph");
  add_input(*subcommand, "MESH", command->files.mesh, "An SU2 mesh, gzip or not, or an .npy or .npz array of edges")
      ->required();
  add_input(*subcommand, "VALUES", command->files.values,
            "Values of nodes: .npy or .npz of f4 or f8; positions unless given");
  add_output(*subcommand, command->output);
  subcommand->add_option("--dual", command->dual, "Write the mesh's median dual to three files, whole or not at all")
      ->type_name("PREFIX");
  add_number(*subcommand, "--zone", 1, 1'000'000'000, command->files.zone,
             "Read only the zone of the mesh that has this IZONE; all unless given");
  subcommand
      ->add_option("--weights", command->files.weights, "Weights of edges: .npy or .npz of f4 or f8; ones unless given")
      ->type_name("FILE");
  subcommand
      ->add_option_function<std::string>(
          "--function",
          [command](const std::string& text) {
            command->function = primitives::value_of(text, primitives::edge_functions, "a function of edges");
          },
          "What an edge contributes")
      ->type_name("weighted_difference|inverse_square")
      ->default_str("inverse_square");
  add_value_type(*subcommand, command->narrow, "Type of the values and sums; --backend opengl needs f32");
  command->common.add_variant_to(*subcommand, "edge_sum");
  command->common.add_runs_to(*subcommand, "Prepare the edges and sum this many times; 100 unless given");
  command->common.add_to(*subcommand, "Check the answer by long sums, within what rounding allows");
  common_options::add_temporary_to(*subcommand);
  command->common.add_plan_to(*subcommand);
  subcommand->footer(edges_footer);
  subcommand->callback([command] {
    command->files.has_dual = !command->dual.empty();
    command->narrow ? run_typed<float>(*command) : run_typed<double>(*command);
  });
}

}  // namespace sheaf::cli
