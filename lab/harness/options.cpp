#include "lab/harness/options.hpp"

#include <deque>

#include <CLI/CLI.hpp>

#include "apps/sheaf/empty_values.hpp"
#include "core/backends.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf::bench {
namespace {

constexpr int exit_usage = 2;
// Copies of the arrays are no more than calls, so that small rows are not filled for longer than they run.
constexpr timing_limits brief_limits{
    .seconds = 0, .least_rounds = 11, .least_slow_rounds = 3, .most_calls = 64, .long_seconds = 1};

// An option of the sweep's families, and the texts that it was given.
struct given_list {
  primitives::list_option option;
  std::vector<std::string> texts;
};

struct raw_options {
  std::string set = "quick";
  std::string filter;
  std::string backend = "all";
  std::string log2_sizes;
  std::string shard;
  std::optional<double> seconds;
  std::optional<std::uint64_t> rounds;
  std::vector<std::string> sizes;
  std::vector<std::string> primitives;
  std::vector<std::string> rows;
  std::deque<given_list> lists;  ///< a deque, because options keep references to texts
  std::vector<std::string> figures;
  std::vector<std::string> compared_files;
  double threshold = compare_request{}.threshold;
  bool relative = false;
};

// CLI::Range takes NaN, which is neither below nor above its bounds.
CLI::Validator number_in(double least, double most) {
  return {[least, most](std::string& text) -> std::string {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return {};
            return fmt::format("Value '{}' is not a number from {:g} to {:g}", text, least, most);
          },
          fmt::format("FLOAT in [{:g} - {:g}]", least, most)};
}

void interpret(const raw_options& raw, options& parsed) {
  parsed.sweep = primitives::sweep_named(raw.set);
  if (!raw.primitives.empty()) {
    parsed.sweep.entries.clear();
    for (const std::string& name : raw.primitives) parsed.sweep.entries.push_back(&primitives::entry_named(name));
  }
  for (const std::string& row : raw.rows) parsed.named_rows.push_back(primitives::parse_problem(row));
  for (const given_list& list : raw.lists) {
    if (list.texts.empty()) continue;
    if (!primitives::may_take(parsed.sweep, list.option)) {
      primitives::refuse("{}: no primitive of the set has it", list.option.name);
    }
    list.option.read(parsed.sweep, list.texts);
  }
  if (!raw.log2_sizes.empty()) parsed.sweep.counts = primitives::parse_log2_sizes(raw.log2_sizes);
  if (!raw.sizes.empty()) parsed.sweep.counts = primitives::numbers_in("--sizes", raw.sizes, 1);
  if (!raw.sizes.empty() || !raw.log2_sizes.empty()) parsed.sweep.table_bytes = 0;
  if (!raw.filter.empty()) parsed.filter = std::regex(raw.filter);
  if (!raw.shard.empty()) parsed.shard = parse_shard(raw.shard);
  if (parsed.sweep.is_brief) parsed.limits = brief_limits;
  if (raw.seconds) {
    parsed.limits.seconds = *raw.seconds;
    parsed.limits.most_calls = timing_limits{}.most_calls;  // a set with fewer would end the row before that
  }
  if (raw.rounds) parsed.limits.least_rounds = *raw.rounds;
  if (!parsed.record_path.empty() && (raw.backend == "all" || !parsed.rows.variants)) {
    primitives::refuse("--record needs exactly one --backend, and --variants");
  }
  if (!raw.compared_files.empty()) {
    parsed.compare = compare_request{raw.compared_files[0], raw.compared_files[1], raw.threshold, raw.relative};
  }
  if (parsed.spmv.wide_sums && !parsed.spmv.narrow) primitives::refuse("--f64-sums needs --value-type f32");
  for (const std::string& figure : raw.figures) {
    parsed.papers.figures.push_back(papers::number_of_figure(figure));
  }
  parsed.backends_named = raw.backend != "all";
  parsed.papers.is_backend_named = parsed.backends_named;
  for (const core::backend& b : core::backends()) {
    if (parsed.backends_named ? b.name == raw.backend : b.is_taken_by_itself) parsed.backends.push_back(b.kind);
  }
}

void add_lists(CLI::App& app, raw_options& raw) {
  for (const primitives::list_option& option : primitives::list_options()) {
    given_list& given = raw.lists.emplace_back(given_list{option, {}});
    app.add_option(std::string(option.name), given.texts, std::string(option.help))->delimiter(',');
  }
}

std::string names_of_entries() {
  std::string names;
  for (const primitives::entry* const e : primitives::entries()) names += fmt::format("{}, ", e->name);
  names.resize(names.size() - 2);
  return names;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const core::backend& b : core::backends()) names.emplace_back(b.name);
  names.emplace_back("all");
  return names;
}

