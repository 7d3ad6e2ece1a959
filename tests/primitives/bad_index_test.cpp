#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/gather.hpp>
#include <sheaf/scatter.hpp>

#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"
#include "support/cases/bad_places.hpp"
#include "support/cases/movement.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/placed.hpp"

namespace sheaf::tests::primitives_bad_index_test {
namespace {

struct bad_value {
  std::uint64_t bits;
  std::string complaint;  ///< "999, past" or "-1, outside"
};

// Indices that name none of `limit` records and that the type can hold.
std::vector<bad_value> bad_values(index_type type, std::uint64_t limit) {
  constexpr std::uint64_t two_31 = std::uint64_t{1} << 31;
  constexpr std::uint64_t two_63 = std::uint64_t{1} << 63;
  std::vector<std::uint64_t> values{limit, limit + 1, two_31 - 1};
  switch (type) {
    case index_type::u32: values.insert(values.end(), {two_31, 2 * two_31 - 1}); break;
    case index_type::u64:
      values.insert(values.end(), {two_31, 2 * two_31 - 1, 2 * two_31, two_63, ~std::uint64_t{0}});
      break;
    case index_type::i32:
      values.insert(values.end(), {~std::uint64_t{0}, ~std::uint64_t{0} - limit, ~(two_31 - 1)});
      break;
    case index_type::i64:
      values.insert(values.end(), {two_31, 2 * two_31 - 1, 2 * two_31, two_63 - 1, ~std::uint64_t{0}, ~two_31, two_63});
      break;
  }
  const bool is_signed = type == index_type::i32 || type == index_type::i64;
  std::vector<bad_value> bad;
  for (const std::uint64_t bits : values) {
    const auto value = static_cast<std::int64_t>(bits);
    if (is_signed && value < 0) {
      bad.push_back({bits, fmt::format("{}, outside", value)});
    } else {
      bad.push_back({bits, fmt::format("{}, past", bits)});
    }
  }
  return bad;
}

enum class primitive { gather, scatter };

// One call on `ctx` with an index list that may hold bad entries, compared with the reference's answer.
struct indexed_call {
  static constexpr std::uint64_t indexed_count = 9001;

  primitive what;
  index_type type;
  image sequential;
  image index;
  image indexed;

  indexed_call(primitive p, index_type t, std::uint64_t width)
      : what(p), type(t), index(index_list(inputs::parse_pattern("permutation"), indexed_count, indexed_count, t)) {
    const bool gathers = p == primitive::gather;
    sequential = gathers ? poisoned(indexed_count, width, width + 3) : filled(indexed_count, width, width, 0, 5);
    indexed = gathers ? filled(indexed_count, width, width, 0, 5) : poisoned(indexed_count, width, width + 3);
  }

  void call(const context& ctx, const_records sequential_in, records sequential_out, index_span list,
            const_records indexed_in, records indexed_out, std::string_view variant) const {
    if (what == primitive::gather) return gather(ctx, indexed_in, list, sequential_out, {.variant = variant});
    scatter(ctx, sequential_in, list, indexed_out, {.variant = variant});
  }

  // The output after the reference has run. The reference's error is dropped.
  image expected() const {
    image sequential_copy = sequential;
    image indexed_copy = indexed;
    const context ctx = context::cpu(1);
    call(ctx, sequential_copy.view(), sequential_copy.view(), index_view(index, type), indexed_copy.view(),
         indexed_copy.view(), "reference.serial");
    return what == primitive::gather ? sequential_copy : indexed_copy;
  }

  // Runs the variant and compares; false if it refuses. Bad entries throw nothing before ctx.wait().
  bool run(const context& ctx, std::string_view variant, const image& answer) const {
    const placed sequential_at(ctx, sequential);
    const placed index_at(ctx, index);
    const placed indexed_at(ctx, indexed);
    try {
      call(ctx, sequential_at.view(), sequential_at.view(), index_at.index(type), indexed_at.view(), indexed_at.view(),
           variant);
    } catch (const error& e) {
      if (e.code() != error_code::no_variant) throw;
      return false;
    }
    expect_bytes((what == primitive::gather ? sequential_at : indexed_at).download(), answer, "output");
    expect_bytes((what == primitive::gather ? indexed_at : sequential_at).download(),
                 what == primitive::gather ? indexed : sequential, "input");
    expect_bytes(index_at.download(), index, "index");
    return true;
  }

