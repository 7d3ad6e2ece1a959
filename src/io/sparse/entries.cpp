#include "io/sparse/entries.hpp"

#include <omp.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/parallel_tasks.hpp"
#include "core/printable.hpp"
#include "io/text/number.hpp"

namespace sheaf::io {
namespace {

using core::printable;

// What is wrong with a line. Line numbers are counted once it is known that no part before has an error.
struct bad_line {
  const char* place;
  std::string what;
};

std::string place_text(std::uint64_t row, std::uint64_t column) { return fmt::format("({}, {})", row + 1, column + 1); }

// What a part of the file held.
struct part_outcome {
  std::uint64_t lines = 0;  ///< that hold entries and are right; reading stops at the first that is wrong
  std::optional<bad_line> error;
};

// Keeps the entries of a part until their number is known, and counts those of each range of rows.
template <class Index, class Value>
class entry_sink {
 public:
  void begin(const row_ranges& ranges) {
    shift_ = ranges.shift;
    counts_.assign(ranges.count() + 1, 0);
    entries_.clear();
  }

  void add(std::uint64_t row, std::uint64_t column, Value value) {
    ++counts_[row >> shift_];
    entries_.push_back({static_cast<Index>(row), static_cast<Index>(column), value});
  }

  // A counting sort by range, which is stable.
  entry_block<Index, Value> split() {
    entry_block<Index, Value> block{std::make_unique_for_overwrite<market_entry<Index, Value>[]>(entries_.size()),
                                    std::vector<std::uint64_t>(counts_.size())};
    std::uint64_t sum = 0;
    for (std::size_t range = 0; range < counts_.size(); ++range) {
      block.range_offsets[range] = sum;
      sum += std::exchange(counts_[range], sum);
    }
    for (const auto& entry : entries_) block.entries[counts_[entry.row >> shift_]++] = entry;
    return block;
  }

 private:
  unsigned shift_ = 0;
  std::vector<std::uint64_t> counts_;
  std::vector<market_entry<Index, Value>> entries_;
};

// Reads the fields of lines; throws bad_line.
class line_reader {
 public:
  line_reader(const market_header& header, const char* end) : header_(header), end_(end) {}

  // Reads a number from 1 to `most` and returns it counted from 0.
  std::uint64_t place(const char*& at, const char* what, std::uint64_t most) const {
    const char* const word = at = skip_blanks(at, end_);
    if (at != end_ && *at == '+') ++at;
    std::uint64_t number = 0;
    if (!read_digits(at, end_, number) || (at != end_ && !ends_word(*at))) {
      const std::string_view shown = word_at(word, end_);
      if (shown.empty()) throw bad_line{line_, fmt::format("the line ends before its {}", what)};
      throw bad_line{line_, fmt::format("{} '{}' is no whole number", what, printable(shown))};
    }
    if (number - 1 >= most) {
      throw bad_line{line_, fmt::format("{} {} is not in 1 to {}", what, printable(word_at(word, end_)), most)};
    }
    return number - 1;
  }

  template <class Value>
  Value value(const char*& at) const {
    Value read = 1;
    if (header_.values == market_values::pattern) return read;
    at = skip_blanks(at, end_);
    const number_status status =
        header_.values == market_values::integer ? read_integer(at, end_, read) : read_real(at, end_, read);
    if (status != number_status::good) refuse<Value>(word_at(at, end_), status);
    return read;
  }

  // Goes to the next line.
  void end_line(const char*& at) const {
    at = skip_blanks(at, end_);
    if (at != end_ && *at != '\n') {
      throw bad_line{line_, fmt::format("'{}' follows the entry", printable(rest_of_line(at, end_)))};
    }
    if (at != end_) ++at;
  }

  // Goes to the next line that is not blank; false if there is none.
  bool begin_line(const char*& at) {
    at = skip_blanks(at, end_);
    while (at != end_ && *at == '\n') at = skip_blanks(at + 1, end_);
    line_ = at;
    return at != end_;
  }