void add_place(CLI::App& app, raw_options& raw, options& parsed) {
  app.add_option("--backend", raw.backend)->check(CLI::IsMember(backend_names()))->capture_default_str();
  app.add_option("--threads", parsed.threads,
                 "CPU threads; 0: those of SHEAF_THREADS or OMP_NUM_THREADS, else one for each processor")
      ->check(CLI::Range(0, 4096));
}

void add_seconds(CLI::App& app, double& seconds, std::string_view of) {
  app.add_option("--seconds", seconds, fmt::format("begin no further {} after this time", of))
      ->check(number_in(0.0, 1e6))
      ->capture_default_str();
}

void add_value_type(CLI::App& app, bool& is_f32) {
  app.add_option_function<std::string>(
         "--value-type", [&is_f32](const std::string& text) { is_f32 = text == "f32"; },
         "of matrices, vectors and nodes")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->default_str("f64");
}

void add_compare(CLI::App& app, raw_options& raw) {
  CLI::Option* const compare =
      app.add_option("--compare", raw.compared_files,
                     "compare two files of --json, OLD and NEW, row by row; runs nothing and needs no device. A row is "
                     "slower beyond noise where old / new is under the threshold and even the fastest new run takes "
                     "longer than the old median. Peers are compared too, but do not count for the exit code")
          ->type_name("OLD NEW")
          ->expected(2);
  app.add_option("--threshold", raw.threshold, "of --compare: old / new below which a row may count as slower")
      ->check(number_in(0.01, 1.0))
      ->needs(compare)
      ->capture_default_str();
  app.add_flag("--relative", raw.relative,
               "of --compare: compare times as multiples of the peer's, for files of machines that differ in speed; "
               "the peer's median counts, its spread does not")
      ->needs(compare);
}

// What reads results or names runs nothing, so that the options of a sweep mean nothing to it.
void require_alone(const CLI::App& app) {
  struct lone_option {
    std::string name;
    std::vector<std::string> goes_with;
    std::string goes_with_text;
  };
  for (const auto& [lone, goes_with, text] :
       {lone_option{"--factors", {}, "no option"}, lone_option{"--describe", {}, "no option"},
        lone_option{"--compare", {"--threshold", "--relative"}, "--threshold and --relative"}}) {
    if (app.count(lone) == 0) continue;
    for (const CLI::Option* const option : app.get_options()) {
      const std::string name = option->get_name();
      const bool may_be_given = name == lone || std::ranges::find(goes_with, name) != goes_with.end();
      if (option->count() == 0 || may_be_given) continue;
      primitives::refuse("{} goes with {}, not {}", lone, text, name);
    }
  }
}

// Where a subcommand runs, and that it is asked for. The sweep's options say nothing to it, so they exclude each other.
void finish_subcommand(CLI::App& app, CLI::App& subcommand, raw_options& raw, options& parsed, bool& is_requested) {
  add_place(subcommand, raw, parsed);
  subcommand.callback([&is_requested] { is_requested = true; });
  for (CLI::Option* const option : app.get_options()) {
    if (option != app.get_help_ptr()) subcommand.excludes(option);
  }
}

void add_size(CLI::App& papers, papers::request& request) {
  std::vector<std::string> names;
  for (const auto& [text, size] : papers::run_sizes) names.emplace_back(text);
  papers
      .add_option_function<std::string>(
          "--size",
          [&request](const std::string& text) {
            request.size = primitives::value_of(text, papers::run_sizes, "a size of inputs");
          },
          "of inputs. tiny: 4 K records, each call once, to see that everything runs; the times mean nothing. small: "
          "up to 2^20 records, medians of three rounds; a paper takes at most two minutes on two cores. medium: the "
          "papers' sizes up to 2^24 records. paper: the papers' sizes. device: on from the papers' sizes, twice as "
          "large each time, as far as memory goes. Unless given, paper on CUDA and medium elsewhere")
      ->check(CLI::IsMember(names));
}

