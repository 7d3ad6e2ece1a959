#include "lab/description/entry.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/description/arrays.hpp"
#include "lab/description/hash/problem.hpp"
#include "lab/description/job.hpp"
#include "lab/description/linked_list/problem.hpp"
#include "lab/description/sort/problem.hpp"
#include "lab/description/sweep.hpp"
#include "plan/he2007.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::lab_description_entries_test {
namespace {

using primitives::entries;
using primitives::entry;
using primitives::given_option;
using primitives::hash_part;
using primitives::list_part;
using primitives::problem_of_options;
using primitives::problem_spec;
using primitives::sort_part;

template <class Call>
void expect_refused(const std::string& message, Call call) {
  EXPECT_THAT(message_of(error_code::bad_argument, call), testing::HasSubstr(message));
}

TEST(Entries, HaveNamesOfTheirOwnAndAJobEach) {
  std::set<std::string_view> names;
  for (const entry* const e : entries()) {
    EXPECT_TRUE(names.insert(e->name).second) << e->name << " stands twice";
    EXPECT_EQ(&primitives::entry_named(e->name), e);
    EXPECT_NE(e->job, nullptr) << e->name;
  }
  expect_refused("'gathers' is not a primitive; there are gather, scatter, ",
                 [] { primitives::entry_named("gathers"); });
}

TEST(Entries, OfAFamilyStandTogether) {
  std::size_t count = 0;
  std::string_view before;
  std::set<std::string_view> seen;
  for (const entry* const e : entries()) {
    if (e->family == before) continue;
    EXPECT_TRUE(seen.insert(e->family).second) << e->family << " stands apart";
    before = e->family;
  }
  for (const primitives::family* const f : primitives::all_families()) {
    for (const entry* const e : f->entries) EXPECT_EQ(e->family, f->name) << e->name;
    count += f->entries.size();
  }
  EXPECT_EQ(count, entries().size());
}

// The call that a problem's name stands for is planned from the same problem: every variant has the same price.
TEST(Entries, PredictWhatTheirCallsExplain) {
  for (const named_context& named : every_context()) {
    for (const entry* const e : entries()) {
      if (!e->runs_on(named.ctx.backend())) continue;
      for (const jobs::sample& sample : e->job->samples) {
        const problem_spec p = jobs::problem_of(sample, 1 << 20);
        const explanation why = e->explain(named.ctx, p, {});
        const auto estimates = e->estimates(p, named.ctx.backend(), named.ctx.profile());
        ASSERT_EQ(why.variants.size(), estimates.size()) << name(p);
        for (std::size_t v = 0; v < estimates.size(); ++v) {
          EXPECT_EQ(estimates[v].variant, why.variants[v].variant) << name(p);
          EXPECT_EQ(estimates[v].applicable, why.variants[v].applicable) << name(p) << ": " << estimates[v].variant;
          EXPECT_EQ(estimates[v].seconds, why.variants[v].seconds) << name(p) << ": " << estimates[v].variant;
          EXPECT_EQ(estimates[v].scratch_bytes, why.variants[v].scratch_bytes)
              << name(p) << ": " << estimates[v].variant;
        }
        ASSERT_NE(primitives::cheapest(estimates), nullptr) << name(p);
        EXPECT_EQ(primitives::cheapest(estimates)->variant, why.choice()->variant) << name(p);
      }
    }
  }
}

TEST(Entries, PriceAllStepsOfASplitInSeveralCategories) {
  const context ctx = context::cpu(2);
  const problem_spec p = primitives::parse_problem("multi_split/uniform:b8:s65536/r100/k32/n=1048576");
  const problem_spec numbers = primitives::parse_problem("split/uniform:b8/r4/k32/n=1048576");
  const variant_estimate all = *entry_of(p).explain(ctx, p, {}).choice();
  EXPECT_GT(all.seconds, entry_of(numbers).explain(ctx, numbers, {}).choice()->seconds);
  double sum = 0;
  for (const cost_term& term : all.terms) sum += term.seconds;
  EXPECT_NEAR(sum, all.seconds, 1e-12);
  EXPECT_EQ(all.terms.back().what, std::string("gather"));
}

// The command says how wide categories and numbers are, and asks for sources alone by records of no bytes.
TEST(Entries, OfSplitsInSeveralCategoriesPriceWhatTheCommandAsksFor) {
  const context ctx = context::cpu(1);
  problem_spec p = primitives::parse_problem("multi_split/uniform:b8:s65536/r100/k32/n=1048576");
  const auto plan_of = [&] { return *entry_of(p).explain(ctx, p, {}).choice(); };
  const variant_estimate moving = plan_of();
  p.key_bytes = 1;
  EXPECT_LT(plan_of().seconds, moving.seconds) << "categories of one byte are read sooner";
  p.key_bytes = 4;
  p.index = index_type::u64;
  EXPECT_GT(plan_of().scratch_bytes, moving.scratch_bytes);
  p.index = index_type::u32;
  p.record_bytes = 0;
  const variant_estimate alone = plan_of();
  EXPECT_LT(alone.seconds, moving.seconds);
  EXPECT_EQ(alone.terms.back().what, std::string("record numbers"));
  double sum = 0;
  for (const cost_term& term : alone.terms) sum += term.seconds;
  EXPECT_NEAR(sum, alone.seconds, 1e-12);
}

TEST(Entries, SayWhereTheirProblemsLieAmongThoseThatCalibrationRuns) {
  const auto place = [](const char* name) {
    const problem_spec p = primitives::parse_problem(name);
    return entry_of(p).place(p, backend_kind::cpu);
  };
  const plan::measured_place stable = place("split/uniform:b8/r12/k32/n=5000");
  EXPECT_EQ(stable.primitive, "split");
  EXPECT_EQ(stable.record_bytes, 12U);
  EXPECT_EQ(stable.count, 5000U);
  EXPECT_EQ(stable.range, 256U);
  EXPECT_EQ(place("split_unstable/uniform:b8/r12/k32/n=5000").primitive, "split") << "the host's variants are the same";
  EXPECT_EQ(place("list_rank/permutation/r4/u32/n=9").primitive, "list_rank");
  EXPECT_EQ(place("list_scan/permutation/r8/u32+u64/n=9").record_bytes, 8U);
  EXPECT_EQ(place("hash_search/uniform:s7:x1:h50/r4/k64/n=9").range, 7U);
  EXPECT_EQ(place("hash_find/uniform:s7:x1:h50/r4/k64/n=9").primitive, "hash_count");
  EXPECT_EQ(place("build_hash_index/x1/r4/k32/n=9").record_bytes, 4U);
  EXPECT_EQ(place("split/uniform:b33/r12/own/n=5000").range, std::uint64_t{1} << 33);
  EXPECT_EQ(place("split/uniform:b96/r12/own/n=5000").range, std::uint64_t{1} << 63) << "as far as numbers go";
  EXPECT_EQ(place("split/uniform:b100/r16/own/n=5000").range, std::uint64_t{1} << 50) << "the first call's";
  for (const char* index : {"split_gather_index/zipf:b11/r8/k32/n=9", "split_scatter_index/zipf:b11/r8/k32/n=9"}) {
    EXPECT_EQ(place(index).primitive, std::string_view(index).substr(0, std::string_view(index).find('/')));
    EXPECT_EQ(place(index).record_bytes, 8U);
    EXPECT_EQ(place(index).range, 2048U);
  }
  EXPECT_EQ(place("sort_keys/uniform/r4/u32/n=9").primitive, "sort_records") << "the call that sort_keys makes";
  EXPECT_EQ(place("sort_records/uniform/r16/u64/n=9").primitive, "sort_records");
  EXPECT_EQ(place("sort_pairs/uniform/r4/u32/n=9").primitive, "sort_pairs");
  EXPECT_EQ(place("sort_gather_index/uniform/r4/u32/n=9").primitive, "sort_gather_index");
  EXPECT_EQ(primitives::entry_named("multi_split").place, nullptr) << "it is several calls";
}

// The model of the paper prices movements, whose index list is read at the rate of a stream.
TEST(Entries, HaveThePapersPriceOfMovementsAlone) {
  machine m = context::cpu(1).profile();
  for (const entry* const e : entries()) {
    EXPECT_EQ(e->he2007_seconds != nullptr, e->name == "gather" || e->name == "scatter") << e->name;
    if (e->he2007_seconds == nullptr) continue;
    const auto seconds = [&](const std::string& pattern, const char* index) {
      problem_spec p = primitives::parse_problem(std::string(e->name) + "/" + pattern + "/r8/" + index + "/n=1048576");
      p.access = hint(p.pattern);
      return e->he2007_seconds(p, m);
    };
    const double bytes_per_second = plan::he2007::parameters_of(m).sequential_bytes_per_second;
    EXPECT_NEAR(seconds("identity", "u64") - seconds("identity", "u32"), 4 * 1048576 / bytes_per_second, 1e-9);
    EXPECT_GT(seconds("permutation", "u32"), seconds("identity", "u32"));
  }
}

// A plan that is explained under a limit keeps to it, and so does the call.
TEST(Entries, ExplainASplitInSeveralCategoriesUnderAnyLimitOfScratch) {
  const problem_spec p = primitives::parse_problem("multi_split/uniform:b8:s20000/r16/k32/n=40000");
  const jobs::job& job = jobs::job_of(p);
  context ctx = context::cpu(2);
  jobs::problem_arrays arrays(ctx);
  arrays.fill(p, 1);
  std::set<bool> can_run;
  for (std::uint64_t limit = 1; limit < std::uint64_t{1} << 24; limit *= 2) {
    SCOPED_TRACE(limit);
    ctx.limit_scratch(limit);
    const explanation why = primitives::entry_of(p).explain(ctx, p, {});
    for (const variant_estimate& v : why.variants) {
      EXPECT_NE(v.chosen, !v.reason.empty()) << v.variant;
      EXPECT_TRUE(!v.applicable || v.scratch_bytes <= limit) << v.variant;
    }
    can_run.insert(why.choice() != nullptr);
    if (why.choice() == nullptr) continue;
    arrays.reset_outputs();
    job.run(ctx, p, arrays.of_copy(0), {});
    ctx.wait();
    EXPECT_EQ(arrays.count_mistakes(false), 0U);
  }
  EXPECT_EQ(can_run.size(), 2U) << "limits below and above what is needed";
}

TEST(Entries, PriceEveryCallOfASplitByManyBits) {
  const context ctx = context::cpu(2);
  const auto price = [&](const char* name) {
    const problem_spec p = primitives::parse_problem(name);
    return *entry_of(p).explain(ctx, p, {}).choice();
  };
  const variant_estimate once = price("split/uniform:b64/r16/own/n=1048576");
  const variant_estimate twice = price("split/uniform:b128/r16/own/n=1048576");
  EXPECT_DOUBLE_EQ(twice.seconds, 2 * once.seconds);
  EXPECT_EQ(twice.scratch_bytes, once.scratch_bytes + (std::uint64_t{16} << 20)) << "the records between the calls";
  EXPECT_LT(price("split/uniform:b96/r16/own/n=1048576").seconds, 1.9 * once.seconds) << "one call";
}

TEST(Entries, CountTheCategoriesOfUpTo32Bits) {
  const auto text = [](const char* name) {
    const problem_spec p = primitives::parse_problem(name);
    return entry_of(p).text(p);
  };
  const auto counts = [](const char* name) {
    const problem_spec p = primitives::parse_problem(name);
    const std::vector<primitives::fact> facts = entry_of(p).facts(p);
    return std::ranges::count(facts, std::string_view("categories"), &primitives::fact::name);
  };
  EXPECT_EQ(text("split/uniform:b9/r8/own/n=5"), "5 records of 8 bytes, 512 categories by 9 bits from bit 0");
  EXPECT_EQ(text("split/uniform:b64/r8/own/n=5"), "5 records of 8 bytes by 64 bits from bit 0");
  EXPECT_EQ(text("split/uniform:b96/r8/k96/n=5"), "5 records of 8 bytes by 96 bits from bit 0 of keys of 12 bytes");
  EXPECT_EQ(counts("split/uniform:b32/r8/own/n=5"), 1);
  EXPECT_EQ(counts("split/uniform:b33/r8/own/n=5"), 0);
}

std::string line_of(const problem_spec& p) {
  std::string line;
  for (const primitives::label_part& part : entry_of(p).labels(p).line) {
    line += part.varies ? "[" + part.text + "]" + std::string(part.unit) : part.text;
  }
  return line;
}

TEST(Entries, HaveLabelsForTables) {
  const auto headline = [](const char* name) {
    const problem_spec p = primitives::parse_problem(name);
    return entry_of(p).labels(p).headline;
  };
  const auto line = [](const char* name) { return line_of(primitives::parse_problem(name)); };
  EXPECT_EQ(headline("scatter/clustered:4096:s70/r4/u32+last/n=64"),
            "scatter 2^6 records of 4 bytes, table of 70, the last writer wins");
  EXPECT_EQ(line("scatter/clustered:4000000/r4/u32/n=64"),
            "random in windows of 4.0 million records, records of [4] bytes");
  EXPECT_EQ(headline("scatter_reduce/zipf:s1024/r4/u32+f32+unordered/n=64"),
            "add 2^6 f32 to 2^10 slots, Zipf, any order");
  EXPECT_EQ(line("scatter_reduce/zipf:s1024/r4/u32+f32/n=64"),
            "floats, the same sum in every run; values of [4] bytes into [2^10] slots, Zipf");
  EXPECT_EQ(headline("split_unstable/two:b33/r8/own/n=1000000"),
            "split 1.0 million of 8 bytes to 8589934592 categories, any order");
  EXPECT_EQ(headline("split_gather_index/two:b8/r4/k64/n=64"),
            "split 2^6 of 4 bytes to 256 categories by keys of 64 bits (split_gather_index)");
  EXPECT_EQ(line("split/few:b8/r8/own/n=64"),
            "records of [8] bytes by [8]bit of keys that lie in the record, [1000 values]");
  EXPECT_EQ(headline("multi_split/zipf:b16:s30000/r12/k32/n=64"),
            "split 2^6 memberships of 30,000 records of 12 bytes to 65536 categories");
  EXPECT_EQ(headline("sort_records/reverse:b0-7/r16/u64/n=64"),
            "sort 2^6 records of 16 bytes by a key of 8 bytes, in reverse order, by 8 bits of the key");
  EXPECT_EQ(line("sort_pairs/reverse/r16/bytes10/n=64"),
            "keys of 10 bytes ([bytes10]) with values of [16] bytes, in reverse order");
  EXPECT_EQ(line("sort_gather_index/two:b0-7/r4/u32/n=64"),
            "keys of 4 bytes ([u32]), by 8 bits of the key, [two values]");
  EXPECT_EQ(
      headline("list_scan/reverse/r4/u32+f32+max+exclusive+packed+many/n=64"),
      "many lists, exclusive max of f32 values in packed nodes, u32 successors of 2^6 nodes, list in reverse order");
  EXPECT_EQ(headline("build_hash_index/xzipf/r4/k32+load5/n=64"),
            "index 2^6 keys of 4 bytes, of many records or few, load 0.05");
  EXPECT_EQ(headline("hash_count/identity:s4:x2:h9/r4/k64/n=64"),
            "search 2^2 records 2^6 times for how many, keys of 8 bytes, 2 records each; 9 % found, in order");
  EXPECT_EQ(headline("conjugate_gradient/grid:x7:i16/r8/u32+f64+jacobi/n=64"),
            "conjugate gradient by a matrix of 2^6 entries, grid, 7 a row, u32+f64, Jacobi, 16 iterations");
  EXPECT_EQ(headline("edge_sum/zipf:s9000/r4/i32+f32/n=64"),
            "sums over 2^6 edges, ends Zipf, 9,000 nodes, 1 component of f32, i32");
  for (const entry* const e : entries()) {
    for (const jobs::sample& sample : e->job->samples) {
      const problem_spec p = jobs::problem_of(sample, 1000);
      EXPECT_FALSE(e->labels(p).headline.empty() || line_of(p).empty()) << name(p);
    }
  }
}

TEST(Entries, TakeRequiredOptionsAndRefuseOthers) {
  for (const entry* const e : entries()) {
    expect_refused("--count is required", [&] { problem_of_options(*e, {}); });
    expect_refused("2 times --count: " + std::string(e->name) + " has one", [&] {
      problem_of_options(*e, std::vector<given_option>{{"--count", {"1", "2"}}});
    });
    expect_refused("--count: '-1' is not a whole number", [&] {
      problem_of_options(*e, std::vector<given_option>{{"--count", {"-1"}}});
    });
  }
}

TEST(Entries, SayWhichPrimitivesAnOptionIsFor) {
  expect_refused("--duplicates is for scatter", [] {
    problem_of_options(primitives::entry_named("gather"), std::vector<given_option>{{"--duplicates", {"any"}}});
  });
}

TEST(Entries, RefuseWordsOfListsThatThereAreNot) {
  const auto problem = [](const char* primitive, const char* option, const char* text) {
    return [=] {
      problem_of_options(primitives::entry_named(primitive),
                         std::vector<given_option>{{"--count", {"9"}}, {option, {text}}});
    };
  };
  expect_refused("'two' is not a number of lists: one, many", problem("list_rank", "--lists", "two"));
  expect_refused("'f32' is not an index type: u32, u64, i32, i64", problem("list_rank", "--output-type", "f32"));
  expect_refused("'u8' is not a value type: i32, u32, i64, u64, f32, f64", problem("list_scan", "--value-type", "u8"));
  expect_refused("'sub' is not an operator: add, min, max, mul, and, or, xor", problem("list_scan", "--op", "sub"));
  expect_refused("--packed is for list_scan", problem("list_rank", "--packed", ""));
}

TEST(Entries, RefuseTablesThatNoSearchHas) {
  const auto problem = [](const char* primitive, const char* option, const char* text) {
    return [=] {
      problem_of_options(primitives::entry_named(primitive),
                         std::vector<given_option>{{"--count", {"9"}}, {option, {text}}});
    };
  };
  expect_refused("--key-bytes: '16' is not 4 or 8", problem("hash_find", "--key-bytes", "16"));
  expect_refused("--load: '100' is not a whole number from 5 to 99", problem("build_hash_index", "--load", "100"));
  expect_refused("'0' is not a number of records that share a key, from 1, or zipf",
                 problem("hash_count", "--repeats", "0"));
  expect_refused("--table is for gather, ", problem("build_hash_index", "--table", "9"));
}

// Plans know tables by what an index of them would count.
TEST(Entries, CountTheKeysOfGeneratedTables) {
  for (const std::uint64_t repeats :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{7}, std::uint64_t{1000}, primitives::power_law_repeats}) {
    for (const std::uint64_t records : {1, 2, 3, 4, 5, 11, 12, 13, 31, 32, 33, 1000, 5003}) {
      const primitives::keyed_table table = primitives::keyed_table_of(records, repeats);
      std::map<std::uint64_t, std::vector<std::uint64_t>> records_of;
      for (std::uint64_t r = 0; r < records; ++r) records_of[table.key_of_record(r)].push_back(r);
      SCOPED_TRACE(std::to_string(records) + " records, repeats " + std::to_string(repeats));
      ASSERT_EQ(records_of.size(), table.distinct);
      EXPECT_EQ(records_of.rbegin()->first, table.distinct - 1) << "keys are numbered from 0";
      std::uint64_t longest = 0;
      for (const auto& [key, of_key] : records_of) {
        longest = std::max<std::uint64_t>(longest, of_key.size());
        ASSERT_EQ(table.records_of_key(key), of_key.size());
        for (std::uint64_t k = 0; k < of_key.size(); ++k) ASSERT_EQ(table.record_of_key(key, k), of_key[k]);
      }
      EXPECT_EQ(table.longest_chain(), longest);
      EXPECT_TRUE(repeats == primitives::power_law_repeats || longest <= repeats);
    }
  }
  const primitives::keyed_table uneven = primitives::keyed_table_of(1 << 20, primitives::power_law_repeats);
  EXPECT_EQ(uneven.longest_chain(), 32768U);
  EXPECT_GT(uneven.distinct, std::uint64_t{1} << 19);
}

