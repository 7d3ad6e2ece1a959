// Prepared gathers and scatters against the reference: every variant, pattern, width and index type, several runs with
// different data, bad indices, and what runs refuse.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <sheaf/gather.hpp>
#include <sheaf/prepared.hpp>
#include <sheaf/scatter.hpp>

#include "core/context_state.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "primitives/movement/prepare.hpp"
#include "support/cases/movement.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/placed.hpp"

namespace sheaf::tests::primitives_movement_prepared_test {
namespace {

struct trial {
  inputs::pattern pattern;
  index_type index = index_type::u32;
  std::uint64_t count = 0;
  std::uint64_t indexed_count = 0;
  std::uint64_t record_bytes = 1;

  std::string description() const {
    return fmt::format("{} r{} {} n={} indexed={}", inputs::name(pattern), record_bytes, name(index), count,
                       indexed_count);
  }
};

std::vector<trial> trials(bool distinct) {
  std::vector<trial> all;
  rotation<std::uint64_t> widths({8, 4, 1, 16, 2, 12, 100});
  rotation<index_type> types({std::begin(index_types), std::end(index_types)});
  for (const inputs::pattern& p : test_patterns(distinct)) {
    all.push_back({p, types.next(), 9001, 10007, widths.next()});
    if (!distinct) all.push_back({p, types.next(), 20000, 300, widths.next()});
  }
  for (const std::uint64_t n : {0, 1, 2, 8191, 8192, 8193, 16385, 1 << 20}) {
    all.push_back({inputs::parse_pattern("permutation"), types.next(), n, n, widths.next()});
    all.push_back({inputs::parse_pattern("permutation"), types.next(), n, n + 70000, 8});
  }
  return all;
}

std::vector<std::string> variants() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::prepare_variants()) names.emplace_back(v.name);
  return names;
}

bool refuses(const error& e) { return e.code() == error_code::no_variant; }

class Prepared : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(EveryVariant, Prepared, testing::ValuesIn(variants()), test_name_of);

// Any index into no records is bad, and is reported as a gather reports it.
TEST(PreparedGather, FromNoRecordsReportsTheFirstIndex) {
  const image index = index_list(inputs::parse_pattern("same"), 7, 5, index_type::u32);
  const image out = poisoned(5, 8, 8);
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    const placed index_at(where.ctx, index);
    const placed out_at(where.ctx, out);
    const auto prepared =
        prepare_gather(where.ctx, index_at.index(index_type::u32), 0, 8, 1000, {.pattern = access_pattern::random()});
    prepared.run({nullptr, 0, 8}, out_at.view());
    EXPECT_TRUE(message_of(error_code::bad_index, [&] { where.ctx.wait(); }).ends_with("past the table's 0 records"));
  }
}

// A schedule of a list in order takes several times what the list takes without, so that none is built.
TEST(PreparedMovements, SayTheOrderOfTheirListAndGiveNoneInOrderASchedule) {
  constexpr std::uint64_t count = 1 << 20;
  const struct {
    const char* pattern;
    access_pattern order;
  } lists[] = {{"identity", access_pattern::sequential()},
               {"reverse", access_pattern::sequential()},
               {"strided:64", access_pattern::strided(64)},
               {"permutation", access_pattern::random()}};
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    for (const auto& list : lists) {
      SCOPED_TRACE(list.pattern);
      const image index = index_list(inputs::parse_pattern(list.pattern), count, count, index_type::u32);
      const placed index_at(where.ctx, index);
      // Callers may be wrong about their list.
      for (const access_pattern told : {access_pattern::unknown(), access_pattern::random()}) {
        const prepare_options options{.pattern = told};
        const preparation gather =
            prepare_gather(where.ctx, index_at.index(index_type::u32), count, 8, 1000, options).report();
        const preparation scatter =
            prepare_scatter(where.ctx, index_at.index(index_type::u32), count, 8, 1000, options).report();
        for (const preparation& report : {gather, scatter}) {
          EXPECT_EQ(report.order, list.order);
          if (list.order != access_pattern::random()) {
            EXPECT_EQ(report.variant, "kept");
          }
          EXPECT_GT(report.run_seconds, 0);
          EXPECT_GE(report.unprepared_seconds, report.run_seconds);
        }
      }
    }
  }
}

