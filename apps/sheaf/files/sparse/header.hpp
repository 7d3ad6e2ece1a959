#pragma once

#include "apps/sheaf/files/text/lines.hpp"

namespace sheaf::io {

enum class market_format : std::uint8_t { coordinate, array };
enum class market_values : std::uint8_t { real, integer, unsigned_integer, pattern };
enum class market_symmetry : std::uint8_t { general, symmetric, skew_symmetric };

/// The banner's word.
const char* name(market_values values) noexcept;
const char* name(market_symmetry symmetry) noexcept;

/// What the banner and the size line of a MatrixMarket file say.
struct market_header {
  market_format format = market_format::coordinate;
  market_values values = market_values::real;
  market_symmetry symmetry = market_symmetry::general;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t entries = 0;        ///< lines that hold one: of a symmetric array, those of its triangle
  const char* size_line = nullptr;  ///< where it begins
  std::string_view body;            ///< the lines behind it
};

/// Checks that a text begins with the banner's first word, behind blanks and a mark of UTF-8, and returns where that
/// begins. The front is all of the text, or as much as is at hand. @throws error(bad_input) saying what the file is, if
/// that is known
const char* require_banner(const named_text& front);

/// Reads banner, comments and size line, and checks them against each other: there is room for all entries in the lines
/// that follow, and rows are few enough for that many entries. @throws error(bad_input)
market_header read_market_header(const named_text& file, std::uint64_t most_rows_of_few_entries);

}  // namespace sheaf::io
