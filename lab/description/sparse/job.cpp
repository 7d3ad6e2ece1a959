#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <sheaf/spmv.hpp>

#include "lab/description/job.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/sparse/items.hpp"
#include "lab/description/sparse/views.hpp"
#include "primitives/words.hpp"

// The job of spmv: matrices whose entries are functions of their place, row behind row. The check compares a sum over
// all results with a sum over all entries, each with the factor of its result.
namespace sheaf::jobs {
namespace {

using primitives::columns_of_matrix;
using primitives::row_lengths;
using primitives::row_lengths_of;
using primitives::rows_of_matrix;

constexpr std::uint64_t most_numbers = std::uint64_t{1} << 48;

matrix_source source_of(const problem_spec& p, std::uint64_t copy) {
  matrix_source s{.lengths = row_lengths_of(p),
                  .columns = columns_of_matrix(p),
                  .nonzeros = p.nonzeros,
                  .order = pattern_of_copy(p, copy),
                  .seed = inputs::mix(records_seed + copy),
                  .type = p.value,
                  .column = p.index,
                  .offset = p.offset,
                  .is_transposed = p.is_transposed};
  s.order.kind = p.nonzeros == nonzero_pattern::zipf ? inputs::pattern_kind::zipf : inputs::pattern_kind::uniform;
  if (p.nonzeros == nonzero_pattern::grid) s.side = primitives::side_of_grid(p);
  return s;
}

/// What the rows of a matrix have in common with those of another whose offsets are the same.
std::string text_of_rows(const problem_spec& p) {
  const row_lengths lengths = row_lengths_of(p);
  return fmt::format("{} entries in {} rows of {}, {} of them longer", p.count, lengths.rows,
                     lengths.is_uneven ? "uneven lengths" : fmt::to_string(lengths.least), lengths.longer);
}

array_shapes shapes(const problem_spec& p) {
  const std::uint64_t rows = rows_of_matrix(p);
  const std::uint64_t columns = columns_of_matrix(p);
  const std::string of_rows = text_of_rows(p);
  const std::uint64_t x_count = p.is_transposed ? rows : columns;
  array_shapes all;
  all[places::source] = {x_count, p.record_bytes, array_role::input,
                         fmt::format("vector {} of {}", primitives::name(p.value), x_count)};
  all[places::index] = {p.count, bytes(p.index), array_role::input,
                        fmt::format("columns {} {} below {}, {}", primitives::name(p.nonzeros),
                                    primitives::name(p.index), columns, of_rows)};
  all[places::target] = {p.is_transposed ? columns : rows, p.record_bytes, array_role::output};
  all[sparse_places::values] = {p.count, p.record_bytes, array_role::input,
                                fmt::format("entries {} of {}", primitives::name(p.value), p.count)};
  const std::uint64_t begins = p.has_row_ends ? rows : rows + 1;
  all[places::offsets] = {begins, bytes(p.offset), array_role::input,
                          fmt::format("{} row begins {} of {}", begins, primitives::name(p.offset), of_rows)};
  if (p.has_row_ends) {
    all[sparse_places::row_ends] = {rows, bytes(p.offset), array_role::input,
                                    fmt::format("row ends {} of {}", primitives::name(p.offset), of_rows)};
  }
  return all;
}

std::uint64_t moved_bytes(const problem_spec& p) {
  const std::uint64_t rows = rows_of_matrix(p);
  const std::uint64_t offsets = p.has_row_ends ? 2 * rows : rows + 1;
  return p.count * (bytes(p.index) + p.record_bytes) + offsets * bytes(p.offset) +
         (rows + columns_of_matrix(p)) * p.record_bytes;
}

/// Entries of the longest sum, or more: of a row, and of a column of the transposed product.
double longest_sum(const problem_spec& p) {
  const std::uint64_t longest_row = row_lengths_of(p).longest_row();
  if (!p.is_transposed) return static_cast<double>(longest_row);
  const std::uint64_t usual = p.count / columns_of_matrix(p) + longest_row;
  const bool is_even = p.nonzeros != nonzero_pattern::zipf;
  return static_cast<double>(is_even ? std::min(p.count, 16 * usual) : p.count);
}

bool is_too_narrow(index_type type, std::uint64_t number) {
  constexpr std::uint64_t past[] = {std::uint64_t{1} << 32, 0, std::uint64_t{1} << 31, std::uint64_t{1} << 63};
  const std::uint64_t limit = past[static_cast<int>(type)];
  return limit != 0 && number >= limit;
}

std::string unchecked(const problem_spec& p) {
  const std::uint64_t rows = rows_of_matrix(p);
  const std::uint64_t columns = columns_of_matrix(p);
  if (p.count > 0 && (rows == 0 || columns == 0)) return "entries of no rows or columns";
  if (std::max({p.count, rows, columns}) > most_numbers) return "more entries, rows or columns than any memory has";
  if (is_too_narrow(p.index, columns)) return "column numbers are too narrow for the columns";
  if (is_too_narrow(p.offset, p.count)) return "row offsets are too narrow for the entries";
  if (p.count == 0) return "";
  // Signs are random, so that sums of n products are past 16 times the root of n times the largest of them in less than
  // one of 10^50 matrices.
  const double most = 16 * std::sqrt(longest_sum(p)) * static_cast<double>(most_product);
  return most < (p.value == value_type::f32 ? 0x1p24 : 0x1p53) ? "" : "sums are too large to be exact";
}

void fill_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  const matrix_source source = source_of(p, copy);
  switch (place) {
    case places::source: over_items(ctx, array.count, fill_vector{source, array.data}); break;
    case places::index: over_items(ctx, array.count, fill_columns{source, array.data}); break;
    case sparse_places::values: over_items(ctx, array.count, fill_entry_values{source, array.data}); break;
    case places::offsets: over_items(ctx, array.count, fill_row_begins{source, array.data}); break;
    case sparse_places::row_ends: over_items(ctx, array.count, fill_row_begins{source, array.data, 1}); break;
    default: wipe(ctx, array);
  }
}

void run(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const product_views v = views_of_product(p, arrays);
  spmv(ctx, v.a, v.x, v.y,
       {.transposed = p.is_transposed, .sums = p.sums, .pattern = p.access, .variant = settings.variant});
}

prepared_run prepare(const context& ctx, const problem_spec& p, const array_set& arrays, std::uint64_t expected_runs) {
  const product_views v = views_of_product(p, arrays);
  const prepared_spmv prepared =
      prepare_spmv(ctx, v.a, expected_runs, {.transposed = p.is_transposed, .sums = p.sums, .pattern = p.access});
  return {[prepared, v] { prepared.run(v.x, v.y); }, preparation_of(prepared.report(), prepared.report().order)};
}

std::uint64_t mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const matrix_source source = source_of(p, 0);
  const tally found = over_items(ctx, source.y_count(), checksum_results{source, arrays[places::target].data});
  const std::uint64_t expected = over_items(ctx, p.count, checksum_entries{source}).sum;
  return found.mismatches + (found.sum != expected ? 1 : 0);
}