TEST(PreparedMovements, OfAListWithoutOneOrderGoByWhatTheCallerSays) {
  const context ctx = context::cpu(2);
  std::vector<std::uint32_t> index(1 << 20);
  const inputs::pattern random = inputs::parse_pattern("permutation");
  for (std::uint32_t i = 0; i < index.size(); ++i) {
    index[i] = i % 3 == 0 || i < index.size() * 2 / 3
                   ? i
                   : static_cast<std::uint32_t>(inputs::pattern_entry(random, i, index.size()));
  }
  const prepared_gather prepared = prepare_gather(ctx, index, index.size(), 8, 1);
  EXPECT_EQ(prepared.report().order, access_pattern::unknown());
  std::vector<std::uint64_t> table(index.size());
  std::iota(table.begin(), table.end(), 0);
  std::vector<std::uint64_t> out(index.size());
  prepared.run(table, out);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), index.begin()));
}

// The plan of a prepared call is one for records side by side and for the scratch there was.
TEST(PreparedMovements, RunAtAnyStrideAndWithAnyLimitOfScratch) {
  constexpr std::uint64_t count = 100000;
  const image index = index_list(inputs::parse_pattern("permutation"), count, count, index_type::u32);
  for (const named_context& named : every_context()) {
    SCOPED_TRACE(named.name);
    context ctx = named.ctx;
    const placed index_at(ctx, index);
    const auto prepared_to_gather = prepare_gather(ctx, index_at.index(index_type::u32), count, 8, 1000);
    const auto prepared_to_scatter = prepare_scatter(ctx, index_at.index(index_type::u32), count, 8, 1000);
    const bool may_need_scratch =
        prepared_to_gather.report().variant != "kept" || prepared_to_scatter.report().variant != "kept";
    for (const std::uint64_t limit : {~std::uint64_t{0}, std::uint64_t{0}}) {
      if (limit == 0 && may_need_scratch) continue;
      ctx.limit_scratch(limit);
      for (const std::uint64_t stride : {8, 24}) {
        SCOPED_TRACE(stride);
        const image in = filled(count, 8, stride, 0, 3);
        const placed in_at(ctx, in);
        image gathered = poisoned(count, 8, 8);
        image scattered = poisoned(count, 8, stride);
        const placed gathered_at(ctx, gathered);
        const placed scattered_at(ctx, scattered);
        prepared_to_gather.run(in_at.view(), gathered_at.view());
        prepared_to_scatter.run(in_at.view(), scattered_at.view());
        ctx.wait();
        const context serial = context::cpu(1);
        gather(serial, in.view(), index_view(index, index_type::u32), gathered.view(), {.variant = "reference.serial"});
        scatter(serial, in.view(), index_view(index, index_type::u32), scattered.view(),
                {.variant = "reference.serial"});
        expect_bytes(gathered_at.download(), gathered, "gathered");
        expect_bytes(scattered_at.download(), scattered, "scattered");
      }
    }
    ctx.limit_scratch(~std::uint64_t{0});
  }
}

