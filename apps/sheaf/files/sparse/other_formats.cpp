#include "apps/sheaf/files/sparse/other_formats.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "apps/sheaf/files/text/lines.hpp"
#include "core/printable.hpp"

namespace sheaf::io {
namespace {

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
    {"BZh"sv, "compressed by bzip2: unpack it with bunzip2, gzip alone is read"},
    {"\xfd"
     "7zXZ\0"sv,
     "compressed by xz: unpack it with unxz, gzip alone is read"},
    {"\x28\xb5\x2f\xfd"sv, "compressed by zstd: unpack it with unzstd, gzip alone is read"},
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
// members are no files, but attributes or a long name of the member behind them.
std::string words_of_tar(std::string_view front) {
  const bool is_file = std::string_view("xgLK").find(front[tar_type_place]) == std::string_view::npos;
  const std::string_view field = front.substr(0, tar_name_bytes);
  const std::string_view name = field.substr(0, std::min(field.find('\0'), field.size()));
  return fmt::format("a tar archive{}: unpack it, and name the .mtx file that it holds",
                     is_file ? fmt::format(", whose first member is '{}'", core::printable(name)) : "");
}

std::string_view line_of(std::string_view text, std::size_t number) {
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
  if (std::count(front.begin(), front.end(), '\n') < 3) return false;
  constexpr std::array<std::string_view, 3> letters{"RCPIQrcpiq", "SUHZRsuhzr", "AEae"};
  const std::string_view third = line_of(front, 2);
  const std::string_view type = third.substr(0, letters.size());
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (type.size() <= i || letters[i].find(type[i]) == std::string_view::npos) return false;
  }
  return has_numbers(line_of(front, 1), 0, 4) && has_numbers(third, 1, 4);
}

}  // namespace

std::string words_of_other_format(std::string_view front) {
  front = front.substr(0, most_front_bytes);
  for (const first_bytes& format : formats) {
    if (front.starts_with(format.bytes)) return format.words;
  }
  if (front.size() > tar_magic_place && front.substr(tar_magic_place).starts_with("ustar")) return words_of_tar(front);
  if (is_harwell_boeing(front)) return "a Harwell-Boeing or Rutherford-Boeing file: write it by scipy.io.mmwrite";
  return {};
}

}  // namespace sheaf::io
