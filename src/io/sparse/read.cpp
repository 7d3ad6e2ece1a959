#include <algorithm>
#include <new>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <omp.h>
#include <sheaf/error.hpp>

#include "core/host.hpp"
#include "io/input_file.hpp"
#include "io/sparse/compress.hpp"
#include "io/sparse/entries.hpp"
#include "io/sparse/header.hpp"
#include "io/sparse/matrix_market.hpp"
#include "io/text/gzip.hpp"

namespace sheaf::io {
namespace {

// Below this a matrix is read without asking how much memory there is, which takes longer than reading it.
constexpr std::uint64_t small_bytes = std::uint64_t{1} << 24;
// Small enough that a part's entries stay in a core's cache until they are split by row, and threads end together;
// large enough that the offsets of a part's row ranges are few beside its entries.
constexpr std::uint64_t least_part_bytes = std::uint64_t{1} << 16;
constexpr std::uint64_t most_part_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t parts_per_thread = 8;

int threads_of(const matrix_market_options& options) {
  return options.threads > 0 ? options.threads : omp_get_max_threads();
}

// Announced numbers of rows and columns go up to 2^63, so their bytes take more than 64 bits.
__extension__ using wide_count = unsigned __int128;

// Bytes of the entries and of the matrix that is made of them, which are there together.
template <class Index, class Value>
wide_count bytes_of_matrix(const market_header& header, std::uint64_t entries) {
  const std::uint64_t column_bytes = header.columns > most_columns_of_32_bits ? 8 : 4;
  return wide_count{header.rows + 1} * sizeof(std::uint64_t) +
         wide_count{entries} * (sizeof(market_entry<Index, Value>) + column_bytes + sizeof(Value));
}

template <class Index, class Value>
void require_memory(const named_text& file, const market_header& header, const matrix_market_options& options) {
  const std::uint64_t entries = header.entries * (header.symmetry == market_symmetry::general ? 1 : 2);
  const wide_count matrix = bytes_of_matrix<Index, Value>(header, entries);
  const wide_count vectors =
      wide_count{header.rows} * options.bytes_of_a_row + wide_count{header.columns} * options.bytes_of_a_column;
  if (matrix + vectors < small_bytes) return;
  const std::uint64_t available = core::host_available_bytes();
  const auto refuse = [&](const std::string& what, wide_count wanted) {
    throw error(error_code::out_of_memory, fmt::format("{}: line {}: {} {} bytes, {} are available", file.origin,
                                                       file.line_of(header.size_line), what, wanted, available));
  };
  if (matrix > available) refuse(fmt::format("reading {} rows and {} entries takes", header.rows, entries), matrix);
  if (matrix + vectors > available) {
    refuse(fmt::format("a matrix of {} rows, {} columns and {} entries and its vectors take", header.rows,
                       header.columns, entries),
           matrix + vectors);
  }
}

template <class Index, class Value>
csr_matrix<Value> read_places_of(const named_text& file, const market_header& header,
                                 const matrix_market_options& options) {
  require_memory<Index, Value>(file, header, options);
  const int threads = threads_of(options);
  const std::uint64_t usual = header.body.size() / (static_cast<std::uint64_t>(threads) * parts_per_thread);
  const std::uint64_t part_bytes =
      options.part_bytes > 0 ? options.part_bytes : std::clamp(usual, least_part_bytes, most_part_bytes);
  const row_ranges ranges(header.rows);
  return compress(read_entries<Index, Value>(file, header, ranges, part_bytes, threads), header, ranges, threads,
                  file.origin);
}

template <class Value>
csr_matrix<Value> read_text(const named_text& file, const matrix_market_options& options) {
  const market_header header = read_market_header(file, options.most_rows_of_few_entries);
  constexpr std::uint64_t most_of_32_bits = std::uint64_t{1} << 32;
  return std::max(header.rows, header.columns) <= most_of_32_bits
             ? read_places_of<std::uint32_t, Value>(file, header, options)
             : read_places_of<std::uint64_t, Value>(file, header, options);
}

inflated_text inflate_market(std::span<const std::byte> file, const std::string& origin, std::uint64_t most_bytes) {
  if (most_bytes == 0) most_bytes = core::host_available_bytes() / 2;
  return inflate_gzip(file, origin, most_bytes, [&](std::string_view front) {
    require_banner(named_text{front, origin});
  });
}

}  // namespace

template <class Value>
csr_matrix<Value> parse_matrix_market(std::span<const std::byte> file, const std::string& origin,
                                      const matrix_market_options& options) {
  try {
    std::optional<inflated_text> inflated;
    if (starts_as_gzip(file)) inflated.emplace(inflate_market(file, origin, options.most_text_bytes));
    const std::string_view text =
        inflated ? inflated->text() : std::string_view(reinterpret_cast<const char*>(file.data()), file.size());
    return read_text<Value>({text, origin}, options);
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
