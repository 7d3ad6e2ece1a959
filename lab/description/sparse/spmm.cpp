#include "primitives/sparse/spmm.hpp"
#include "core/startable.hpp"
#include "lab/description/estimates.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/sparse/entry_parts.hpp"
#include "lab/description/sweep.hpp"
#include "primitives/enum_names.hpp"

// The entry of spmm. Its count is the entries of a generated matrix, its table the rows, and a record a row of X.
namespace sheaf::primitives {
namespace {

constexpr std::uint64_t most_values_of_x = 1024;

std::uint64_t width_of_x(const problem_spec& p) { return p.record_bytes / bytes(p.value); }

/// The matrix alone, as the problem of an spmv, whose records are values.
problem_spec matrix_of(const problem_spec& p) {
  problem_spec matrix = p;
  matrix.record_bytes = bytes(p.value);
  return matrix;
}

void require_whole_rows_of_x(const problem_spec& p) {
  require_rows(p);
  if (p.record_bytes == 0 || p.record_bytes % bytes(p.value) != 0 || width_of_x(p) > most_values_of_x) {
    refuse("--record-bytes: a row of {} bytes is not 1 to {} values of type {}", p.record_bytes, most_values_of_x,
           name(p.value));
  }
}

const problem_field dense_row_field = fields::bytes.with_help("Bytes of a row of the dense matrix");
const problem_field dense_type_field{"--value-type", "Type of both matrices' values; f32 unless given", "f32|f64",
                                     [](problem_spec& p, option_texts texts) {
                                       p.value = value_of(texts.front(), float_types, "a type of a matrix's values");
                                     }};

constexpr field_use taken_by_spmm[] = {required(sparse_fields::entries),
                                       required(dense_row_field),
                                       optional(sparse_fields::rows, sparse_fields::usual_rows),
                                       optional(sparse_fields::columns),
                                       optional(fields::index_type, sparse_fields::usual_column_type),
                                       optional(sparse_fields::offset_type, sparse_fields::usual_offset_type),
                                       optional(dense_type_field),
                                       optional(sparse_fields::transposed),
                                       optional(sparse_fields::order),
                                       optional(sparse_fields::row_ends),
                                       optional(fields::pattern)};

row_parts write_dense(const problem_spec& p) {
  const sparse_part& matrix = p.part<sparse_part>();
  return {text_of_pattern(p), fmt::format("{}{}{}{}", text_of_types(p), matrix.is_transposed ? "+transposed" : "",
                                          matrix.is_unordered ? "+unordered" : "", text_of_layout(p))};
}

void read_dense(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_pattern(pattern, p);
  // A row of X has as many bytes as it has; the type of a value is read as that of a vector's.
  const std::uint64_t row_bytes = p.record_bytes;
  p.record_bytes = type.text().find("f64") == std::string_view::npos ? 4 : 8;
  read_type(type, p, {{"transposed", &sparse_part::is_transposed}, {"unordered", &sparse_part::is_unordered}},
            "part of a product's type: transposed, unordered, row_ends");
  if (p.part<sparse_part>().sums == spmv_sums::f64) type.refuse("a type without f64_sums");
  p.record_bytes = row_bytes;
  if (row_bytes % bytes(p.value) != 0 || width_of_x(p) == 0 || width_of_x(p) > most_values_of_x) {
    type.refuse(fmt::format("a type of which {} bytes are 1 to {} values", row_bytes, most_values_of_x));
  }
}

std::string text_of_dense(const problem_spec& p) {
  const sparse_part& matrix = p.part<sparse_part>();
  return fmt::format("{} entries in {} rows and {} columns{}{}, times rows of {} {}, columns {}, {} {}, pattern {}",
                     p.count, rows_of_matrix(p), columns_of_matrix(p), matrix.is_transposed ? ", transposed" : "",
                     matrix.is_unordered ? ", in any order" : "", width_of_x(p), name(p.value), name(p.index),
                     matrix.has_row_ends ? "row begins and ends" : "row offsets", name(matrix.offset), name(p.access));
}

std::vector<fact> facts_of_dense(const problem_spec& p) {
  const sparse_part& matrix = p.part<sparse_part>();
  return {{"count", p.count},
          {"rows", rows_of_matrix(p)},
          {"columns", columns_of_matrix(p)},
          {"record_bytes", p.record_bytes},
          {"index_type", std::string(name(p.index))},
          {"offset_type", std::string(name(matrix.offset))},
          {"value_type", std::string(name(p.value))},
          {"product", std::string(matrix.is_transposed ? "transposed" : "plain")},
          {"order", std::string(matrix.is_unordered ? "unordered" : "deterministic")},
          {"layout", std::string(matrix.has_row_ends ? "row_ends" : "row_offsets")},
          {"pattern", name(p.access)}};
}

row_labels labels_of_dense(const problem_spec& p) {
  const sparse_part& matrix = p.part<sparse_part>();
  const std::string product = fmt::format(
      "{}, {}{}{}{}", label_of_matrix(p), text_of_types(p), matrix.is_transposed ? ", transposed" : "",
      matrix.is_unordered ? ", in any order" : "", matrix.has_row_ends ? ", rows with ends of their own" : "");
  return {fmt::format("multiply rows of {} by a matrix of {} entries, {}", width_of_x(p), count_text(p.count), product),
          {{product + "; rows of "}, varying(width_of_x(p)), {" values"}}};
}

explanation explain_dense(const context& ctx, const problem_spec& p, std::string_view variant) {
  require_whole_rows_of_x(p);
  const jobs::dense_views v = jobs::views_of_dense(p, {});
  return explain_spmm(ctx, v.a, v.x, v.y,
                      {.transposed = p.part<sparse_part>().is_transposed,
                       .order = order_of(p),
                       .pattern = p.access,
                       .variant = variant});
}

spmm_problem dense_product_of(const problem_spec& p, backend_kind backend) {
  spmm_problem product;
  product.matrix = product_of(matrix_of(p), backend);
  product.x = product.y = p.value;
  product.values_per_row = width_of_x(p);
  product.x_stride_bytes = product.y_stride_bytes = p.record_bytes;
  product.x_word_bytes = product.y_word_bytes = widest_word(p.record_bytes);
  return product;
}

}  // namespace
}  // namespace sheaf::primitives

