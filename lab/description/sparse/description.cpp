#include "core/startable.hpp"
#include "lab/description/estimates.hpp"
#include "lab/description/hash/problem.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/sparse/entry_parts.hpp"
#include "lab/description/sparse/items.hpp"
#include "lab/description/sparse/problem.hpp"
#include "lab/description/sweep.hpp"
#include "primitives/enum_names.hpp"

// The entry of spmv. Its count is the entries of a generated matrix, its table the rows, and a record a value.
namespace sheaf::primitives {

std::uint64_t rows_of_matrix(const problem_spec& p) { return row_lengths_of(p).rows; }
void require_rows(const problem_spec& p) {
  if (rows_of_matrix(p) == 0 && p.count != 0) refuse("--rows: {} entries have no place in 0 rows", p.count);
}
std::uint64_t columns_of_matrix(const problem_spec& p) {
  const std::optional<std::uint64_t>& columns = p.part<sparse_part>().columns;
  return columns ? *columns : rows_of_matrix(p);
}

bool is_flat_grid(std::uint64_t entries_of_a_point) noexcept {
  return entries_of_a_point == 5 || entries_of_a_point == 9;
}

std::uint64_t side_of_grid(const problem_spec& p) {
  const auto points = static_cast<double>(rows_of_matrix(p));
  const double side = is_flat_grid(p.part<sparse_part>().entries_of_a_row) ? std::sqrt(points) : std::cbrt(points);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(side)));
}

row_lengths row_lengths_of(const problem_spec& problem) {
  const sparse_part& matrix = problem.part<sparse_part>();
  row_lengths lengths{.entries = problem.count};
  if (problem.table) {
    lengths.rows = *problem.table;
    lengths.least = lengths.rows == 0 ? 0 : problem.count / lengths.rows;
    lengths.longer = lengths.rows == 0 ? 0 : problem.count % lengths.rows;
  } else if (matrix.entries_of_a_row == power_law_repeats) {
    lengths.is_uneven = true;
    lengths.rows = problem.count == 0 ? 0 : lengths.row_of_entry(problem.count - 1) + 1;
  } else {
    lengths.rows = problem.count / matrix.entries_of_a_row + (problem.count % matrix.entries_of_a_row != 0 ? 1 : 0);
    lengths.least = matrix.entries_of_a_row;
  }
  return lengths;
}

namespace {

constexpr std::uint64_t usual_entries_of_a_row = 16;
constexpr std::string_view power_law_word = "zipf";
constexpr enum_name<spmv_sums> sums_words[] = {{"as_values", spmv_sums::as_values}, {"f64", spmv_sums::f64}};

index_type least_type(std::uint64_t most) { return most >> 32 == 0 ? index_type::u32 : index_type::u64; }

}  // namespace

namespace sparse_fields {

const problem_field entries = fields::count.with_help("Entries of a sparse matrix");
const problem_field rows{"--rows", "Rows of the matrix; one for every 16 entries unless given", "N",
                         [](problem_spec& p, option_texts texts) { p.table = number_of("--rows", texts, 0); }};
const problem_field offset_type{
    "--offset-type", "Type of the matrix's row offsets; u32 unless there are too many entries", "u32|u64|i32|i64",
    [](problem_spec& p, option_texts texts) { p.part<sparse_part>().offset = parse_index_type(texts.front()); }};
const problem_field value_type{"--value-type", "Type of the matrix and of its vectors in spmv; f32 unless given",
                               "f32|f64", [](problem_spec& p, option_texts texts) {
                                 p.value = value_of(texts.front(), float_types, "a type of a matrix's values");
                                 p.record_bytes = bytes(p.value);
                               }};
const problem_field sums{"--sums", "In which type spmv adds; as_values unless given", "as_values|f64",
                         [](problem_spec& p, option_texts texts) {
                           p.part<sparse_part>().sums = value_of(texts.front(), sums_words, "a type of sums");
                         }};
const problem_field row_ends{"--row-ends", "Rows have ends of their own, and need not end where the next one begins",
                             "", [](problem_spec& p, option_texts) { p.part<sparse_part>().has_row_ends = true; }};

void usual_rows(problem_spec& p) { p.part<sparse_part>().entries_of_a_row = usual_entries_of_a_row; }
void usual_column_type(problem_spec& p) { p.index = least_type(columns_of_matrix(p)); }
void usual_offset_type(problem_spec& p) { p.part<sparse_part>().offset = least_type(p.count); }

}  // namespace sparse_fields

