
#include <sheaf/gather.hpp>

#include "core/startable.hpp"
#include "lab/description/estimates.hpp"
#include "lab/description/found_order.hpp"
#include "lab/description/host_threads.hpp"
#include "lab/description/movement/problem.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/sweep.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "plan/he2007.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::primitives {
namespace {

plan::he2007::sizes sizes_of(const problem_spec& p) {
  return {p.count, p.indexed_count(), p.record_bytes, p.count * bytes(p.index)};
}

}  // namespace

std::string order_and_table(const problem_spec& p, bool always_with_table) {
  if (!always_with_table && p.indexed_count() == p.count) return name(p.pattern);
  return fmt::format("{}:s{}", name(p.pattern), p.indexed_count());
}

void read_order_and_table(const name_part& pattern, problem_spec& p) {
  const auto [order, table] = pattern.cut_at_last(":s");
  p.pattern = order.read(parse_pattern);
  if (table) p.table = table->number(0, ~std::uint64_t{0}, "the number of records of a table");
}

std::optional<name_part> read_index_type(const name_part& type, problem_spec& p) {
  const auto [index, rest] = type.cut_at("+");
  p.index = index.read(parse_index_type);
  return rest;
}

std::string movement_text(const problem_spec& p) {
  return fmt::format("{} records of {} bytes, table of {} ({}), {} index, pattern {}", p.count, p.record_bytes,
                     p.indexed_count(), bytes_text(p.indexed_count() * p.record_bytes), name(p.index), name(p.access));
}

std::vector<fact> movement_facts(const problem_spec& problem) {
  return {{"count", problem.count},
          {"record_bytes", problem.record_bytes},
          {"index_type", std::string(name(problem.index))},
          {"table", problem.indexed_count()},
          {"pattern", name(problem.access)}};
}

movement movement_of(const problem_spec& problem, backend_kind backend) {
  return {.backend = backend,
          .count = problem.count,
          .indexed_count = problem.indexed_count(),
          .record_bytes = problem.record_bytes,
          .sequential_stride_bytes = problem.record_bytes,
          .indexed_stride_bytes = problem.record_bytes,
          .word_bytes = widest_word(problem.record_bytes),
          .index = problem.index,
          .pattern = problem.access,
          .bounds = problem.bounds};
}

double he2007_seconds_of_gather(const problem_spec& p, const machine& profile) {
  return plan::he2007::predict_gather(sizes_of(p), p.access, profile);
}

double he2007_seconds_of_scatter(const problem_spec& p, const machine& profile) {
  return plan::he2007::predict_scatter(sizes_of(p), p.access, profile);
}

namespace {

constexpr field_use taken_by_gather[] = {required(fields::count),   required(fields::table),
                                         required(fields::bytes),   optional(fields::index_type),
                                         optional(fields::pattern), optional(fields::bounds)};

row_parts write_gather(const problem_spec& p) { return {order_and_table(p), std::string(name(p.index))}; }

void read_gather(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_order_and_table(pattern, p);
  if (const auto rest = read_index_type(type, p)) rest->refuse("part of a gather's type");
}

row_labels labels_of_movement(const problem_spec& problem) {
  const std::string table =
      problem.indexed_count() == problem.count ? "" : fmt::format(", table of {}", count_text(problem.indexed_count()));
  const std::string ending =
      table + (problem.part<movement_part>().duplicates == duplicates::last ? ", the last writer wins" : "");
  return {fmt::format("{} {} records of {} bytes{}", problem.primitive, count_text(problem.count), problem.record_bytes,
                      ending),
          {{list_text(problem.pattern) + ", records of "}, varying(problem.record_bytes), {" bytes" + ending}}};
}

explanation explain_gather_of(const context& ctx, const problem_spec& p, std::string_view variant) {
  return explain_gather(ctx, {nullptr, p.indexed_count(), p.record_bytes}, {nullptr, p.count, p.index},
                        {nullptr, p.count, p.record_bytes},
                        {.pattern = p.access, .bounds = p.bounds, .variant = variant});
}

gather_problem gather_problem_of(const problem_spec& p, backend_kind backend) { return {movement_of(p, backend)}; }

const problem_field duplicates_field{
    "--duplicates", "Which writer of a scatter wins: any or last", "any|last", [](problem_spec& p, option_texts texts) {
      p.part<movement_part>().duplicates = value_of(texts.front(), duplicates_names, "a rule for duplicates");
    }};

constexpr field_use taken_by_scatter[] = {
    required(fields::count),   required(fields::table),  required(fields::bytes),   optional(fields::index_type),
    optional(fields::pattern), optional(fields::bounds), optional(duplicates_field)};

row_parts write_scatter(const problem_spec& p) {
  return {order_and_table(p),
          fmt::format("{}{}", name(p.index), p.part<movement_part>().duplicates == duplicates::last ? "+last" : "")};
}

void read_scatter(const name_part& pattern, const name_part& type, problem_spec& problem) {
  read_order_and_table(pattern, problem);
  const auto rule = read_index_type(type, problem);
  if (!rule) return;
  if (rule->text() != "last") rule->refuse("a rule for duplicates: last");
  problem.part<movement_part>().duplicates = duplicates::last;
}

explanation explain_scatter_of(const context& ctx, const problem_spec& p, std::string_view variant) {
  return explain_scatter(
      ctx, {nullptr, p.count, p.record_bytes}, {nullptr, p.count, p.index},
      {nullptr, p.indexed_count(), p.record_bytes},
      {.pattern = p.access, .bounds = p.bounds, .duplicates = p.part<movement_part>().duplicates, .variant = variant});
}

scatter_problem scatter_problem_of(const problem_spec& p, backend_kind backend) {
  return {movement_of(p, backend), p.part<movement_part>().duplicates};
}

}  // namespace
}  // namespace sheaf::primitives

