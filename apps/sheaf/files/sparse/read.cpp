#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "apps/sheaf/files/sparse/compress.hpp"
#include "apps/sheaf/files/sparse/entries.hpp"
#include "apps/sheaf/files/sparse/header.hpp"
#include "apps/sheaf/files/sparse/market_text.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/files/sparse/pairs.hpp"
#include "plan/store/input_file.hpp"

namespace sheaf::io {
namespace {

// Bytes of the entries and of the matrix that is made of them, which are there together.
template <class Index, class Value>
wide_count bytes_of_matrix(const market_header& header, std::uint64_t entries) {
  const std::uint64_t column_bytes = header.columns > most_columns_of_32_bits ? 8 : 4;
  return wide_count{header.rows + 1} * sizeof(std::uint64_t) +
         wide_count{entries} * (sizeof(market_entry<Index, Value>) + column_bytes + sizeof(Value));
}

template <class Index, class Value>
void require_memory_of_matrix(const named_text& file, const market_header& header,
                              const matrix_market_options& options) {
  const std::uint64_t entries = header.entries * (header.symmetry == market_symmetry::general ? 1 : 2);
  const wide_count matrix = bytes_of_matrix<Index, Value>(header, entries);
  const wide_count vectors =
      wide_count{header.rows} * options.bytes_of_a_row + wide_count{header.columns} * options.bytes_of_a_column;
  require_memory(file, header, matrix,
                 [&] { return fmt::format("reading {} rows and {} entries takes", header.rows, entries); });
  require_memory(file, header, matrix + vectors, [&] {
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

template <class Index, class Value>
csr_matrix<Value> read_places_of(const named_text& file, const market_header& header,
                                 const matrix_market_options& options) {
  require_memory_of_matrix<Index, Value>(file, header, options);
  const int threads = threads_of(options);
  const row_ranges ranges(header.rows);
  auto read = read_entries<Index, Value>(file, header, ranges, part_bytes_of(header, options), threads);
  const std::uint64_t count = count_of(read);
  csr_matrix<Value> matrix = compress(std::move(read.blocks), header, ranges, threads, file.origin);
  // Where each entry has a place of its own, none is the mirror image of another.
  if (read.has_both_triangles && matrix.entries() < count) require_pairs_once<Index>(file, header);
  return matrix;
}

template <class Value>
csr_matrix<Value> read_text(const named_text& file, const matrix_market_options& options) {
  const market_header header = read_market_header(file, options.most_rows_of_few_entries);
  constexpr std::uint64_t most_of_32_bits = std::uint64_t{1} << 32;
  return std::max(header.rows, header.columns) <= most_of_32_bits
             ? read_places_of<std::uint32_t, Value>(file, header, options)
             : read_places_of<std::uint64_t, Value>(file, header, options);
}

}  // namespace

template <class Value>
csr_matrix<Value> parse_matrix_market(std::span<const std::byte> file, const std::string& origin,
                                      const matrix_market_options& options) {
  try {
    const market_text text(file, origin, options.most_text_bytes);
    return read_text<Value>(text.named(), options);
  } catch (const std::bad_alloc&) {
    throw error(error_code::out_of_memory, fmt::format("{}: no memory for the matrix", origin));
  }
}

template <class Value>
csr_matrix<Value> read_matrix_market(const std::string& path, const matrix_market_options& options) {
  const input_file file(path);
  return parse_matrix_market<Value>({file.data(), file.size()}, path, options);
}

template csr_matrix<float> parse_matrix_market(std::span<const std::byte>, const std::string&,
                                               const matrix_market_options&);
template csr_matrix<double> parse_matrix_market(std::span<const std::byte>, const std::string&,
                                                const matrix_market_options&);
template csr_matrix<float> read_matrix_market(const std::string&, const matrix_market_options&);
template csr_matrix<double> read_matrix_market(const std::string&, const matrix_market_options&);

}  // namespace sheaf::io