std::string text_of_types(const problem_spec& p) {
  const index_type offset = p.part<sparse_part>().offset;
  return fmt::format("{}{}+{}", name(p.index), offset == p.index ? "" : fmt::format("+{}", name(offset)),
                     name(p.value));
}

std::string text_of_layout(const problem_spec& p) {
  const sparse_part& matrix = p.part<sparse_part>();
  return fmt::format("{}{}", matrix.sums == spmv_sums::f64 ? "+f64_sums" : "", matrix.has_row_ends ? "+row_ends" : "");
}

void require_grid(const name_part& pattern, const problem_spec& p) {
  const sparse_part& matrix = p.part<sparse_part>();
  const std::uint64_t n = matrix.entries_of_a_row;
  const bool is_grid = !p.table && !matrix.columns && (is_flat_grid(n) || n == 7 || n == 27);
  if (!is_grid) {
    pattern.refuse("a grid: x5 or x9 for a square and neighbours of its points, x7 or x27 for a cube and theirs");
  }
}

namespace sparse_fields {

const problem_field columns{
    "--columns", "Columns of the matrix; as many as rows unless given", "N",
    [](problem_spec& p, option_texts texts) { p.part<sparse_part>().columns = number_of("--columns", texts, 0); }};
const problem_field transposed{"--transposed", "Multiply by the transposed matrix", "",
                               [](problem_spec& p, option_texts) { p.part<sparse_part>().is_transposed = true; }};
const problem_field order{"--order", "What may decide the order in which terms of a transposed product are added",
                          "deterministic|unordered", [](problem_spec& p, option_texts texts) {
                            p.part<sparse_part>().is_unordered =
                                parse_reduction_order(texts.front()) == reduction_order::unordered;
                          }};

}  // namespace sparse_fields

reduction_order order_of(const problem_spec& problem) {
  return problem.part<sparse_part>().is_unordered ? reduction_order::unordered : reduction_order::deterministic;
}

namespace {

constexpr field_use taken[] = {required(sparse_fields::entries),
                               optional(sparse_fields::rows, sparse_fields::usual_rows),
                               optional(sparse_fields::columns),
                               optional(fields::index_type, sparse_fields::usual_column_type),
                               optional(sparse_fields::offset_type, sparse_fields::usual_offset_type),
                               optional(sparse_fields::value_type, fields::value_width),
                               optional(sparse_fields::transposed),
                               optional(sparse_fields::order),
                               optional(sparse_fields::sums),
                               optional(sparse_fields::row_ends),
                               optional(fields::pattern)};

row_parts write(const problem_spec& problem) {
  const sparse_part& matrix = problem.part<sparse_part>();
  return {text_of_pattern(problem),
          fmt::format("{}{}{}{}", text_of_types(problem), matrix.is_transposed ? "+transposed" : "",
                      matrix.is_unordered ? "+unordered" : "", text_of_layout(problem))};
}

std::uint64_t parse_entries_of_a_row(std::string_view text) {
  if (text == power_law_word) return power_law_repeats;
  const std::optional<std::uint64_t> number = parse_number(text);
  if (!number || *number == 0) {
    refuse("'{}' is not a number of entries of a row, from 1, or {}", core::printable(text), power_law_word);
  }
  return *number;
}

// One word behind the pattern of nonzeros: rows, columns, or entries of a row. Says whether it says how many rows
// there are.
bool read_size(const name_part& word, problem_spec& problem) {
  sparse_part& matrix = problem.part<sparse_part>();
  constexpr std::string_view expected =
      "rows, such as s1000, columns, such as c1000, or the entries of a row, such as x16";
  if (word.text().starts_with('s')) {
    problem.table = word.behind("s", expected).number(0, ~std::uint64_t{0}, "a number of rows");
  } else if (word.text().starts_with('c')) {
    matrix.columns = word.behind("c", expected).number(0, ~std::uint64_t{0}, "a number of columns");
    return false;
  } else {
    matrix.entries_of_a_row = word.behind("x", expected).read(parse_entries_of_a_row);
  }
  return true;
}

}  // namespace

