// Calls of a context that learns: variants take turns, and results stay what they were promised to be.

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/gather.hpp>
#include <sheaf/machine.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/sort.hpp>
#include <sheaf/split.hpp>

#include "plan/learning.hpp"
#include "primitives/reduce/contract.hpp"
#include "support/replayed_clock.hpp"

namespace sheaf::tests::primitives_learned_calls_test {
namespace {

constexpr std::uint64_t count = 5000;

/// A profile by which the variants that the planner may choose are predicted to take 1 ms, 1.2 ms, and 10 ms each.
machine with_close_plans(machine m, const explanation& plain, access_pattern::kind order) {
  double target = 1e-3;
  for (const variant_estimate& v : plain.variants) {
    if (!v.applicable || v.by_name_only) continue;
    m.corrections.push_back({plain.primitive, v.variant, order, 8, count, count, target / v.seconds});
    target = target < 1.1e-3 ? 1.2e-3 : 1e-2;
  }
  std::ranges::sort(m.corrections, {}, &variant_correction::variant);
  return m;
}

struct learned_call {
  std::string name;
  access_pattern::kind order = access_pattern::kind::unknown;
  std::function<void(const context&)> run;
  std::function<explanation(const context&)> explain;
  std::function<std::vector<std::byte>()> result;
};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Makes the call again and again by a context that learns; `rival_is_faster` says which variant its clock favours.
void expect_the_same_while_learning(const learned_call& c, bool rival_is_faster) {
  SCOPED_TRACE(c.name);
  context ctx = context::cpu(2);
  ctx.learn(false);
  machine m = ctx.profile();
  m.corrections.clear();
  ctx.use(m);
  ctx.use(with_close_plans(m, c.explain(ctx), c.order));
  c.run(ctx);
  const std::vector<std::byte> expected = c.result();
  const std::string cheapest = c.explain(ctx).choice()->variant;

  ctx.learn(true);
  const double faster = 0.001;
  const double slower = 0.002;
  // Enough for first calls that do not count; a variant's time is the least of its calls.
  ctx.state().clock = [&, now = 0.0, asked = 0, ends_as = slower]() mutable {
    if (++asked % 2 == 1) {
      ends_as = (c.explain(ctx).choice()->variant == cheapest) == rival_is_faster ? slower : faster;
      return now;
    }
    return now += ends_as;
  };
  std::string learned;
  for (int calls = 0; calls < 12; ++calls) {
    c.run(ctx);
    ASSERT_EQ(c.result(), expected) << calls;
    learned = c.explain(ctx).learned;
    EXPECT_NE(learned, "");
  }
  ctx.wait();
  EXPECT_TRUE(learned.starts_with("chosen by 4 timed calls: ")) << learned;
  EXPECT_EQ(c.explain(ctx).choice()->variant != cheapest, rival_is_faster) << learned;
}

class LearnedCalls : public testing::TestWithParam<bool> {
 protected:
  LearnedCalls() : index_(count), in_(count), out_(count) {
    std::mt19937 random(7);
    std::iota(index_.begin(), index_.end(), 0U);
    std::ranges::shuffle(index_, random);
    for (double& value : in_) value = std::uniform_real_distribution(-1.0, 1.0)(random);
  }
  // Gathers and scatters have two plans to choose from where a table is far larger than caches.
  void spread_over_table() {
    constexpr std::size_t table_count = std::size_t{1} << 23;
    table_.assign(table_count, 0.0);
    for (std::uint32_t& record : index_) record *= static_cast<std::uint32_t>(table_count / count);
  }
  records table_records() { return {table_.data(), table_.size(), 8}; }
  records out_records() { return {out_.data(), count, 8}; }
  const_records in_records() const { return {in_.data(), count, 8}; }
  index_span list() const { return {index_.data(), count, index_type::u32}; }
  std::function<std::vector<std::byte>()> out() {
    return [this] { return bytes_of(out_); };
  }