namespace sheaf::jobs {

using namespace primitives;

dense_views views_of_dense(const problem_spec& p, const array_set& arrays) {
  const product_views v = views_of_product(matrix_of(p), arrays);
  return {v.a, {v.x.data, v.x.count, width_of_x(p), p.value}, {v.y.data, v.y.count, width_of_x(p), p.value}};
}

namespace {

dense_source source_of_dense(const problem_spec& p, std::uint64_t copy) {
  return {source_of_matrix(matrix_of(p), copy), width_of_x(p)};
}

array_shapes shapes_of_dense(const problem_spec& p) {
  array_shapes all = shapes_of_product(matrix_of(p));
  all[places::source].item_bytes = all[places::target].item_bytes = p.record_bytes;
  all[places::source].contents += fmt::format(" rows of {}", width_of_x(p));
  return all;
}

std::uint64_t bytes_of_dense(const problem_spec& p) {
  const sparse_part& matrix = p.part<sparse_part>();
  return p.count * (bytes(p.index) + bytes(p.value)) + rows_of_matrix(p) * bytes(matrix.offset) +
         (rows_of_matrix(p) + columns_of_matrix(p)) * p.record_bytes;
}

std::string unchecked_dense(const problem_spec& p) {
  if (p.record_bytes == 0 || p.record_bytes % bytes(p.value) != 0 || width_of_x(p) > most_values_of_x)
    return "rows are no whole number of values";
  return unchecked_product(matrix_of(p));
}

void fill_dense_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  if (place != places::source) return fill_matrix_array(ctx, matrix_of(p), copy, place, array);
  const dense_source source = source_of_dense(p, copy);
  over_items(ctx, array.count * source.width, fill_dense{source, array.data});
}

void run_dense(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const dense_views v = views_of_dense(p, arrays);
  spmm(ctx, v.a, v.x, v.y,
       {.transposed = p.part<sparse_part>().is_transposed,
        .order = order_of(p),
        .pattern = p.access,
        .variant = settings.variant});
}

prepared_run prepare_dense(const context& ctx, const problem_spec& p, const array_set& arrays,
                           std::uint64_t expected_runs) {
  const dense_views v = views_of_dense(p, arrays);
  const prepared_spmm prepared = prepare_spmm(ctx, v.a, expected_runs,
                                              {.transposed = p.part<sparse_part>().is_transposed,
                                               .order = order_of(p),
                                               .pattern = p.access,
                                               .values_per_row = width_of_x(p)});
  return {[prepared, v] { prepared.run(v.x, v.y); }, preparation_of(prepared.report(), p.access)};
}

std::uint64_t mistakes_of_dense(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const dense_source source = source_of_dense(p, 0);
  const tally found =
      over_items(ctx, source.y_count() * source.width, checksum_results{source, arrays[places::target].data});
  const std::uint64_t expected = over_items(ctx, p.count, checksum_dense_entries{source}).sum;
  return found.mismatches + (found.sum != expected ? 1 : 0);
}

template <class Value, class Column, class Offset>
void multiply_loop(const dense_views& v, int threads) {
  const auto* const begins = static_cast<const Offset*>(v.a.row_begins.data);
  const auto* const ends = v.a.has_row_ends ? static_cast<const Offset*>(v.a.row_ends.data) : begins + 1;
  const auto* const columns = static_cast<const Column*>(v.a.column_indices.data);
  const auto* const entries = static_cast<const Value*>(v.a.values.data);
  const auto* const x = static_cast<const Value*>(v.x.data);
  auto* const y = static_cast<Value*>(v.y.data);
  const std::uint64_t width = v.x.values_per_row;
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t row = 0; row < v.a.rows; ++row) {
    std::fill_n(y + row * width, width, Value{0});
    for (std::uint64_t i = begins[row]; i < ends[row]; ++i) {
      for (std::uint64_t k = 0; k < width; ++k) y[row * width + k] += entries[i] * x[columns[i] * width + k];
    }
  }
}

