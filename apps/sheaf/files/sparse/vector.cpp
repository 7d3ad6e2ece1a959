#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <string>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "apps/sheaf/files/sparse/entries.hpp"
#include "apps/sheaf/files/sparse/header.hpp"
#include "apps/sheaf/files/sparse/market_text.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "plan/store/input_file.hpp"

namespace sheaf::io {
namespace {

template <class Index, class Value>
std::vector<Value> read_numbers(const named_text& file, const market_header& header, std::uint64_t count,
                                const matrix_market_options& options) {
  const wide_count bytes =
      wide_count{count} * sizeof(Value) + wide_count{header.entries} * sizeof(market_entry<Index, Value>);
  require_memory(file, header, bytes, [&] {
    return fmt::format("reading a vector of {} numbers and {} entries takes", count, header.entries);
  });
  const auto read = read_entries<Index, Value>(file, header, row_ranges(header.rows), part_bytes_of(header, options),
                                               threads_of(options));
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
std::vector<Value> read_text(const named_text& file, const std::function<void(std::uint64_t)>& check_count,
                             const matrix_market_options& options) {
  // The caller, who knows how many numbers are wanted, refuses more rows than that, however few entries they have.
  const market_header header = read_market_header(file, std::numeric_limits<std::uint64_t>::max());
  if (header.columns != 1 && header.rows != 1) {
    file.fail(header.size_line, fmt::format("a vector has one column or one row, not {} rows and {} columns",
                                            header.rows, header.columns));
  }
  const std::uint64_t count = header.columns == 1 ? header.rows : header.columns;
  check_count(count);
  return count <= std::uint64_t{1} << 32 ? read_numbers<std::uint32_t, Value>(file, header, count, options)
                                         : read_numbers<std::uint64_t, Value>(file, header, count, options);
}

}  // namespace

template <class Value>
std::vector<Value> parse_matrix_market_vector(std::span<const std::byte> file, const std::string& origin,
                                              const std::function<void(std::uint64_t)>& check_count,
                                              const matrix_market_options& options) {
  try {
    const market_text text(file, origin, options.most_text_bytes);
    return read_text<Value>(text.named(), check_count, options);
  } catch (const std::bad_alloc&) {
    throw error(error_code::out_of_memory, fmt::format("{}: no memory for the vector", origin));
  }
}

template <class Value>
std::vector<Value> read_matrix_market_vector(const std::string& path,
                                             const std::function<void(std::uint64_t)>& check_count,
                                             const matrix_market_options& options) {
  const input_file file(path);
  return parse_matrix_market_vector<Value>({file.data(), file.size()}, path, check_count, options);
}

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