void add_papers(CLI::App& app, raw_options& raw, options& parsed) {
  CLI::App* const papers = app.add_subcommand(
      "papers",
      "Prints the figures of Ujaldon and Saltz 2005, of He et al. 2007, of Patidar and Narayanan 2009 and of Wei and "
      "JaJa 2010 as measured here, beside what the paper found and, for the second, what its model and our plans "
      "predict.\n\n"
      "Example: sheaf-bench papers --paper he2007 --backend cpu --figures 1,6,7");
  papers->add_option("--paper", parsed.papers.papers, "ujaldon2005, he2007, patidar2009, wei2010; all unless given")
      ->delimiter(',')
      ->check(CLI::IsMember({"ujaldon2005", "he2007", "patidar2009", "wei2010"}));
  papers
      ->add_option("--figures", raw.figures,
                   "numbers in the papers: 3, table1, table3 to table7 of 2005, 1, 6 to 13, 15, 16, 18 to 20 of 2007, "
                   "2, 4 to 6, 8 "
                   "to 15, table1 and table2 of 2009, 4 to 7, 11, 12, table2 to table4 of 2010; all unless given")
      ->delimiter(',');
  add_size(*papers, parsed.papers);
  papers
      ->add_option("--data", parsed.papers.data,
                   "of 2005: folder with the matrices/bcsstk15.mtx.gz, 29, 30 and the meshes/aneurysm-2k.su2.gz, "
                   "cylinder-11k, aneurysm-53k; of 2007: with matrices/pkustk08.mtx.gz, pkustk14, Stanford_Berkeley, "
                   "nd24k, and any others; $SHEAF_DATA_DIR unless given. Those that are missing are made by rule")
      ->type_name("FOLDER");
  papers->add_flag("--large", parsed.papers.large,
                   "of 2005: tables 3 to 6 also of a matrix of 10^7 nonzeros and a mesh of 10^7 edges; of 10^6 at the "
                   "size small. The size device has such, and larger ones, in any case");
  papers->add_flag("--paper-sizes", parsed.papers.paper_sizes,
                   "of 2007: leave out the sizes that are scaled to the cache");
  papers->add_flag("--no-peer", parsed.papers.no_peer,
                   "of 2007: leave out the peers, which users call today; most of the time of hash searches on a CPU");
  finish_subcommand(app, *papers, raw, parsed, parsed.papers.is_requested);
  CLI::Option* const json = papers->add_option("--json", parsed.json_path, "write the rows to this file");
  papers
      ->add_flag("--list", parsed.papers.list,
                 "print the numbers of each paper's figures and tables as --figures takes them, and stop; needs no "
                 "device")
      ->excludes(json);
}

void add_spatter(CLI::App& app, raw_options& raw, options& parsed) {
  CLI::App* const spatter = app.add_subcommand(
      "spatter",
      "Runs the gather and scatter patterns of a file of Spatter's (github.com/hpcgarage/spatter), such as\n\n"
      "  [{\"kernel\": \"Gather\", \"pattern\": \"UNIFORM:8:4:NR\", \"count\": 1000000},\n"
      "   {\"kernel\": \"Scatter\", \"pattern\": [0, 24, 48, 1], \"delta\": 8, \"count\": 1000000}]\n\n"
      "Bandwidth is that of the best run and counts 8 bytes for every entry of the pattern in every step, and 16 for "
      "GS. Every step has a dense row of its own for as long as a call of the library lasts (64 million entries); row "
      "r "
      "of a call stands for Spatter's row r modulo wrap.\n\n"
      "Example: sheaf-bench spatter patterns.json --backend cpu --verify");
  spatter->add_option("FILE", parsed.spatter.file, "pattern file, JSON")->required();
  spatter
      ->add_option("--runs", parsed.spatter.runs, "timed runs of each pattern; the file's nruns, else 10, unless given")
      ->check(CLI::Range(1, 1000000));
  add_seconds(*spatter, parsed.spatter.seconds, "run of a pattern");
  spatter->add_flag("--verify", parsed.spatter.verify,
                    "check every entry moved, whose value is a function of its place");
  spatter->add_option("--variant", parsed.spatter.variant, "run this variant, such as reference.serial");
  finish_subcommand(app, *spatter, raw, parsed, parsed.spatter.is_requested);
  spatter->add_option("--json", parsed.json_path, "write the rows to this file");
}