// The transposed product adds where other rows do, so that one thread goes through the matrix.
template <class Value, class Column, class Offset>
void multiply_transposed_loop(const dense_views& v) {
  const auto* const begins = static_cast<const Offset*>(v.a.row_begins.data);
  const auto* const ends = v.a.has_row_ends ? static_cast<const Offset*>(v.a.row_ends.data) : begins + 1;
  const auto* const columns = static_cast<const Column*>(v.a.column_indices.data);
  const auto* const entries = static_cast<const Value*>(v.a.values.data);
  const auto* const x = static_cast<const Value*>(v.x.data);
  auto* const y = static_cast<Value*>(v.y.data);
  const std::uint64_t width = v.x.values_per_row;
  std::fill_n(y, v.a.columns * width, Value{0});
  for (std::uint64_t row = 0; row < v.a.rows; ++row) {
    for (std::uint64_t i = begins[row]; i < ends[row]; ++i) {
      for (std::uint64_t k = 0; k < width; ++k) y[columns[i] * width + k] += entries[i] * x[row * width + k];
    }
  }
}

plain_call plain_spmm(const context& ctx, const problem_spec& p, const array_set& arrays) {
  const sparse_part& matrix = p.part<sparse_part>();
  return with_sum_type(p.value, [&]<class Value>(std::type_identity<Value>) {
    return with_index_type(p.index, [&]<class Column>(std::type_identity<Column>) {
      return with_index_type(matrix.offset, [&]<class Offset>(std::type_identity<Offset>) -> plain_call {
        return [v = views_of_dense(p, arrays), threads = ctx.threads(), transposed = matrix.is_transposed] {
          transposed ? multiply_transposed_loop<Value, Column, Offset>(v)
                     : multiply_loop<Value, Column, Offset>(v, threads);
        };
      });
    });
  });
}

constexpr sample samples_of_spmm[] = {{"spmm/banded:x16/r64/u32+f32"},
                                      {"spmm/uniform:x16/r256/u32+f32"},
                                      {"spmm/grid:x7/r32/u32+f64"},
                                      {"spmm/uniform:x16/r256/u32+f32+transposed"},
                                      {"spmm/uniform:x16/r256/u32+f32+transposed", true},
                                      {"spmm/zipf:x8/r12/i32+f32+row_ends"}};

constexpr job spmm_job{.samples = samples_of_spmm,
                       .shapes = shapes_of_dense,
                       .moved_bytes = bytes_of_dense,
                       .unchecked = unchecked_dense,
                       .fill = fill_dense_array,
                       .run = run_dense,
                       .count_mistakes = mistakes_of_dense,
                       .plain_loop = plain_spmm,
                       .prepare = prepare_dense};

}  // namespace
}  // namespace sheaf::jobs

namespace sheaf::primitives {

extern const entry spmm_entry;

constexpr entry spmm_entry{.name = "spmm",
                           .family = "sparse",
                           .fields = taken_by_spmm,
                           .example = "--count 100000000 --rows 6000000 --record-bytes 256 --pattern random",
                           .write = write_dense,
                           .read = read_dense,
                           .text = text_of_dense,
                           .facts = facts_of_dense,
                           .labels = labels_of_dense,
                           .explain = explain_dense,
                           .estimates = estimates_by<dense_product_of, spmm_variants>,
                           .has_variants = any_works_on<spmm_variants>,
                           .place = place_by<dense_product_of>,
                           .hint = hint_of_matrix,
                           .job = &jobs::spmm_job};

namespace {

struct dense_lists {
  std::vector<std::string> layouts{"r4/u32+f32", "r16/u32+f32", "r256/u32+f32", "r256/u32+f32+transposed"};
};

problem_spec parse_dense(std::string_view matrix, std::string_view layout) {
  return parse_problem(fmt::format("spmm/{}/{}/n={}", matrix, layout, std::uint64_t{1} << 56));
}

}  // namespace

void add_dense_products(const sweep& sweep, std::span<const std::string> matrices, std::uint64_t count,
                        std::vector<problem_spec>& problems) {
  for (const std::string& layout : sweep.lists.of<dense_lists>().layouts) {
    for (const std::string& matrix : matrices) {
      problem_spec p = parse_dense(matrix, layout);
      p.count = count;
      add_if_checked(p, problems);
    }
  }
}

void read_dense_layouts(sweep& sweep, option_texts texts) {
  sweep.lists.of<dense_lists>().layouts =
      checked_list(texts, [](std::string_view text) { parse_dense("banded:x1", text); });
}

}  // namespace sheaf::primitives