  const char* line() const noexcept { return line_; }

 private:
  template <class Value>
  [[noreturn]] void refuse(std::string_view word, number_status status) const {
    constexpr const char* type = std::is_same_v<Value, float> ? "f32" : "f64";
    const bool integer = header_.values == market_values::integer;
    const std::string shown = printable(word);
    if (word.empty()) throw bad_line{line_, "the line ends before its value"};
    switch (status) {
      case number_status::past_range:
        throw bad_line{line_, fmt::format("value '{}' is past the range of {}", shown, integer ? "i64" : type)};
      case number_status::not_exact:
        throw bad_line{line_, fmt::format("value '{}' has more digits than {} holds", shown, type)};
      default: throw bad_line{line_, fmt::format("value '{}' is no {}", shown, integer ? "whole number" : "number")};
    }
  }

  const market_header& header_;
  const char* end_;
  const char* line_ = nullptr;
};

template <class Index, class Value>
class part_reader {
 public:
  part_reader(const market_header& header, std::string_view part, entry_sink<Index, Value>& sink)
      : header_(header), at_(part.data()), lines_(header, part.data() + part.size()), sink_(sink) {}

  // Both stop where the part holds more entries than the file announces, which is one line later.
  part_outcome read_coordinates() {
    part_outcome outcome;
    try {
      while (outcome.lines <= header_.entries && lines_.begin_line(at_)) {
        const std::uint64_t row = lines_.place(at_, "row", header_.rows);
        const std::uint64_t column = lines_.place(at_, "column", header_.columns);
        const auto value = lines_.template value<Value>(at_);
        if (header_.symmetry != market_symmetry::general) require_lower(row, column, value);
        lines_.end_line(at_);
        add(row, column, value);
        ++outcome.lines;
      }
    } catch (const bad_line& bad) {
      outcome.error = bad;
    }
    return outcome;
  }

  // @param first  the position in the array of the part's first number.
  part_outcome read_array(std::uint64_t first) {
    part_outcome outcome;
    auto [row, column] = array_place(first);
    try {
      while (first + outcome.lines < header_.entries && lines_.begin_line(at_)) {
        const auto value = lines_.template value<Value>(at_);
        lines_.end_line(at_);
        if (value != 0) add(row, column, value);
        if (++row == header_.rows) row = first_row_of(++column);
        ++outcome.lines;
      }
      if (lines_.begin_line(at_)) ++outcome.lines;
    } catch (const bad_line& bad) {
      outcome.error = bad;
    }
    return outcome;
  }

 private:
  void add(std::uint64_t row, std::uint64_t column, Value value) {
    sink_.add(row, column, value);
    if (header_.symmetry == market_symmetry::general || row == column) return;
    sink_.add(column, row, header_.symmetry == market_symmetry::symmetric ? value : -value);
  }

  void require_lower(std::uint64_t row, std::uint64_t column, Value value) const {
    const bool skew = header_.symmetry == market_symmetry::skew_symmetric;
    if (row < column) {
      throw bad_line{lines_.line(),
                     fmt::format("entry {} lies above the diagonal of a {} matrix, of which files hold the lower "
                                 "triangle",
                                 place_text(row, column), skew ? "skew-symmetric" : "symmetric")};
    }
    if (skew && row == column && value != 0) {
      throw bad_line{lines_.line(), fmt::format("entry {} on the diagonal of a skew-symmetric matrix is {}, not 0",
                                                place_text(row, column), value)};
    }
  }

  std::uint64_t first_row_of(std::uint64_t column) const {
    if (header_.symmetry == market_symmetry::general) return 0;
    return header_.symmetry == market_symmetry::symmetric ? column : column + 1;
  }

