#include "lab/spatter/pattern.hpp"

#include <algorithm>
#include <charconv>
#include <functional>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/printable.hpp"

namespace sheaf::bench {
namespace {

std::vector<std::string_view> fields_of(std::string_view text, char separator) {
  std::vector<std::string_view> fields;
  for (;;) {
    const auto end = text.find(separator);
    fields.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return fields;
    text.remove_prefix(end + 1);
  }
}

// The text of one pattern, and its place for error messages.
struct source {
  std::string_view text;
  const std::string& place;
  std::uint64_t most_entries;

  [[noreturn]] void fail(const std::string& what) const {
    throw error(error_code::bad_input, fmt::format("{}: '{}': {}", place, core::printable(text), what));
  }

  std::uint64_t number(std::string_view digits, std::string_view what, std::uint64_t least) const {
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failure != std::errc{} || end != digits.data() + digits.size() || value < least ||
        value > most_spatter_number) {
      fail(fmt::format("{} is '{}', not a whole number from {} to {}", what, core::printable(digits), least,
                       most_spatter_number));
    }
    return value;
  }

  std::vector<std::uint64_t> numbers(std::string_view list, std::string_view what) const {
    std::vector<std::uint64_t> values;
    for (const std::string_view digits : fields_of(list, ',')) values.push_back(number(digits, what, 0));
    return values;
  }

  std::uint64_t length(std::string_view digits) const { return bounded_length(number(digits, "length", 1)); }

  std::uint64_t bounded_length(std::uint64_t length) const {
    if (length > most_entries) fail(fmt::format("{} entries, but {} are allowed", length, most_entries));
    return length;
  }

  // The checked product of a and b, which are at most most_spatter_number each.
  std::uint64_t product(std::uint64_t a, std::uint64_t b, std::string_view what) const {
    std::uint64_t value = 0;
    if (__builtin_mul_overflow(a, b, &value) || value > most_spatter_number) {
      fail(fmt::format("{} is {} * {}, past {}", what, a, b, most_spatter_number));
    }
    return value;
  }
};

spatter_pattern uniform(const source& in, const std::vector<std::string_view>& fields) {
  if (fields.size() != 3 && fields.size() != 4) in.fail("is not UNIFORM:LENGTH:STRIDE[:DELTA|NR]");
  const std::uint64_t length = in.length(fields[1]);
  const std::uint64_t stride = in.number(fields[2], "stride", 1);
  const std::uint64_t reach = in.product(length, stride, "length * stride");
  spatter_pattern pattern;
  if (fields.size() == 4) pattern.delta = fields[3] == "NR" ? reach : in.number(fields[3], "delta", 1);
  pattern.entries.resize(length);
  for (std::uint64_t i = 0; i < length; ++i) pattern.entries[i] = i * stride;
  return pattern;
}

// MS1, mostly stride one: entries ascend by 1, but at each gap location by the gap.
spatter_pattern mostly_stride_one(const source& in, const std::vector<std::string_view>& fields) {
  if (fields.size() != 4) in.fail("is not MS1:LENGTH:LOCATIONS:GAPS");
  const std::uint64_t length = in.length(fields[1]);
  const std::vector<std::uint64_t> locations = in.numbers(fields[2], "gap location");
  const std::vector<std::uint64_t> gaps = in.numbers(fields[3], "gap");
  if (gaps.size() != 1 && gaps.size() != locations.size()) {
    in.fail(fmt::format("{} gaps for {} locations, not one or as many", gaps.size(), locations.size()));
  }
  if (std::ranges::adjacent_find(locations, std::greater_equal<>{}) != locations.end()) {
    in.fail("gap locations do not ascend");
  }
  if (locations.back() >= length)
    in.fail(fmt::format("gap location {} is past the length {}", locations.back(), length));
  if (locations.front() == 0 && gaps.front() == 0) in.fail("a gap of 0 at location 0 puts the first entry at -1");

  spatter_pattern pattern;
  pattern.entries.resize(length);
  std::uint64_t next_gap = 0;
  std::uint64_t past = 0;  // the previous entry plus 1
  for (std::uint64_t i = 0; i < length; ++i) {
    const bool at_gap = next_gap < locations.size() && locations[next_gap] == i;
    past += at_gap ? gaps[gaps.size() == 1 ? 0 : next_gap] : 1;
    if (at_gap) ++next_gap;
    if (past > most_spatter_number) in.fail(fmt::format("entry {} is past {}", i, most_spatter_number));
    pattern.entries[i] = past - 1;
  }
  return pattern;
}

// A star stencil: `order` neighbours to both sides in each dimension of a grid of `size` per dimension, shifted so
// that the first entry is 0.
spatter_pattern laplacian(const source& in, const std::vector<std::string_view>& fields) {
  if (fields.size() != 4) in.fail("is not LAPLACIAN:DIMENSION:ORDER:SIZE");
  const std::uint64_t dimension = in.number(fields[1], "dimension", 1);
  const std::uint64_t order = in.number(fields[2], "order", 1);
  const std::uint64_t size = in.number(fields[3], "size", 1);
  const std::uint64_t arm = in.product(dimension, order, "dimension * order");
  in.bounded_length(2 * arm + 1);

  std::vector<std::uint64_t> distance;
  distance.reserve(arm);
  std::uint64_t plane = 1;
  for (std::uint64_t d = 0; d < dimension; ++d) {
    if (d > 0) plane = in.product(plane, size, "size to the power of dimension - 1");
    in.product(plane, order, "reach of the stencil");
    for (std::uint64_t o = 1; o <= order; ++o) distance.push_back(o * plane);
  }
  const std::uint64_t centre = distance.back();
  spatter_pattern pattern;
  pattern.delta = 1;
  pattern.entries.reserve(2 * arm + 1);
  for (std::uint64_t i = arm; i > 0; --i) pattern.entries.push_back(centre - distance[i - 1]);
  pattern.entries.push_back(centre);
  for (const std::uint64_t step : distance) pattern.entries.push_back(centre + step);
  return pattern;
}

spatter_pattern list(const source& in) {
  const auto commas = std::ranges::count(in.text, ',');
  in.bounded_length(static_cast<std::uint64_t>(commas) + 1);
  return {in.numbers(in.text, "entry"), std::nullopt};
}

}  // namespace

spatter_pattern expand_spatter_pattern(std::string_view text, const std::string& place, std::uint64_t most_entries) {
  const source in{text, place, most_entries};
  const std::vector<std::string_view> fields = fields_of(text, ':');
  if (fields[0] == "UNIFORM") return uniform(in, fields);
  if (fields[0] == "MS1") return mostly_stride_one(in, fields);
  if (fields[0] == "LAPLACIAN") return laplacian(in, fields);
  if (fields.size() == 1 && !text.empty() && text.find_first_not_of("0123456789,") == std::string_view::npos) {
    return list(in);
  }
  in.fail("is not UNIFORM, MS1, LAPLACIAN or a list of numbers");
}

}  // namespace sheaf::bench
