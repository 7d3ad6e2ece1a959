#include "bench/harness/options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <sheaf/error.hpp>

namespace sheaf::bench {
namespace {

constexpr int exit_usage = 2;

struct raw_options {
  std::string set = "quick";
  std::string filter;
  std::string backend = "all";
  std::string log2_sizes;
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> widths;
  std::vector<std::string> patterns;
  std::vector<std::string> indices;
  std::vector<std::string> primitives;
  std::vector<std::string> keys;
  std::vector<std::string> key_types;
  std::vector<std::uint32_t> bits;
  std::vector<std::string> values;
  std::vector<std::uint64_t> slots;
  std::vector<std::string> orders;
  std::vector<std::string> sorts;
  std::vector<std::string> bit_ranges;
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

template <class T, class Parse>
void replace(std::vector<T>& list, const std::vector<std::string>& texts, Parse parse_one) {
  if (texts.empty()) return;
  list.clear();
  for (const std::string& text : texts) list.push_back(parse_one(text));
}

void interpret(const raw_options& raw, options& parsed) {
  parsed.sweep = named_sweep(raw.set);
  replace(parsed.sweep.primitives, raw.primitives, parse_primitive);
  replace(parsed.sweep.patterns, raw.patterns, inputs::parse_pattern);
  replace(parsed.sweep.indices, raw.indices, parse_index_type);
  replace(parsed.sweep.keys, raw.keys, parse_key_distribution);
  replace(parsed.sweep.key_bytes, raw.key_types, parse_key_type);
  replace(parsed.sweep.values, raw.values, parse_value_type);
  replace(parsed.sweep.orders, raw.orders, parse_reduction_order);
  replace(parsed.sweep.sorts, raw.sorts, parse_sort_layout);
  replace(parsed.sweep.bit_ranges, raw.bit_ranges, parse_bit_range);
  if (!raw.bits.empty()) parsed.sweep.bits = raw.bits;
  if (!raw.slots.empty()) parsed.sweep.slots = raw.slots;
  if (!raw.widths.empty()) parsed.sweep.record_bytes = raw.widths;
  if (!raw.log2_sizes.empty()) parsed.sweep.counts = parse_log2_sizes(raw.log2_sizes);
  if (!raw.sizes.empty()) parsed.sweep.counts = raw.sizes;
  if (!raw.sizes.empty() || !raw.log2_sizes.empty()) parsed.sweep.table_bytes = 0;
  if (!raw.filter.empty()) parsed.filter = std::regex(raw.filter);
  if (!parsed.record_path.empty() && (raw.backend == "all" || !parsed.rows.variants)) {
    throw error(error_code::bad_argument, "--record wants one --backend, and --variants");
  }
  if (!raw.compared_files.empty()) {
    parsed.compare = compare_request{raw.compared_files[0], raw.compared_files[1], raw.threshold, raw.relative};
  }
  for (const std::string& figure : raw.figures) {
    parsed.papers.figures.push_back(papers::number_of_figure(figure));
  }
  parsed.backends_named = raw.backend != "all";
  if (raw.backend != "cuda") parsed.backends.push_back(backend_kind::cpu);
  if (raw.backend != "cpu") parsed.backends.push_back(backend_kind::cuda);
}

void add_splits(CLI::App& app, raw_options& raw, options& parsed) {
  app.add_option("--keys", raw.keys, "of splits and sorts: uniform, equal, two, sorted, reverse, zipf, few, nested")
      ->delimiter(',');
  app.add_option("--key-types", raw.key_types, "of splits: own (in the record), k32, k64 (separate)")->delimiter(',');
  app.add_option("--bits", raw.bits, "of splits: bits of the key")->delimiter(',')->check(CLI::Range(1, 32));
  app.add_flag("--offsets", parsed.rows.offsets, "of splits: ask for where categories begin while timing, too");
  app.add_option("--values", raw.values, "of scatter_reduce: f32, u32, f64, u64")->delimiter(',');
  app.add_option("--slots", raw.slots, "of scatter_reduce: values that are added to")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--orders", raw.orders, "of scatter_reduce: deterministic, unordered")->delimiter(',');
}

void add_sorts(CLI::App& app, raw_options& raw) {
  app.add_option(
         "--sorts", raw.sorts,
         "what is sorted: u32 (keys), u64+16 (keys with values of 16 bytes), bytes10/100 (records of 100 bytes by "
         "their first 10), u64/index, ...; keys are u8 to u128, i8 to i64, f32, f64, bytes1 to bytes16")
      ->delimiter(',');
  app.add_option("--bit-ranges", raw.bit_ranges, "of sorts by u32 and u64: all, 8:16 (bits 8 to 15), ...")
      ->delimiter(',');
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

// A comparison runs nothing, so that the options of a sweep mean nothing to it.
void require_compare_alone(const CLI::App& app) {
  if (app.count("--compare") == 0) return;
  for (const CLI::Option* const option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == "--compare" || name == "--threshold" || name == "--relative") continue;
    throw error(error_code::bad_argument, fmt::format("--compare goes with --threshold and --relative, not {}", name));
  }
}

// The sweep's options say nothing to the subcommands, so they exclude each other.
void exclude_sweep(CLI::App& app, CLI::App& subcommand) {
  for (CLI::Option* const option : app.get_options()) {
    if (option != app.get_help_ptr()) subcommand.excludes(option);
  }
}

void add_papers(CLI::App& app, raw_options& raw, options& parsed) {
  CLI::App* const papers = app.add_subcommand(
      "papers",
      "Prints the figures of He et al. 2007 and of Patidar and Narayanan 2009 as measured here, beside what the paper "
      "found and, for the first, what its model and our plans predict.\n\n"
      "Example: sheaf-bench papers --paper he2007 --backend cpu --figures 1,6,7");
  papers->add_option("--paper", parsed.papers.papers, "he2007, patidar2009; both unless said")
      ->delimiter(',')
      ->check(CLI::IsMember({"he2007", "patidar2009"}));
  papers
      ->add_option("--figures", raw.figures,
                   "numbers in the papers: 1, 6 to 13, 15, 16 of 2007, 2, 4 to 6, 8 to 15, table1 of 2009; all unless "
                   "said")
      ->delimiter(',');
  papers->add_flag("--quick", parsed.papers.quick, "small sizes, once: whether it runs, not how fast");
  papers->add_flag("--paper-sizes", parsed.papers.paper_sizes, "leave out the sizes that are scaled to the cache");
  papers->add_option("--backend", raw.backend)->check(CLI::IsMember({"cpu", "cuda", "all"}))->capture_default_str();
  papers->add_option("--threads", parsed.threads, "CPU threads, 0 for all")->check(CLI::Range(0, 4096));
  papers->add_option("--json", parsed.json_path, "write the rows to this file");
  papers->callback([&parsed] { parsed.papers.is_requested = true; });
  exclude_sweep(app, *papers);
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
  spatter->add_option("--seconds", parsed.spatter.seconds, "begin no further run of a pattern after so long")
      ->check(number_in(0.0, 1e6))
      ->capture_default_str();
  spatter->add_flag("--verify", parsed.spatter.verify,
                    "check every entry moved, whose value is a function of its place");
  spatter->add_option("--variant", parsed.spatter.variant, "the variant that must run, such as reference.serial");
  spatter->add_option("--backend", raw.backend)->check(CLI::IsMember({"cpu", "cuda", "all"}))->capture_default_str();
  spatter->add_option("--threads", parsed.threads, "CPU threads, 0 for all")->check(CLI::Range(0, 4096));
  spatter->add_option("--json", parsed.json_path, "write the rows to this file");
  spatter->callback([&parsed] { parsed.spatter.is_requested = true; });
  exclude_sweep(app, *spatter);
}

}  // namespace

std::optional<int> parse(int argc, char** argv, options& parsed) {
  CLI::App app(
      "Times sheaf's primitives beside what users call today, in turn and on the same data, and checks every answer."
      "\n\nExamples: sheaf-bench --widths 4,8 --log2-sizes 10:28:2 --patterns permutation,identity\n"
      "          sheaf-bench --set split --keys uniform,zipf --bits 8,11 --variants\n"
      "          sheaf-bench --set reduce --values f32 --slots 1048576\n"
      "          sheaf-bench --set sort --sorts u32,u64+8,u64/128 --keys uniform,nested --log2-sizes 10:28:2\n"
      "          sheaf-bench --compare before.json after.json");
  app.footer(
      "Exit codes: 0 done, and nothing slower; 1 internal error; 2 wrong usage; 3 bad input file; 4 a wrong answer; "
      "5 out of memory or disk; 6 no such backend; 7 --compare found rows of ours that are slower beyond noise.");
  raw_options raw;
  app.add_option("--set", raw.set, "predefined sweep: " + sweep_names())->capture_default_str();
  app.add_option(
         "--primitives", raw.primitives,
         "gather, scatter, split, split_unstable, split_gather_index, split_scatter_index, scatter_reduce, sort_keys, "
         "sort_pairs, sort_records, sort_gather_index; this and the lists below replace the set's")
      ->delimiter(',');
  app.add_option("--patterns", raw.patterns, "of index lists: permutation, identity, clustered:4096, ...")
      ->delimiter(',');
  app.add_option("--widths", raw.widths, "bytes of a record")->delimiter(',')->check(CLI::Range(1, 65536));
  add_splits(app, raw, parsed);
  add_sorts(app, raw);
  app.add_option("--index-types", raw.indices, "u32, u64, i32, i64")->delimiter(',');
  auto* log2_sizes = app.add_option("--log2-sizes", raw.log2_sizes, "records as powers of two, 10:28:2 or 20,24");
  app.add_option("--sizes", raw.sizes, "records")->delimiter(',')->check(CLI::PositiveNumber)->excludes(log2_sizes);
  app.add_option("--filter", raw.filter, "rows with a name that this regular expression is found in");
  app.add_option("--backend", raw.backend)->check(CLI::IsMember({"cpu", "cuda", "all"}))->capture_default_str();
  app.add_option("--threads", parsed.threads, "CPU threads, 0 for all")->check(CLI::Range(0, 4096));
  app.add_option("--seconds", parsed.limits.seconds, "time for a row, after its least rounds (5 for calls over 20 ms)")
      ->check(number_in(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--rounds", parsed.limits.least_rounds, "rounds of a row at least")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--no-peer", parsed.rows.no_peer, "leave out what users call today");
  app.add_flag("--variants", parsed.rows.variants, "measure every variant, not only the planner's choice");
  app.add_flag("--hint", parsed.rows.hint, "tell the planner the access pattern");
  app.add_flag("--trust", parsed.rows.trust, "measure bounds::trust too");
  app.add_flag("--prepared", parsed.rows.prepared, "measure gathers and scatters whose list was studied before too");
  app.add_flag("--warm", parsed.warm, "let data stay in cache: quick, to see that rows run");
  app.add_flag("--list", parsed.list, "print the names of the rows and stop");
  app.add_option("--json", parsed.json_path, "write the rows to this file");
  app.add_option("--record", parsed.record_path,
                 "write the profile and the time of every variant, which the planner is tested with; needs --variants");
  add_compare(app, raw);
  add_papers(app, raw, parsed);
  add_spatter(app, raw, parsed);
  try {
    app.parse(argc, argv);
    require_compare_alone(app);
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
