#include "plan/correction.hpp"

#include <tuple>

#include "plan/approximate_log2.hpp"

namespace sheaf::plan {
namespace {

// 0 counts as 1.
double log2_of(std::uint64_t x) noexcept { return approximate_log2(std::max<std::uint64_t>(1, x)); }

/// Most variants of one backend whose corrections are looked at for one that has none.
constexpr std::size_t most_others = 16;

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

// The weighted mean of the factors of [first, last) at a place; there is at least one.
double mean_at(const doublings& here, const variant_correction* first, const variant_correction* last) noexcept {
  double factors = 0;
  double weights = 0;
  for (const variant_correction* c = first; c != last; ++c) {
    constexpr double nearest = 0.1;  // keeps the weight of a problem that was run itself finite
    const double distance = squared_distance(here, doublings_of(c->record_bytes, c->count, c->range));
    const double weight = 1 / (distance * distance + nearest);
    factors += weight * c->factor;
    weights += weight;
  }
  return factors / weights;
}

}  // namespace

double correction_at(const machine& m, std::string_view variant, const measured_place& place) noexcept {
  const variant_correction* const begin = m.corrections.data();
  const variant_correction* const end = begin + m.corrections.size();
  const doublings here = doublings_of(place.record_bytes, place.count, place.range);
  const auto first_of = [&](const key& wanted) {
    return std::lower_bound(begin, end, wanted,
                            [](const variant_correction& c, const key& k) { return key_of(c) < k; });
  };
  const auto end_of = [&](const variant_correction* first) {
    const key k = key_of(*first);
    while (first != end && key_of(*first) == k) ++first;
    return first;
  };
  const key wanted{place.primitive, variant, place.order};
  const variant_correction* const found = first_of(wanted);
  if (found != end && key_of(*found) == wanted) return mean_at(here, found, end_of(found));

  std::array<double, most_others> others{};
  std::size_t count = 0;
  const variant_correction* first = first_of({place.primitive, {}, {}});
  while (first != end && first->primitive == place.primitive) {
    const variant_correction* const last = end_of(first);
    if (first->order == place.order && count < most_others) others[count++] = mean_at(here, first, last);
    first = last;
  }
  if (count == 0) return 1;
  double* const median = others.data() + (count - 1) / 2;
  std::nth_element(others.data(), median, others.data() + count);
  return *median;
}

}  // namespace sheaf::plan
