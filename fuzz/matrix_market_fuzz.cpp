// MatrixMarket files are untrusted: whatever the bytes, the parser returns a matrix whose arrays fit together, or
// throws sheaf::error with a message that can be shown. Threads, small parts and gzip make no difference, and what is
// written is read as the same. Read as a vector, a matrix of one column or one row has the same numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <zlib.h>
#include <sheaf/error.hpp>

#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/files/text/gzip.hpp"

namespace {

using matrix = sheaf::io::csr_matrix<double>;
using sheaf::io::matrix_market_options;

constexpr std::size_t most_message_bytes = 1024;
constexpr std::uint64_t most_text_bytes = std::uint64_t{1} << 22;
constexpr std::uint64_t most_rows_of_few_entries = 1000;

void require(bool kept) {
  if (!kept) std::abort();
}

// What became of a file: a matrix, or the message of the error.
struct outcome {
  std::optional<matrix> read;
  std::string message;
};

void require_message(const sheaf::error& e) {
  const std::string_view message = e.what();
  require(e.code() == sheaf::error_code::bad_input);
  require(message.starts_with("input: ") && message.size() <= most_message_bytes);
  require(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

template <class Value>
outcome read(std::span<const std::byte> file, int threads, std::uint64_t part_bytes) {
  const matrix_market_options options{.threads = threads,
                                      .most_text_bytes = most_text_bytes,
                                      .part_bytes = part_bytes,
                                      .most_rows_of_few_entries = most_rows_of_few_entries};
  outcome result;
  try {
    auto parsed = sheaf::io::parse_matrix_market<Value>(file, "input", options);
    if constexpr (std::is_same_v<Value, double>) result.read = std::move(parsed);
  } catch (const sheaf::error& e) {
    result.message = e.what();
    require_message(e);
  }
  return result;
}

void require_csr(const matrix& m) {
  require(m.row_offsets.size() == m.rows + 1 && m.row_offsets.front() == 0 && m.row_offsets.back() == m.entries());
  require(std::holds_alternative<std::vector<std::uint64_t>>(m.column_indices) == (m.columns > std::uint64_t{1} << 32));
  std::visit(
      [&](const auto& columns) {
        require(columns.size() == m.entries());
        for (std::uint64_t row = 0; row < m.rows; ++row) {
          require(m.row_offsets[row] <= m.row_offsets[row + 1]);
          for (std::uint64_t i = m.row_offsets[row]; i < m.row_offsets[row + 1]; ++i) {
            require(columns[i] < m.columns && (i == m.row_offsets[row] || columns[i - 1] < columns[i]));
          }
        }
      },
      m.column_indices);
}

// Bit by bit, but NaNs are the same whatever their bits.
bool same(const outcome& left, const outcome& right) {
  if (left.message != right.message || left.read.has_value() != right.read.has_value()) return false;
  if (!left.read) return true;
  const matrix& a = *left.read;
  const matrix& b = *right.read;
  const auto same_value = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) || (std::isnan(x) && std::isnan(y));
  };
  return a.rows == b.rows && a.columns == b.columns && a.row_offsets == b.row_offsets &&
         a.column_indices == b.column_indices &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same_value);
}

std::string gzipped(std::span<const std::byte> text) {
  z_stream stream{};
  require(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string file(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(file.data());
  stream.avail_out = static_cast<uInt>(file.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  deflateEnd(&stream);
  return file.substr(0, stream.total_out);
}

std::span<const std::byte> bytes_of(const std::string& file) {
  return std::as_bytes(std::span(file.data(), file.size()));
}

// Mutations of a gzip file are seldom gzip. So what follows this byte and two more is compressed here, and then one
// byte of the file is changed: the second byte of the input says where, the third which bits.
constexpr std::byte damages_gzip{'Z'};

void read_damaged(std::span<const std::byte> input) {
  if (input.size() < 4 || input[0] != damages_gzip) return;
  std::string file = gzipped(input.subspan(3));
  const std::size_t place = std::to_integer<std::size_t>(input[1]) * file.size() / 256;
  file[place] = static_cast<char>(file[place] ^ std::to_integer<char>(input[2]));
  read<double>(bytes_of(file), 1, 0);
}

// The vector's limit is the caller's: of what has more numbers, none are read.
constexpr std::uint64_t most_numbers = 1 << 16;

outcome read_vector(std::span<const std::byte> file, int threads, std::uint64_t part_bytes,
                    std::vector<double>& numbers) {
  const auto check_count = [](std::uint64_t count) {
    if (count > most_numbers) throw sheaf::error(sheaf::error_code::bad_input, "input: too many numbers");
  };
  outcome result;
  try {
    numbers = sheaf::io::parse_matrix_market_vector<double>(
        file, "input", check_count, {.threads = threads, .most_text_bytes = most_text_bytes, .part_bytes = part_bytes});
  } catch (const sheaf::error& e) {
    result.message = e.what();
    require_message(e);
  }
  return result;
}

void require_vector(std::span<const std::byte> file, const outcome& plain) {
  std::vector<double> numbers;
  std::vector<double> in_parts;
  const outcome read = read_vector(file, 1, 0, numbers);
  require(read_vector(file, 2, 7, in_parts).message == read.message && in_parts.size() == numbers.size());
  if (!plain.read) return;
  const matrix& m = *plain.read;
  const bool is_vector = m.columns == 1 || m.rows == 1;
  require(read.message.empty() == (is_vector && std::max(m.rows, m.columns) <= most_numbers));
  if (!read.message.empty()) return;
  require(numbers.size() == (m.columns == 1 ? m.rows : m.columns));
  std::visit(
      [&](const auto& columns) {
        for (std::uint64_t row = 0; row < m.rows; ++row) {
          for (std::uint64_t i = m.row_offsets[row]; i < m.row_offsets[row + 1]; ++i) {
            double& found = numbers[m.columns == 1 ? row : columns[i]];
            require(found == m.values[i] || (std::isnan(found) && std::isnan(m.values[i])));
            found = 0;
          }
        }
      },
      m.column_indices);
  require(std::all_of(numbers.begin(), numbers.end(), [](double number) { return number == 0; }));
}

void write_and_read(const matrix& m) {
  std::string copy;
  sheaf::io::format_matrix_market(m, sheaf::io::matrix_market_field::real,
                                  [&](std::string_view piece) { copy += piece; });
  matrix_market_options options;
  options.most_rows_of_few_entries = m.rows;
  const outcome again{sheaf::io::parse_matrix_market<double>(bytes_of(copy), "copy", options), {}};
  require(same(again, {m, {}}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  read_damaged(file);
  const outcome plain = read<double>(file, 1, 0);
  require(same(read<double>(file, 1, 7), plain));
  require(same(read<double>(file, 2, 40), plain));
  read<float>(file, 1, 0);
  if (!sheaf::io::starts_as_gzip(file)) require(same(read<double>(bytes_of(gzipped(file)), 1, 0), plain));
  require_vector(file, plain);
  if (!plain.read) return 0;
  require_csr(*plain.read);
  write_and_read(*plain.read);
  return 0;
}
