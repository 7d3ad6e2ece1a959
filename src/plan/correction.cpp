#include "plan/correction.hpp"

#include <algorithm>
#include <tuple>

#include "plan/approximate_log2.hpp"

namespace sheaf::plan {
namespace {

// 0 counts as 1.
double log2_of(std::uint64_t x) noexcept { return approximate_log2(std::max<std::uint64_t>(1, x)); }

struct doublings {
  double width;
  double bytes;
  double range;
};

doublings doublings_of(std::uint64_t record_bytes, std::uint64_t count, std::uint64_t range) noexcept {
  return {log2_of(record_bytes), log2_of(record_bytes * count), log2_of(range)};
}

double squared_distance(const doublings& a, const doublings& b) noexcept {
  const double width = a.width - b.width;
  const double bytes = a.bytes - b.bytes;
  const double range = a.range - b.range;
  return width * width + bytes * bytes + range * range;
}

using key = std::tuple<std::string_view, std::string_view, access_pattern::kind>;

key key_of(const variant_correction& c) noexcept { return {c.primitive, c.variant, c.order}; }

}  // namespace

double correction_at(const machine& m, std::string_view variant, const measured_place& place) noexcept {
  const key wanted{place.primitive, variant, place.order};
  const auto first = std::lower_bound(m.corrections.begin(), m.corrections.end(), wanted,
                                      [](const variant_correction& c, const key& k) { return key_of(c) < k; });
  const doublings here = doublings_of(place.record_bytes, place.count, place.range);
  double factors = 0;
  double weights = 0;
  for (auto c = first; c != m.corrections.end() && key_of(*c) == wanted; ++c) {
    constexpr double nearest = 0.1;  // keeps the weight of a problem that was run itself finite
    const double distance = squared_distance(here, doublings_of(c->record_bytes, c->count, c->range));
    const double weight = 1 / (distance * distance + nearest);
    factors += weight * c->factor;
    weights += weight;
  }
  return weights > 0 ? factors / weights : 1;
}

}  // namespace sheaf::plan
