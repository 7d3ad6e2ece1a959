#include "primitives/sparse/spmv.hpp"

#include <algorithm>
#include <cmath>

#include "lab/description/entry.hpp"
#include "lab/description/estimates.hpp"
#include "lab/description/hash/entry.hpp"
#include "lab/description/sparse/matrix.hpp"
#include "primitives/views.hpp"
#include "primitives/words.hpp"

// The entry of spmv. Its count is the entries of a generated matrix, its table the rows, and a record a value.
namespace sheaf::primitives {

std::uint64_t rows_of_matrix(const problem_spec& p) { return row_lengths_of(p).rows; }
std::uint64_t columns_of_matrix(const problem_spec& p) { return p.columns ? *p.columns : rows_of_matrix(p); }

bool is_flat_grid(std::uint64_t entries_of_a_point) noexcept {
  return entries_of_a_point == 5 || entries_of_a_point == 9;
}

std::uint64_t side_of_grid(const problem_spec& p) {
  const auto points = static_cast<double>(rows_of_matrix(p));
  const double side = is_flat_grid(p.repeats) ? std::sqrt(points) : std::cbrt(points);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(side)));
}

row_lengths row_lengths_of(const problem_spec& p) {
  row_lengths lengths{.entries = p.count};
  if (p.table) {
    lengths.rows = *p.table;
    lengths.least = lengths.rows == 0 ? 0 : p.count / lengths.rows;
    lengths.longer = lengths.rows == 0 ? 0 : p.count % lengths.rows;
  } else if (p.repeats == power_law_repeats) {
    lengths.is_uneven = true;
    lengths.rows = p.count == 0 ? 0 : lengths.row_of_entry(p.count - 1) + 1;
  } else {
    lengths.rows = p.count / p.repeats + (p.count % p.repeats != 0 ? 1 : 0);
    lengths.least = p.repeats;
  }
  return lengths;
}