// Where memory is short once a run comes, it does without the scratch that it was planned with.
TEST(PreparedMovements, RunWhereTheirScratchIsNotToBeHad) {
  struct limited_resource {
    memory_resource under;
    bool is_dry = false;
    std::uint64_t refused = 0;
  };
  constexpr std::uint64_t count = 1 << 20;
  const image index = index_list(inputs::parse_pattern("permutation"), count, count, index_type::u32);
  const image in = filled(count, 8, 8, 0, 3);
  context ctx = context::cpu(2);
  limited_resource limited{ctx.state().memory};
  ctx.use(memory_resource{[](void* state, std::uint64_t bytes, CUstream_st* stream) -> void* {
                            auto& self = *static_cast<limited_resource*>(state);
                            self.refused += self.is_dry ? 1 : 0;
                            return self.is_dry ? nullptr : self.under.allocate(self.under.state, bytes, stream);
                          },
                          [](void* state, void* block, std::uint64_t bytes, CUstream_st* stream) {
                            auto& self = *static_cast<limited_resource*>(state);
                            self.under.deallocate(self.under.state, block, bytes, stream);
                          },
                          &limited});
  machine profile = ctx.profile();
  profile.cache_levels = {4096, std::uint64_t{1} << 18};
  ctx.use(profile);
  const prepare_options options{.pattern = access_pattern::random(), .variant = "kept"};
  const auto prepared_to_gather = prepare_gather(ctx, index_view(index, index_type::u32), count, 8, 1, options);
  const auto prepared_to_scatter = prepare_scatter(ctx, index_view(index, index_type::u32), count, 8, 1, options);
  image gathered = poisoned(count, 8, 8), scattered = poisoned(count, 8, 8);
  image expected = gathered;
  limited.is_dry = true;
  prepared_to_gather.run(in.view(), gathered.view());
  prepared_to_scatter.run(in.view(), scattered.view());
  ctx.wait();
  limited.is_dry = false;
  const auto entry = [&](std::uint64_t i) {
    std::uint32_t place = 0;
    std::memcpy(&place, index.record(i), 4);
    return place;
  };
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(expected.record(i), in.record(entry(i)), 8);
  expect_bytes(gathered.bytes, expected, "gathered");
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(expected.record(entry(i)), in.record(i), 8);
  expect_bytes(scattered.bytes, expected, "scattered");
}

TEST(PreparedScatter, IntoNoRecordsReportsTheFirstIndex) {
  const image index = index_list(inputs::parse_pattern("same"), 7, 5, index_type::u32);
  const image in = filled(5, 8, 8, 0, 1);
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    const placed index_at(where.ctx, index);
    const placed in_at(where.ctx, in);
    const auto prepared =
        prepare_scatter(where.ctx, index_at.index(index_type::u32), 0, 8, 1000, {.pattern = access_pattern::random()});
    prepared.run(in_at.view(), {nullptr, 0, 8});
    EXPECT_TRUE(message_of(error_code::bad_index, [&] { where.ctx.wait(); }).ends_with("past the output's 0 records"));
  }
}

TEST_P(Prepared, GathersAsGatherDoes) {
  std::size_t runs = 0;
  const std::vector<trial> all = trials(false);
  for (const trial& t : all) {
    SCOPED_TRACE(t.description());
    const image index = index_list(t.pattern, t.indexed_count, t.count, t.index);
    for (const named_context& where : contexts_to_try(GetParam())) {
      SCOPED_TRACE(where.name);
      const placed index_at(where.ctx, index);
      std::optional<prepared_gather> prepared;
      try {
        prepared = prepare_gather(where.ctx, index_at.index(t.index), t.indexed_count, t.record_bytes, 1000,
                                  {.pattern = access_pattern::random(), .variant = GetParam()});
      } catch (const error& e) {
        ASSERT_TRUE(refuses(e) && !GetParam().empty()) << e.what();
        continue;
      }
      EXPECT_GE(prepared->report().preparation_seconds, 0);
      for (const std::uint64_t seed : {3, 4}) {
        const image table = filled(t.indexed_count, t.record_bytes, t.record_bytes, 0, seed);
        image expected = poisoned(t.count, t.record_bytes, t.record_bytes);
        const placed table_at(where.ctx, table);
        const placed out_at(where.ctx, expected);
        gather(context::cpu(1), table.view(), index_view(index, t.index), expected.view(),
               {.variant = "reference.serial"});
        prepared->run(table_at.view(), out_at.view());
        where.ctx.wait();
        expect_bytes(out_at.download(), expected, "output");
        ++runs;
      }
    }
    if (HasFailure()) return;
  }
  expect_runs(GetParam(), runs, 2 * all.size(), {{"cuda.scheduled", 66}, {"opengl.resident", 58}});
}