void add_spmv(CLI::App& app, raw_options& raw, options& parsed) {
  CLI::App* const spmv = app.add_subcommand(
      "spmv",
      "Times sparse matrix-vector products, on the CPU beside Eigen's and on a GPU beside cuSPARSE's, of "
      "MatrixMarket files or of matrices of its own:\n"
      "banded, grids of 7 and 27 points, uniform at random, rows whose lengths follow a power law, "
      "R-MAT, one dense row, that of NAS CG, class A, and in place of Stanford_Berkeley, pkustk14, pkustk08 and nd24k "
      "others of their rows and of about as many nonzeros a row.\n\n"
      "Example: sheaf-bench spmv matrix.mtx.gz --threads 2");
  spmv->add_option("FILE", parsed.spmv.files, "MatrixMarket files, gzip or not");
  add_seconds(*spmv, parsed.spmv.seconds, "round of a matrix");
  spmv->add_flag("--quick", parsed.spmv.quick, "small matrices: to see that rows run");
  CLI::Option* const large = spmv->add_flag("--large", parsed.spmv.large,
                                            "matrices that no cache holds, of up to 2^26 rows and 2^28 nonzeros");
  spmv->add_flag(
          "--unseen", parsed.spmv.unseen,
          "matrices to judge by and not to tune to, of up to 8 x 10^7 nonzeros: several unknowns in each node of a "
          "grid, rows of lognormal lengths, hashed features, grids numbered anew, rows of one length")
      ->excludes(large);
  CLI::Option* const transposed =
      spmv->add_flag("--transposed", parsed.spmv.transposed, "multiply by the transposed matrices");
  spmv->add_flag("--unordered", parsed.spmv.unordered, "add in any order")->needs(transposed);
  add_value_type(*spmv, parsed.spmv.narrow);
  spmv->add_flag("--f64-sums", parsed.spmv.wide_sums, "sums of f64 over values of f32; no peer has them");
  spmv->add_flag("--variants", parsed.spmv.variants, "prepare by every variant, not only by the planner's choice");
  finish_subcommand(app, *spmv, raw, parsed, parsed.spmv.is_requested);
}

void add_solve(CLI::App& app, raw_options& raw, options& parsed) {
  CLI::App* const solve = app.add_subcommand("solve",
                                             "Times conjugate gradient, on the CPU beside Eigen's and on a GPU beside "
                                             "loops over cuSPARSE and cuBLAS, with one "
                                             "preconditioner and one end, of MatrixMarket files, or "
                                             "of\na grid of a million points and the matrices of NAS CG.\n\n"
                                             "Example: sheaf-bench solve --classes S,W,A --threads 2");
  solve->add_option("FILE", parsed.solve.files, "MatrixMarket files of symmetric positive definite matrices");
  solve->add_option("--classes", parsed.solve.classes, "of NAS CG")
      ->delimiter(',')
      ->check(CLI::IsMember({"S", "W", "A", "B", "C"}))
      ->capture_default_str();
  add_seconds(*solve, parsed.solve.seconds, "round of a system");
  solve->add_option("--tolerance", parsed.solve.tolerance, "residual to reach, relative to the right-hand side")
      ->check(number_in(0.0, 1.0))
      ->capture_default_str();
  solve->add_option("--iterations", parsed.solve.limit, "most iterations")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  solve->add_flag("--jacobi", parsed.solve.has_jacobi, "scale residuals by the inverse of the diagonal");
  CLI::Option* const real = solve->add_flag(
      "--real", parsed.solve.is_real,
      "real symmetric positive definite matrices, with Jacobi and the sums of rows on the right-hand side, to the "
      "tolerance, beside the serial reference");
  solve->add_option("--data", parsed.solve.data, "folder whose matrices/ has them, else what SHEAF_DATA_DIR names")
      ->type_name("FOLDER")
      ->needs(real);
  solve->add_flag("--quick", parsed.solve.quick, "a small grid: to see that rows run");
  finish_subcommand(app, *solve, raw, parsed, parsed.solve.is_requested);
}