namespace {

constexpr std::uint64_t usual_entries_of_a_row = 16;
constexpr std::string_view power_law_word = "zipf";
constexpr word<spmv_sums> sums_words[] = {{"as_values", spmv_sums::as_values}, {"f64", spmv_sums::f64}};

index_type least_type(std::uint64_t most) { return most >> 32 == 0 ? index_type::u32 : index_type::u64; }

const problem_field entries_field{.option = fields::count.option,
                                  .help = "Entries of a sparse matrix",
                                  .type_name = fields::count.type_name,
                                  .read = fields::count.read};
const problem_field rows_field{
    .option = "--rows",
    .help = "Rows of the matrix; one for every 16 entries unless given",
    .type_name = "N",
    .read = [](problem_spec& p, std::span<const std::string> texts) { p.table = number_of("--rows", texts, 0); }};
const problem_field columns_field{
    .option = "--columns",
    .help = "Columns of the matrix; as many as rows unless given",
    .type_name = "N",
    .read = [](problem_spec& p, std::span<const std::string> texts) { p.columns = number_of("--columns", texts, 0); }};
const problem_field column_type_field{.option = fields::index_type.option,
                                      .help = fields::index_type.help,
                                      .type_name = fields::index_type.type_name,
                                      .read = fields::index_type.read};
const problem_field offset_type_field{
    .option = "--offset-type",
    .help = "Type of the matrix's row offsets; u32 unless there are too many entries",
    .type_name = "u32|u64|i32|i64",
    .read = [](problem_spec& p, std::span<const std::string> texts) { p.offset = parse_index_type(texts.front()); }};
const problem_field value_type_field{.option = "--type",
                                     .help = "Type of the matrix and of its vectors in spmv; f32 unless given",
                                     .type_name = "f32|f64",
                                     .read = [](problem_spec& p, std::span<const std::string> texts) {
                                       p.value = value_of(texts.front(), float_types, "a type of a matrix's values");
                                       p.record_bytes = bytes(p.value);
                                     }};
const problem_field transposed_field{
    .option = "--transposed",
    .help = "Multiply by the transposed matrix",
    .type_name = "",
    .read = [](problem_spec& p, std::span<const std::string>) { p.is_transposed = true; }};
const problem_field sums_field{.option = "--sums",
                               .help = "In which type spmv adds; as_values unless given",
                               .type_name = "as_values|f64",
                               .read = [](problem_spec& p, std::span<const std::string> texts) {
                                 p.sums = value_of(texts.front(), sums_words, "a type of sums");
                               }};
const problem_field row_ends_field{
    .option = "--row-ends",
    .help = "Rows have ends of their own, and do not end where the next one begins",
    .type_name = "",
    .read = [](problem_spec& p, std::span<const std::string>) { p.has_row_ends = true; }};

constexpr field_use taken[] = {
    required(entries_field),
    optional(rows_field, [](problem_spec& p) { p.repeats = usual_entries_of_a_row; }),
    optional(columns_field),
    optional(column_type_field, [](problem_spec& p) { p.index = least_type(columns_of_matrix(p)); }),
    optional(offset_type_field, [](problem_spec& p) { p.offset = least_type(p.count); }),
    optional(value_type_field, [](problem_spec& p) { p.record_bytes = bytes(p.value); }),
    optional(transposed_field),
    optional(sums_field),
    optional(row_ends_field),
    optional(fields::pattern)};

row_words write(const problem_spec& p) {
  const bool is_square = columns_of_matrix(p) == rows_of_matrix(p);
  return {fmt::format("{}{}{}{}", name(p.nonzeros), p.table ? fmt::format(":s{}", *p.table) : "",
                      is_square ? "" : fmt::format(":c{}", *p.columns),
                      p.table ? "" : fmt::format(":x{}", repeats_name(p))),
          fmt::format("{}{}+{}{}{}{}", name(p.index), p.offset == p.index ? "" : fmt::format("+{}", name(p.offset)),
                      name(p.value), p.is_transposed ? "+transposed" : "", p.sums == spmv_sums::f64 ? "+f64_sums" : "",
                      p.has_row_ends ? "+row_ends" : "")};
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
bool read_size(const name_part& word, problem_spec& p) {
  constexpr std::string_view expected =
      "rows, such as s1000, columns, such as c1000, or the entries of a row, such as x16";
  if (word.text().starts_with('s')) {
    p.table = word.behind("s", expected).number(0, ~std::uint64_t{0}, "a number of rows");
  } else if (word.text().starts_with('c')) {
    p.columns = word.behind("c", expected).number(0, ~std::uint64_t{0}, "a number of columns");
    return false;
  } else {
    p.repeats = word.behind("x", expected).read(parse_entries_of_a_row);
  }
  return true;
}

void require_grid(const name_part& pattern, const problem_spec& p) {
  const std::uint64_t n = p.repeats;
  const bool is_grid = !p.table && !p.columns && (is_flat_grid(n) || n == 7 || n == 27);
  if (!is_grid) {
    pattern.refuse("a grid: x5 or x9 for a square and neighbours of its points, x7 or x27 for a cube and theirs");
  }
}

void read_pattern(const name_part& pattern, problem_spec& p) {
  auto [nonzeros, rest] = pattern.cut_at(":");
  p.nonzeros = nonzeros.read(parse_nonzero_pattern);
  int numbers_of_rows = 0;
  while (rest) {
    const auto [word, more] = rest->cut_at(":");
    if (read_size(word, p)) ++numbers_of_rows;
    rest = more;
  }
  if (numbers_of_rows != 1) pattern.refuse("a pattern of nonzeros with rows (s1000) or the entries of a row (x16)");
  if (p.nonzeros == nonzero_pattern::grid) require_grid(pattern, p);
}

// One word behind the types: what is not as usual.
void read_word(const name_part& word, problem_spec& p) {
  if (word.text() == "transposed") {
    p.is_transposed = true;
  } else if (word.text() == "f64_sums") {
    if (p.value != value_type::f32) word.refuse("for values of f32 alone");
    p.sums = spmv_sums::f64;
  } else if (word.text() == "row_ends") {
    p.has_row_ends = true;
  } else {
    word.refuse("part of a product's type: transposed, f64_sums, row_ends");
  }
}

bool is_index_type(std::string_view text) { return text.starts_with('u') || text.starts_with('i'); }

void read(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_pattern(pattern, p);
  auto [index, rest] = type.cut_at("+");
  p.offset = p.index = index.read(parse_index_type);
  if (rest && is_index_type(rest->text())) {
    const auto [offset, behind_offset] = rest->cut_at("+");
    p.offset = offset.read(parse_index_type);
    rest = behind_offset;
  }
  if (!rest) type.refuse("an index type, or two, and a value type, such as u32+f32 or u32+u64+f32");
  const auto [value, words] = rest->cut_at("+");
  p.value =
      value.read([](std::string_view text) { return value_of(text, float_types, "a type of a matrix's values"); });
  if (bytes(p.value) != p.record_bytes) value.refuse(fmt::format("a type of {} bytes", p.record_bytes));
  rest = words;
  while (rest) {
    const auto [word, more] = rest->cut_at("+");
    read_word(word, p);
    rest = more;
  }
}

std::string text_of_product(const problem_spec& p) {
  return fmt::format("{} entries in {} rows and {} columns{}, columns {}, {} {}, values {}{}, pattern {}", p.count,
                     rows_of_matrix(p), columns_of_matrix(p), p.is_transposed ? ", transposed" : "", name(p.index),
                     p.has_row_ends ? "row begins and ends" : "row offsets", name(p.offset), name(p.value),
                     p.sums == spmv_sums::f64 ? " with sums f64" : "", name(p.access));
}

std::vector<fact> facts(const problem_spec& p) {
  return {{"count", p.count},
          {"rows", rows_of_matrix(p)},
          {"columns", columns_of_matrix(p)},
          {"index_type", std::string(name(p.index))},
          {"offset_type", std::string(name(p.offset))},
          {"value_type", std::string(name(p.value))},
          {"product", std::string(p.is_transposed ? "transposed" : "plain")},
          {"sums", std::string(text_of(p.sums, sums_words))},
          {"layout", std::string(p.has_row_ends ? "row_ends" : "row_offsets")},
          {"pattern", name(p.access)}};
}

explanation explain(const context& ctx, const problem_spec& p, std::string_view variant) {
  const std::uint64_t rows = rows_of_matrix(p);
  const std::uint64_t columns = columns_of_matrix(p);
  const index_span columns_of_entries{nullptr, p.count, p.index};
  const const_values values_of_entries{nullptr, p.count, p.value};
  const index_span begins{nullptr, p.has_row_ends ? rows : rows + 1, p.offset};
  const csr_view a = p.has_row_ends ? csr_view(rows, columns, begins, begins, columns_of_entries, values_of_entries)
                                    : csr_view(rows, columns, begins, columns_of_entries, values_of_entries);
  return explain_spmv(ctx, a, {nullptr, p.is_transposed ? rows : columns, p.value},
                      {nullptr, p.is_transposed ? columns : rows, p.value},
                      {.transposed = p.is_transposed, .sums = p.sums, .pattern = p.access, .variant = variant});
}

spmv_problem problem_of(const problem_spec& p, backend_kind backend) {
  spmv_problem s;
  s.backend = backend;
  s.rows = rows_of_matrix(p);
  s.columns = columns_of_matrix(p);
  s.entries = p.count;
  s.value = p.value;
  s.offset = p.offset;
  s.column = p.index;
  s.has_row_ends = p.has_row_ends;
  s.transposed = p.is_transposed;
  s.sums = p.value == value_type::f64 ? spmv_sums::as_values : p.sums;
  s.pattern = p.access;
  return s;
}

access_pattern hint_of_matrix(const problem_spec& p) {
  switch (p.nonzeros) {
    case nonzero_pattern::banded:
      return access_pattern::clustered(std::max<std::uint64_t>(1, row_lengths_of(p).longest_row()));
    case nonzero_pattern::grid: {
      const std::uint64_t side = side_of_grid(p);
      return access_pattern::clustered(2 * (is_flat_grid(p.repeats) ? side : side * side));
    }
    case nonzero_pattern::uniform: return access_pattern::random();
    case nonzero_pattern::zipf: return access_pattern::skewed();
  }
  return access_pattern::unknown();
}

bool has_variants(backend_kind backend) {
  const auto all = spmv_variants();
  return std::any_of(all.begin(), all.end(), [&](const spmv_variant& v) { return v.works_on(backend); });
}

}  // namespace

extern const entry spmv_entry{.name = "spmv",
                              .family = "sparse",
                              .fields = taken,
                              .example = "--count 100000000 --rows 6000000 --type f64 --pattern random",
                              .write = write,
                              .read = read,
                              .text = text_of_product,
                              .facts = facts,
                              .explain = explain,
                              .estimates = estimates_by<problem_of, spmv_variants>,
                              .has_variants = has_variants,
                              .place = place_by<problem_of>,
                              .hint = hint_of_matrix};

}  // namespace sheaf::primitives
