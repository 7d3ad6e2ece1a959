#include "apps/sheaf/files/sparse/pairs.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/sheaf/files/sparse/line_reader.hpp"

namespace sheaf::io {
namespace {

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
            fmt::format("entry ({}, {}) is entry ({}, {}) of line {} again: a {} file gives one of the two, which "
                        "stands for both",
                        first_wrong->row + std::uint64_t{1}, first_wrong->column + std::uint64_t{1},
                        before_wrong->row + std::uint64_t{1}, before_wrong->column + std::uint64_t{1},
                        file.line_of(before_wrong->line), name(header.symmetry)));
}

template void require_pairs_once<std::uint32_t>(const named_text&, const market_header&);
template void require_pairs_once<std::uint64_t>(const named_text&, const market_header&);

}  // namespace sheaf::io
