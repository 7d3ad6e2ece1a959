#include "apps/sheaf/checks/list.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "apps/sheaf/files/progress.hpp"
#include "primitives/index_reader.hpp"
#include "primitives/operators/with_value.hpp"

namespace sheaf::jobs {
namespace {

/// Calls visit(head, node) for each node from each head on, until it says what is wrong, which is the result. So is
/// that the successors are not as many lists of all nodes as they should be. Visits no node twice, whatever the
/// successors say.
template <class Visit>
std::optional<std::string> mistake_along(index_span successor, list_count lists, Visit visit) {
  const std::uint64_t count = successor.count;
  const reference::index_reader next(successor, count);
  const auto leads_on = [&](std::uint64_t node) { return next.in_range(node) && next.bits(node) != node; };
  std::vector<bool> has_predecessor(count, false);
  for (std::uint64_t node = 0; node < count; ++node) {
    if (leads_on(node)) has_predecessor[next.bits(node)] = true;
  }
  std::vector<bool> is_visited(count, false);
  io::progress_step step("verifying nodes", io::progress_unit::items, static_cast<double>(count));
  std::optional<std::uint64_t> first_head;
  for (std::uint64_t head = 0; head < count; ++head) {
    if (has_predecessor[head]) continue;
    if (first_head && lists == list_count::one) {
      return fmt::format("node {} is a second head beside node {}, where one list is expected", head, *first_head);
    }
    if (!first_head) first_head = head;
    for (std::uint64_t node = head;; node = next.bits(node)) {
      if (is_visited[node]) return fmt::format("a walk from node {} reaches node {} again", head, node);
      is_visited[node] = true;
      step.add(1);
      if (auto mistake = visit(head, node)) return mistake;
      if (!leads_on(node)) break;
    }
  }
  for (std::uint64_t node = 0; node < count; ++node) {
    if (!is_visited[node]) return fmt::format("node {} is not on a list: no walk from a head reaches it", node);
  }
  return std::nullopt;
}

/// a op b of integers, which wrap around.
template <class T>
T together(scan_operator op, T a, T b) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  switch (op) {
    case scan_operator::add: return static_cast<T>(x + y);
    case scan_operator::mul: return static_cast<T>(x * y);
    case scan_operator::min: return std::min(a, b);
    case scan_operator::max: return std::max(a, b);
    case scan_operator::bit_and: return static_cast<T>(x & y);
    case scan_operator::bit_or: return static_cast<T>(x | y);
    case scan_operator::bit_xor: return static_cast<T>(x ^ y);
  }
  return a;
}

/// The values so far, put together.
template <class T, bool IsFloat = std::is_floating_point_v<T>>
class running_value {
 public:
  running_value(scan_operator op, std::uint64_t) : op_(op) {}
  void take(T value) {
    value_ = is_first_ ? value : together(op_, value_, value);
    is_first_ = false;
  }
  bool explains(T found) { return found == value_; }
  T shown() const { return value_; }

 private:
  scan_operator op_;
  bool is_first_ = true;
  T value_ = 0;
};

/// Roundings that a value goes through on its way into a sum of `nodes` nodes, at most. A value is added to those of
/// its sublist one after the other, then sublists are added up. cpu.sublist cuts walks at 64 sqrt(n) nodes and has
/// fewer than 8 sqrt(n) sublists. What CUDA plans gives a sublist up after 2^14 + 2^10 nodes, and after 2^11 on each
/// level above. The limit is some two times that, and never more than a walk from the head makes: with 2^24 floats of
/// 32 bits, 7 % of the sum of their magnitudes, where a limit by the number of nodes would be twice that sum.
std::uint64_t most_roundings(std::uint64_t nodes) {
  const double of_walks = 128 * std::sqrt(static_cast<double>(nodes));
  return std::min(nodes + 1, (std::uint64_t{1} << 15) + static_cast<std::uint64_t>(of_walks));
}

/// Values put together in long double, and what rounding to T may make of them. A result is right if a walk in T has
/// it, as reference.serial does. Else it is right if two distances are short.
///
/// That to the value in long double: a sum has an error of most_roundings() of the sum of magnitudes. A product has one
/// of the product for each of its values, in whatever order they are put together.
///
/// That to what the value between two nodes makes of the first one's result: the two share the roundings of their
/// sublist, and differ in those of two trees in which up to 2^18 sublists of CUDA are put together. A sum has an error
/// for each of at most 32 levels, a product for each sublist.
template <class T>
class running_value<T, true> {
 public:
  running_value(scan_operator op, std::uint64_t nodes) : op_(op), most_roundings_(most_roundings(nodes)) {}

  void take(T value) {
    const auto wide = static_cast<long double>(value);
    const bool is_first = count_++ == 0;
    value_ = is_first ? wide : together(value_, wide);
    in_t_ = is_first ? value : together(in_t_, value);
    from_found_ = is_first ? wide : together(from_found_, wide);
    if (std::isfinite(wide)) magnitudes_ += std::abs(wide);
    if (op_ == scan_operator::mul) follow_stretches(wide);
  }