namespace sheaf::jobs {
namespace {

using primitives::movement_part;

constexpr std::uint64_t staged_bytes = std::uint64_t{1} << 26;

// For each record, one past the last position whose entry names it; 0 if no entry does.
template <class Entry>
std::vector<std::uint32_t> last_writers(const context& ctx, index_span list, std::uint64_t indexed_count, int threads) {
  std::vector<Entry> entries(list.count);
  copy_bytes(ctx, entries.data(), list.data, list.count * sizeof(Entry));
  std::vector<std::uint32_t> last(indexed_count);
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t i = 0; i < list.count; ++i) {
    std::atomic_ref<std::uint32_t> writer(last[entries[i]]);
    const auto position = static_cast<std::uint32_t>(i + 1);
    std::uint32_t seen = writer.load(std::memory_order_relaxed);
    while (seen < position && !writer.compare_exchange_weak(seen, position, std::memory_order_relaxed)) {
    }
  }
  return last;
}

}  // namespace

std::uint64_t count_last_writer_mismatches(const context& ctx, const_records out, index_span list,
                                           std::uint64_t in_seed, std::uint64_t out_seed) {
  const int threads = host_threads(ctx);
  const std::vector<std::uint32_t> last = bytes(list.type) == 4
                                              ? last_writers<std::uint32_t>(ctx, list, out.count, threads)
                                              : last_writers<std::uint64_t>(ctx, list, out.count, threads);
  const bool in_place = ctx.backend() == backend_kind::cpu;
  const std::uint64_t piece = in_place ? out.count : std::max<std::uint64_t>(1, staged_bytes / out.stride_bytes);
  std::vector<std::byte> staging(in_place ? 0 : piece * out.stride_bytes);
  std::uint64_t mismatches = 0;
  for (std::uint64_t first = 0; first < out.count; first += piece) {
    const std::uint64_t records_in_piece = std::min(piece, out.count - first);
    const std::byte* found = out.data + first * out.stride_bytes;
    if (!in_place) {
      copy_bytes(ctx, staging.data(), found, (records_in_piece - 1) * out.stride_bytes + out.record_bytes);
      found = staging.data();
    }
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static) reduction(+ : mismatches)
    for (std::uint64_t r = 0; r < records_in_piece; ++r) {
      const std::uint32_t writer = last[first + r];
      const bool right = writer == 0
                             ? inputs::is_record(found + r * out.stride_bytes, out.record_bytes, out_seed, first + r)
                             : inputs::is_record(found + r * out.stride_bytes, out.record_bytes, in_seed, writer - 1);
      mismatches += right ? 0 : 1;
    }
  }
  return mismatches;
}

namespace {

template <class Record, class Index>
void gather_loop(int threads, std::uint64_t count, const Record* table, const Index* index, Record* out) {
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t i = 0; i < count; ++i) out[i] = table[index[i]];
}

template <class Record, class Index>
void scatter_loop(int threads, std::uint64_t count, const Record* in, const Index* index, Record* out) {
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t i = 0; i < count; ++i) out[index[i]] = in[i];
}

