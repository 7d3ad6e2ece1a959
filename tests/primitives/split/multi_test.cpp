#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/split.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "plan/choose.hpp"
#include "primitives/split/contract.hpp"
#include "support/cases/split.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/placed.hpp"

namespace sheaf::tests::primitives_split_multi_test {
namespace {

// How memberships are spread over the records.
enum class rows { one_each, none, few, several, one_of_all };
constexpr rows row_shapes[] = {rows::one_each, rows::none, rows::few, rows::several, rows::one_of_all};

std::uint64_t memberships_of(rows shape, std::uint64_t record, std::uint64_t count) {
  const std::uint64_t any = inputs::mix(record + 31);
  switch (shape) {
    case rows::one_each: return 1;
    case rows::none: return 0;
    case rows::few: return any % 50 == 0 ? 40 : 0;
    case rows::several: return any % 5;
    case rows::one_of_all: return record == count / 2 ? 3000 : 0;
  }
  return 0;
}

struct multi_case {
  rows shape;
  std::uint64_t count;
  std::uint64_t record_bytes;
  std::uint64_t category_bytes;
  std::uint64_t categories;
  index_type sources;

  std::string description() const {
    return fmt::format("rows {} n={} r{} {} categories of {} bytes, sources {}", static_cast<int>(shape), count,
                       record_bytes, categories, category_bytes, name(sources));
  }
};

// Memory of a case before and after the call. The expected output is the pairs (category, entry) in order.
struct multi_trial {
  multi_case c;
  image in, first, category;
  image out_before, out_after, sources_before, sources_after, offsets_before, offsets_after;

  explicit multi_trial(const multi_case& from_case, bool last_entry_is_bad = false) : c(from_case) {
    in = filled(c.count, c.record_bytes, c.record_bytes + 1, 0, 3);
    first = poisoned(c.count + 1, 8, 8, 0, false);
    std::vector<std::uint64_t> record_of_entry;
    set_entry(first, 0, 0);
    for (std::uint64_t r = 0; r < c.count; ++r) {
      record_of_entry.insert(record_of_entry.end(), memberships_of(c.shape, r, c.count), r);
      set_entry(first, r + 1, record_of_entry.size());
    }
    const std::uint64_t entries = record_of_entry.size();
    category = poisoned(entries, c.category_bytes, c.category_bytes + 1, 1, false);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> order;
    for (std::uint64_t e = 0; e < entries; ++e) {
      const bool bad = last_entry_is_bad && e + 1 == entries;
      const std::uint64_t number = bad ? c.categories : inputs::mix(e + 5) % c.categories;
      set_entry(category, e, number);
      if (!bad) order.emplace_back(number, e);
    }
    std::sort(order.begin(), order.end());
    out_before = out_after = poisoned(entries, c.record_bytes, c.record_bytes + 3);
    sources_before = sources_after = poisoned(entries, bytes(c.sources), bytes(c.sources));
    offsets_before = offsets_after = poisoned(c.categories + 1, 8, 8);
    for (std::uint64_t to = 0; to < order.size(); ++to) {
      const std::uint64_t record = record_of_entry[order[to].second];
      std::memcpy(out_after.record(to), in.record(record), c.record_bytes);
      set_entry(sources_after, to, record);
    }
    std::uint64_t to = 0;
    for (std::uint64_t number = 0; number <= c.categories; ++number) {
      while (to < order.size() && order[to].first < number) ++to;
      set_entry(offsets_after, number, to);
    }
  }
};

// A trial in the memory of a context.
struct placed_trial {
  const multi_trial& t;
  placed in, first, category, out, sources, offsets;

  placed_trial(const context& ctx, const multi_trial& trial)
      : t(trial),
        in(ctx, t.in),
        first(ctx, t.first),
        category(ctx, t.category),
        out(ctx, t.out_before),
        sources(ctx, t.sources_before),
        offsets(ctx, t.offsets_before) {}

