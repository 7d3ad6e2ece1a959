#include "apps/sheaf/files/sparse/entries.hpp"

#include <omp.h>

#include <tuple>

#include "apps/sheaf/files/progress.hpp"
#include "apps/sheaf/files/sparse/line_reader.hpp"
#include "core/parallel_tasks.hpp"

namespace sheaf::io {
namespace {

std::string place_text(std::uint64_t row, std::uint64_t column) { return fmt::format("({}, {})", row + 1, column + 1); }

// Where a part of a file that is not general has entries.
struct triangles {
  bool lower = false;
  bool upper = false;
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
  part_reader(const market_header& header, const kept_rows& kept, std::string_view part, entry_sink<Index, Value>& sink)
      : header_(header), kept_(kept), at_(part.data()), lines_(header, part.data() + part.size()), sink_(sink) {}

  // Both stop where the part holds more entries than the file announces, which is one line later.
  part_outcome read_coordinates() {
    part_outcome outcome;
    try {
      while (outcome.lines <= header_.entries && lines_.begin_line(at_)) {
        const std::uint64_t row = lines_.place(at_, "row", header_.rows);
        const std::uint64_t column = lines_.place(at_, "column", header_.columns);
        const auto value = lines_.template value<Value>(at_);
        if (header_.symmetry != market_symmetry::general) note_triangle(row, column, value);
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

  triangles found() const { return has_; }

 private:
  void add(std::uint64_t row, std::uint64_t column, Value value) {
    keep(row, column, value);
    if (header_.symmetry == market_symmetry::general || row == column) return;
    keep(column, row, header_.symmetry == market_symmetry::symmetric ? value : -value);
  }

  void keep(std::uint64_t row, std::uint64_t column, Value value) {
    if (kept_.is_transposed) std::swap(row, column);
    const std::uint64_t kept_row = row - kept_.first;  // those before wrap around
    if (kept_row < kept_.count) sink_.add(kept_row, column, value);
  }

  void note_triangle(std::uint64_t row, std::uint64_t column, Value value) {
    has_.lower |= row > column;
    has_.upper |= row < column;
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
  const kept_rows& kept_;
  const char* at_;
  line_reader lines_;
  entry_sink<Index, Value>& sink_;
  triangles has_;
};

announced_lines announced(const named_text& file, const market_header& header) {
  const std::string what = header.format == market_format::array
                               ? fmt::format("the {} numbers of {} x {}", header.entries, header.rows, header.columns)
                               : fmt::format("the {} entries", header.entries);
  return {header.entries, header.size_line, what, file.end(), "the file ends", what};
}

template <class Index>
struct given_place {
  const char* line;
  Index row;
  Index column;

  bool is_above() const { return row < column; }
  auto pair() const { return std::pair(std::min(row, column), std::max(row, column)); }
  bool operator<(const given_place& other) const {
    return std::tuple(pair(), line) < std::tuple(other.pair(), other.line);
  }
};

// All places beside the diagonal, pair by pair, and those of a pair in the order of their lines.
template <class Index>
std::vector<given_place<Index>> sorted_places(const market_header& header) {
  std::vector<given_place<Index>> places;
  places.reserve(header.entries);
  line_reader lines(header, header.body.data() + header.body.size());
  const char* at = header.body.data();
  while (lines.begin_line(at)) {
    const std::uint64_t row = lines.place(at, "row", header.rows);
    const std::uint64_t column = lines.place(at, "column", header.columns);
    if (row != column) places.push_back({lines.line(), static_cast<Index>(row), static_cast<Index>(column)});
    at = next_line(at, header.body.data() + header.body.size());
  }
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace

template <class Index, class Value>
file_entries<Index, Value> read_entries(const named_text& file, const market_header& header, const kept_rows& kept,
                                        const row_ranges& ranges, std::uint64_t part_bytes, int threads) {
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
  std::vector<triangles> found(parts.size());
  std::vector<entry_sink<Index, Value>> sinks(static_cast<std::size_t>(threads));
  progress_step step("reading " + file.origin, progress_unit::bytes, static_cast<double>(header.body.size()));
  core::for_each_task(parts.size(), static_cast<std::uint64_t>(threads), [&](std::uint64_t part) {
    entry_sink<Index, Value>& sink = sinks[threads <= 1 ? 0 : static_cast<std::size_t>(omp_get_thread_num())];
    sink.begin(ranges);
    part_reader<Index, Value> reader(header, kept, parts[part], sink);
    outcomes[part] =
        is_array ? reader.read_array(std::min(first_entries[part], header.entries)) : reader.read_coordinates();
    found[part] = reader.found();
    read.blocks[part] = sink.split();
    step.add(parts[part].size());
  });
  require_all(file, announced(file, header), parts, outcomes);
  read.has_both_triangles =
      std::ranges::any_of(found, &triangles::lower) && std::ranges::any_of(found, &triangles::upper);
  return read;
}

template file_entries<std::uint32_t, float> read_entries(const named_text&, const market_header&, const kept_rows&,
                                                         const row_ranges&, std::uint64_t, int);
template file_entries<std::uint64_t, float> read_entries(const named_text&, const market_header&, const kept_rows&,
                                                         const row_ranges&, std::uint64_t, int);
template file_entries<std::uint32_t, double> read_entries(const named_text&, const market_header&, const kept_rows&,
                                                          const row_ranges&, std::uint64_t, int);
template file_entries<std::uint64_t, double> read_entries(const named_text&, const market_header&, const kept_rows&,
                                                          const row_ranges&, std::uint64_t, int);

template <class Index>
void require_pairs_once(const named_text& file, const market_header& header) {
  using place = given_place<Index>;
  const std::vector<place> places = sorted_places<Index>(header);
  const place* first_wrong = nullptr;
  const place* before_wrong = nullptr;
  for (auto begin = places.begin(); begin != places.end();) {
    const auto end = std::find_if(begin, places.end(), [&](const place& p) { return p.pair() != begin->pair(); });
    const auto mirrored = std::find_if(begin, end, [&](const place& p) { return p.is_above() != begin->is_above(); });
    if (mirrored != end && (first_wrong == nullptr || mirrored->line < first_wrong->line)) {
      first_wrong = &*mirrored;
      before_wrong = &*begin;
    }
    begin = end;
  }
  if (first_wrong == nullptr) return;
  file.fail(first_wrong->line,
            "entry ({}, {}) is entry ({}, {}) of line {} again: a {} file gives one of the two, which "
            "stands for both",
            first_wrong->row + std::uint64_t{1}, first_wrong->column + std::uint64_t{1},
            before_wrong->row + std::uint64_t{1}, before_wrong->column + std::uint64_t{1},
            file.line_of(before_wrong->line), name(header.symmetry));
}

template void require_pairs_once<std::uint32_t>(const named_text&, const market_header&);
template void require_pairs_once<std::uint64_t>(const named_text&, const market_header&);

}  // namespace sheaf::io