void add_edges(CLI::App& app, raw_options& raw, options& parsed) {
  CLI::App* const edges = app.add_subcommand(
      "edges",
      "Times sums over the edges of SU2 meshes, or of boxes of tetrahedra: a plain loop, a loop of atomic additions, "
      "every variant, and prepared sums, with the runs after which preparing pays.\n\n"
      "Example: sheaf-bench edges wing.su2.gz --function inverse_square --components 3 --threads 2");
  edges->add_option("FILE", parsed.edges.files, "SU2 meshes, gzip or not");
  edges->add_option("--nodes", parsed.edges.nodes, "of the boxes; those that memory does not hold are left out")
      ->delimiter(',')
      ->allow_extra_args(false)  // a file may follow
      ->check(CLI::Range(std::uint64_t{8}, std::uint64_t{1} << 32))
      ->capture_default_str();
  edges
      ->add_option("--orders", parsed.edges.orders,
                   "of the nodes: natural (a file's own), random, prepared (along a Morton curve)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"natural", "random", "prepared"}))
      ->capture_default_str();
  edges->add_option("--components", parsed.edges.components, "of a node's value, 1 to 8")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1U, most_edge_components))
      ->capture_default_str();
  edges
      ->add_option_function<std::string>(
          "--function",
          [&parsed](const std::string& text) {
            parsed.edges.function = primitives::value_of(text, primitives::edge_functions, "a function of edges");
          },
          "what an edge contributes: weighted_difference (the default), inverse_square")
      ->check(CLI::IsMember({"weighted_difference", "inverse_square"}));
  add_seconds(*edges, parsed.edges.seconds, "round of a mesh");
  edges->add_flag("--quick", parsed.edges.quick, "small boxes: to see that rows run");
  add_value_type(*edges, parsed.edges.narrow);
  edges->add_option("--json", parsed.json_path, "write the rows to this file");
  finish_subcommand(app, *edges, raw, parsed, parsed.edges.is_requested);
}

void add_scale_out(CLI::App& app, raw_options& raw, options& parsed) {
  CLI::App* const scale_out = app.add_subcommand(
      "scale-out",
      "Times calls between the GPUs of this machine, or between ranks on the CPU, beside the same call on one of them "
      "with as many rows for each: sorts, splits, gathers, scatters, products and an iteration of conjugate gradient; "
      "beside NCCL's all-to-all of as many bytes, and a sort by CUB and NCCL. Rows say how many times the rows of one "
      "device all do in its time, and what a model predicts from times of one device and of the link.\n\n"
      "Example: sheaf-bench scale-out --backend cuda --devices 2 --log2-sizes 20:27:1 --json scale-out.json");
  scale_out->add_option("--devices", parsed.scale_out.devices, "GPUs from number 0 on, or ranks on the CPU")
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  scale_out->add_option("--transports", parsed.scale_out.transports, "between GPUs")
      ->delimiter(',')
      ->check(CLI::IsMember({"copies", "nccl"}))
      ->default_str("copies");
  scale_out->add_option("--calls", parsed.scale_out.calls, "all unless given")
      ->delimiter(',')
      ->check(CLI::IsMember({"sort", "pairs", "records", "split", "gather", "scatter", "spmv", "cg"}));
  scale_out
      ->add_option_function<std::string>(
          "--log2-sizes",
          [&parsed](const std::string& text) { parsed.scale_out.rows = primitives::parse_log2_sizes(text); },
          "rows of 8 bytes for each device as powers of two, 20:27:1 or 20,24; longer ones are fewer, of matrices "
          "there "
          "are half as many")
      ->default_str("20,24,27");
  scale_out->add_option("--rounds", parsed.scale_out.rounds, "of a row")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  scale_out->add_option("--iterations", parsed.scale_out.iterations, "of conjugate gradient")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  scale_out->add_flag("--no-peer", parsed.scale_out.no_peer, "leave out NCCL and what is made of it");
  scale_out->add_option("--json", parsed.json_path, "write the rows to this file");
  finish_subcommand(app, *scale_out, raw, parsed, parsed.scale_out.is_requested);
}

}  // namespace

shard parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto index = primitives::parse_number(text.substr(0, slash));
    const auto count = primitives::parse_number(text.substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count) return {*index - 1, *count};
  }
  primitives::refuse("'{}' is not a shard; 2/8 is the second of eight", text);
}

