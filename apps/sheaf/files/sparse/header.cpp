#include "apps/sheaf/files/sparse/header.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/text/number.hpp"
#include "core/printable.hpp"

namespace sheaf::io {
namespace {

using core::printable;

constexpr std::string_view first_word = "%%MatrixMarket";
constexpr std::string_view mark_of_utf8 = "\xef\xbb\xbf";
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
  banner_reader(const named_text& file, const char* banner) : file_(file), banner_(banner), at_(banner) {}

  std::string next(const char* what) {
    at_ = skip_blanks(at_, file_.end());
    const std::string_view word = word_at(at_, file_.end());
    if (word.empty()) fail(fmt::format("the banner ends before its {}", what));
    at_ += word.size();
    return lower(word);
  }

  [[noreturn]] void fail(const std::string& what) const { file_.fail(banner_, "{}", what); }

 private:
  const named_text& file_;
  const char* banner_;
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
  if (word == "unsigned-integer") return market_values::unsigned_integer;
  if (word == "pattern") return market_values::pattern;
  if (word == "complex") {
    banner.fail("complex values are not read: real, double, integer, unsigned-integer and pattern are");
  }
  banner.fail(fmt::format("field '{}' is not real, double, integer, unsigned-integer or pattern", printable(word)));
}

market_symmetry read_symmetry(banner_reader& banner) {
  const std::string word = banner.next("symmetry");
  if (word == "general") return market_symmetry::general;
  if (word == "symmetric") return market_symmetry::symmetric;
  if (word == "skew-symmetric") return market_symmetry::skew_symmetric;
  if (word == "hermitian") return market_symmetry::symmetric;  // of real numbers, which are their own conjugates
  banner.fail(fmt::format("symmetry '{}' is not general, symmetric, skew-symmetric or hermitian", printable(word)));
}

void read_banner(const named_text& file, const char* first, market_header& header) {
  banner_reader banner(file, first);
  banner.next("first word");
  if (const std::string object = banner.next("object"); object != "matrix") {
    banner.fail(fmt::format("object '{}' is not matrix{}", printable(object),
                            object == "vector" ? ": write a vector as a matrix of one column" : ""));
  }
  header.format = read_format(banner);
  header.values = read_values(banner);
  header.symmetry = read_symmetry(banner);
  if (header.values != market_values::pattern) return;
  if (header.format == market_format::array) banner.fail("an array of pattern has neither places nor values");
  if (header.symmetry == market_symmetry::skew_symmetric) {
    banner.fail("a pattern that is skew-symmetric has no values whose sign could differ");
  }
}

// The first line behind the banner that is neither a comment nor blank.
const char* find_size_line(const named_text& file, const char* banner) {
  const char* at = banner;
  do {
    at = skip_blanks(next_line(at, file.end()), file.end());
  } while (at != file.end() && (*at == comment_mark || *at == '\n'));
  if (at != file.end()) return at;
  const std::size_t carriage_return = file.text.find('\r');
  const bool is_last = carriage_return == std::string_view::npos || carriage_return + 1 == file.text.size();
  if (!is_last && file.text.find('\n') == std::string_view::npos) {
    file.fail(at, "the file is a single line: carriage returns without line feeds do not end a line");
  }
  file.fail(at, "the file ends before its size line");
}

// Whether nothing follows in the line but a comment.
bool is_end_of_line(const char* at, const char* end) {
  at = skip_blanks(at, end);
  return at == end || *at == '\n' || *at == comment_mark;
}

// As many numbers as the array has; none where the line holds anything else.
template <std::size_t Count>
std::optional<std::array<std::uint64_t, Count>> read_sizes(const char* at, const char* end) {
  std::array<std::uint64_t, Count> sizes{};
  for (std::uint64_t& size : sizes) {
    at = skip_blanks(at, end);
    if (at != end && *at == '+') ++at;
    if (!read_digits(at, end, size) || (at != end && !ends_word(*at) && *at != comment_mark)) return std::nullopt;
  }
  return is_end_of_line(at, end) ? std::optional(sizes) : std::nullopt;
}

void read_size_line(const named_text& file, market_header& header) {
  const char* const line = header.size_line;
  const std::string shown = printable(rest_of_line(line, file.end()));
  if (header.format == market_format::coordinate) {
    const auto sizes = read_sizes<3>(line, file.end());
    if (!sizes) file.fail(line, "'{}' is not a size line: rows, columns, entries", shown);
    header.rows = (*sizes)[0];
    header.columns = (*sizes)[1];
    header.entries = (*sizes)[2];
  } else {
    const auto sizes = read_sizes<2>(line, file.end());
    if (!sizes) file.fail(line, "'{}' is not a size line of an array: rows, columns", shown);
    header.rows = (*sizes)[0];
    header.columns = (*sizes)[1];
  }
  for (const std::uint64_t size : {header.rows, header.columns, header.entries}) {
    if (size >= most_extent) file.fail(line, "'{}' has a number that exceeds 2^63 - 1", shown);
  }
  if (header.symmetry != market_symmetry::general && header.rows != header.columns) {
    file.fail(line, "{} x {} is not square, but the banner says {}", header.rows, header.columns,
              name(header.symmetry));
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

// Bytes of the shortest line that may be meant as an entry, its line feed included: "1", "1 1". Where values are
// missing, the first line without one is what is wrong, not the number of lines.
std::uint64_t least_entry_bytes(const market_header& header) { return header.format == market_format::array ? 2 : 4; }

void require_room(const named_text& file, const market_header& header, std::uint64_t most_rows_of_few_entries) {
  const std::uint64_t most_entries = (header.body.size() + 1) / least_entry_bytes(header);
  if (header.entries > most_entries) {
    const bool is_past_64_bits = header.entries == std::numeric_limits<std::uint64_t>::max();
    const std::string entries = is_past_64_bits ? "more than 2^64 - 1" : fmt::format("{}", header.entries);
    file.fail(header.size_line, "{} entries are announced, but the {} bytes that follow hold {} at most", entries,
              header.body.size(), most_entries);
  }
  // No overflow: entries are fewer than bytes of memory.
  const std::uint64_t most_rows = std::max(most_rows_of_few_entries, rows_per_entry * header.entries);
  if (header.rows > most_rows) {
    file.fail(header.size_line,
              "{} rows are announced, more than the {} that are read of a file with {} "
              "entries",
              header.rows, most_rows, header.entries);
  }
}

using namespace std::string_view_literals;

struct first_bytes {
  std::string_view bytes;
  const char* words;
};

constexpr first_bytes formats[] = {
    {"PK\x03\x04"sv, "a zip archive, as .npz files are: unpack it, or write the matrix by scipy.io.mmwrite"},
    {"PK\x05\x06"sv, "a zip archive without a file"},
    {"\x93NUMPY"sv, "a NumPy array (.npy): write it by scipy.io.mmwrite"},
    {"MATLAB "sv, "a MATLAB file (.mat): write the matrix by mmwrite"},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file: write the matrix by scipy.io.mmwrite"},
    {"\x1f\x8b"sv, "compressed by gzip twice: unpack it once with gunzip"},
    {"BZh"sv, "compressed by bzip2: unpack it with bunzip2; only gzip is read"},
    {"\xfd"
     "7zXZ\0"sv,
     "compressed by xz: unpack it with unxz; only gzip is read"},
    {"\x28\xb5\x2f\xfd"sv, "compressed by zstd: unpack it with unzstd; only gzip is read"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive: unpack it"},
    {"\xff\xfe"sv, "text of 16 bits a character (UTF-16): write it as UTF-8"},
    {"\xfe\xff"sv, "text of 16 bits a character (UTF-16): write it as UTF-8"},
    {"\x00\x12\x7b\x50"sv, "a binary matrix of PETSc: write it by scipy.io.mmwrite"},
};

constexpr std::size_t most_front_bytes = 1024;  // three lines of 80 characters, or a block of a tar archive
constexpr std::size_t tar_magic_place = 257;
constexpr std::size_t tar_type_place = 156;
constexpr std::size_t tar_name_bytes = 100;

// A tar archive begins with a block of 512 bytes about its first member, which begins with the member's name. Some
// members are not files, but attributes or a long name of the member behind them.
std::string words_of_tar(std::string_view front) {
  const bool is_file = std::string_view("xgLK").find(front[tar_type_place]) == std::string_view::npos;
  const std::string_view field = front.substr(0, tar_name_bytes);
  const std::string_view name = field.substr(0, std::min(field.find('\0'), field.size()));
  return fmt::format("a tar archive{}: unpack it, and name the .mtx file that it holds",
                     is_file ? fmt::format(", whose first member is '{}'", core::printable(name)) : "");
}

std::string_view line_at(std::string_view text, std::size_t number) {
  for (; number > 0; --number) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, std::min(text.find('\n'), text.size()));
}

// Words of a line, if there are at least `least` of them and all behind the first `skipped` are digits.
bool has_numbers(std::string_view line, std::size_t skipped, std::size_t least) {
  const char* const end = line.data() + line.size();
  std::size_t words = 0;
  for (const char* at = skip_blanks(line.data(), end); at != end; at = skip_blanks(at, end)) {
    const std::string_view word = word_at(at, end);
    if (words++ >= skipped && word.find_first_not_of("0123456789") != std::string_view::npos) return false;
    at += word.size();
  }
  return words >= least;
}

// Harwell-Boeing and Rutherford-Boeing files have a title, a line of four or five counts of lines, and one that begins
// with three letters (values, symmetry, assembled or elements) before its numbers of rows, columns and entries.
bool is_harwell_boeing(std::string_view front) {
  if (std::ranges::count(front, '\n') < 3) return false;
  constexpr std::array<std::string_view, 3> letters{"RCPIQrcpiq", "SUHZRsuhzr", "AEae"};
  const std::string_view third = line_at(front, 2);
  const std::string_view type = third.substr(0, letters.size());
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (type.size() <= i || letters[i].find(type[i]) == std::string_view::npos) return false;
  }
  return has_numbers(line_at(front, 1), 0, 4) && has_numbers(third, 1, 4);
}

// What a file is that is often given in place of a MatrixMarket file, and what to do about it: words that follow "not a
// MatrixMarket file, but". Empty if its first bytes tell nothing. The front is the beginning of the file, inflated if
// it is gzip: 1024 bytes or more, or all of it.
std::string words_of_other_format(std::string_view front) {
  front = front.substr(0, most_front_bytes);
  for (const first_bytes& format : formats) {
    if (front.starts_with(format.bytes)) return format.words;
  }
  if (front.size() > tar_magic_place && front.substr(tar_magic_place).starts_with("ustar")) return words_of_tar(front);
  if (is_harwell_boeing(front)) return "a Harwell-Boeing or Rutherford-Boeing file: write it by scipy.io.mmwrite";
  return {};
}

}  // namespace

const char* name(market_values values) noexcept {
  switch (values) {
    case market_values::real: return "real";
    case market_values::integer: return "integer";
    case market_values::unsigned_integer: return "unsigned-integer";
    default: return "pattern";
  }
}

const char* name(market_symmetry symmetry) noexcept {
  switch (symmetry) {
    case market_symmetry::general: return "general";
    case market_symmetry::symmetric: return "symmetric";
    default: return "skew-symmetric";
  }
}

const char* require_banner(const named_text& front) {
  const char* at = front.text.data() + (front.text.starts_with(mark_of_utf8) ? mark_of_utf8.size() : 0);
  while (at != front.end() && ends_word(*at)) ++at;
  const std::string word = lower(word_at(at, front.end()).substr(0, first_word.size() + 1));
  // SciPy takes one percent sign, too.
  if (word == lower(first_word) || word == lower(first_word.substr(1))) return at;
  if (const std::string words = words_of_other_format(front.text); !words.empty()) {
    fail(front.origin, "not a MatrixMarket file, but {}", words);
  }
  const std::string_view rest = front.text.substr(static_cast<std::size_t>(at - front.text.data()));
  const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size()));
  front.fail(at, "not a MatrixMarket file: it starts with '{}', not '{}'", printable(line.substr(0, first_word.size())),
             first_word);
}

market_header read_market_header(const named_text& file, std::uint64_t most_rows_of_few_entries) {
  market_header header;
  const char* const banner = require_banner(file);
  read_banner(file, banner, header);
  header.size_line = find_size_line(file, banner);
  const char* const body = next_line(header.size_line, file.end());
  header.body = {body, static_cast<std::size_t>(file.end() - body)};
  read_size_line(file, header);
  if (header.format == market_format::array) header.entries = array_entries(header);
  require_room(file, header, most_rows_of_few_entries);
  return header;
}

}  // namespace sheaf::io
