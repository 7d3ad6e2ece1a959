#include "io/sparse/header.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/printable.hpp"
#include "io/text/number.hpp"

namespace sheaf::io {
namespace {

using core::printable;

constexpr std::string_view first_word = "%%MatrixMarket";
constexpr std::uint64_t most_extent = std::uint64_t{1} << 63;
constexpr std::uint64_t rows_per_entry = 256;

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

// Words of the banner, one after the other.
class banner_reader {
 public:
  explicit banner_reader(const named_text& file) : file_(file), at_(file.text.data()) {}

  std::string next(const char* what) {
    at_ = skip_blanks(at_, file_.end());
    const std::string_view word = word_at(at_, file_.end());
    if (word.empty()) fail(fmt::format("the banner ends before its {}", what));
    at_ += word.size();
    return lower(word);
  }

  void end() const {
    if (const auto rest = rest_of_line(at_, file_.end()); !rest.empty()) {
      fail(fmt::format("'{}' follows the banner", printable(rest)));
    }
  }

  [[noreturn]] void fail(const std::string& what) const { file_.fail(file_.text.data(), what); }

 private:
  const named_text& file_;
  const char* at_;
};

market_format read_format(banner_reader& banner) {
  const std::string word = banner.next("format");
  if (word == "coordinate") return market_format::coordinate;
  if (word == "array") return market_format::array;
  banner.fail(fmt::format("format '{}' is neither coordinate nor array", printable(word)));
}

market_values read_values(banner_reader& banner) {
  const std::string word = banner.next("field");
  if (word == "real" || word == "double") return market_values::real;
  if (word == "integer") return market_values::integer;
  if (word == "pattern") return market_values::pattern;
  if (word == "complex") banner.fail("complex values are not read: real, double, integer and pattern are");
  banner.fail(fmt::format("field '{}' is none of real, double, integer, pattern", printable(word)));
}

market_symmetry read_symmetry(banner_reader& banner) {
  const std::string word = banner.next("symmetry");
  if (word == "general") return market_symmetry::general;
  if (word == "symmetric") return market_symmetry::symmetric;
  if (word == "skew-symmetric") return market_symmetry::skew_symmetric;
  if (word == "hermitian") banner.fail("hermitian matrices are complex, and complex values are not read");
  banner.fail(fmt::format("symmetry '{}' is none of general, symmetric, skew-symmetric", printable(word)));
}

void read_banner(const named_text& file, market_header& header) {
  require_banner(file);
  banner_reader banner(file);
  banner.next("first word");
  if (const std::string object = banner.next("object"); object != "matrix") {
    banner.fail(fmt::format("object '{}' is not matrix", printable(object)));
  }
  header.format = read_format(banner);
  header.values = read_values(banner);
  header.symmetry = read_symmetry(banner);
  banner.end();
  if (header.values != market_values::pattern) return;
  if (header.format == market_format::array) banner.fail("an array of pattern has neither places nor values");
  if (header.symmetry == market_symmetry::skew_symmetric) {
    banner.fail("a pattern that is skew-symmetric has no values whose sign could differ");
  }
}

// The first line behind the banner that is neither a comment nor blank.
const char* find_size_line(const named_text& file) {
  const char* at = file.text.data();
  do {
    at = skip_blanks(next_line(at, file.end()), file.end());
  } while (at != file.end() && (*at == '%' || *at == '\n'));
  if (at == file.end()) file.fail(at, "the file ends before its size line");
  return at;
}

// As many numbers as the array has; none where the line holds anything else.
template <std::size_t Count>
std::optional<std::array<std::uint64_t, Count>> read_sizes(const char* at, const char* end) {
  std::array<std::uint64_t, Count> sizes{};
  for (std::uint64_t& size : sizes) {
    at = skip_blanks(at, end);
    if (at != end && *at == '+') ++at;
    if (!read_digits(at, end, size) || (at != end && !ends_word(*at))) return std::nullopt;
  }
  return rest_of_line(at, end).empty() ? std::optional(sizes) : std::nullopt;
}

void read_size_line(const named_text& file, market_header& header) {
  const char* const line = header.size_line;
  const std::string shown = printable(rest_of_line(line, file.end()));
  if (header.format == market_format::coordinate) {
    const auto sizes = read_sizes<3>(line, file.end());
    if (!sizes) file.fail(line, fmt::format("'{}' is no size line: rows, columns, entries", shown));
    header.rows = (*sizes)[0];
    header.columns = (*sizes)[1];
    header.entries = (*sizes)[2];
  } else {
    const auto sizes = read_sizes<2>(line, file.end());
    if (!sizes) file.fail(line, fmt::format("'{}' is no size line of an array: rows, columns", shown));
    header.rows = (*sizes)[0];
    header.columns = (*sizes)[1];
  }
  for (const std::uint64_t size : {header.rows, header.columns, header.entries}) {
    if (size >= most_extent) file.fail(line, fmt::format("'{}' has a number that passes 2^63 - 1", shown));
  }
  if (header.symmetry != market_symmetry::general && header.rows != header.columns) {
    file.fail(line, fmt::format("{} x {} is not square, and the banner says {}", header.rows, header.columns,
                                header.symmetry == market_symmetry::symmetric ? "symmetric" : "skew-symmetric"));
  }
}

// Numbers that an array lists: all, the lower triangle with the diagonal, or the one below it; 2^64 - 1 where there are
// more, for which no file has room.
std::uint64_t array_entries(const market_header& header) {
  __extension__ using wide = unsigned __int128;
  wide entries = static_cast<wide>(header.rows) * header.columns;
  if (header.symmetry == market_symmetry::symmetric) entries = (entries + header.rows) / 2;
  if (header.symmetry == market_symmetry::skew_symmetric) entries = (entries - header.rows) / 2;
  return static_cast<std::uint64_t>(std::min<wide>(entries, std::numeric_limits<std::uint64_t>::max()));
}

// Bytes of the shortest line that holds an entry, its line feed included: "1", "1 1", "1 1 1".
std::uint64_t least_entry_bytes(const market_header& header) {
  if (header.format == market_format::array) return 2;
  return header.values == market_values::pattern ? 4 : 6;
}

void require_room(const named_text& file, const market_header& header, std::uint64_t most_rows_of_few_entries) {
  const std::uint64_t most_entries = (header.body.size() + 1) / least_entry_bytes(header);
  if (header.entries > most_entries) {
    const bool is_past_64_bits = header.entries == std::numeric_limits<std::uint64_t>::max();
    const std::string entries = is_past_64_bits ? "more than 2^64 - 1" : fmt::format("{}", header.entries);
    file.fail(header.size_line, fmt::format("{} entries are announced, the {} bytes that follow hold {} at most",
                                            entries, header.body.size(), most_entries));
  }
  // No overflow: entries are fewer than bytes of memory.
  const std::uint64_t most_rows = std::max(most_rows_of_few_entries, rows_per_entry * header.entries);
  if (header.rows > most_rows) {
    file.fail(header.size_line, fmt::format("{} rows are announced, more than the {} that are read of a file with {} "
                                            "entries",
                                            header.rows, most_rows, header.entries));
  }
}

}  // namespace

void require_banner(const named_text& front) {
  const std::string_view word = word_at(front.text.data(), front.end());
  if (lower(word.substr(0, first_word.size() + 1)) == lower(first_word)) return;
  const std::string_view line = front.text.substr(0, std::min(front.text.find('\n'), front.text.size()));
  front.fail(front.text.data(), fmt::format("not a MatrixMarket file: it starts with '{}', not '{}'",
                                            printable(line.substr(0, first_word.size())), first_word));
}

market_header read_market_header(const named_text& file, std::uint64_t most_rows_of_few_entries) {
  market_header header;
  read_banner(file, header);
  header.size_line = find_size_line(file);
  const char* const body = next_line(header.size_line, file.end());
  header.body = {body, static_cast<std::size_t>(file.end() - body)};
  read_size_line(file, header);
  if (header.format == market_format::array) header.entries = array_entries(header);
  require_room(file, header, most_rows_of_few_entries);
  return header;
}

}  // namespace sheaf::io