  membership of() const {
    return {
        {reinterpret_cast<const std::uint64_t*>(first.view().data), t.first.count}, category.view(), t.c.categories};
  }
  index_output source_list() const { return {sources.view().data, t.sources_before.count, t.c.sources}; }
  std::span<std::uint64_t> bounds() const {
    return {reinterpret_cast<std::uint64_t*>(offsets.view().data), t.offsets_before.count};
  }
  void expect_inputs_untouched() const {
    expect_bytes(in.download(), t.in, "in");
    expect_bytes(first.download(), t.first, "first");
    expect_bytes(category.download(), t.category, "category");
  }
};

std::vector<multi_case> multi_cases() {
  std::vector<multi_case> cases;
  rotation<rows> shapes({std::begin(row_shapes), std::end(row_shapes)});
  rotation<std::uint64_t> widths({4, 1, 16, 24, 100, 8, 3});
  rotation<std::uint64_t> category_widths({1, 2, 4});
  rotation<std::uint64_t> categories({256, 1, 200, 7});
  rotation<index_type> types({std::begin(index_types), std::end(index_types)});
  for (const std::uint64_t count : {0, 1, 2, 33, 257, 1025, 4096, 4097, 8193}) {
    for (int repeat = 0; repeat < 6; ++repeat) {
      cases.push_back({shapes.next(), count, widths.next(), category_widths.next(), categories.next(), types.next()});
    }
  }
  cases.push_back({rows::several, 4096, 4, 2, 1000, index_type::u32});
  cases.push_back({rows::several, 4096, 8, 4, 70000, index_type::u64});
  cases.push_back({rows::several, 1 << 17, 8, 2, 1000, index_type::u32});
  return cases;
}

TEST(MultiSplit, WritesEveryRecordOnceForEachOfItsCategories) {
  const auto contexts = every_context();
  for (const multi_case& c : multi_cases()) {
    SCOPED_TRACE(c.description());
    const multi_trial t(c);
    for (const named_context& where : contexts) {
      SCOPED_TRACE(where.name);
      {
        const placed_trial p(where.ctx, t);
        multi_split(where.ctx, p.in.view(), p.of(), p.out.view(), p.source_list(), p.bounds());
        where.ctx.wait();
        expect_bytes(p.out.download(), t.out_after, "out");
        expect_bytes(p.sources.download(), t.sources_after, "sources");
        expect_bytes(p.offsets.download(), t.offsets_after, "offsets");
        p.expect_inputs_untouched();
      }
      {
        const placed_trial p(where.ctx, t);
        multi_split(where.ctx, p.in.view(), p.of(), p.out.view());
        where.ctx.wait();
        expect_bytes(p.out.download(), t.out_after, "out without sources");
        expect_bytes(p.sources.download(), t.sources_before, "sources that are not given");
      }
      const placed_trial p(where.ctx, t);
      multi_split_index(where.ctx, p.of(), p.source_list(), p.bounds());
      where.ctx.wait();
      expect_bytes(p.sources.download(), t.sources_after, "sources alone");
      expect_bytes(p.offsets.download(), t.offsets_after, "offsets with sources alone");
      p.expect_inputs_untouched();
    }
    if (HasFailure()) break;
  }
}

TEST(MultiSplit, TakesAnySplitVariant) {
  const multi_trial t({rows::several, 5000, 12, 1, 200, index_type::u32});
  for (const auto& v : primitives::split_variants()) {
    if (!can_run_here(v.name)) continue;
    for (const named_context& where : every_context()) {
      SCOPED_TRACE(fmt::format("{} on {}", v.name, where.name));
      const placed_trial p(where.ctx, t);
      try {
        multi_split(where.ctx, p.in.view(), p.of(), p.out.view(), {}, p.bounds(), {v.name});
      } catch (const error& e) {
        EXPECT_EQ(e.code(), error_code::no_variant) << e.what();
        continue;
      }
      where.ctx.wait();
      expect_bytes(p.out.download(), t.out_after, "out");
      expect_bytes(p.offsets.download(), t.offsets_after, "offsets");
    }
  }
}

TEST(MultiSplit, LeavesOutBadCategories) {
  const multi_trial t({rows::several, 4000, 8, 2, 300, index_type::i64}, true);
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    const placed_trial p(where.ctx, t);
    multi_split_index(where.ctx, p.of(), p.source_list(), p.bounds());
    const std::string complaint =
        fmt::format("split: category[{}] is 300, past the 300 categories", t.category.count - 1);
    expect_error(error_code::bad_index, complaint, [&] { where.ctx.wait(); });
    expect_bytes(p.sources.download(), t.sources_after, "sources");
    expect_bytes(p.offsets.download(), t.offsets_after, "offsets");
    // The bad category leaves the last record of out unspecified.
    multi_split(where.ctx, p.in.view(), p.of(), p.out.view(), {}, p.bounds());
    expect_error(error_code::bad_index, complaint, [&] { where.ctx.wait(); });
    image expected = t.out_after;
    const std::vector<std::byte> got = p.out.download();
    const std::uint64_t last = expected.count - 1;
    std::memcpy(expected.record(last), got.data() + (expected.record(last) - expected.bytes.data()), 8);
    expect_bytes(got, expected, "out");
    EXPECT_NO_THROW(where.ctx.wait());
  }
}

// Rows that do not ascend change nothing outside the arrays.
TEST(MultiSplit, StaysInsideItsArraysWhereRowsDoNotAscend) {
  const multi_trial good({rows::several, 3000, 12, 1, 256, index_type::u32});
  const std::uint64_t entries = good.category.count;
  const auto rows_of = [&](auto value) {
    multi_trial t = good;
    for (std::uint64_t r = 0; r <= t.c.count; ++r) set_entry(t.first, r, value(r));
    return t;
  };
  const multi_trial trials[] = {
      rows_of([&](std::uint64_t r) { return inputs::mix(r) % (entries + 1); }),
      rows_of([&](std::uint64_t r) { return inputs::mix(r); }),
      rows_of([&](std::uint64_t r) { return entries - r % entries; }),
      rows_of([&](std::uint64_t) { return std::uint64_t{7}; }),
      rows_of([&](std::uint64_t r) { return r == 0 ? entries : ~std::uint64_t{0}; }),
      rows_of([&](std::uint64_t r) { return r < 1500 ? r : ~std::uint64_t{0} - r; }),
  };
  for (const multi_trial& t : trials) {
    for (const named_context& where : every_context()) {
      // Rows that overlap let two threads write one entry, which the sanitizer calls a race.
      if (under_thread_sanitizer && where.ctx.threads() > 1) continue;
      SCOPED_TRACE(fmt::format("trial {} on {}", &t - trials, where.name));
      const placed_trial p(where.ctx, t);
      multi_split(where.ctx, p.in.view(), p.of(), p.out.view(), p.source_list(), p.bounds());
      try {
        where.ctx.wait();
      } catch (const error& e) {
        EXPECT_EQ(e.code(), error_code::bad_index) << e.what();  // entries that no row covers hold bad indices
      }
      p.expect_inputs_untouched();
      expect_bytes(p.offsets.download(), t.offsets_after, "offsets");
      for (const auto& [written, before] : {std::pair(&p.out, &t.out_before), {&p.sources, &t.sources_before}}) {
        image around = *before;
        const std::vector<std::byte> got = written->download();
        for (std::uint64_t i = 0; i < around.count; ++i) {
          std::memcpy(around.record(i), got.data() + (around.record(i) - around.bytes.data()), around.record_bytes);
        }
        expect_bytes(got, around, "what lies around the records");
      }
      EXPECT_NO_THROW(where.ctx.wait());
    }
  }
}

TEST(RowOfEntry, EveryVariantNamesTheRecordOfEachEntry) {
  for (const auto& v : primitives::row_of_entry_variants()) {
    if (!can_run_here(v.name)) continue;
    std::size_t runs = 0;
    std::size_t problems = 0;
    for (const multi_case& c : multi_cases()) {
      SCOPED_TRACE(fmt::format("{}: {}", v.name, c.description()));
      const multi_trial t(c);
      image expected = t.sources_before;
      for (std::uint64_t r = 0; r < c.count; ++r) {
        std::uint64_t begin = 0, end = 0;
        std::memcpy(&begin, t.first.record(r), 8);
        std::memcpy(&end, t.first.record(r + 1), 8);
        for (; begin < end; ++begin) set_entry(expected, begin, r);
      }
      if (expected.count == 0) continue;
      ++problems;
      for (const named_context& where : every_context()) {
        SCOPED_TRACE(where.name);
        const placed_trial p(where.ctx, t);
        if (!v.works_on(where.ctx.backend())) continue;
        const primitives::row_of_entry_problem problem{where.ctx.backend(), c.count, expected.count, c.sources};
        plan::execute("row_of_entry", primitives::row_of_entry_variants(), problem, where.ctx, v.name,
                      {p.of().first.data(), p.sources.view().data});
        where.ctx.wait();
        expect_bytes(p.sources.download(), expected, "row of each entry");
        ++runs;
      }
    }
    expect_runs(v.name, runs, problems);
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_split_multi_test