std::string text_of_pattern(const problem_spec& problem) {
  const sparse_part& matrix = problem.part<sparse_part>();
  const bool is_square = columns_of_matrix(problem) == rows_of_matrix(problem);
  return fmt::format("{}{}{}{}", name(matrix.nonzeros), problem.table ? fmt::format(":s{}", *problem.table) : "",
                     is_square ? "" : fmt::format(":c{}", *matrix.columns),
                     problem.table ? "" : fmt::format(":x{}", repeats_text(matrix.entries_of_a_row)));
}

void read_pattern(const name_part& pattern, problem_spec& problem) {
  sparse_part& matrix = problem.part<sparse_part>();
  const auto [nonzeros, sizes] = pattern.cut_at(":");
  matrix.nonzeros = nonzeros.read(parse_nonzero_pattern);
  int numbers_of_rows = 0;
  for_each_part(sizes, ":", [&](const name_part& word) {
    if (read_size(word, problem)) ++numbers_of_rows;
  });
  if (numbers_of_rows != 1) pattern.refuse("a pattern of nonzeros with rows (s1000) or the entries of a row (x16)");
  if (matrix.nonzeros == nonzero_pattern::grid) require_grid(pattern, problem);
}

namespace {

bool is_index_type(std::string_view text) { return text.starts_with('u') || text.starts_with('i'); }

}  // namespace

void read_type(const name_part& type, problem_spec& problem, std::initializer_list<own_word> own,
               std::string_view words_expected) {
  sparse_part& matrix = problem.part<sparse_part>();
  index_type& of_offsets = matrix.offset;
  auto [index, rest] = type.cut_at("+");
  of_offsets = problem.index = index.read(parse_index_type);
  if (rest && is_index_type(rest->text())) {
    const auto [offset, behind_offset] = rest->cut_at("+");
    of_offsets = offset.read(parse_index_type);
    rest = behind_offset;
  }
  if (!rest) type.refuse("an index type, or two, and a value type, such as u32+f32 or u32+u64+f32");
  const auto [value, words] = rest->cut_at("+");
  problem.value =
      value.read([](std::string_view text) { return value_of(text, float_types, "a type of a matrix's values"); });
  if (bytes(problem.value) != problem.record_bytes)
    value.refuse(fmt::format("a type of {} bytes", problem.record_bytes));
  for_each_part(words, "+", [&](const name_part& word) {
    const auto* const found =
        std::find_if(own.begin(), own.end(), [&](const own_word& w) { return w.text == word.text(); });
    if (found != own.end()) {
      matrix.*found->member = true;
    } else if (word.text() == "f64_sums") {
      if (problem.value != value_type::f32) word.refuse("allowed: it needs values of f32");
      matrix.sums = spmv_sums::f64;
    } else if (word.text() == "row_ends") {
      matrix.has_row_ends = true;
    } else {
      word.refuse(words_expected);
    }
  });
}

namespace {

void read(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_pattern(pattern, p);
  read_type(type, p, {{"transposed", &sparse_part::is_transposed}, {"unordered", &sparse_part::is_unordered}},
            "part of a product's type: transposed, unordered, f64_sums, row_ends");
}

std::string text_of_product(const problem_spec& problem) {
  const sparse_part& matrix = problem.part<sparse_part>();
  return fmt::format("{} entries in {} rows and {} columns{}{}, columns {}, {} {}, values {}{}, pattern {}",
                     problem.count, rows_of_matrix(problem), columns_of_matrix(problem),
                     matrix.is_transposed ? ", transposed" : "", matrix.is_unordered ? ", in any order" : "",
                     name(problem.index), matrix.has_row_ends ? "row begins and ends" : "row offsets",
                     name(matrix.offset), name(problem.value), matrix.sums == spmv_sums::f64 ? " with sums f64" : "",
                     name(problem.access));
}

std::vector<fact> facts(const problem_spec& problem) {
  const sparse_part& matrix = problem.part<sparse_part>();
  return {{"count", problem.count},
          {"rows", rows_of_matrix(problem)},
          {"columns", columns_of_matrix(problem)},
          {"index_type", std::string(name(problem.index))},
          {"offset_type", std::string(name(matrix.offset))},
          {"value_type", std::string(name(problem.value))},
          {"product", std::string(matrix.is_transposed ? "transposed" : "plain")},
          {"order", std::string(text_of(order_of(problem), reduction_orders))},
          {"sums", std::string(text_of(matrix.sums, sums_words))},
          {"layout", std::string(matrix.has_row_ends ? "row_ends" : "row_offsets")},
          {"pattern", name(problem.access)}};
}

}  // namespace