  // Row and column of a position in the array, which lists column after column.
  std::pair<std::uint64_t, std::uint64_t> array_place(std::uint64_t position) const {
    if (header_.entries == 0) return {0, 0};
    if (header_.symmetry == market_symmetry::general) return {position % header_.rows, position / header_.rows};
    std::uint64_t column = 0;
    for (; column < header_.columns; ++column) {
      const std::uint64_t length = header_.rows - first_row_of(column);
      if (position < length) break;
      position -= length;
    }
    return {first_row_of(column) + position, column};
  }

  const market_header& header_;
  const char* at_;
  line_reader lines_;
  entry_sink<Index, Value>& sink_;
};

// Finds the first line of the file that is wrong: in a part, more than are announced, or fewer.
void require_all(const named_text& file, const market_header& header, const std::vector<std::string_view>& parts,
                 const std::vector<part_outcome>& outcomes) {
  const std::string announced =
      header.format == market_format::array
          ? fmt::format("the {} numbers of {} x {}", header.entries, header.rows, header.columns)
          : fmt::format("the {} entries", header.entries);
  std::uint64_t left = header.entries;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const part_outcome& outcome = outcomes[part];
    if (outcome.lines > left || (outcome.lines == left && outcome.error)) {
      const char* const line = find_filled_line(parts[part], left);
      file.fail(line, fmt::format("'{}' follows {} that line {} announces", printable(rest_of_line(line, file.end())),
                                  announced, file.line_of(header.size_line)));
    }
    if (outcome.error) file.fail(outcome.error->place, outcome.error->what);
    left -= outcome.lines;
  }
  if (left > 0) {
    file.fail(file.end(), fmt::format("the file ends after {} of {} that line {} announces", header.entries - left,
                                      announced, file.line_of(header.size_line)));
  }
}

}  // namespace

template <class Index, class Value>
std::vector<entry_block<Index, Value>> read_entries(const named_text& file, const market_header& header,
                                                    const row_ranges& ranges, std::uint64_t part_bytes, int threads) {
  const std::vector<std::string_view> parts = cut_at_line_ends(header.body, part_bytes);
  const bool is_array = header.format == market_format::array;
  std::vector<std::uint64_t> first_entries(parts.size() + 1, 0);
  if (is_array) {
    core::for_each_task(parts.size(), static_cast<std::uint64_t>(threads),
                        [&](std::uint64_t part) { first_entries[part + 1] = count_filled_lines(parts[part]); });
    for (std::size_t part = 0; part < parts.size(); ++part) first_entries[part + 1] += first_entries[part];
  }
  std::vector<entry_block<Index, Value>> blocks(parts.size());
  std::vector<part_outcome> outcomes(parts.size());
  std::vector<entry_sink<Index, Value>> sinks(static_cast<std::size_t>(threads));
  core::for_each_task(parts.size(), static_cast<std::uint64_t>(threads), [&](std::uint64_t part) {
    entry_sink<Index, Value>& sink = sinks[threads <= 1 ? 0 : static_cast<std::size_t>(omp_get_thread_num())];
    sink.begin(ranges);
    part_reader<Index, Value> reader(header, parts[part], sink);
    outcomes[part] =
        is_array ? reader.read_array(std::min(first_entries[part], header.entries)) : reader.read_coordinates();
    blocks[part] = sink.split();
  });
  require_all(file, header, parts, outcomes);
  return blocks;
}

template std::vector<entry_block<std::uint32_t, float>> read_entries(const named_text&, const market_header&,
                                                                     const row_ranges&, std::uint64_t, int);
template std::vector<entry_block<std::uint64_t, float>> read_entries(const named_text&, const market_header&,
                                                                     const row_ranges&, std::uint64_t, int);
template std::vector<entry_block<std::uint32_t, double>> read_entries(const named_text&, const market_header&,
                                                                      const row_ranges&, std::uint64_t, int);
template std::vector<entry_block<std::uint64_t, double>> read_entries(const named_text&, const market_header&,
                                                                      const row_ranges&, std::uint64_t, int);

}  // namespace sheaf::io
