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

// The weighted geometric mean of the factors of [first, last) at a place; there is at least one. In logarithms one
// factor that something disturbed counts for no more than others.
double mean_at(const doublings& here, const variant_correction* first, const variant_correction* last) noexcept {
  double logarithms = 0;
  double weights = 0;
  for (const variant_correction* c = first; c != last; ++c) {
    constexpr double nearest = 0.1;  // keeps the weight of a problem that was run itself finite
    const double distance = squared_distance(here, doublings_of(c->record_bytes, c->count, c->range));
    const double weight = 1 / (distance * distance + nearest);
    logarithms += weight * std::log(c->factor);
    weights += weight;
  }
  return std::exp(logarithms / weights);
}

double median_of(double* factors, std::size_t count) noexcept {
  double* const median = factors + (count - 1) / 2;
  std::nth_element(factors, median, factors + count);
  return *median;
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

  double own = 0;
  // Of every variant the factor at this order, and the geometric mean of its factors at all orders.
  std::array<double, most_others> at_order{};
  std::array<double, most_others> at_any{};
  std::size_t at_order_count = 0;
  std::size_t at_any_count = 0;
  const variant_correction* first = first_of({place.primitive, {}, {}});
  while (first != end && first->primitive == place.primitive && at_any_count < most_others) {
    const std::string_view of = first->variant;
    double logarithms = 0;
    int orders = 0;
    while (first != end && first->primitive == place.primitive && first->variant == of) {
      const variant_correction* const last = end_of(first);
      const double factor = mean_at(here, first, last);
      if (first->order == place.order) at_order[at_order_count++] = factor;
      logarithms += std::log(factor);
      ++orders;
      first = last;
    }
    const double mean = std::exp(logarithms / orders);
    if (of == variant) own = mean;
    at_any[at_any_count++] = mean;
  }
  if (at_order_count > 0) return median_of(at_order.data(), at_order_count);
  if (own > 0) return own;
  return at_any_count > 0 ? median_of(at_any.data(), at_any_count) : 1;
}

}  // namespace sheaf::plan