  std::vector<std::uint32_t> index_;
  std::vector<double> in_;
  std::vector<double> out_;
  std::vector<double> table_;
};

TEST_P(LearnedCalls, GatherTheSameBits) {
  spread_over_table();
  for (std::size_t i = 0; i < count; ++i) table_[index_[i]] = in_[i];
  const gather_options options{.pattern = access_pattern::random()};
  expect_the_same_while_learning(
      {"gather", access_pattern::kind::random,
       [&](const context& ctx) { gather(ctx, table_records(), list(), out_records(), options); },
       [&](const context& ctx) { return explain_gather(ctx, table_records(), list(), out_records(), options); }, out()},
      GetParam());
}

// The list names no record twice.
TEST_P(LearnedCalls, ScatterTheSameBits) {
  spread_over_table();
  const auto named_records = [this] {
    std::vector<double> named;
    for (const std::uint32_t record : index_) named.push_back(table_[record]);
    return bytes_of(named);
  };
  for (const access_pattern pattern : {access_pattern::unknown(), access_pattern::random()}) {
    const scatter_options options{.pattern = pattern};
    expect_the_same_while_learning(
        {"scatter", pattern.shape,
         [&](const context& ctx) { scatter(ctx, in_records(), list(), table_records(), options); },
         [&](const context& ctx) { return explain_scatter(ctx, in_records(), list(), table_records(), options); },
         named_records},
        GetParam());
  }
}

// Sums of doubles, of which each slot gets many: another order of additions would give other bits.
TEST_P(LearnedCalls, SumTheSameBits) {
  for (std::uint32_t& slot : index_) slot %= 40;
  const const_values in(in_.data(), count, value_type::f64);
  const values sums(out_.data(), count, value_type::f64);
  expect_the_same_while_learning(
      {"scatter_reduce", access_pattern::kind::unknown,
       [&](const context& ctx) {
         std::ranges::fill(out_, 0.0);
         scatter_reduce(ctx, in, list(), sums, reduction::add);
       },
       [&](const context& ctx) { return explain_scatter_reduce(ctx, in, list(), sums, reduction::add); }, out()},
      GetParam());
}

TEST_P(LearnedCalls, SortTheSameBits) {
  for (std::uint32_t& key : index_) key %= 40;
  const sort_key key = sort_key::of<std::uint32_t>();
  const const_records keys(index_.data(), count, 4);
  std::vector<std::uint32_t> order(count);
  expect_the_same_while_learning(
      {"sort_gather_index", access_pattern::kind::unknown,
       [&](const context& ctx) {
         sort_gather_index(ctx, keys, key, {order.data(), count, index_type::u32});
       },
       [&](const context& ctx) { return explain_sort_gather_index(ctx, keys, key, index_type::u32); },
       [&] { return bytes_of(order); }},
      GetParam());
}

INSTANTIATE_TEST_SUITE_P(WhicheverIsFaster, LearnedCalls, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "TheRival" : "TheCheapest"; });

// Explanations see no list, and say what calls that found its order have taught.
TEST(LearnedOrder, IsNotNeededToExplainWhatLongListsTaught) {
  constexpr std::uint64_t entries = 100'000;
  std::vector<std::uint32_t> index(entries);
  std::mt19937 random(7);
  for (std::uint32_t& slot : index) slot = random() % entries;
  std::vector<double> in(entries, 1.0);
  std::vector<double> sums(entries);
  const const_values values_in(in.data(), entries, value_type::f64);
  const values out(sums.data(), entries, value_type::f64);
  const index_span list{index.data(), entries, index_type::u32};
  context ctx = context::cpu(2);
  machine m = ctx.profile();
  m.corrections.clear();
  ctx.use(m);
  const scatter_reduce_options told{.pattern = access_pattern::random()};
  ctx.use(with_close_plans(m, explain_scatter_reduce(ctx, values_in, list, out, reduction::add, told),
                           access_pattern::kind::random));
  ctx.learn(true);
  for (int calls = 0; calls < 12; ++calls) scatter_reduce(ctx, values_in, list, out, reduction::add);
  const std::string learned = explain_scatter_reduce(ctx, values_in, list, out, reduction::add).learned;
  EXPECT_TRUE(learned.starts_with("chosen by 4 timed calls: ")) << learned;
}

TEST(LearnedOrder, IsThatOfASampleWhereNobodyTellsIt) {
  const context ctx = context::cpu(1);
  std::vector<std::uint32_t> in_order(1 << 16);
  std::iota(in_order.begin(), in_order.end(), 0U);
  std::vector<std::uint32_t> shuffled = in_order;
  std::ranges::shuffle(shuffled, std::mt19937(7));
  const auto order_of = [&](const std::vector<std::uint32_t>& list, access_pattern told) {
    primitives::movement p;
    p.count = p.indexed_count = list.size();
    p.pattern = told;
    return primitives::sampled_order(ctx, p, {list.data(), list.size(), index_type::u32});
  };
  EXPECT_EQ(order_of(in_order, access_pattern::unknown()), access_pattern::kind::sequential);
  EXPECT_EQ(order_of(shuffled, access_pattern::unknown()), access_pattern::kind::random);
  EXPECT_EQ(order_of(shuffled, access_pattern::clustered(64)), access_pattern::kind::clustered)
      << "what the caller says";
}

// The bits of sums depend on the variant on other backends, where the caller wants them to be the same in every run.
TEST(LearnedShape, IsNoneWhereVariantsPromiseOtherBits) {
  primitives::scatter_reduce_problem p;
  p.count = p.indexed_count = 1000;
  EXPECT_EQ(learned_shape(p)->count, 512U);
  p.backend = backend_kind::cuda;
  EXPECT_FALSE(learned_shape(p));
  p.order = reduction_order::unordered;
  EXPECT_TRUE(learned_shape(p));
  p.order = reduction_order::deterministic;
  p.op = reduction::max;
  EXPECT_TRUE(learned_shape(p));
}

}  // namespace
}  // namespace sheaf::tests::primitives_learned_calls_test