std::string label_of_matrix(const problem_spec& problem) {
  const sparse_part& matrix = problem.part<sparse_part>();
  const std::string_view nonzeros = matrix.nonzeros == nonzero_pattern::uniform ? "random columns"
                                    : matrix.nonzeros == nonzero_pattern::zipf  ? "Zipf columns"
                                                                                : name(matrix.nonzeros);
  const std::string rows = problem.table ? fmt::format("{} rows", *problem.table)
                           : matrix.entries_of_a_row == power_law_repeats
                               ? "uneven rows"
                               : fmt::format("{} a row", matrix.entries_of_a_row);
  const bool is_square = columns_of_matrix(problem) == rows_of_matrix(problem);
  return fmt::format("{}, {}{}", nonzeros, rows, is_square ? "" : fmt::format(", {} columns", *matrix.columns));
}

namespace {

row_labels labels(const problem_spec& problem) {
  const sparse_part& matrix = problem.part<sparse_part>();
  const std::string product = fmt::format(
      "{}, {}{}{}{}{}", label_of_matrix(problem), text_of_types(problem), matrix.is_transposed ? ", transposed" : "",
      matrix.is_unordered ? ", in any order" : "", matrix.sums == spmv_sums::f64 ? ", sums f64" : "",
      matrix.has_row_ends ? ", rows with ends of their own" : "");
  return {fmt::format("multiply by a matrix of {} entries, {}", count_text(problem.count), product), {{product}}};
}

explanation explain(const context& ctx, const problem_spec& problem, std::string_view variant) {
  require_rows(problem);
  const sparse_part& matrix = problem.part<sparse_part>();
  const jobs::product_views v = jobs::views_of_product(problem, {});
  return explain_spmv(ctx, v.a, v.x, v.y,
                      {.transposed = matrix.is_transposed,
                       .sums = matrix.sums,
                       .order = order_of(problem),
                       .pattern = problem.access,
                       .variant = variant});
}

}  // namespace

spmv_problem product_of(const problem_spec& problem, backend_kind backend) {
  const sparse_part& matrix = problem.part<sparse_part>();
  spmv_problem product;
  product.backend = backend;
  product.rows = rows_of_matrix(problem);
  product.columns = columns_of_matrix(problem);
  product.entries = problem.count;
  product.value = problem.value;
  product.offset = matrix.offset;
  product.column = problem.index;
  product.has_row_ends = matrix.has_row_ends;
  product.transposed = matrix.is_transposed;
  product.sums = problem.value == value_type::f64 ? spmv_sums::as_values : matrix.sums;
  product.order = order_of(problem);
  product.pattern = problem.access;
  return product;
}

access_pattern hint_of_matrix(const problem_spec& problem) {
  const sparse_part& matrix = problem.part<sparse_part>();
  switch (matrix.nonzeros) {
    case nonzero_pattern::banded:
      return access_pattern::clustered(std::max<std::uint64_t>(1, row_lengths_of(problem).longest_row()));
    case nonzero_pattern::grid: {
      const std::uint64_t side = side_of_grid(problem);
      return access_pattern::clustered(2 * (is_flat_grid(matrix.entries_of_a_row) ? side : side * side));
    }
    case nonzero_pattern::uniform: return access_pattern::random();
    case nonzero_pattern::zipf: return access_pattern::skewed();
  }
  return access_pattern::unknown();
}

}  // namespace sheaf::primitives

