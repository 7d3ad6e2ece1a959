#include "lab/description/job.hpp"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lab/description/arrays.hpp"
#include "lab/description/linked_list/problem.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/operators/scan_value.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests::lab_description_generated_test {
namespace {

using jobs::array_role;
using jobs::array_set;
using jobs::job;
using jobs::problem_spec;
using jobs::sample;
using primitives::list_part;

// Sizes around nothing in particular, and one that is not a multiple of a block.
constexpr std::uint64_t sizes[] = {1, 2, 1000, 20011};

// One context of each backend that there is here.
std::vector<context> contexts(int cpu_threads = 2) {
  std::vector<context> all{context::cpu(cpu_threads)};
  if (auto cuda = cuda_context()) all.push_back(*cuda);
  return all;
}

// OpenGL's, too, which has variants of some primitives only.
std::vector<context> contexts_of_any_primitive() {
  std::vector<context> all = contexts();
  if (auto opengl = opengl_context()) all.push_back(*opengl);
  return all;
}

template <class Use>
void for_each_sample(backend_kind backend, Use use) {
  for (const primitives::entry* const e : primitives::entries()) {
    ASSERT_FALSE(e->job->samples.empty()) << e->name;
    if (!e->runs_on(backend)) continue;
    for (const sample& s : e->job->samples) use(*e->job, s);
  }
}

std::vector<std::size_t> written_places(const job& j, const problem_spec& p) {
  std::vector<std::size_t> places;
  const jobs::array_shapes shapes = j.shapes(p);
  for (std::size_t place = 0; place < jobs::most_arrays; ++place) {
    const bool is_written = shapes[place].role == array_role::output || shapes[place].role == array_role::in_out;
    if (is_written && shapes[place].bytes() > 0) places.push_back(place);
  }
  return places;
}

void flip_bit(const context& ctx, records array, std::uint64_t record) {
  std::byte byte{};
  std::byte* const place = array.data + (record + 1) * array.record_bytes - 1;
  copy_bytes(ctx, &byte, place, 1);
  byte ^= std::byte{1};
  copy_bytes(ctx, place, &byte, 1);
}

TEST(GeneratedJob, IsAnsweredRightByEveryVariant) {
  for (const context& ctx : contexts_of_any_primitive()) {
    jobs::problem_arrays arrays(ctx);
    for_each_sample(ctx.backend(), [&](const job& j, const sample& s) {
      for (const std::uint64_t count : sizes) {
        const problem_spec p = jobs::problem_of(s, count);
        ASSERT_EQ(j.unchecked(p), "") << name(p);
        const explanation why = primitives::entry_of(p).explain(ctx, p, {});
        if (ctx.backend() == backend_kind::opengl && why.choice() == nullptr) continue;
        arrays.fill(p, 1);
        for (const variant_estimate& v : why.variants) {
          if (!v.applicable) continue;
          for (const bool side_outputs : {false, true}) {
            arrays.reset_outputs();
            j.run(ctx, p, arrays.of_copy(0), {v.variant, side_outputs});
            ctx.wait();
            EXPECT_EQ(arrays.count_mistakes(side_outputs), 0U)
                << name(p) << ": " << v.variant << " on " << sheaf::name(ctx.backend());
          }
        }
      }
    });
  }
}

// A problem of nothing may also name nothing: tables, outputs and lists of records are then empty, too.
TEST(GeneratedJob, IsAnsweredRightForNothing) {
  for (const context& ctx : contexts()) {
    jobs::problem_arrays arrays(ctx);
    std::size_t answered = 0;
    for_each_sample(ctx.backend(), [&](const job& j, const sample& s) {
      problem_spec p = jobs::problem_of(s, 0);
      p.table = 0;
      if (!j.unchecked(p).empty()) return;
      arrays.fill(p, 1);
      arrays.reset_outputs();
      j.run(ctx, p, arrays.of_copy(0), {});
      ctx.wait();
      EXPECT_EQ(arrays.count_mistakes(false), 0U) << name(p);
      ++answered;
    });
    EXPECT_GE(answered, 20U) << name(ctx.backend());
  }
}

// The demo compares with it, so a plain loop that did less would flatter.
TEST(GeneratedJob, IsAnsweredRightByItsPlainLoop) {
  const context ctx = context::cpu(2);
  jobs::problem_arrays arrays(ctx);
  for_each_sample(ctx.backend(), [&](const job& j, const sample& s) {
    for (const std::uint64_t count : sizes) {
      const problem_spec p = jobs::problem_of(s, count);
      arrays.fill(p, 1);
      arrays.reset_outputs();
      const std::function<void()> loop = j.plain_loop(ctx, p, arrays.of_copy(0));
      ASSERT_TRUE(loop) << name(p);
      loop();
      EXPECT_EQ(arrays.count_mistakes(false), 0U) << name(p);
    }
  });
}

// Samples have the usual widths and keys; these rows have all that a name can say.
std::vector<std::string> rows_of_every_kind() {
  std::vector<std::string> rows;
  for (const primitives::key_distribution distribution : primitives::all_key_distributions()) {
    const std::string_view keys = primitives::name(distribution);
    for (const char* type : {"r4/u32", "r4/i32", "r4/f32", "r8/u64", "r8/i64", "r8/f64", "r16/u128", "r10/bytes10"}) {
      rows.push_back(fmt::format("sort_keys/{}/{}", keys, type));
    }
    for (const char* type : {"u32", "u64", "i32", "f64", "u128", "bytes10"}) {
      rows.push_back(fmt::format("sort_pairs/{}/r8/{}", keys, type));
      rows.push_back(fmt::format("sort_gather_index/{}/r4/{}", keys, type));
    }
    for (const char* type : {"r4/u64", "r16/u64", "r4/u32"})
      rows.push_back(fmt::format("sort_pairs/{}/{}", keys, type));
    for (const char* type : {"r16/u64", "r100/bytes10", "r24/f64"}) {
      rows.push_back(fmt::format("sort_records/{}/{}", keys, type));
    }
    for (const char* split : {"split", "split_unstable"}) {
      for (const char* type : {"b8/r4/own", "b8/r8/own", "b8/r12/k32", "b20/r8/k32", "b40/r16/own", "b64/r16/own",
                               "b96/r24/own", "b128/r24/own", "b33/r8/k64", "b96/r16/k96", "b65/r12/k128"}) {
        rows.push_back(fmt::format("{}/{}:{}", split, keys, type));
      }
    }
    for (const char* split : {"split_gather_index", "split_scatter_index"}) {
      for (const char* type : {"b8/r4/k32", "b20/r8/k32", "b48/r4/k64", "b64/r8/k64", "b96/r4/k96", "b70/r8/k128"}) {
        rows.push_back(fmt::format("{}/{}:{}", split, keys, type));
      }
    }
  }
  for (const int width : {1, 2, 4, 8, 12, 16, 32, 64, 100, 128, 1024}) {
    for (const char* index : {"u32", "u64", "i32", "i64"}) {
      rows.push_back(fmt::format("gather/uniform/r{}/{}", width, index));
      rows.push_back(fmt::format("scatter/permutation/r{}/{}", width, index));
      rows.push_back(fmt::format("scatter/uniform/r{}/{}+last", width, index));
    }
  }
  for (const char* value : {"r4/u32+i32", "r4/u64+u32", "r4/u32+f32", "r8/u32+i64", "r8/u64+u64", "r8/u64+f64"}) {
    rows.push_back(fmt::format("scatter_reduce/zipf:s300/{}", value));
  }
  return rows;
}

TEST(GeneratedJob, IsAnsweredRightForEveryKindOfKeyAndWidth) {
  const context ctx = context::cpu(2);
  jobs::problem_arrays arrays(ctx);
  std::size_t answers = 0;
  std::size_t loops = 0;
  for (const std::string& row : rows_of_every_kind()) {
    const problem_spec p = primitives::parse_problem(row + "/n=1501");
    const job& j = jobs::job_of(p);
    if (!j.unchecked(p).empty()) continue;
    arrays.fill(p, 1);
    for (const variant_estimate& v : primitives::entry_of(p).explain(ctx, p, {}).variants) {
      if (!v.applicable) continue;
      arrays.reset_outputs();
      j.run(ctx, p, arrays.of_copy(0), {v.variant, true});
      ctx.wait();
      EXPECT_EQ(arrays.count_mistakes(true), 0U) << name(p) << ": " << v.variant;
      ++answers;
    }
    if (const std::function<void()> loop = j.plain_loop(ctx, p, arrays.of_copy(0))) {
      arrays.reset_outputs();
      loop();
      EXPECT_EQ(arrays.count_mistakes(false), 0U) << name(p) << ": the plain loop";
      ++loops;
    }
  }
  EXPECT_GT(answers, 1000U);
  EXPECT_GT(loops, 200U);
}

TEST(GeneratedJob, HasNoPlainLoopForTypesThatNoneIsWrittenFor) {
  const context ctx = context::cpu(2);
  jobs::problem_arrays arrays(ctx);
  for (const char* row :
       {"gather/uniform/r5/u32/n=9", "scatter/permutation/r3/u64/n=9", "split/uniform:b24/r8/own/n=9",
        "sort_keys/uniform/r16/u128/n=9", "sort_keys/uniform/r8/bytes8/n=9", "sort_pairs/uniform/r8/u32/n=9",
        "sort_pairs/uniform/r12/u64/n=9", "sort_pairs/uniform/r8/i64/n=9", "sort_gather_index/uniform/r4/i32/n=9",
        "sort_gather_index/uniform/r8/u64/n=9", "sort_records/uniform/r100/u64/n=9",
        "list_scan/identity/r4/u32+f32+max/n=9"}) {
    const problem_spec p = primitives::parse_problem(row);
    arrays.fill(p, 1);
    EXPECT_FALSE(jobs::job_of(p).plain_loop(ctx, p, arrays.of_copy(0))) << row;
  }
}

TEST(GeneratedJob, FindsAWrongBitInTheFirstAMiddleAndTheLastRecord) {
  for (const context& ctx : contexts()) {
    jobs::problem_arrays arrays(ctx);
    for_each_sample(ctx.backend(), [&](const job& j, const sample& s) {
      const problem_spec p = jobs::problem_of(s, 5003);
      arrays.fill(p, 1);
      arrays.reset_outputs();
      j.run(ctx, p, arrays.of_copy(0), {});
      ctx.wait();
      for (const std::size_t place : written_places(j, p)) {
        const records written = arrays.at(0, place);
        for (const std::uint64_t record : {std::uint64_t{0}, written.count / 2, written.count - 1}) {
          flip_bit(ctx, written, record);
          EXPECT_GT(arrays.count_mistakes(false), 0U) << name(p) << ": record " << record << " of array " << place;
          flip_bit(ctx, written, record);
        }
      }
      EXPECT_EQ(arrays.count_mistakes(false), 0U) << name(p);
    });
  }
}

TEST(GeneratedJob, FindsAWrongSideOutput) {
  const context ctx = context::cpu(2);
  jobs::problem_arrays arrays(ctx);
  std::size_t found = 0;
  for_each_sample(ctx.backend(), [&](const job& j, const sample& s) {
    const problem_spec p = jobs::problem_of(s, 5003);
    const jobs::array_shapes shapes = j.shapes(p);
    for (std::size_t place = 0; place < jobs::most_arrays; ++place) {
      if (shapes[place].role != array_role::side_output || shapes[place].bytes() == 0) continue;
      ++found;
      arrays.fill(p, 1);
      arrays.reset_outputs();
      j.run(ctx, p, arrays.of_copy(0), {.with_side_outputs = true});
      flip_bit(ctx, arrays.at(0, place), shapes[place].count / 2);
      EXPECT_GT(arrays.count_mistakes(true), 0U) << name(p);
    }
  });
  EXPECT_GT(found, 0U);
}

TEST(GeneratedJob, FindsACallThatDidNothing) {
  const context ctx = context::cpu(2);
  jobs::problem_arrays arrays(ctx);
  for_each_sample(ctx.backend(), [&](const job& j, const sample& s) {
    const problem_spec p = jobs::problem_of(s, 5003);
    arrays.fill(p, 1);
    j.run(ctx, p, arrays.of_copy(0), {});
    arrays.reset_outputs();
    EXPECT_GT(arrays.count_mistakes(false), 0U) << name(p);
  });
}

TEST(GeneratedJob, IsAnsweredRightByPreparedRuns) {
  std::set<std::string_view> prepared;
  for (const context& ctx : contexts_of_any_primitive()) {
    jobs::problem_arrays arrays(ctx);
    for_each_sample(ctx.backend(), [&](const job& j, const sample& s) {
      EXPECT_TRUE(!s.is_prepared || j.prepare != nullptr) << s.name;
      if (j.prepare == nullptr) return;
      const problem_spec p = jobs::problem_of(s, 70001);
      if (ctx.backend() == backend_kind::opengl && primitives::entry_of(p).explain(ctx, p, {}).choice() == nullptr)
        return;
      arrays.fill(p, 1);
      const jobs::prepared_run made = j.prepare(ctx, p, arrays.of_copy(0), 100);
      for (int run = 0; run < 2; ++run) {
        arrays.reset_outputs();
        made.run();
        ctx.wait();
        EXPECT_EQ(arrays.count_mistakes(false), 0U) << name(p);
      }
      EXPECT_FALSE(made.report.variant.empty());
      prepared.insert(primitives::entry_of(p).name);
    });
  }
  EXPECT_GE(prepared.size(), 2U);
}

TEST(GeneratedJob, HasOtherInputsInOtherCopies) {
  const context ctx = context::cpu(2);
  jobs::problem_arrays arrays(ctx);
  for_each_sample(ctx.backend(), [&](const job& j, const sample& s) {
    const problem_spec p = jobs::problem_of(s, 5003);
    arrays.fill(p, 3);
    arrays.reset_outputs();
    for (const std::uint64_t copy : {2, 1, 0}) j.run(ctx, p, arrays.of_copy(copy), {});
    EXPECT_EQ(arrays.count_mistakes(false), 0U) << name(p);
    EXPECT_NE(arrays.at(1, jobs::places::target).data, arrays.at(0, jobs::places::target).data);
  });
}

// The way of a backend whose memory item loops do not reach.
TEST(GeneratedJob, IsFilledAndCheckedThroughHostMemoryAlike) {
  for (const context& ctx : contexts()) {
    jobs::problem_arrays arrays(ctx);
    for_each_sample(ctx.backend(), [&](const job& j, const sample& s) {
      const problem_spec p = jobs::problem_of(s, 5003);
      arrays.fill(p, 1);
      const jobs::array_shapes shapes = j.shapes(p);
      for (std::size_t place = 0; place < jobs::most_arrays; ++place) {
        const bool is_filled = shapes[place].role != array_role::work && shapes[place].bytes() > 0;
        if (is_filled) jobs::fill_through_host(ctx, p, 0, place, arrays.at(0, place));
      }
      j.run(ctx, p, arrays.of_copy(0), {});
      ctx.wait();
      EXPECT_EQ(jobs::count_mistakes_through_host(ctx, p, arrays.of_copy(0), false), 0U) << name(p);
      const std::size_t place = written_places(j, p).front();
      flip_bit(ctx, arrays.at(0, place), 0);
      EXPECT_GT(jobs::count_mistakes_through_host(ctx, p, arrays.of_copy(0), false), 0U) << name(p);
    });
  }
}

std::vector<std::string> names_of_lists() {
  std::vector<std::string> names;
  const std::string orders[] = {"identity", "reverse", "permutation", "strided:48", "partitioned:8", "clustered:300"};
  for (const std::string& order : orders) {
    for (const char* type : {"r4/u32", "r8/u64", "r4/i64+many", "r8/i32"}) {
      names.push_back(fmt::format("list_rank/{}/{}", order, type));
    }
  }
  for (const auto& value : primitives::value_types) {
    const std::uint64_t width = bytes(value.value);
    for (const auto& op : primitives::scan_operators) {
      if (!primitives::takes(op.value, value.value)) continue;
      const std::string op_text = op.text == "add" ? "" : fmt::format("+{}", op.text);
      for (const char* rest : {"", "+exclusive", "+many", "+packed", "+exclusive+packed+many"}) {
        if (width == 8 && std::string_view(rest).find("packed") != std::string_view::npos) continue;
        names.push_back(fmt::format("list_scan/permutation/r{}/i32+{}{}{}", width, value.text, op_text, rest));
      }
    }
  }
  return names;
}

// A closed form says what each rank of a list has; the reference walks from node to node.
TEST(GeneratedJob, KnowsTheAnswerOfEveryListAndOperator) {
  for (const context& ctx : contexts(1)) {
    jobs::problem_arrays arrays(ctx);
    for (const std::string& list : names_of_lists()) {
      for (const std::uint64_t count : {1, 2, 33, 2500}) {
        const problem_spec p = jobs::problem_of({list}, count);
        const job& j = jobs::job_of(p);
        ASSERT_EQ(j.unchecked(p), "") << name(p);
        arrays.fill(p, 1);
        arrays.reset_outputs();
        EXPECT_GT(arrays.count_mistakes(false), 0U) << name(p) << " is right before the call";
        const bool has_reference = ctx.backend() == backend_kind::cpu;
        j.run(ctx, p, arrays.of_copy(0), {has_reference ? "reference.serial" : ""});
        ctx.wait();
        EXPECT_EQ(arrays.count_mistakes(false), 0U) << name(p) << " on " << sheaf::name(ctx.backend());
        flip_bit(ctx, arrays.at(0, jobs::places::target), count / 2);
        EXPECT_EQ(arrays.count_mistakes(false), 1U) << name(p);
        flip_bit(ctx, arrays.at(0, jobs::places::target), count / 2);
      }
    }
  }
}

// Answers that were the values would let a call pass that copies them.
TEST(GeneratedJob, HasScansWhoseAnswersAreNotTheirValues) {
  const context ctx = context::cpu(1);
  jobs::problem_arrays arrays(ctx);
  for (const std::string& list : names_of_lists()) {
    const problem_spec p = jobs::problem_of({list}, 2500);
    if (p.primitive != "list_scan" || p.part<list_part>().is_packed) continue;
    arrays.fill(p, 1);
    const jobs::array_set all = arrays.of_copy(0);
    copy_bytes(ctx, all[jobs::places::target].data, all[jobs::places::source].data, p.count * p.record_bytes);
    EXPECT_GT(arrays.count_mistakes(false), 1000U) << name(p);
  }
}

std::vector<std::string> names_of_searches() {
  std::vector<std::string> names;
  for (const char* table : {"", ":s1", ":s700", ":s5000"}) {
    for (const char* repeats : {"x1", "x7", "x1000", "xzipf"}) {
      for (const char* order : {"identity", "permutation", "uniform", "zipf"}) {
        for (const char* rest : {"h0/r{}/k32", "h50/r{}/k64+load99", "h100/r{}/k64+load20"}) {
          const std::string end = fmt::format("{}{}:{}:{}", order, table, repeats, rest);
          names.push_back("hash_search/" + fmt::format(fmt::runtime(end), 4));
          names.push_back("hash_find/" + fmt::format(fmt::runtime(end), 4));
          names.push_back("hash_count/" + fmt::format(fmt::runtime(end), 8));
          names.push_back("hash_contains/" + fmt::format(fmt::runtime(end), 1));
        }
      }
    }
  }
  return names;
}

// Which records have a key is arithmetic; the reference looks keys up in a sorted array, and the loop in another.
TEST(GeneratedJob, KnowsTheMatchesOfEveryTable) {
  const context ctx = context::cpu(1);
  jobs::problem_arrays arrays(ctx);
  std::size_t answers = 0;
  for (const std::string& search : names_of_searches()) {
    for (const std::uint64_t count : {1, 2, 33, 1500}) {
      const problem_spec p = jobs::problem_of({search}, count);
      const job& j = jobs::job_of(p);
      if (!j.unchecked(p).empty()) continue;
      ++answers;
      arrays.fill(p, 1);
      const array_set all = arrays.of_copy(0);
      arrays.reset_outputs();
      j.run(ctx, p, all, {"reference.serial"});
      EXPECT_EQ(arrays.count_mistakes(false), 0U) << name(p);
      arrays.reset_outputs();
      j.plain_loop(ctx, p, all)();
      EXPECT_EQ(arrays.count_mistakes(false), 0U) << name(p) << ": the plain loop";
      arrays.reset_outputs();
      j.run(ctx, p, all, {});
      EXPECT_EQ(arrays.count_mistakes(false), 0U) << name(p) << ": the planner's choice";
    }
  }
  EXPECT_GT(answers, 700U);
}

TEST(GeneratedJob, KnowsWhatABuildCounts) {
  for (const context& ctx : contexts()) {
    jobs::problem_arrays arrays(ctx);
    for (const char* repeats : {"x1", "x7", "x1000", "xzipf"}) {
      for (const char* keys : {"k32", "k64", "k64+load99"}) {
        for (const std::uint64_t count : {1, 2, 3, 4, 33, 1500, 20011}) {
          const problem_spec p =
              primitives::parse_problem(fmt::format("build_hash_index/{}/r4/{}/n={}", repeats, keys, count));
          const job& j = jobs::job_of(p);
          arrays.fill(p, 1);
          arrays.reset_outputs();
          EXPECT_GT(arrays.count_mistakes(true), 0U) << name(p) << " is right before the call";
          const bool has_reference = ctx.backend() == backend_kind::cpu;
          j.run(ctx, p, arrays.of_copy(0), {has_reference ? "reference.serial" : "", true});
          EXPECT_EQ(arrays.count_mistakes(true), 0U) << name(p) << " on " << sheaf::name(ctx.backend());
        }
      }
    }
  }
}

// A search is of its own table: what was made of an earlier problem's arrays is made anew where these change, and stays
// where they do not.
TEST(GeneratedJob, MakesAnIndexForEachTableOnce) {
  const context ctx = context::cpu(1);
  jobs::problem_arrays arrays(ctx);
  const auto index_of = [&](const char* name) {
    arrays.fill(primitives::parse_problem(name), 2);
    EXPECT_NE(arrays.of_copy(0).made, arrays.of_copy(1).made);
    return arrays.of_copy(0).made;
  };
  const auto first = index_of("hash_find/uniform:s700:x1:h50/r4/k64/n=90");
  EXPECT_EQ(index_of("hash_count/identity:s700:x1:h100/r4/k64/n=33"), first);
  EXPECT_NE(index_of("hash_count/identity:s700:x1:h100/r4/k64+load99/n=33"), first);
  EXPECT_NE(index_of("hash_count/identity:s701:x1:h100/r4/k64/n=33"), first);
  arrays.fill(primitives::parse_problem("gather/identity/r8/u32/n=33"), 1);
  EXPECT_EQ(arrays.of_copy(0).made, nullptr);
  EXPECT_EQ(first.use_count(), 1) << "an index that nothing asks for is given back";
}

TEST(GeneratedJob, SaysWhatItCannotCheck) {
  const auto why = [](const char* name) {
    const problem_spec p = primitives::parse_problem(name);
    return jobs::job_of(p).unchecked(p);
  };
  EXPECT_EQ(why("gather/uniform:s0/r4/u32/n=9"), "an index into no records");
  EXPECT_EQ(why("scatter/uniform/r4/u32/n=9"), "records have several writers, of which any may win");
  EXPECT_EQ(why("scatter/permutation:s8/r4/u32/n=9"), "records have several writers, of which any may win");
  EXPECT_EQ(why("scatter/permutation:s9999/r4/u32/n=9"), "");
  EXPECT_EQ(why("scatter_reduce/uniform:s9/r4/u32+f32+max/n=9"), "only sums are checked");
  EXPECT_EQ(why("list_rank/identity/r4/u64/n=4294967296"), "ranks are too narrow for the nodes");
  EXPECT_EQ(why("list_rank/identity/r8/u32/n=4294967296"), "successors are too narrow for the nodes");
  EXPECT_EQ(why("list_scan/identity/r8/i32+u64/n=2147483648"), "successors are too narrow for the nodes");
  EXPECT_EQ(why("list_scan/identity/r8/u32+u64+xor/n=4294967295"), "");
  EXPECT_EQ(why("hash_find/uniform:s0:x1:h1/r4/k64/n=9"), "nothing can be found among no records");
  EXPECT_EQ(why("hash_find/uniform:s0:x1:h0/r4/k64/n=9"), "");
  EXPECT_EQ(why("hash_find/uniform:s3000000000:x1:h1/r4/k32/n=9"), "keys are too narrow to be told apart");
  EXPECT_EQ(why("hash_count/uniform:s8589934592:x8589934592:h1/r4/k64/n=9"),
            "counts are too narrow for the records of a key");
  EXPECT_EQ(why("hash_search/uniform:s900:xzipf:h1/r4/k64/n=9"), "");
  EXPECT_EQ(why("hash_search/permutation:s900:xzipf:h1/r4/k64/n=9"), "");
  EXPECT_EQ(why("hash_search/same:s4000000000:x4000000000:h1/r4/k64/n=1000000"), "more matches than any memory has");
  EXPECT_EQ(why("build_hash_index/x1/r8/k64/n=9000000000000"), "more keys than any memory has");
  EXPECT_EQ(why("split/uniform:b8/r2/k32/n=70000"), "records are too narrow to be told apart");
  EXPECT_EQ(why("split_unstable/uniform:b96/r16/own/n=9"), "");
  EXPECT_EQ(why("split_unstable/uniform:b97/r16/own/n=9"), "no call splits by so many bits");
  EXPECT_EQ(why("split_gather_index/uniform:b97/r4/k128/n=9"), "no call splits by so many bits");
  EXPECT_EQ(why("split/uniform:b97/r16/own/n=9"), "") << "two calls";
  EXPECT_EQ(why("sort_records/uniform/r5/u32/n=1000"), "rows are too narrow to be told apart");
  EXPECT_EQ(why("sort_keys/uniform/r32/u256/n=9"), "such keys are not generated");
}

TEST(GeneratedJob, CountsTheBytesThatItsCallMoves) {
  const auto moved = [](const char* name) {
    const problem_spec p = primitives::parse_problem(name);
    return jobs::job_of(p).moved_bytes(p);
  };
  EXPECT_EQ(moved("gather/identity/r8/u32/n=100"), 1600U);
  EXPECT_EQ(moved("scatter_reduce/uniform:s9/r4/u32+f32/n=100"), 800U);
  EXPECT_EQ(moved("list_rank/identity/r4/u64/n=100"), 1200U);
  EXPECT_EQ(moved("list_scan/identity/r8/u32+f64/n=100"), 2000U);
  EXPECT_EQ(moved("list_scan/identity/r4/u32+f32+packed/n=100"), 1200U);
  EXPECT_EQ(moved("build_hash_index/x4/r4/k64/n=100"), 1200U);
  EXPECT_EQ(moved("hash_find/uniform:s50:x1:h9/r4/k32/n=100"), 800U);
  EXPECT_EQ(moved("hash_search/uniform:s50:x2:h9/r4/k32/n=100"), 1272U);
  EXPECT_EQ(moved("split/uniform:b8/r8/own/n=100"), 1600U);
  EXPECT_EQ(moved("split/uniform:b8/r8/k32/n=100"), 2000U);
  EXPECT_EQ(moved("split_gather_index/uniform:b8/r4/k32/n=100"), 800U);
  EXPECT_EQ(moved("sort_pairs/uniform/r16/u64/n=100"), 4800U);
  EXPECT_EQ(moved("sort_gather_index/uniform/r4/u64/n=100"), 1200U);
}

}  // namespace
}  // namespace sheaf::tests::lab_description_generated_test