TEST_P(Prepared, ScattersAsScatterDoes) {
  std::size_t runs = 0;
  const std::vector<trial> all = trials(true);
  for (const trial& t : all) {
    SCOPED_TRACE(t.description());
    const image index = index_list(t.pattern, t.indexed_count, t.count, t.index);
    for (const named_context& where : contexts_to_try(GetParam())) {
      SCOPED_TRACE(where.name);
      const placed index_at(where.ctx, index);
      std::optional<prepared_scatter> prepared;
      try {
        prepared = prepare_scatter(where.ctx, index_at.index(t.index), t.indexed_count, t.record_bytes, 1000,
                                   {.pattern = access_pattern::random(), .variant = GetParam()});
      } catch (const error& e) {
        ASSERT_TRUE(refuses(e) && !GetParam().empty()) << e.what();
        continue;
      }
      for (const std::uint64_t seed : {5, 6}) {
        const image in = filled(t.count, t.record_bytes, t.record_bytes, 0, seed);
        image expected = poisoned(t.indexed_count, t.record_bytes, t.record_bytes);
        const placed in_at(where.ctx, in);
        const placed out_at(where.ctx, expected);
        scatter(context::cpu(1), in.view(), index_view(index, t.index), expected.view(),
                {.variant = "reference.serial"});
        prepared->run(in_at.view(), out_at.view());
        where.ctx.wait();
        expect_bytes(out_at.download(), expected, "output");
        ++runs;
      }
    }
    if (HasFailure()) return;
  }
  expect_runs(GetParam(), runs, 2 * all.size(), {{"cuda.scheduled", 42}, {"opengl.resident", 38}});
}

TEST_P(Prepared, LastWritersWinWhereAsked) {
  const image index = index_list(inputs::parse_pattern("uniform"), 3000, 20000, index_type::u32);
  const image in = filled(20000, 8, 8, 0, 1);
  for (const named_context& where : contexts_to_try(GetParam())) {
    SCOPED_TRACE(where.name);
    const placed index_at(where.ctx, index);
    const placed in_at(where.ctx, in);
    image expected = poisoned(3000, 8, 8);
    const placed out_at(where.ctx, expected);
    try {
      const prepared_scatter prepared =
          prepare_scatter(where.ctx, index_at.index(index_type::u32), 3000, 8, 1000,
                          {.pattern = access_pattern::random(), .duplicates = duplicates::last, .variant = GetParam()});
      prepared.run(in_at.view(), out_at.view());
    } catch (const error& e) {
      ASSERT_TRUE(refuses(e) && !GetParam().empty()) << e.what();
      continue;
    }
    where.ctx.wait();
    scatter(context::cpu(1), in.view(), index_view(index, index_type::u32), expected.view(),
            {.duplicates = duplicates::last, .variant = "reference.serial"});
    expect_bytes(out_at.download(), expected, "output");
  }
}

TEST_P(Prepared, BadIndicesAreReportedOnceTheyAreMet) {
  image index = index_list(inputs::parse_pattern("permutation"), 9001, 9001, index_type::i32);
  set_entry(index, 4000, 9001);
  set_entry(index, 7000, static_cast<std::uint64_t>(-3));
  const image table = filled(9001, 4, 4, 0, 2);
  for (const named_context& where : contexts_to_try(GetParam())) {
    SCOPED_TRACE(where.name);
    const placed index_at(where.ctx, index);
    const placed table_at(where.ctx, table);
    const image before = poisoned(9001, 4, 4);
    const placed out_at(where.ctx, before);
    bool refused = false;
    expect_error(error_code::bad_index, "gather: index[4000] is 9001, past the table's 9001 records", [&] {
      try {
        const prepared_gather prepared = prepare_gather(where.ctx, index_at.index(index_type::i32), 9001, 4, 1000,
                                                        {.pattern = access_pattern::random(), .variant = GetParam()});
        prepared.run(table_at.view(), out_at.view());
        where.ctx.wait();
      } catch (const error& e) {
        refused = refuses(e);
        if (refused) throw error(error_code::bad_index, "gather: index[4000] is 9001, past the table's 9001 records");
        throw;
      }
    });
    EXPECT_TRUE(!refused || !GetParam().empty());
    EXPECT_NO_THROW(where.ctx.wait());
  }
}

