#include "jobs/checks/list.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "primitives/operators/with_value.hpp"
#include "reference/index_reader.hpp"

namespace sheaf::jobs {
namespace {

/// Calls visit(head, node) for each node from each head on, until it returns false. Goes through no more nodes than
/// there are, whatever the successors say.
template <class Visit>
void walk(index_span successor, Visit visit) {
  const std::uint64_t count = successor.count;
  const reference::index_reader next(successor, count);
  const auto leads_on = [&](std::uint64_t node) { return next.in_range(node) && next.bits(node) != node; };
  std::vector<bool> has_predecessor(count, false);
  for (std::uint64_t node = 0; node < count; ++node) {
    if (leads_on(node)) has_predecessor[next.bits(node)] = true;
  }
  std::uint64_t left = count;
  for (std::uint64_t head = 0; head < count; ++head) {
    if (has_predecessor[head]) continue;
    for (std::uint64_t node = head; left > 0; node = next.bits(node)) {
      --left;
      if (!visit(head, node)) return;
      if (!leads_on(node)) break;
    }
  }
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
  explicit running_value(scan_operator op) : op_(op) {}
  void take(T value) {
    value_ = is_first_ ? value : together(op_, value_, value);
    is_first_ = false;
  }
  bool explains(T found) const { return found == value_; }
  T shown() const { return value_; }

 private:
  scan_operator op_;
  bool is_first_ = true;
  T value_ = 0;
};

/// The same of floats, with the error that rounding may have made in any order of operations.
template <class T>
class running_value<T, true> {
 public:
  explicit running_value(scan_operator op) : op_(op) {}

  void take(T value) {
    const auto wide = static_cast<long double>(value);
    value_ = count_++ == 0 ? wide : together_with(wide);
    if (std::isfinite(wide)) magnitudes_ += std::abs(wide);
    if (op_ == scan_operator::mul) follow_stretches(wide);
  }

  bool explains(T found) const {
    if (std::isnan(value_)) return std::isnan(found);
    if (op_ != scan_operator::add && op_ != scan_operator::mul) {
      return found == static_cast<T>(value_) && std::signbit(found) == std::signbit(value_);
    }
    if (may_overflow()) return true;
    if (std::isinf(value_)) return static_cast<long double>(found) == value_;
    return std::abs(static_cast<long double>(found) - value_) <= error();
  }
  T shown() const { return static_cast<T>(value_); }

 private:
  using limits = std::numeric_limits<T>;

  long double together_with(long double value) const {
    if (op_ == scan_operator::add) return value_ + value;
    if (op_ == scan_operator::mul) return value_ * value;
    if (std::isnan(value_) || std::isnan(value)) return std::numeric_limits<long double>::quiet_NaN();
    return is_below(value_, value) == (op_ == scan_operator::max) ? value : value_;
  }
  static bool is_below(long double a, long double b) {
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
  }
  long double error() const {
    const long double share = static_cast<long double>(count_) * limits::epsilon();
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
  std::uint64_t count_ = 0;
  long double value_ = 0;
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
std::optional<std::string> typed_scan_mistake(index_span successor, const T* in, const T* out, scan_operator op,
                                              const std::optional<scalar>& exclusive_from) {
  std::optional<std::string> mistake;
  std::uint64_t list = ~std::uint64_t{0};
  running_value<T> running(op);
  walk(successor, [&](std::uint64_t head, std::uint64_t node) {
    if (head != list) {
      list = head;
      running = running_value<T>(op);
      if (exclusive_from) running.take(number_of<T>(*exclusive_from));
    }
    if (!exclusive_from) running.take(in[node]);
    if (!running.explains(out[node])) {
      mistake = fmt::format("the result of node {} is {}, a walk from node {} has {}", node, out[node], head,
                            running.shown());
    }
    if (exclusive_from) running.take(in[node]);
    return !mistake;
  });
  return mistake;
}

}  // namespace

std::optional<std::string> rank_mistake(index_span successor, index_span rank) {
  const reference::index_reader found(rank, 0);
  std::optional<std::string> mistake;
  std::uint64_t list = ~std::uint64_t{0};
  std::uint64_t expected = 0;
  walk(successor, [&](std::uint64_t head, std::uint64_t node) {
    if (head != list) expected = 0;
    list = head;
    if (found.bits(node) != expected) {
      mistake =
          fmt::format("the rank of node {} is {}, a walk from node {} has {}", node, found.bits(node), head, expected);
    }
    ++expected;
    return !mistake;
  });
  return mistake;
}

std::optional<std::string> scan_mistake(index_span successor, const_values in, const_values out, scan_operator op,
                                        const std::optional<scalar>& exclusive_from) {
  std::optional<std::string> mistake;
  primitives::with_value(in.type, [&](auto value) {
    using T = decltype(value);
    mistake = typed_scan_mistake(successor, static_cast<const T*>(in.data), static_cast<const T*>(out.data), op,
                                 exclusive_from);
  });
  return mistake;
}

}  // namespace sheaf::jobs
