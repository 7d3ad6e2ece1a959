#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/split.hpp>

#include "support/cases/bad_places.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/split_runs.hpp"

namespace sheaf::tests::primitives_split_bad_category_test {
namespace {

// Cases with bad categories at the given record numbers.
split_case bad_case(std::uint64_t key_bytes, std::uint64_t categories, const std::vector<std::uint64_t>& places) {
  split_case c;
  c.from = split_key::kind::category;
  c.count = 9001;
  c.key_bytes = key_bytes;
  c.categories = categories;
  c.layout = {0, 3, 0, 0, 0, 0};
  std::uint64_t bad = categories;
  for (const std::uint64_t place : places) c.bad.emplace_back(place, bad++);
  return c;
}

std::string complaint(const split_trial& t) {
  const auto first = std::min_element(t.c.bad.begin(), t.c.bad.end());
  return fmt::format("split: category[{}] is {}, past the {} categories", first->first, first->second, t.c.categories);
}

class BadCategory : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no CUDA device here";
  }
  static bool takes_bad_categories() {
    const partial_split_variant* const partial = partial_split_variant_of(GetParam());
    return partial == nullptr || partial->takes_bad_categories;
  }
  // Compares the output. The error stays with ctx, to be thrown by wait().
  bool run(const context& ctx, const split_trial& t, product what) {
    split_result got;
    if (!run_variant(ctx, t, what, GetParam(), got)) return false;
    expect_result(std::move(got), t, what);
    return true;
  }
};

INSTANTIATE_TEST_SUITE_P(Split, BadCategory, testing::ValuesIn(split_variant_names()), test_name_of);

TEST_P(BadCategory, IsLeftOutAndReportedWithPlaceAndValue) {
  const auto contexts = every_context();
  std::size_t runs = 0;
  std::size_t problems = 0;
  const std::vector<std::vector<std::uint64_t>> all_places{{0}, {9000}, {4095, 4096, 4097}, {8000, 3, 5000}};
  for (const auto& [key_bytes, categories] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {1, 200}, {1, 1}, {2, 256}, {2, 1000}, {4, 257}, {4, 65536}, {4, 70000}}) {
    for (const auto& places : all_places) {
      const split_trial t(bad_case(key_bytes, categories, places));
      SCOPED_TRACE(t.c.description());
      problems += std::size(products);
      for (const named_context& where : contexts) {
        for (const product what : products) {
          SCOPED_TRACE(fmt::format("{}, product {}", where.name, static_cast<int>(what)));
          if (!run(where.ctx, t, what)) continue;
          ++runs;
          EXPECT_EQ(where.ctx.status(), work_status::failed);
          expect_error(error_code::bad_index, complaint(t), [&] { where.ctx.wait(); });
          EXPECT_EQ(where.ctx.status(), work_status::done);
        }
      }
      if (HasFailure()) return;
    }
  }
  expect_runs(GetParam(), runs, takes_bad_categories() ? problems : 0,
              {{"cuda.stable", 56}, {"cuda.unordered", 0}, {"cuda.cub", 56}, {"cuda.by_index", 56}});
}

// Words by keys of 4 bytes, all side by side: some variants sort bad keys behind the others and put back what the
// records of these came to.
TEST_P(BadCategory, OfWordsSideBySideIsLeftOut) {
  const auto contexts = every_context();
  std::size_t runs = 0;
  std::size_t problems = 0;
  for (const std::uint64_t width : {4, 8}) {
    for (const std::uint64_t categories : {1, 256, 257, 65536, 70000}) {
      for (const std::vector<std::uint64_t>& places :
           std::vector<std::vector<std::uint64_t>>{{0}, {9000}, {8000, 3, 5000}, {4607, 4608, 4609, 8832}}) {
        split_case c = bad_case(4, categories, places);
        c.layout = {};
        c.record_bytes = width;
        c.bad.back().second = 0xffffffff;
        const split_trial t(c);
        SCOPED_TRACE(t.c.description());
        problems += std::size(products);
        for (const named_context& where : contexts) {
          for (const product what : products) {
            SCOPED_TRACE(fmt::format("{}, product {}", where.name, static_cast<int>(what)));
            if (!run(where.ctx, t, what)) continue;
            ++runs;
            expect_error(error_code::bad_index, complaint(t), [&] { where.ctx.wait(); });
          }
        }
        if (HasFailure()) return;
      }
    }
  }
  expect_runs(GetParam(), runs, takes_bad_categories() ? problems : 0, {{"cuda.unordered", 40}, {"cuda.by_index", 80}});
}

TEST_P(BadCategory, HasTheValueOfAllItsBits) {
  split_case c = bad_case(4, 100, {});
  c.bad = {{77, 0xffffffff}, {4000, 100}};
  const split_trial t(c);
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    if (!run(where.ctx, t, product::stable)) continue;
    expect_error(error_code::bad_index, "split: category[77] is 4294967295, past the 100 categories",
                 [&] { where.ctx.wait(); });
  }
}

TEST_P(BadCategory, AtTheLowestPositionOfManyIsReported) {
  const auto contexts = every_context();
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (const auto& [key_bytes, categories] :
         std::vector<std::pair<std::uint64_t, std::uint64_t>>{{2, 200}, {4, 300}, {4, 40000}}) {
      split_case c = bad_case(key_bytes, categories, {});
      const std::uint64_t most = key_bytes == 2 ? 0xffff : 0xffffffff;
      for (const std::uint64_t place : bad_places(c.count, seed)) c.bad.emplace_back(place, most - place);
      if (seed % 2 == 0) c.layout = {};
      const split_trial t(c);
      for (const named_context& where : contexts) {
        for (const product what : products) {
          SCOPED_TRACE(fmt::format("{}, product {}, seed {}", where.name, static_cast<int>(what), seed));
          if (!run(where.ctx, t, what)) continue;
          expect_error(error_code::bad_index, complaint(t), [&] { where.ctx.wait(); });
        }
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(BadCategory, EverywhereIsSurvived) {
  split_case c = bad_case(2, 300, {});
  for (std::uint64_t i = 0; i < c.count; ++i) c.bad.emplace_back(i, 65535 - i);
  const split_trial t(c);
  for (const named_context& where : every_context()) {
    for (const product what : products) {
      SCOPED_TRACE(fmt::format("{}, product {}", where.name, static_cast<int>(what)));
      if (!run(where.ctx, t, what)) continue;
      expect_error(error_code::bad_index, "split: category[0] is 65535, past the 300 categories",
                   [&] { where.ctx.wait(); });
    }
  }
}

TEST_P(BadCategory, OfTheFirstCallWinsAndTheContextGoesOnWorking) {
  const split_trial good(bad_case(2, 500, {}));
  const split_trial late(bad_case(2, 500, {7000}));
  const split_trial early(bad_case(1, 200, {2}));
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    if (!run(where.ctx, good, product::stable)) continue;
    EXPECT_NO_THROW(where.ctx.wait());
    run(where.ctx, late, product::stable);
    run(where.ctx, early, product::stable);
    run(where.ctx, good, product::stable);
    expect_error(error_code::bad_index, complaint(late), [&] { where.ctx.wait(); });
    EXPECT_NO_THROW(where.ctx.wait());
    run(where.ctx, good, product::stable);
    EXPECT_NO_THROW(where.ctx.wait());
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_split_bad_category_test
