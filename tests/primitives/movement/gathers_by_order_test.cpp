#include "primitives/movement/gathers_by_order.hpp"

#include <array>
#include <cstring>
#include <string>

#include <gtest/gtest.h>
#include <sheaf/context.hpp>
#include <sheaf/memory.hpp>

#include "support/contexts.hpp"
#include "support/placed.hpp"
#include "support/scoped_environment.hpp"

namespace sheaf::tests::primitives_movement_gathers_by_order_test {
namespace {

using primitives::gathers_by_order;
using primitives::sort_buffers;
using primitives::sort_problem;

constexpr std::uint64_t count = 5000;

// Rows of 8 bytes and two arrays of values, of which the second lies with gaps.
constexpr std::array<std::uint64_t, 3> widths{8, 4, 12};
constexpr std::array<std::uint64_t, 3> strides{8, 4, 20};

sort_problem problem(backend_kind backend) {
  sort_problem p;
  p.backend = backend;
  p.count = count;
  p.rows = {widths[0], strides[0], strides[0], 8};
  p.column_count = 2;
  p.columns[0] = {widths[1], strides[1], strides[1], 4};
  p.columns[1] = {widths[2], strides[2], strides[2], 4};
  return p;
}

image in_order(const image& in, const image& order) {
  image out = poisoned(in.count, in.record_bytes, in.stride_bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t from = 0;
    std::memcpy(&from, order.record(i), 4);
    std::memcpy(out.record(i), in.record(from), in.record_bytes);
  }
  return out;
}

TEST(GathersByOrder, BringRowsAndValuesIntoOrder) {
  const image order = index_list(inputs::parse_pattern("permutation"), count, count, index_type::u32);
  for (const named_context& where : every_context()) {
    for (const bool writes_rows : {true, false}) {
      SCOPED_TRACE(where.name);
      sort_problem p = problem(where.ctx.backend());
      p.writes_rows = writes_rows;
      const gathers_by_order gathers(p, index_type::u32, plan::scope_of(where.ctx));
      ASSERT_EQ(gathers.rejection(), nullptr);
      const placed order_at(where.ctx, order);
      std::vector<image> in, untouched;
      std::vector<placed> in_at, out_at;
      for (std::size_t a = 0; a < widths.size(); ++a) {
        in.push_back(filled(count, widths[a], strides[a], 0, a + 1));
        untouched.push_back(poisoned(count, widths[a], strides[a]));
      }
      for (std::size_t a = 0; a < widths.size(); ++a) {
        in_at.emplace_back(where.ctx, in[a]);
        out_at.emplace_back(where.ctx, untouched[a]);
      }
      sort_buffers b{.in = in_at[0].view(), .out = out_at[0].view()};
      for (std::size_t c = 0; c < 2; ++c) b.columns[c] = {in_at[c + 1].view(), out_at[c + 1].view()};
      const buffer scratch(where.ctx, gathers.scratch_bytes());
      gathers.run(where.ctx, p, b, order_at.index(index_type::u32), scratch.data());
      where.ctx.wait();
      expect_bytes(out_at[0].download(), writes_rows ? in_order(in[0], order) : untouched[0], "rows");
      expect_bytes(out_at[1].download(), in_order(in[1], order), "values");
      expect_bytes(out_at[2].download(), in_order(in[2], order), "values with gaps");
    }
  }
}

TEST(GathersByOrder, CostWhatTheirArraysCostTogether) {
  const context ctx = context::cpu(2);
  const sort_problem all = problem(backend_kind::cpu);
  sort_problem rows_alone = all;
  rows_alone.column_count = 0;
  sort_problem values_alone = all;
  values_alone.writes_rows = false;
  const auto seconds = [&](const sort_problem& p) {
    return gathers_by_order(p, index_type::u32, plan::scope_of(ctx)).seconds();
  };
  EXPECT_NEAR(seconds(all), seconds(rows_alone) + seconds(values_alone), 1e-12);
  EXPECT_GT(seconds(all), seconds(rows_alone));
}

TEST(GathersByOrder, SayWhereNoGatherFitsIntoWhatTheSortLeaves) {
  const scoped_environment forced("SHEAF_VARIANT", "gather:cpu.bucketed");
  const context ctx = context::cpu(2);
  const gathers_by_order fits(problem(backend_kind::cpu), index_type::u32, plan::scope_of(ctx));
  EXPECT_EQ(fits.rejection(), nullptr);
  EXPECT_GT(fits.scratch_bytes(), 0U);
  const gathers_by_order rejected(problem(backend_kind::cpu), index_type::u32, {ctx.profile(), 0, &ctx.state()});
  ASSERT_NE(rejected.rejection(), nullptr);
  EXPECT_EQ(std::string(rejected.rejection()), "no gather can put its rows in order");
}

}  // namespace
}  // namespace sheaf::tests::primitives_movement_gathers_by_order_test