constexpr sample samples[] = {{"spmv/banded:x16/r4/u32+f32"},
                              {"spmv/banded:x16/r4/u32+f32", true},
                              {"spmv/uniform:x16/r4/u32+f32"},
                              {"spmv/grid:x7/r8/u32+f64"},
                              {"spmv/uniform:xzipf/r8/u32+u64+f64"},
                              {"spmv/zipf:x8/r4/i32+f32+f64_sums+row_ends"},
                              {"spmv/uniform:x16/r8/u64+f64+transposed"},
                              {"spmv/banded:x5/r4/u32+f32+transposed"}};

constexpr std::string_view calibrated[] = {"spmv/banded:x16/r4/u32+f32", "spmv/banded:x16/r8/u32+f64",
                                           "spmv/uniform:x16/r4/u32+f32", "spmv/uniform:x16/r8/u32+f64",
                                           "spmv/zipf:x16/r8/u32+f64"};

}  // namespace

extern const job spmv_job{.primitive = "spmv",
                          .samples = samples,
                          .calibrated = calibrated,
                          .shapes = shapes,
                          .moved_bytes = moved_bytes,
                          .unchecked = unchecked,
                          .fill = fill_array,
                          .run = run,
                          .count_mistakes = mistakes,
                          .plain_loop = plain_spmv,
                          .prepare = prepare};

}  // namespace sheaf::jobs