namespace sheaf::jobs {

using primitives::sparse_part;

product_views views_of_product(const problem_spec& problem, const array_set& arrays) {
  const sparse_part& matrix = problem.part<sparse_part>();
  const std::uint64_t rows = primitives::rows_of_matrix(problem);
  const std::uint64_t columns = primitives::columns_of_matrix(problem);
  const index_span begins{arrays[places::offsets].data, matrix.has_row_ends ? rows : rows + 1, matrix.offset};
  const index_span ends{arrays[sparse_places::row_ends].data, rows, matrix.offset};
  const index_span columns_of_entries{arrays[places::index].data, problem.count, problem.index};
  const const_values values_of_entries{arrays[sparse_places::values].data, problem.count, problem.value};
  return {matrix.has_row_ends ? csr_view(rows, columns, begins, ends, columns_of_entries, values_of_entries)
                              : csr_view(rows, columns, begins, columns_of_entries, values_of_entries),
          {arrays[places::source].data, matrix.is_transposed ? rows : columns, problem.value},
          {arrays[places::target].data, matrix.is_transposed ? columns : rows, problem.value}};
}

namespace {

template <class Value, class Sum, class Column, class Offset>
struct product_loop {
  product_views views;
  int threads;
  bool is_transposed;

  void operator()() const {
    const auto* const begins = static_cast<const Offset*>(views.a.row_begins.data);
    const auto* const ends = views.a.has_row_ends ? static_cast<const Offset*>(views.a.row_ends.data) : begins + 1;
    const auto* const columns = static_cast<const Column*>(views.a.column_indices.data);
    const auto* const entries = static_cast<const Value*>(views.a.values.data);
    const auto* const x = static_cast<const Value*>(views.x.data);
    auto* const y = static_cast<Value*>(views.y.data);
    const std::uint64_t rows = views.a.rows;
    if (is_transposed) {
      add_rows(begins, ends, columns, entries, x, y);
      return;
    }
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
    for (std::uint64_t row = 0; row < rows; ++row) {
      Sum sum = 0;
      for (std::uint64_t i = begins[row]; i < ends[row]; ++i) sum += static_cast<Sum>(entries[i]) * x[columns[i]];
      y[row] = static_cast<Value>(sum);
    }
  }