TEST(ProblemSpec, KeepsWhatEachFamilyKnowsApart) {
  problem_spec p;
  p.part<hash_part>().repeats = 9;
  list_part& list = p.part<list_part>();
  p.part<sort_part>().more_value_bytes = {16};
  list.is_packed = true;  // stays where it is when a part is added
  const problem_spec copy = p.with(hash_part{.repeats = 7, .load_percent = 50});
  EXPECT_EQ(copy.part<hash_part>().repeats, 7U);
  EXPECT_EQ(copy.part<sort_part>().more_value_bytes, std::vector<std::uint64_t>{16});
  p.part<list_part>().is_packed = false;
  EXPECT_TRUE(copy.part<list_part>().is_packed) << "a copy is a problem of its own";
  EXPECT_EQ(p.part<hash_part>().repeats, 9U);
  EXPECT_EQ(std::as_const(p).part<hash_part>().load_percent, 0U);
  EXPECT_EQ(problem_spec().part<hash_part>().hit_percent, 100U) << "as the part begins";
}

TEST(Entries, FillInWhatOptionsLeaveOut) {
  const auto problem = [](const char* primitive, const std::vector<given_option>& given) {
    return problem_of_options(primitives::entry_named(primitive), given);
  };
  const problem_spec index = problem("split_gather_index", {{"--count", {"5000000000"}}});
  EXPECT_EQ(index.index, index_type::u64) << "there are too many records for u32";
  EXPECT_EQ(index.record_bytes, 8U);
  EXPECT_EQ(index.key_bytes, 4U);
  const problem_spec sums =
      problem("scatter_reduce", {{"--count", {"9"}}, {"--table", {"5"}}, {"--value-type", {"f64"}}});
  EXPECT_EQ(sums.record_bytes, 8U);
  EXPECT_EQ(sums.indexed_count(), 5U);
  const problem_spec pairs = problem("sort_pairs", {{"--count", {"9"}}, {"--value-bytes", {"4", "16"}}});
  EXPECT_EQ(pairs.key_bytes, 4U);
  EXPECT_EQ(pairs.record_bytes, 4U);
  EXPECT_EQ(pairs.part<sort_part>().more_value_bytes, std::vector<std::uint64_t>{16});
  const problem_spec ranks = problem("list_rank", {{"--count", {"5000000000"}}});
  EXPECT_EQ(ranks.index, index_type::u64);
  EXPECT_EQ(ranks.record_bytes, 8U);
  const problem_spec scan = problem("list_scan", {{"--count", {"9"}}, {"--value-type", {"f64"}}, {"--op", {"mul"}}});
  EXPECT_EQ(scan.index, index_type::u32);
  EXPECT_EQ(scan.record_bytes, 8U);
  EXPECT_EQ(scan.part<list_part>().op, scan_operator::mul);
  EXPECT_FALSE(scan.part<list_part>().is_exclusive || scan.part<list_part>().is_packed);
  const problem_spec packed = problem(
      "list_scan", {{"--count", {"9"}}, {"--exclusive-from", {"0"}}, {"--packed", {""}}, {"--lists", {"many"}}});
  EXPECT_TRUE(packed.part<list_part>().is_exclusive && packed.part<list_part>().is_packed);
  EXPECT_EQ(packed.part<list_part>().lists, list_count::many);
  const problem_spec build = problem("build_hash_index", {{"--count", {"5000000000"}}});
  EXPECT_EQ(build.key_bytes, 8U);
  EXPECT_EQ(build.record_bytes, 8U);
  EXPECT_EQ(build.part<hash_part>().load_percent, 0U);
  const problem_spec among_itself = problem("hash_find", {{"--count", {"9"}}});
  EXPECT_EQ(among_itself.indexed_count(), 9U);
  EXPECT_EQ(among_itself.record_bytes, 4U);
  const problem_spec find = problem("hash_search", {{"--count", {"9"}},
                                                    {"--table", {"5000000000"}},
                                                    {"--key-bytes", {"4"}},
                                                    {"--repeats", {"zipf"}},
                                                    {"--load", {"99"}}});
  EXPECT_EQ(find.record_bytes, 8U);
  EXPECT_EQ(find.key_bytes, 4U);
  EXPECT_EQ(find.part<hash_part>().repeats, primitives::power_law_repeats);
  EXPECT_EQ(find.part<hash_part>().load_percent, 99U);
  EXPECT_EQ(problem("hash_contains", {{"--count", {"9"}}, {"--table", {"5"}}}).record_bytes, 1U);
  EXPECT_EQ(problem("gather", {{"--count", {"9"}}, {"--table", {"0"}}, {"--record-bytes", {"4"}}}).indexed_count(), 0U);
}

}  // namespace
}  // namespace sheaf::tests::lab_description_entries_test