TEST(PreparedArguments, RunsRefuseWhatTheyWereNotPreparedFor) {
  const context ctx = context::cpu(1);
  const std::vector<std::uint32_t> index{2, 0, 1};
  const std::vector<std::uint64_t> table{5, 6, 7};
  std::vector<std::uint64_t> out(3);
  const prepared_gather prepared = prepare_gather(ctx, index, 3, 8, 10);
  prepared.run(table, out);
  EXPECT_EQ(out, (std::vector<std::uint64_t>{7, 5, 6}));
  const std::vector<std::uint64_t> longer(4);
  expect_error(error_code::bad_argument, "prepared_gather: table has 4 records, but the preparation is for 3",
               [&] { prepared.run(longer, out); });
  const std::vector<std::uint32_t> narrow(3);
  expect_error(error_code::bad_argument, "prepared_gather: table has records of 4 bytes, but the preparation is for 8",
               [&] { prepared.run(narrow, out); });
}

TEST(PreparedArguments, RunsRefuseAddressesAndStridesOfOtherAlignment) {
  const context ctx = context::cpu(1);
  const std::vector<std::uint32_t> index{2, 0, 1};
  alignas(16) std::array<std::byte, 80> table{};
  alignas(16) std::array<std::byte, 80> out{};
  const prepared_gather prepared = prepare_gather(ctx, index, 3, 8, 10);
  const prepared_scatter prepared_to_scatter = prepare_scatter(ctx, index, 3, 8, 10);
  expect_error(error_code::bad_argument, "prepared_gather: table is not aligned to words of 8 bytes", [&] {
    prepared.run({table.data() + 4, 3, 8}, {out.data(), 3, 8});
  });
  expect_error(error_code::bad_argument, "prepared_gather: out is not aligned to words of 8 bytes", [&] {
    prepared.run({table.data(), 3, 8}, {out.data(), 3, 8, 12});
  });
  expect_error(error_code::bad_argument, "prepared_scatter: in is not aligned to words of 8 bytes", [&] {
    prepared_to_scatter.run({table.data() + 1, 3, 8}, {out.data(), 3, 8});
  });
}

TEST(PreparedArguments, ObjectsThatWereMovedFromSaySo) {
  const context ctx = context::cpu(1);
  const std::vector<std::uint32_t> index{2, 0, 1};
  const std::vector<std::uint64_t> in{5, 6, 7};
  std::vector<std::uint64_t> out(3);
  prepared_gather first = prepare_gather(ctx, index, 3, 8, 10);
  const prepared_gather second = std::move(first);
  prepared_scatter scatter = prepare_scatter(ctx, index, 3, 8, 10);
  const prepared_scatter other = std::move(scatter);
  // NOLINTBEGIN(bugprone-use-after-move): that is what is tested
  expect_error(error_code::bad_argument, "prepared_gather: it was moved from; another object holds its contents now",
               [&] { first.run(in, out); });
  expect_error(error_code::bad_argument, "prepared_scatter: it was moved from; another object holds its contents now",
               [&] { scatter.run(in, out); });
  // NOLINTEND(bugprone-use-after-move)
  second.run(in, out);
  EXPECT_EQ(out, (std::vector<std::uint64_t>{7, 5, 6}));
  other.run(in, out);
  EXPECT_EQ(out, (std::vector<std::uint64_t>{6, 7, 5}));
}

}  // namespace
}  // namespace sheaf::tests::primitives_movement_prepared_test