// Calls move(source, index, target) with typed arrays.
template <class Move>
plain_call typed_move(const problem_spec& p, const array_set& arrays, Move move) {
  return with_record_type(p.record_bytes, [&]<class Record>(std::type_identity<Record>) {
    return with_index_type(p.index, [&]<class Index>(std::type_identity<Index>) -> plain_call {
      return [move, arrays] {
        move(items_of<const Record>(arrays[places::source]), items_of<const Index>(arrays[places::index]),
             items_of<Record>(arrays[places::target]));
      };
    });
  });
}

plain_call plain_gather(const context& ctx, const problem_spec& p, const array_set& arrays) {
  return typed_move(p, arrays, [threads = ctx.threads(), count = p.count](auto* table, auto* index, auto* out) {
    gather_loop(threads, count, table, index, out);
  });
}

plain_call plain_scatter(const context& ctx, const problem_spec& p, const array_set& arrays) {
  const int threads = p.part<movement_part>().duplicates == duplicates::last ? 1 : ctx.threads();
  return typed_move(p, arrays, [threads, count = p.count](auto* in, auto* index, auto* out) {
    scatter_loop(threads, count, in, index, out);
  });
}

// Jobs of gather and scatter. A record's bytes follow from its number, and an index list is a function of its position,
// so that the check computes which record has to be where.
array_shapes shapes_of(const problem_spec& problem, std::uint64_t source_count, std::uint64_t target_count) {
  array_shapes shapes;
  shapes[places::source] = {source_count, problem.record_bytes, array_role::input,
                            fmt::format("records {} {}", problem.record_bytes, source_count)};
  shapes[places::index] = {problem.count, bytes(problem.index), array_role::input,
                           fmt::format("index {} {} {} of {}", inputs::name(problem.pattern),
                                       primitives::name(problem.index), problem.count, problem.indexed_count())};
  shapes[places::target] = {target_count, problem.record_bytes, array_role::output};
  return shapes;
}

array_shapes gather_shapes(const problem_spec& p) { return shapes_of(p, p.indexed_count(), p.count); }
array_shapes scatter_shapes(const problem_spec& p) { return shapes_of(p, p.count, p.indexed_count()); }

std::uint64_t moved_bytes(const problem_spec& p) { return 2 * p.count * p.record_bytes; }

std::string gather_unchecked(const problem_spec& p) {
  return p.count > 0 && p.indexed_count() == 0 ? "an index into no records" : "";
}

std::string scatter_unchecked(const problem_spec& problem) {
  const movement_part& movement = problem.part<movement_part>();
  const bool repeats = !inputs::is_distinct(problem.pattern) || problem.count > problem.indexed_count();
  if (repeats && movement.duplicates == duplicates::any) return "records have several writers, of which any may win";
  if (movement.duplicates == duplicates::last && problem.count >> 32 != 0)
    return "the last writer is found for fewer than 2^32";
  return gather_unchecked(problem);
}

void fill_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  switch (place) {
    case places::source: return inputs::fill_records(ctx, array, records_seed);
    case places::index: return fill_index_list(ctx, p, copy, array);
    default: return wipe(ctx, array);
  }
}

index_span list_of(const problem_spec& p, const array_set& arrays) {
  return {arrays[places::index].data, p.count, p.index};
}

void run_gather(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  gather(ctx, arrays[places::source], list_of(p, arrays), arrays[places::target],
         {.pattern = p.access, .bounds = p.bounds, .variant = settings.variant});
}

void run_scatter(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  scatter(ctx, arrays[places::source], list_of(p, arrays), arrays[places::target],
          {.pattern = p.access,
           .bounds = p.bounds,
           .duplicates = p.part<movement_part>().duplicates,
           .variant = settings.variant});
}

std::uint64_t gather_mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  return inputs::count_gather_mismatches(ctx, arrays[places::target], pattern_of_copy(p, 0), p.indexed_count(),
                                         records_seed);
}

std::uint64_t scatter_mistakes(const context& ctx, const problem_spec& problem, const array_set& arrays, bool) {
  const records target = arrays[places::target];
  if (problem.part<movement_part>().duplicates == duplicates::last) {
    return count_last_writer_mismatches(ctx, target, list_of(problem, arrays), records_seed, wiped_seed);
  }
  return inputs::count_scatter_mismatches(ctx, target, pattern_of_copy(problem, 0), problem.count, records_seed);
}

template <class Prepared>
prepared_run run_of(const Prepared& prepared, const array_set& arrays) {
  return {[prepared, from = arrays[places::source], to = arrays[places::target]] { prepared.run(from, to); },
          prepared.report()};
}

prepared_run prepare_to_gather(const context& ctx, const problem_spec& p, const array_set& arrays,
                               std::uint64_t expected_runs) {
  return run_of(prepare_gather(ctx, list_of(p, arrays), p.indexed_count(), p.record_bytes, expected_runs,
                               {.pattern = p.access, .bounds = p.bounds}),
                arrays);
}