  /// Whether a result may be the values so far. Results are asked for from the head on.
  bool explains(T found) {
    const auto wide = static_cast<long double>(found);
    const long double step = std::abs(wide - from_found_);
    from_found_ = wide;
    const bool is_extreme = op_ != scan_operator::add && op_ != scan_operator::mul;
    if (std::isnan(value_)) return is_extreme ? is_positive_quiet_nan(found) : std::isnan(found);
    if (is_extreme) {
      return found == static_cast<T>(value_) && std::signbit(found) == std::signbit(value_);
    }
    if (found == in_t_ || may_overflow()) return true;
    if (std::isinf(value_)) return wide == value_;
    const bool is_sum = op_ == scan_operator::add;
    const std::uint64_t of_a_step = is_sum ? 64 : std::uint64_t{1} << 19;
    return std::abs(wide - value_) <= error_of(is_sum ? std::min(count_, most_roundings_) : count_) &&
           step <= error_of(std::min(count_, of_a_step));
  }
  T shown() const { return static_cast<T>(value_); }

 private:
  using limits = std::numeric_limits<T>;

  template <class Number>
  Number together(Number earlier, Number later) const {
    if (op_ == scan_operator::add) return earlier + later;
    if (op_ == scan_operator::mul) return earlier * later;
    if (std::isnan(earlier) || std::isnan(later)) return std::numeric_limits<Number>::quiet_NaN();
    return is_below(earlier, later) == (op_ == scan_operator::max) ? later : earlier;
  }
  static bool is_positive_quiet_nan(T value) {
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return std::bit_cast<bits>(value) == std::bit_cast<bits>(limits::quiet_NaN());
  }
  template <class Number>
  static bool is_below(Number a, Number b) {
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
  }
  long double error_of(std::uint64_t roundings) const {
    const long double share = static_cast<long double>(roundings) * limits::epsilon();
    return share * (op_ == scan_operator::add ? magnitudes_ : std::abs(value_)) + limits::denorm_min();
  }
  // Whether the values of some stretch of the list may be too large or too small for the type together. Stretches are
  // put together before what comes before them, so their infinity or zero may then meet its opposite.
  bool may_overflow() const { return op_ == scan_operator::add ? magnitudes_ > limits::max() : passes_range_; }
  // The stretches that end here with the largest and the smallest product, by their binary logarithms.
  void follow_stretches(long double value) {
    if (value == 0 || !std::isfinite(value)) {
      largest_ = smallest_ = 0;
      return;
    }
    const long double log = std::log2(std::abs(value));
    largest_ = std::max(largest_ + log, 0.0L);
    smallest_ = std::min(smallest_ + log, 0.0L);
    constexpr long double rounding = 0.5L;
    passes_range_ =
        passes_range_ || largest_ > limits::max_exponent - rounding || smallest_ < limits::min_exponent - 1 + rounding;
  }

  scan_operator op_;
  std::uint64_t most_roundings_;
  std::uint64_t count_ = 0;
  long double value_ = 0;
  T in_t_ = 0;                  // the values so far by a walk in T
  long double from_found_ = 0;  // the last result asked for, put together with what was taken since
  long double magnitudes_ = 0;
  long double largest_ = 0;
  long double smallest_ = 0;
  bool passes_range_ = false;
};

template <class T>
T number_of(const scalar& s) {
  T number{};
  std::memcpy(&number, &s.bits, sizeof number);
  return number;
}

template <class T>
std::optional<std::string> typed_scan_mistake(index_span successor, list_count lists, const T* in, const T* out,
                                              scan_operator op, const std::optional<scalar>& exclusive_from) {
  std::optional<std::uint64_t> list;
  running_value<T> running(op, successor.count);
  return mistake_along(successor, lists, [&](std::uint64_t head, std::uint64_t node) -> std::optional<std::string> {
    if (head != list) {
      list = head;
      running = running_value<T>(op, successor.count);
      if (exclusive_from) running.take(number_of<T>(*exclusive_from));
    }
    if (!exclusive_from) running.take(in[node]);
    if (!running.explains(out[node])) {
      return fmt::format("the result of node {} is {}, but a walk from node {} has {}", node, out[node], head,
                         running.shown());
    }
    if (exclusive_from) running.take(in[node]);
    return std::nullopt;
  });
}

}  // namespace

std::optional<std::string> rank_mistake(index_span successor, list_count lists, index_span rank) {
  const reference::index_reader found(rank, 0);
  std::optional<std::uint64_t> list;
  std::uint64_t expected = 0;
  return mistake_along(successor, lists, [&](std::uint64_t head, std::uint64_t node) -> std::optional<std::string> {
    if (head != list) expected = 0;
    list = head;
    if (found.bits(node) != expected) {
      return fmt::format("the rank of node {} is {}, but a walk from node {} has {}", node, found.bits(node), head,
                         expected);
    }
    ++expected;
    return std::nullopt;
  });
}

std::optional<std::string> scan_mistake(index_span successor, list_count lists, const_values in, const_values out,
                                        scan_operator op, const std::optional<scalar>& exclusive_from) {
  std::optional<std::string> mistake;
  primitives::with_value(in.type, [&](auto value) {
    using T = decltype(value);
    mistake = typed_scan_mistake(successor, lists, static_cast<const T*>(in.data), static_cast<const T*>(out.data), op,
                                 exclusive_from);
  });
  return mistake;
}

}  // namespace sheaf::jobs