std::optional<int> parse(int argc, char** argv, options& parsed) {
  CLI::App app(
      "Times sheaf's primitives beside what users call today, in turn and on the same data, and checks every answer."
      "\n\nExamples: sheaf-bench --widths 4,8 --log2-sizes 10:28:2 --patterns permutation,identity\n"
      "          sheaf-bench --set split --keys uniform,zipf --bits 8,11 --variants\n"
      "          sheaf-bench --set reduce --values f32 --slots 1048576\n"
      "          sheaf-bench --set sort --sorts u32,u64+8,u64/128 --keys uniform,nested --log2-sizes 10:28:2\n"
      "          sheaf-bench --rows scatter/uniform/r16/u32+last/n=1048576,split/zipf:b11/r8/k32/n=1048576\n"
      "          sheaf-bench --set everyday --shard 1/4 --json part.json\n"
      "          sheaf-bench --compare before.json after.json");
  app.footer(
      "Exit codes: 0 done, and nothing slower; 1 internal error; 2 wrong usage; 3 bad input file; 4 a wrong answer; "
      "5 out of memory or disk; 6 no such backend; 7 --compare found rows of ours that are slower beyond noise.");
  raw_options raw;
  app.add_option("--set", raw.set, "predefined sweep: " + primitives::sweep_names())->capture_default_str();
  app.add_option("--primitives", raw.primitives, names_of_entries() + "; this and the lists below replace the set's")
      ->delimiter(',');
  add_lists(app, raw);
  app.add_option("--rows", raw.rows, "rows by name, without the contender, in place of a set")->delimiter(',');
  app.add_flag("--offsets", parsed.rows.offsets,
               "of splits by up to 32 bits: also compute where categories begin while timing");
  auto* log2_sizes = app.add_option("--log2-sizes", raw.log2_sizes, "records as powers of two, 10:28:2 or 20,24");
  app.add_option("--sizes", raw.sizes, "records")->delimiter(',')->excludes(log2_sizes);
  app.add_option("--filter", raw.filter, "rows whose name contains a match of this regular expression");
  add_place(app, raw, parsed);
  app.add_option("--shard", raw.shard, "I/N: every N-th of the rows from the I-th on, as one of N runs of a set")
      ->type_name("I/N");
  app.add_option("--seconds", raw.seconds,
                 "time for a row, after its least rounds; 1 unless given, 0 for the set everyday")
      ->check(number_in(0.0, 1e6));
  app.add_option("--rounds", raw.rounds,
                 "least rounds of a row, 20 unless given, 11 for the set everyday; calls over 20 ms have 5, or 3")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--no-peer", parsed.rows.no_peer, "leave out the peers, which users call today");
  app.add_flag("--variants", parsed.rows.variants, "measure every variant, not only the planner's choice");
  app.add_flag("--hint", parsed.rows.hint, "tell the planner the access pattern");
  app.add_flag("--trust", parsed.rows.trust, "also measure bounds::trust");
  app.add_flag("--prepared", parsed.rows.prepared, "also measure gathers and scatters prepared for their list");
  app.add_flag("--warm", parsed.warm, "let data stay in cache: quick, to see that rows run");
  auto* json = app.add_option("--json", parsed.json_path, "write the rows to this file");
  auto* record =
      app.add_option("--record", parsed.record_path,
                     "write the profile and the time of every variant, for tests of the planner; needs --variants");
  app.add_flag("--list", parsed.list, "print the names of the rows and stop")->excludes(json)->excludes(record);
  app.add_option("--factors", parsed.factor_files,
                 "print the means of the factors and the worst rows of files of --json, as of a set's shards; runs "
                 "nothing")
      ->delimiter(',')
      ->type_name("FILE");
  app.add_option(
         "--describe", parsed.described,
         "print as JSON what tables call rows, which are named without the contender; \"-\" stands for names on "
         "standard input, one a line; runs nothing and needs no device")
      ->type_name("ROW");
  add_compare(app, raw);
  add_papers(app, raw, parsed);
  add_spatter(app, raw, parsed);
  add_spmv(app, raw, parsed);
  add_solve(app, raw, parsed);
  add_edges(app, raw, parsed);
  add_scale_out(app, raw, parsed);
  cli::refuse_empty_values(app, {argv + std::min(argc, 1), argv + argc});
  try {
    app.parse(argc, argv);
    require_alone(app);
    interpret(raw, parsed);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : exit_usage;
  } catch (const error& e) {
    fmt::print(stderr, "sheaf-bench: {}\n", e.what());
    return exit_usage;
  } catch (const std::regex_error& e) {
    fmt::print(stderr, "sheaf-bench: --filter '{}': {}\n", raw.filter, e.what());
    return exit_usage;
  }
  return std::nullopt;
}

}  // namespace sheaf::bench
