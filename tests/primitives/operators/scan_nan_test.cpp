// Minima and maxima along a list are the positive quiet NaN from the first NaN on, whichever it is and wherever it is.
#include <sheaf/list_scan.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "support/trials/list.hpp"

namespace sheaf::tests::primitives_operators_scan_nan_test {
namespace {

class EveryListVariantWithNaN : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no CUDA device here";
  }

  /// A list whose values count down, or up for a maximum, from 1, with a NaN at `place` of it.
  template <class T>
  void expect_nan_from(std::uint64_t place, std::uint64_t which, list_case c) {
    SCOPED_TRACE(fmt::format("NaN {} at place {} of {}", which, place, c.description()));
    const made_lists lists(c);
    list_trial t(c, lists);
    const auto value_at = [&](std::uint64_t k) {
      const double magnitude = 1 + static_cast<double>(k);
      return static_cast<T>(c.op == scan_operator::min ? -magnitude : magnitude);
    };
    for (std::uint64_t k = 0; k < c.count; ++k) {
      const std::uint64_t node = lists.nodes[k];
      const T value = k == place ? not_a_number<T>(which) : value_at(k);
      std::memcpy(t.in.record(node), &value, sizeof value);
      if (c.is_packed) std::memcpy(t.nodes.record(node), &value, sizeof value);
      // An exclusive scan begins with 0, or the NaN itself where that comes before the list.
      const bool follows_nan = place == before_the_list || k > place || (k == place && !c.is_exclusive);
      const T result = follows_nan       ? std::numeric_limits<T>::quiet_NaN()
                       : !c.is_exclusive ? value_at(k)
                       : k == 0          ? T{0}
                                         : value_at(k - 1);
      std::memcpy(t.after.record(node), &result, sizeof result);
    }
    t.initial = place == before_the_list ? not_a_number<T>(which) : T{0};
    for (const named_context& where : every_context()) {
      if (GetParam().empty() && !is_planned_on(where.ctx)) continue;
      SCOPED_TRACE(where.name);
      const auto got = scan_by(GetParam(), where.ctx, t);
      if (!got) continue;
      EXPECT_NO_THROW(where.ctx.wait());
      expect_results(*got, t);
    }
  }

  template <class T>
  void expect_nan_everywhere(value_type type) {
    std::uint64_t which = 0;
    for (const std::uint64_t count : {1, 2, 3, 700, 20'000}) {
      for (const scan_operator op : {scan_operator::min, scan_operator::max}) {
        for (const bool is_exclusive : {false, true}) {
          for (const bool is_packed : {false, true}) {
            if (is_packed && sizeof(T) != 4) continue;
            list_case c{.count = count, .is_packed = is_packed, .is_exclusive = is_exclusive, .type = type, .op = op};
            std::vector<std::uint64_t> places{0, count / 3, count - 1};
            if (is_exclusive) places.push_back(before_the_list);
            for (const std::uint64_t place : places) {
              c.seed = ++which;
              expect_nan_from<T>(place, which, c);
              if (HasFailure()) return;
            }
          }
        }
      }
    }
  }

  static constexpr std::uint64_t before_the_list = ~std::uint64_t{0};
};

INSTANTIATE_TEST_SUITE_P(ListScan, EveryListVariantWithNaN, testing::ValuesIn(list_variant_names()), test_name_of);

TEST_P(EveryListVariantWithNaN, HasItFromItsPlaceOn) {
  expect_nan_everywhere<float>(value_type::f32);
  expect_nan_everywhere<double>(value_type::f64);
}

// Each node is a list: its value is the only one.
TEST_P(EveryListVariantWithNaN, HasItOfListsOfOneNode) {
  for (const value_type type : {value_type::f32, value_type::f64}) {
    const list_case c{.count = 1000, .cut = list_cut::single_nodes, .type = type, .op = scan_operator::min, .seed = 5};
    const list_trial t(c);
    for (const named_context& where : every_context()) {
      if (GetParam().empty() && !is_planned_on(where.ctx)) continue;
      SCOPED_TRACE(where.name);
      const auto got = scan_by(GetParam(), where.ctx, t);
      if (!got) continue;
      EXPECT_NO_THROW(where.ctx.wait());
      expect_results(*got, t);
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_operators_scan_nan_test