 private:
  void add_rows(const Offset* begins, const Offset* ends, const Column* columns, const Value* entries, const Value* x,
                Value* y) const {
    std::fill_n(y, views.y.count, Value{0});
    for (std::uint64_t row = 0; row < views.a.rows; ++row) {
      for (std::uint64_t i = begins[row]; i < ends[row]; ++i) y[columns[i]] += entries[i] * x[row];
    }
  }
};

template <class Value, class Sum>
plain_call loop_of(const context& ctx, const problem_spec& p, const array_set& arrays) {
  const sparse_part& matrix = p.part<sparse_part>();
  return with_index_type(p.index, [&]<class Column>(std::type_identity<Column>) {
    return with_index_type(matrix.offset, [&]<class Offset>(std::type_identity<Offset>) -> plain_call {
      return product_loop<Value, Sum, Column, Offset>{views_of_product(p, arrays), ctx.threads(), matrix.is_transposed};
    });
  });
}

// One that adds f32 by columns in f64 takes an array of sums, which nobody writes.
plain_call plain_spmv(const context& ctx, const problem_spec& p, const array_set& arrays) {
  const sparse_part& matrix = p.part<sparse_part>();
  if (p.value == value_type::f64) return loop_of<double, double>(ctx, p, arrays);
  if (matrix.sums != spmv_sums::f64) return loop_of<float, float>(ctx, p, arrays);
  return matrix.is_transposed ? plain_call{} : loop_of<float, double>(ctx, p, arrays);
}

// The job of spmv: matrices whose entries are functions of their place, row behind row. The check compares a sum over
// all results with a sum over all entries, each with the factor of its result.
using primitives::columns_of_matrix;
using primitives::row_lengths;
using primitives::row_lengths_of;
using primitives::rows_of_matrix;

}  // namespace

matrix_source source_of_matrix(const problem_spec& problem, std::uint64_t copy) {
  const sparse_part& matrix = problem.part<sparse_part>();
  matrix_source source{.lengths = row_lengths_of(problem),
                       .columns = columns_of_matrix(problem),
                       .nonzeros = matrix.nonzeros,
                       .order = pattern_of_copy(problem, copy),
                       .seed = inputs::mix(records_seed + copy),
                       .type = problem.value,
                       .column = problem.index,
                       .offset = matrix.offset,
                       .is_transposed = matrix.is_transposed};
  source.order.kind =
      matrix.nonzeros == nonzero_pattern::zipf ? inputs::pattern_kind::zipf : inputs::pattern_kind::uniform;
  if (matrix.nonzeros == nonzero_pattern::grid) source.side = primitives::side_of_grid(problem);
  return source;
}

namespace {

constexpr std::uint64_t most_numbers = std::uint64_t{1} << 48;

/// What the rows of a matrix have in common with those of another whose offsets are the same.
std::string text_of_rows(const problem_spec& p) {
  const row_lengths lengths = row_lengths_of(p);
  return fmt::format("{} entries in {} rows of {}, {} of them longer", p.count, lengths.rows,
                     lengths.is_uneven ? "uneven lengths" : fmt::to_string(lengths.least), lengths.longer);
}

}  // namespace

array_shapes shapes_of_product(const problem_spec& problem) {
  const sparse_part& matrix = problem.part<sparse_part>();
  const std::uint64_t rows = rows_of_matrix(problem);
  const std::uint64_t columns = columns_of_matrix(problem);
  const std::string of_rows = text_of_rows(problem);
  const std::uint64_t x_count = matrix.is_transposed ? rows : columns;
  array_shapes all;
  all[places::source] = {x_count, problem.record_bytes, array_role::input,
                         fmt::format("vector {} of {}", primitives::name(problem.value), x_count)};
  all[places::index] = {problem.count, bytes(problem.index), array_role::input,
                        fmt::format("columns {} {} below {}, {}", primitives::name(matrix.nonzeros),
                                    primitives::name(problem.index), columns, of_rows)};
  all[places::target] = {matrix.is_transposed ? columns : rows, problem.record_bytes, array_role::output};
  all[sparse_places::values] = {problem.count, problem.record_bytes, array_role::input,
                                fmt::format("entries {} of {}", primitives::name(problem.value), problem.count)};
  const std::uint64_t begins = matrix.has_row_ends ? rows : rows + 1;
  all[places::offsets] = {begins, bytes(matrix.offset), array_role::input,
                          fmt::format("{} row begins {} of {}", begins, primitives::name(matrix.offset), of_rows)};
  if (matrix.has_row_ends) {
    all[sparse_places::row_ends] = {rows, bytes(matrix.offset), array_role::input,
                                    fmt::format("row ends {} of {}", primitives::name(matrix.offset), of_rows)};
  }
  return all;
}

namespace {

std::uint64_t moved_bytes(const problem_spec& problem) {
  const sparse_part& matrix = problem.part<sparse_part>();
  const std::uint64_t rows = rows_of_matrix(problem);
  const std::uint64_t offsets = matrix.has_row_ends ? 2 * rows : rows + 1;
  return problem.count * (bytes(problem.index) + problem.record_bytes) + offsets * bytes(matrix.offset) +
         (rows + columns_of_matrix(problem)) * problem.record_bytes;
}

/// Entries of the longest sum, or more: of a row, and of a column of the transposed product.
double longest_sum(const problem_spec& problem) {
  const sparse_part& matrix = problem.part<sparse_part>();
  const std::uint64_t longest_row = row_lengths_of(problem).longest_row();
  if (!matrix.is_transposed) return static_cast<double>(longest_row);
  const std::uint64_t usual = problem.count / columns_of_matrix(problem) + longest_row;
  const bool is_even = matrix.nonzeros != nonzero_pattern::zipf;
  return static_cast<double>(is_even ? std::min(problem.count, 16 * usual) : problem.count);
}

bool is_too_narrow(index_type type, std::uint64_t number) {
  constexpr std::uint64_t past[] = {std::uint64_t{1} << 32, 0, std::uint64_t{1} << 31, std::uint64_t{1} << 63};
  const std::uint64_t limit = past[static_cast<int>(type)];
  return limit != 0 && number >= limit;
}

}  // namespace

std::string unchecked_product(const problem_spec& problem) {
  const std::uint64_t rows = rows_of_matrix(problem);
  const std::uint64_t columns = columns_of_matrix(problem);
  if (problem.count > 0 && (rows == 0 || columns == 0)) return "entries of no rows or columns";
  if (std::max({problem.count, rows, columns}) > most_numbers)
    return "more entries, rows or columns than any memory has";
  if (is_too_narrow(problem.index, columns)) return "column numbers are too narrow for the columns";
  if (is_too_narrow(problem.part<sparse_part>().offset, problem.count))
    return "row offsets are too narrow for the entries";
  if (problem.count == 0) return "";
  // Signs are random, so that sums of n products are past 16 times the root of n times the largest of them in less than
  // one of 10^50 matrices.
  const double most = 16 * std::sqrt(longest_sum(problem)) * static_cast<double>(most_product);
  return most < (problem.value == value_type::f32 ? 0x1p24 : 0x1p53) ? "" : "sums are too large to be exact";
}

void fill_matrix_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place,
                       records array) {
  const matrix_source source = source_of_matrix(p, copy);
  switch (place) {
    case places::source: over_items(ctx, array.count, fill_vector{source, array.data}); break;
    case places::index: over_items(ctx, array.count, fill_columns{source, array.data}); break;
    case sparse_places::values: over_items(ctx, array.count, fill_entry_values{source, array.data}); break;
    case places::offsets: over_items(ctx, array.count, fill_row_begins{source, array.data}); break;
    case sparse_places::row_ends: over_items(ctx, array.count, fill_row_begins{source, array.data, 1}); break;
    default: wipe(ctx, array);
  }
}