prepared_run prepare_to_scatter(const context& ctx, const problem_spec& p, const array_set& arrays,
                                std::uint64_t expected_runs) {
  return run_of(
      prepare_scatter(ctx, list_of(p, arrays), p.indexed_count(), p.record_bytes, expected_runs,
                      {.pattern = p.access, .bounds = p.bounds, .duplicates = p.part<movement_part>().duplicates}),
      arrays);
}

constexpr sample gather_samples[] = {{"gather/identity/r4/u32"},
                                     {"gather/identity/r8/u32"},
                                     {"gather/identity/r16/u32"},
                                     {"gather/identity/r100/u32"},
                                     {"gather/identity/r128/u32"},
                                     {"gather/identity/r1024/u32"},
                                     {"gather/permutation/r4/u32"},
                                     {"gather/permutation/r8/u32"},
                                     {"gather/permutation/r16/u32"},
                                     {"gather/permutation/r100/u32"},
                                     {"gather/permutation/r128/u32"},
                                     {"gather/permutation/r1024/u32"},
                                     {"gather/uniform/r4/u32"},
                                     {"gather/uniform/r8/u32"},
                                     {"gather/uniform/r16/u32"},
                                     {"gather/uniform/r100/u32"},
                                     {"gather/uniform/r128/u32"},
                                     {"gather/uniform/r1024/u32"},
                                     {"gather/zipf/r4/u32"},
                                     {"gather/zipf/r8/u32"},
                                     {"gather/zipf/r16/u32"},
                                     {"gather/zipf/r100/u32"},
                                     {"gather/zipf/r128/u32"},
                                     {"gather/zipf/r1024/u32"},
                                     {"gather/permutation/r4/u32", true},
                                     {"gather/permutation/r8/u32", true},
                                     {"gather/permutation/r16/u32", true}};

constexpr sample scatter_samples[] = {
    {"scatter/identity/r4/u32"},          {"scatter/identity/r8/u32"},          {"scatter/identity/r16/u32"},
    {"scatter/identity/r100/u32"},        {"scatter/identity/r128/u32"},        {"scatter/identity/r1024/u32"},
    {"scatter/permutation/r4/u32"},       {"scatter/permutation/r8/u32"},       {"scatter/permutation/r16/u32"},
    {"scatter/permutation/r100/u32"},     {"scatter/permutation/r128/u32"},     {"scatter/permutation/r1024/u32"},
    {"scatter/uniform/r4/u32+last"},      {"scatter/uniform/r8/u32+last"},      {"scatter/uniform/r16/u32+last"},
    {"scatter/uniform/r100/u32+last"},    {"scatter/uniform/r128/u32+last"},    {"scatter/uniform/r1024/u32+last"},
    {"scatter/permutation/r4/u32", true}, {"scatter/permutation/r8/u32", true}, {"scatter/permutation/r16/u32", true}};

// Streams at distances of a power of two fall on the same few sets of the caches, which most lists' streams do not: 250
// of them.
constexpr std::string_view calibrated_gathers[] = {"gather/identity/r4/u32",
                                                   "gather/identity/r16/u32",
                                                   "gather/identity/r64/u32",
                                                   "gather/permutation/r4/u32",
                                                   "gather/permutation/r16/u32",
                                                   "gather/permutation/r64/u32",
                                                   "gather/clustered:4096/r4/u32",
                                                   "gather/clustered:4096/r16/u32",
                                                   "gather/clustered:4096/r64/u32",
                                                   "gather/partitioned:250/r4/u32",
                                                   "gather/partitioned:250/r16/u32",
                                                   "gather/partitioned:250/r64/u32",
                                                   "gather/strided:20/r4/u32",
                                                   "gather/zipf/r4/u32",
                                                   "gather/zipf/r16/u32",
                                                   "gather/zipf/r64/u32"};

constexpr std::string_view calibrated_scatters[] = {
    "scatter/identity/r4/u32",        "scatter/identity/r16/u32",        "scatter/identity/r64/u32",
    "scatter/permutation/r4/u32",     "scatter/permutation/r16/u32",     "scatter/permutation/r64/u32",
    "scatter/clustered:4096/r4/u32",  "scatter/clustered:4096/r16/u32",  "scatter/clustered:4096/r64/u32",
    "scatter/partitioned:250/r4/u32", "scatter/partitioned:250/r16/u32", "scatter/partitioned:250/r64/u32",
    "scatter/strided:20/r4/u32"};