  std::string message(std::uint64_t position, const bad_value& bad) const {
    return fmt::format("{}: index[{}] is {} the {} {} records", what == primitive::gather ? "gather" : "scatter",
                       position, bad.complaint, what == primitive::gather ? "table's" : "output's", indexed_count);
  }
};

// "gather/cpu.direct" and so on, with the planner's choice as "gather/".
std::vector<std::string> every_variant() {
  std::vector<std::string> names{"gather/", "scatter/"};
  for (const auto& v : primitives::gather_variants()) names.push_back("gather/" + std::string(v.name));
  for (const auto& v : primitives::scatter_variants()) names.push_back("scatter/" + std::string(v.name));
  return names;
}

class BadIndex : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(variant())) GTEST_SKIP() << "no device here for " << variant();
  }
  primitive what() const { return GetParam().starts_with("gather") ? primitive::gather : primitive::scatter; }
  std::string variant() const { return GetParam().substr(GetParam().find('/') + 1); }
};

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param + (info.param.back() == '/' ? "planners_choice" : "");
  for (char& c : name) {
    if (c == '.' || c == '/' || c == '-') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(EveryVariant, BadIndex, testing::ValuesIn(every_variant()), name_of);

TEST_P(BadIndex, IsSkippedAndReportedWithPlaceAndValue) {
  const auto contexts = contexts_to_try(variant());
  rotation<std::uint64_t> widths({4, 1, 16, 24, 8, 100, 17});
  std::size_t runs = 0;
  std::size_t problems = 0;
  for (const index_type type : index_types) {
    for (const bad_value& bad : bad_values(type, indexed_call::indexed_count)) {
      for (const std::uint64_t position : {0, 4500, 9000}) {
        indexed_call c(what(), type, widths.next());
        set_entry(c.index, position, bad.bits);
        SCOPED_TRACE(
            fmt::format("{} {} at {}, width {}", name(type), bad.complaint, position, c.sequential.record_bytes));
        const image answer = c.expected();
        ++problems;
        for (const named_context& where : contexts) {
          SCOPED_TRACE(where.name);
          if (!c.run(where.ctx, variant(), answer)) continue;
          ++runs;
          EXPECT_EQ(where.ctx.status(), work_status::failed);
          expect_error(error_code::bad_index, c.message(position, bad), [&] { where.ctx.wait(); });
          EXPECT_NO_THROW(where.ctx.wait());
          EXPECT_EQ(where.ctx.status(), work_status::done);
        }
        if (HasFailure()) return;
      }
    }
  }
  expect_runs(variant(), runs, problems,
              {{"cpu.bucketed", 75},
               {"cuda.direct", 13},
               {"cuda.adaptive", 13},
               {"cuda.bucketed", 13},
               {"cuda.bucketed_last", 0},
               {"opengl.texture", 38},
               {"opengl.vertex", 38},
               {"opengl.points", 38}});
}

TEST_P(BadIndex, AtTheLowestPositionWins) {
  for (const named_context& where : contexts_to_try(variant())) {
    for (const auto& bad_places : {std::vector<std::uint64_t>{8000, 3, 5000}, {8999, 9000}, {2048, 2047, 4096}}) {
      for (const std::uint64_t width : {4, 300}) {
        SCOPED_TRACE(fmt::format("{}, width {}", where.name, width));
        indexed_call c(what(), index_type::i64, width);
        for (const std::uint64_t place : bad_places) set_entry(c.index, place, 100000 + place);
        if (!c.run(where.ctx, variant(), c.expected())) continue;
        const std::uint64_t lowest = *std::min_element(bad_places.begin(), bad_places.end());
        expect_error(error_code::bad_index, c.message(lowest, {0, fmt::format("{}, past", 100000 + lowest)}),
                     [&] { where.ctx.wait(); });
      }
    }
  }
}

TEST_P(BadIndex, AtTheLowestPositionOfManyWins) {
  const auto contexts = contexts_to_try(variant());
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (const std::uint64_t width : {1, 4, 8, 100}) {
      indexed_call c(what(), seed % 2 == 0 ? index_type::u32 : index_type::i64, width);
      const std::vector<std::uint64_t> places = bad_places(c.index.count, seed);
      for (const std::uint64_t place : places) set_entry(c.index, place, 100000 + place);
      const image answer = c.expected();
      for (const named_context& where : contexts) {
        SCOPED_TRACE(fmt::format("{}, seed {}, width {}", where.name, seed, width));
        if (!c.run(where.ctx, variant(), answer)) continue;
        expect_error(error_code::bad_index, c.message(places[0], {0, fmt::format("{}, past", 100000 + places[0])}),
                     [&] { where.ctx.wait(); });
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(BadIndex, EverywhereIsSurvived) {
  for (const named_context& where : contexts_to_try(variant())) {
    for (const std::uint64_t width : {16, 300}) {
      SCOPED_TRACE(fmt::format("{}, width {}", where.name, width));
      indexed_call c(what(), index_type::i32, width);
      for (std::uint64_t i = 0; i < c.index.count; ++i) set_entry(c.index, i, ~i);
      if (!c.run(where.ctx, variant(), c.expected())) continue;
      expect_error(error_code::bad_index, c.message(0, {0, "-1, outside"}), [&] { where.ctx.wait(); });
    }
  }
}

TEST_P(BadIndex, OfTheFirstCallWinsAndTheContextGoesOnWorking) {
  for (const named_context& where : contexts_to_try(variant())) {
    SCOPED_TRACE(where.name);
    const indexed_call good(what(), index_type::u32, 4);
    indexed_call late(what(), index_type::u32, 4);
    indexed_call early(what(), index_type::u64, 8);
    set_entry(late.index, 7000, 77777);
    set_entry(early.index, 2, 22222);
    if (!good.run(where.ctx, variant(), good.expected())) continue;
    EXPECT_NO_THROW(where.ctx.wait());
    // Errors are ordered by call, then by position: the first call wins although its position is the higher one.
    late.run(where.ctx, variant(), late.expected());
    early.run(where.ctx, variant(), early.expected());
    good.run(where.ctx, variant(), good.expected());
    expect_error(error_code::bad_index, late.message(7000, {0, "77777, past"}), [&] { where.ctx.wait(); });
    EXPECT_NO_THROW(where.ctx.wait());
    early.run(where.ctx, variant(), early.expected());
    expect_error(error_code::bad_index, early.message(2, {0, "22222, past"}), [&] { where.ctx.wait(); });
    good.run(where.ctx, variant(), good.expected());
    EXPECT_NO_THROW(where.ctx.wait());
  }
}

TEST_P(BadIndex, IsEveryIndexWhereThereAreNoRecords) {
  for (const named_context& where : contexts_to_try(variant())) {
    SCOPED_TRACE(where.name);
    indexed_call c(what(), index_type::u64, 8);
    c.indexed = poisoned(0, 8, 8);
    if (!c.run(where.ctx, variant(), c.expected())) continue;
    std::uint64_t value = 0;
    std::memcpy(&value, c.index.record(0), 8);
    EXPECT_EQ(
        message_of(error_code::bad_index, [&] { where.ctx.wait(); }),
        fmt::format("{}: index[0] is {}, past the {} 0 records", what() == primitive::gather ? "gather" : "scatter",
                    value, what() == primitive::gather ? "table's" : "output's"));
  }
}

TEST(BadIndexOfOneContext, IsNotSeenByAnother) {
  const context failing = context::cpu(1);
  const context working = context::cpu(1);
  indexed_call c(primitive::gather, index_type::u32, 4);
  set_entry(c.index, 1, 99999);
  c.run(failing, "", c.expected());
  EXPECT_EQ(working.status(), work_status::done);
  EXPECT_NO_THROW(working.wait());
  expect_error(error_code::bad_index, "gather: index[1] is 99999, past the table's 9001 records",
               [&] { failing.wait(); });
}

TEST(BadIndexOfOneContext, IsSeenThroughEveryHandleOnce) {
  const context ctx = context::cpu(1);
  const context same = ctx;
  indexed_call c(primitive::scatter, index_type::i32, 4);
  set_entry(c.index, 9000, ~std::uint64_t{0});
  c.run(ctx, "", c.expected());
  expect_error(error_code::bad_index, "scatter: index[9000] is -1, outside the output's 9001 records",
               [&] { same.wait(); });
  EXPECT_NO_THROW(ctx.wait());
}

}  // namespace
}  // namespace sheaf::tests::primitives_bad_index_test