namespace {

void run(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const sparse_part& matrix = p.part<sparse_part>();
  const product_views v = views_of_product(p, arrays);
  spmv(ctx, v.a, v.x, v.y,
       {.transposed = matrix.is_transposed,
        .sums = matrix.sums,
        .order = primitives::order_of(p),
        .pattern = p.access,
        .variant = settings.variant});
}

prepared_run prepare(const context& ctx, const problem_spec& p, const array_set& arrays, std::uint64_t expected_runs) {
  const sparse_part& matrix = p.part<sparse_part>();
  const product_views v = views_of_product(p, arrays);
  const prepared_spmv prepared = prepare_spmv(
      ctx, v.a, expected_runs,
      {.transposed = matrix.is_transposed, .sums = matrix.sums, .order = order_of(p), .pattern = p.access});
  return {[prepared, v] { prepared.run(v.x, v.y); }, preparation_of(prepared.report(), prepared.report().order)};
}

std::uint64_t mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const matrix_source source = source_of_matrix(p, 0);
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

constexpr job spmv_job{.samples = samples,
                       .calibrated = calibrated,
                       .shapes = shapes_of_product,
                       .moved_bytes = moved_bytes,
                       .unchecked = unchecked_product,
                       .fill = fill_matrix_array,
                       .run = run,
                       .count_mistakes = mistakes,
                       .plain_loop = plain_spmv,
                       .prepare = prepare};

}  // namespace
}  // namespace sheaf::jobs