constexpr job gather_job{.samples = gather_samples,
                         .calibrated = calibrated_gathers,
                         .shapes = gather_shapes,
                         .moved_bytes = moved_bytes,
                         .unchecked = gather_unchecked,
                         .fill = fill_array,
                         .run = run_gather,
                         .count_mistakes = gather_mistakes,
                         .plain_loop = plain_gather,
                         .prepare = prepare_to_gather};

constexpr job scatter_job{.samples = scatter_samples,
                          .calibrated = calibrated_scatters,
                          .shapes = scatter_shapes,
                          .moved_bytes = moved_bytes,
                          .unchecked = scatter_unchecked,
                          .fill = fill_array,
                          .run = run_scatter,
                          .count_mistakes = scatter_mistakes,
                          .plain_loop = plain_scatter,
                          .prepare = prepare_to_scatter};

}  // namespace
}  // namespace sheaf::jobs

namespace sheaf::primitives {
namespace {

constexpr entry gather_entry{.name = "gather",
                             .family = "movement",
                             .fields = taken_by_gather,
                             .example = "--count 100000000 --table 100000000 --record-bytes 16 --pattern random",
                             .write = write_gather,
                             .read = read_gather,
                             .text = movement_text,
                             .facts = movement_facts,
                             .labels = labels_of_movement,
                             .explain = explain_gather_of,
                             .estimates = estimates_by<gather_problem_of, gather_variants>,
                             .place = place_by<gather_problem_of>,
                             .found = found_order,
                             .he2007_seconds = he2007_seconds_of_gather,
                             .job = &jobs::gather_job};

constexpr entry scatter_entry{
    .name = "scatter",
    .family = "movement",
    .fields = taken_by_scatter,
    .example = "--count 100000000 --table 100000000 --record-bytes 16 --pattern random --duplicates last",
    .write = write_scatter,
    .read = read_scatter,
    .text = movement_text,
    .facts = movement_facts,
    .labels = labels_of_movement,
    .explain = explain_scatter_of,
    .estimates = estimates_by<scatter_problem_of, scatter_variants>,
    .place = place_by<scatter_problem_of>,
    .found = found_order,
    .he2007_seconds = he2007_seconds_of_scatter,
    .job = &jobs::scatter_job};

constexpr const entry* entries_of_family[] = {&gather_entry, &scatter_entry};

// Rows: every width by every order of the list.
struct movement_lists {
  std::vector<duplicates> rules{duplicates::any};  ///< of scatters
};

void add(const sweep& sweep, std::span<const entry* const> entries, std::vector<problem_spec>& problems) {
  for (const std::uint64_t record_bytes : sweep.record_bytes) {
    for (const std::uint64_t count : sweep.counts_of(record_bytes)) {
      for (const index_type index : sweep.indices) {
        for (const input_pattern& pattern : sweep.patterns) {
          for (const entry* const e : entries) {
            const problem_spec p{e->name, pattern, record_bytes, index, count};
            for (const duplicates rule : sweep.lists.of<movement_lists>().rules) {
              add_if_checked(p.with(movement_part{rule}), problems);
            }
          }
        }
      }
    }
  }
}

constexpr named_sweep sets[] = {
    {"quick", "--patterns identity,permutation --widths 4,8,128 --log2-sizes 12,20"},
    {"records", "--primitives gather --patterns permutation --widths 32,64,100,128,256,1024",
     [](sweep& s) { s.table_bytes = std::uint64_t{8} << 30; }},
    {"small-widths",
     "--patterns identity,reverse,permutation,same,uniform,zipf,strided,partitioned,clustered --widths 1,2,4,8,16 "
     "--log2-sizes 10:28:2"},
    {"model",
     "--patterns identity,reverse,permutation,same,uniform,zipf,strided,partitioned,clustered,partitioned:8,"
     "partitioned:4096,clustered:1048576 --widths 1,2,4,8,16,32,64,100,128,256,1024 "
     "--log2-sizes 16,18,20,22,24,26,28,29"},
    {"cpu", "--patterns identity,permutation,clustered:4096 --widths 4,8,16,64 --log2-sizes 26"}};

constexpr list_option lists[] = {
    {"--duplicates", "of scatters: any, last",
     [](sweep& s, option_texts texts) {
       s.lists.of<movement_lists>().rules = parsed_list(
           texts, [](std::string_view text) { return value_of(text, duplicates_names, "a rule for duplicates"); });
     }},
};

}  // namespace

extern const family movement_family{"movement", entries_of_family, sets, lists, add};

}  // namespace sheaf::primitives
