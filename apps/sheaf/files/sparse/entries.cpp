#include "apps/sheaf/files/sparse/entries.hpp"

#include <omp.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "apps/sheaf/files/sparse/line_reader.hpp"
#include "core/parallel_tasks.hpp"
#include "core/printable.hpp"

namespace sheaf::io {
namespace {

using core::printable;

std::string place_text(std::uint64_t row, std::uint64_t column) { return fmt::format("({}, {})", row + 1, column + 1); }

// What a part of the file held.
struct part_outcome {
  std::uint64_t lines = 0;  ///< that hold entries and are right; reading stops at the first that is wrong
  std::optional<bad_line> error;
  bool has_lower = false;  ///< entries below the diagonal of a file that is not general
  bool has_upper = false;
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
        if (header_.symmetry != market_symmetry::general) note_triangle(row, column, value, outcome);
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

  void note_triangle(std::uint64_t row, std::uint64_t column, Value value, part_outcome& outcome) const {
    outcome.has_lower |= row > column;
    outcome.has_upper |= row < column;
    if (header_.symmetry == market_symmetry::skew_symmetric && row == column && value != 0) {
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
file_entries<Index, Value> read_entries(const named_text& file, const market_header& header, const row_ranges& ranges,
                                        std::uint64_t part_bytes, int threads) {
  const std::vector<std::string_view> parts = cut_at_line_ends(header.body, part_bytes);
  const bool is_array = header.format == market_format::array;
  std::vector<std::uint64_t> first_entries(parts.size() + 1, 0);
  if (is_array) {
    core::for_each_task(parts.size(), static_cast<std::uint64_t>(threads),
                        [&](std::uint64_t part) { first_entries[part + 1] = count_filled_lines(parts[part]); });
    for (std::size_t part = 0; part < parts.size(); ++part) first_entries[part + 1] += first_entries[part];
  }
  file_entries<Index, Value> read;
  read.blocks.resize(parts.size());
  std::vector<part_outcome> outcomes(parts.size());
  std::vector<entry_sink<Index, Value>> sinks(static_cast<std::size_t>(threads));
  core::for_each_task(parts.size(), static_cast<std::uint64_t>(threads), [&](std::uint64_t part) {
    entry_sink<Index, Value>& sink = sinks[threads <= 1 ? 0 : static_cast<std::size_t>(omp_get_thread_num())];
    sink.begin(ranges);
    part_reader<Index, Value> reader(header, parts[part], sink);
    outcomes[part] =
        is_array ? reader.read_array(std::min(first_entries[part], header.entries)) : reader.read_coordinates();
    read.blocks[part] = sink.split();
  });
  require_all(file, header, parts, outcomes);
  const auto any = [&](bool part_outcome::*fact) {
    return std::any_of(outcomes.begin(), outcomes.end(), [&](const part_outcome& outcome) { return outcome.*fact; });
  };
  read.has_both_triangles = any(&part_outcome::has_lower) && any(&part_outcome::has_upper);
  return read;
}

template file_entries<std::uint32_t, float> read_entries(const named_text&, const market_header&, const row_ranges&,
                                                         std::uint64_t, int);
template file_entries<std::uint64_t, float> read_entries(const named_text&, const market_header&, const row_ranges&,
                                                         std::uint64_t, int);
template file_entries<std::uint32_t, double> read_entries(const named_text&, const market_header&, const row_ranges&,
                                                          std::uint64_t, int);
template file_entries<std::uint64_t, double> read_entries(const named_text&, const market_header&, const row_ranges&,
                                                          std::uint64_t, int);

}  // namespace sheaf::io