namespace sheaf::primitives {

extern const entry conjugate_gradient_entry;  // in system.cpp
extern const entry spmm_entry;                // in spmm.cpp
void add_dense_products(const sweep& sweep, std::span<const std::string> matrices, std::uint64_t count,
                        std::vector<problem_spec>& problems);
void read_dense_layouts(sweep& sweep, option_texts texts);

namespace {

constexpr entry spmv_entry{.name = "spmv",
                           .family = "sparse",
                           .fields = taken,
                           .example = "--count 100000000 --rows 6000000 --value-type f64 --pattern random",
                           .write = write,
                           .read = read,
                           .text = text_of_product,
                           .facts = facts,
                           .labels = labels,
                           .explain = explain,
                           .estimates = estimates_by<product_of, spmv_variants>,
                           .has_variants = any_works_on<spmv_variants>,
                           .place = place_by<product_of>,
                           .hint = hint_of_matrix,
                           .job = &jobs::spmv_job};

constexpr const entry* entries_of_family[] = {&spmv_entry, &spmm_entry, &conjugate_gradient_entry};

// Rows: every pattern of nonzeros by every layout, and systems.
struct sparse_lists {
  std::vector<std::string> matrices{"banded:x16", "grid:x7", "uniform:x16", "uniform:xzipf", "zipf:x16"};
  std::vector<std::string> layouts{"r4/u32+f32",
                                   "r8/u32+f64",
                                   "r4/u32+f32+transposed",
                                   "r8/u32+f64+transposed",
                                   "r4/u32+f32+transposed+unordered",
                                   "r8/u32+f64+transposed+unordered"};
  std::vector<std::string> systems{"grid:x7:i16/r8/u32+f64", "grid:x27:i16/r8/u32+u64+f64+jacobi"};
};

/// Stands for the entries of a matrix in a name that is not complete. It is so large that the number of rows differs
/// from any number of columns that one asks for: a name leaves out columns that are as many as rows.
constexpr std::uint64_t any_count = std::uint64_t{1} << 56;

problem_spec parse_product(std::string_view matrix, std::string_view layout) {
  return parse_problem(fmt::format("spmv/{}/{}/n={}", matrix, layout, any_count));
}

problem_spec parse_system(std::string_view text) {
  return parse_problem(fmt::format("conjugate_gradient/{}/n={}", text, any_count));
}

void add_products(const sweep& s, std::uint64_t count, std::vector<problem_spec>& problems) {
  const auto& lists = s.lists.of<sparse_lists>();
  for (const std::string& layout : lists.layouts) {
    for (const std::string& matrix : lists.matrices) {
      problem_spec p = parse_product(matrix, layout);
      p.count = count;
      add_if_checked(p, problems);
    }
  }
}

void add_systems(const sweep& s, std::uint64_t count, std::vector<problem_spec>& problems) {
  for (const std::string& system : s.lists.of<sparse_lists>().systems) {
    problem_spec p = parse_system(system);
    p.count = count;
    add_if_checked(p, problems);
  }
}

void add(const sweep& s, std::span<const entry* const> entries, std::vector<problem_spec>& problems) {
  for (const entry* const e : entries) {
    for (const std::uint64_t count : s.counts) {
      if (e == &spmv_entry)
        add_products(s, count, problems);
      else if (e == &spmm_entry)
        add_dense_products(s, s.lists.of<sparse_lists>().matrices, count, problems);
      else
        add_systems(s, count, problems);
    }
  }
}

// Matrices that stay in a GPU's cache, and those that no cache holds.
constexpr named_sweep sets[] = {{"spmv", "--primitives spmv --log2-sizes 20:26:3"},
                                {"spmm", "--primitives spmm --log2-sizes 16:22:3"},
                                {"systems", "--primitives conjugate_gradient --log2-sizes 20:26:3"}};

constexpr list_option lists[] = {
    {"--matrices", "of sparse products: banded:x16 (entries a row), grid:x7, uniform:xzipf, zipf:s1000:c900, ...",
     [](sweep& s, option_texts texts) {
       s.lists.of<sparse_lists>().matrices =
           checked_list(texts, [](std::string_view text) { parse_product(text, "r4/u32+f32"); });
     }},
    {"--matrix-layouts", "of sparse products: r4/u32+f32 (columns u32), r8/u32+u64+f64+transposed (offsets u64), ...",
     [](sweep& s, option_texts texts) {
       s.lists.of<sparse_lists>().layouts =
           checked_list(texts, [](std::string_view text) { parse_product("banded:x1", text); });
     }},
    {"--dense-layouts", "of products with dense matrices: r256/u32+f32 (bytes of a row), r64/u32+f32+transposed, ...",
     read_dense_layouts},
    {"--systems", "of conjugate gradient: grid:x7:i16/r8/u32+f64 (entries a row, iterations), grid:x27:i50/...+jacobi",
     [](sweep& s, option_texts texts) { s.lists.of<sparse_lists>().systems = checked_list(texts, parse_system); }},
};

}  // namespace

extern const family sparse_family{"sparse", entries_of_family, sets, lists, add};

}  // namespace sheaf::primitives
