#include "apps/sheaf/sort/key.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "apps/sheaf/files/arrays/python_literal.hpp"
#include "apps/sheaf/sort/columns.hpp"

namespace sheaf::jobs {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw error(error_code::bad_argument, what); }

[[noreturn]] void refuse_file(const io::record_file& file, const std::string& what) {
  throw error(error_code::bad_input, fmt::format("{}: {}", file.path(), what));
}

// The bytes of K, KiB (1024) or KB (1000) and so on up to T, in letters of either case; 1 for B or none.
std::optional<std::uint64_t> bytes_of_unit(std::string_view unit) {
  constexpr std::string_view prefixes = "KMGT";
  std::string name(unit);
  for (char& c : name) c = 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (name.empty() || name == "B") return 1;
  const std::size_t power = prefixes.find(name.front());
  const std::string_view ending = std::string_view(name).substr(1);
  if (power == prefixes.npos || !(ending.empty() || ending == "B" || ending == "IB")) return std::nullopt;
  std::uint64_t bytes = 1;
  for (std::size_t i = 0; i <= power; ++i) bytes *= ending == "B" ? 1000 : 1024;
  return bytes;
}

}  // namespace

row_order order_of_file(const io::record_file& file, std::uint64_t record_bytes, std::span<const std::string> texts,
                        bool descending) {
  if (texts.size() > sort_key::most_fields) refuse(fmt::format("{} times --key, not at most 8", texts.size()));
  const bool by_places = std::all_of(texts.begin(), texts.end(), is_key_place) || !file.is_npy();
  if (!texts.empty() && by_places) return key_of_texts(texts, record_bytes, descending);
  std::vector<order_column> columns;
  for (const std::string& text : texts) {
    if (is_key_place(text)) {
      const sort_key place = key_of_texts(std::span(&text, 1), record_bytes, descending);
      columns.push_back(row_order(place).columns.front());
    } else {
      append_columns(columns, file, named_field(file, text, descending));
    }
  }
  if (!texts.empty()) return row_order(std::move(columns));
  if (!file.is_npy()) refuse("raw records need --key OFFSET:BYTES[:TYPE]");
  if (file.shape().size() != 1) {
    refuse_file(file,
                fmt::format("shape is {}: --key says which bytes of a row to sort by", io::shape_text(file.shape())));
  }
  append_columns(columns, file, whole_row(file, descending));
  return row_order(std::move(columns));
}

std::uint64_t parse_byte_size(std::string_view text) {
  const auto first_other = [&](std::string_view known, std::size_t from) {
    return std::min(text.find_first_not_of(known, from), text.size());
  };
  constexpr std::string_view digits = "0123456789";
  const std::size_t whole_end = first_other(digits, 0);
  const bool has_point = whole_end < text.size() && text[whole_end] == '.';
  const std::size_t end = has_point ? first_other(digits, whole_end + 1) : whole_end;
  const std::string_view fraction = has_point ? text.substr(whole_end + 1, end - whole_end - 1) : "";
  const std::optional<std::uint64_t> unit = bytes_of_unit(text.substr(first_other(" ", end)));
  if (whole_end == 0 || !unit || (has_point && (fraction.empty() || *unit == 1))) {
    refuse(fmt::format("'{}' is not a number of bytes such as 1000000, 512M, 1.5G or 4GiB", io::printable(text)));
  }
  std::uint64_t bytes = 0;
  bool fits = true;
  for (const char digit : text.substr(0, whole_end)) {
    fits = fits && !__builtin_mul_overflow(bytes, 10, &bytes) && !__builtin_add_overflow(bytes, digit - '0', &bytes);
  }
  fits = fits && !__builtin_mul_overflow(bytes, *unit, &bytes);
  // The fraction of a unit, rounded down, from the last digit on.
  std::uint64_t part = 0;
  for (auto digit = fraction.rbegin(); digit != fraction.rend(); ++digit) {
    part = (static_cast<std::uint64_t>(*digit - '0') * *unit + part) / 10;
  }
  fits = fits && !__builtin_add_overflow(bytes, part, &bytes);
  if (!fits) refuse(fmt::format("'{}' is more bytes than 64 bits can count", io::printable(text)));
  return bytes;
}

}  // namespace sheaf::jobs
