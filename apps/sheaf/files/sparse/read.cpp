#include <omp.h>

#include <limits>

#include "apps/sheaf/files/sparse/compress.hpp"
#include "apps/sheaf/files/sparse/entries.hpp"
#include "apps/sheaf/files/sparse/header.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "apps/sheaf/files/text/gzip.hpp"

namespace sheaf::io {
namespace {

// All entries of a file, once there is memory for them.
template <class Index, class Value>
file_entries<Index, Value> read_all(const named_text& file, const market_header& header, const kept_rows& kept,
                                    const row_ranges& ranges, const matrix_market_options& options, int threads) {
  const std::uint64_t part_bytes =
      options.part_bytes > 0 ? options.part_bytes : usual_part_bytes(header.body.size(), threads);
  return read_entries<Index, Value>(file, header, kept, ranges, part_bytes, threads);
}

int threads_of(const matrix_market_options& options) {
  return options.threads > 0 ? options.threads : omp_get_max_threads();
}

// Bytes of the entries and of the matrix that is made of them, which are there together.
template <class Index, class Value>
wide_count bytes_of_matrix(const market_header& header, std::uint64_t rows, std::uint64_t entries) {
  const std::uint64_t column_bytes = header.columns > most_columns_of_32_bits ? 8 : 4;
  return wide_count{rows + 1} * sizeof(std::uint64_t) +
         wide_count{entries} * (sizeof(market_entry<Index, Value>) + column_bytes + sizeof(Value));
}

template <class Index, class Value>
void require_memory_of_matrix(const named_text& file, const market_header& header, const kept_rows& kept,
                              const matrix_market_options& options) {
  const std::uint64_t all = header.entries * (header.symmetry == market_symmetry::general ? 1 : 2);
  // Rows that are kept are taken to have their share.
  const std::uint64_t rows = kept.is_transposed ? header.columns : header.rows;
  const std::uint64_t entries =
      rows == 0 ? all : static_cast<std::uint64_t>(wide_count{all} * kept.count / wide_count{rows});
  const wide_count matrix = bytes_of_matrix<Index, Value>(header, kept.count, entries);
  const wide_count vectors =
      wide_count{header.rows} * options.bytes_of_a_row + wide_count{header.columns} * options.bytes_of_a_column;
  file.require_memory(header.size_line, matrix,
                      [&] { return fmt::format("reading {} rows and {} entries takes", kept.count, entries); });
  file.require_memory(header.size_line, matrix + vectors, [&] {
    return fmt::format("a matrix of {} rows, {} columns and {} entries and its vectors take", header.rows,
                       header.columns, entries);
  });
}

template <class Index, class Value>
std::uint64_t count_of(const file_entries<Index, Value>& read) {
  std::uint64_t count = 0;
  for (const auto& block : read.blocks) count += block.range_offsets.back();
  return count;
}

matrix_market_shape shape_of(const market_header& header) {
  return {header.rows, header.columns, header.symmetry == market_symmetry::symmetric,
          header.entries * (header.symmetry == market_symmetry::general ? 1 : 2)};
}

// All rows, unless the caller says which.
kept_rows kept_of(const market_header& header, const matrix_market_options& options) {
  if (!options.kept) return {0, header.rows};
  const matrix_market_rows rows = options.kept(shape_of(header));
  return {rows.first, rows.end - rows.first, rows.is_transposed};
}

template <class Index, class Value>
csr_matrix<Value> read_places_of(const named_text& file, const market_header& header,
                                 const matrix_market_options& options) {
  const kept_rows kept = kept_of(header, options);
  require_memory_of_matrix<Index, Value>(file, header, kept, options);
  const int threads = threads_of(options);
  const row_ranges ranges(kept.count);
  auto read = read_all<Index, Value>(file, header, kept, ranges, options, threads);
  const std::uint64_t count = count_of(read);
  csr_matrix<Value> matrix = compress(std::move(read.blocks), header, kept, ranges, threads, file.origin);
  // Where each entry has a place of its own, none is the mirror image of another.
  if (read.has_both_triangles && matrix.entries() < count) require_pairs_once<Index>(file, header);
  return matrix;
}

template <class Value>
csr_matrix<Value> read_matrix(const named_text& file, const matrix_market_options& options) {
  const market_header header = read_market_header(file, options.most_rows_of_few_entries);
  constexpr std::uint64_t most_of_32_bits = std::uint64_t{1} << 32;
  return std::max(header.rows, header.columns) <= most_of_32_bits
             ? read_places_of<std::uint32_t, Value>(file, header, options)
             : read_places_of<std::uint64_t, Value>(file, header, options);
}

template <class Index, class Value>
std::vector<Value> read_numbers(const named_text& file, const market_header& header, std::uint64_t count,
                                const matrix_market_options& options) {
  const wide_count bytes =
      wide_count{count} * sizeof(Value) + wide_count{header.entries} * sizeof(market_entry<Index, Value>);
  file.require_memory(header.size_line, bytes, [&] {
    return fmt::format("reading a vector of {} numbers and {} entries takes", count, header.entries);
  });
  const auto read =
      read_all<Index, Value>(file, header, {0, header.rows}, row_ranges(header.rows), options, threads_of(options));
  std::vector<Value> numbers(count);
  for (const auto& block : read.blocks) {
    const auto* const end = block.entries.get() + block.range_offsets.back();
    // Row or column is 0, and a place that repeats is a sum.
    for (const auto* entry = block.entries.get(); entry != end; ++entry) {
      Value& number = numbers[std::max(entry->row, entry->column)];
      const Value sum = number + entry->value;
      if (std::isinf(sum) && std::isfinite(number) && std::isfinite(entry->value)) {
        fail_sum<Value>(file.origin, entry->row, entry->column);
      }
      number = sum;
    }
  }
  return numbers;
}

template <class Value>
std::vector<Value> read_vector(const named_text& file, const std::function<void(std::uint64_t)>& check_count,
                               const matrix_market_options& options) {
  // The caller, who knows how many numbers are wanted, refuses more rows than that, however few entries they have.
  const market_header header = read_market_header(file, std::numeric_limits<std::uint64_t>::max());
  if (header.columns != 1 && header.rows != 1) {
    file.fail(header.size_line, "a vector has one column or one row, not {} rows and {} columns", header.rows,
              header.columns);
  }
  const std::uint64_t count = header.columns == 1 ? header.rows : header.columns;
  check_count(count);
  return count <= std::uint64_t{1} << 32 ? read_numbers<std::uint32_t, Value>(file, header, count, options)
                                         : read_numbers<std::uint64_t, Value>(file, header, count, options);
}

template <class Read>
auto with_market_text(std::span<const std::byte> file, const std::string& origin, const matrix_market_options& options,
                      std::string_view what, Read read) {
  return with_text(
      file, origin, options.most_text_bytes, what, [](const named_text& front) { require_banner(front); }, read);
}

}  // namespace

matrix_market_shape read_matrix_market_shape(const std::string& path, const matrix_market_options& options) {
  const input_file file = open_input(path);
  return with_market_text({file.data(), file.size()}, file.path(), options, "matrix", [&](const named_text& text) {
    return shape_of(read_market_header(text, options.most_rows_of_few_entries));
  });
}

template <class Value>
csr_matrix<Value> parse_matrix_market(std::span<const std::byte> file, const std::string& origin,
                                      const matrix_market_options& options) {
  return with_market_text(file, origin, options, "matrix",
                          [&](const named_text& text) { return read_matrix<Value>(text, options); });
}

template <class Value>
csr_matrix<Value> read_matrix_market(const std::string& path, const matrix_market_options& options) {
  const input_file file = open_input(path);
  return parse_matrix_market<Value>({file.data(), file.size()}, file.path(), options);
}

template <class Value>
std::vector<Value> parse_matrix_market_vector(std::span<const std::byte> file, const std::string& origin,
                                              const std::function<void(std::uint64_t)>& check_count,
                                              const matrix_market_options& options) {
  return with_market_text(file, origin, options, "vector",
                          [&](const named_text& text) { return read_vector<Value>(text, check_count, options); });
}

template <class Value>
std::vector<Value> read_matrix_market_vector(const std::string& path,
                                             const std::function<void(std::uint64_t)>& check_count,
                                             const matrix_market_options& options) {
  const input_file file = open_input(path);
  return parse_matrix_market_vector<Value>({file.data(), file.size()}, file.path(), check_count, options);
}

template csr_matrix<float> parse_matrix_market(std::span<const std::byte>, const std::string&,
                                               const matrix_market_options&);
template csr_matrix<double> parse_matrix_market(std::span<const std::byte>, const std::string&,
                                                const matrix_market_options&);
template csr_matrix<float> read_matrix_market(const std::string&, const matrix_market_options&);
template csr_matrix<double> read_matrix_market(const std::string&, const matrix_market_options&);

template std::vector<float> parse_matrix_market_vector(std::span<const std::byte>, const std::string&,
                                                       const std::function<void(std::uint64_t)>&,
                                                       const matrix_market_options&);
template std::vector<double> parse_matrix_market_vector(std::span<const std::byte>, const std::string&,
                                                        const std::function<void(std::uint64_t)>&,
                                                        const matrix_market_options&);
template std::vector<float> read_matrix_market_vector(const std::string&, const std::function<void(std::uint64_t)>&,
                                                      const matrix_market_options&);
template std::vector<double> read_matrix_market_vector(const std::string&, const std::function<void(std::uint64_t)>&,
                                                       const matrix_market_options&);

}  // namespace sheaf::io
