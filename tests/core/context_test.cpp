#include <sheaf/context.hpp>

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/gather.hpp>
#include <sheaf/machine.hpp>
#include <sheaf/scatter.hpp>

#include "core/context_state.hpp"
#include "lab/description/job.hpp"
#include "lab/inputs/pattern.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/scoped_environment.hpp"

namespace sheaf::tests::core_context_test {
namespace {

TEST(Context, DescribesItself) {
  const context ctx = context::cpu(3);
  EXPECT_EQ(ctx.backend(), backend_kind::cpu);
  EXPECT_EQ(name(ctx.backend()), "cpu");
  EXPECT_EQ(ctx.threads(), 3);
  EXPECT_EQ(ctx.device(), -1);
  EXPECT_EQ(ctx.stream(), nullptr);
  EXPECT_EQ(ctx.profile().parallelism, 3U);
  EXPECT_EQ(ctx.status(), work_status::done);
}

TEST(Context, BestIsMadeAnywhere) {
  const context ctx = context::best();
  EXPECT_EQ(ctx.backend(), cuda_context() ? backend_kind::cuda : backend_kind::cpu);
}

TEST(Context, ThreadsComeFromTheCallThenTheEnvironmentThenTheMachine) {
  const scoped_environment threads("SHEAF_THREADS", "4");
  EXPECT_EQ(context::cpu().threads(), 4);
  EXPECT_EQ(context::cpu(2).threads(), 2);
}

// Those that a parallel region would have. What OpenMP makes of OMP_NUM_THREADS when a process begins, the command's
// tests show.
TEST(Context, ThreadsThatNobodyNamesAreThoseOfOpenmp) {
  const int before = omp_get_max_threads();
  const scoped_environment empty("SHEAF_THREADS", "");
  const scoped_environment no_number("OMP_NUM_THREADS", "");
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(context::cpu().threads(), std::min(threads, omp_get_num_procs()));
    const scoped_environment named("OMP_NUM_THREADS", "many");  // which OpenMP has not read
    EXPECT_EQ(context::cpu().threads(), threads) << "more than processors where somebody has named a number";
    EXPECT_EQ(context::on(backend_kind::cpu).threads(), threads);
    EXPECT_EQ(context::cpu(2).threads(), 2);
    const scoped_environment ours("SHEAF_THREADS", "4");
    EXPECT_EQ(context::cpu().threads(), 4);
  }
  omp_set_num_threads(5000);
  const scoped_environment named("OMP_NUM_THREADS", "5000");
  EXPECT_EQ(context::cpu().threads(), 4096);
  omp_set_num_threads(before);
}

TEST(Context, ThreadCountsAreChecked) {
  for (const char* text : {"zero", "0", "-1", "4097", "2x", " ", "1.5", "99999999999999999999"}) {
    const scoped_environment threads("SHEAF_THREADS", text);
    expect_error(error_code::bad_argument, fmt::format("SHEAF_THREADS: '{}' is not a number from 1 to 4096", text),
                 [] { context::cpu(); });
    EXPECT_NO_THROW(context::cpu(1));
  }
  expect_error(error_code::bad_argument, "context::cpu: -1 threads, not 0 to 4096", [] { context::cpu(-1); });
  expect_error(error_code::bad_argument, "context::cpu: 4097 threads, not 0 to 4096", [] { context::cpu(4097); });
}

TEST(Context, VariantsAreForcedByTheEnvironment) {
  const scoped_environment forced("SHEAF_VARIANT", "gather:reference.serial,scatter:cpu.owner");
  const context ctx = context::cpu(1);
  const index_span index(nullptr, 100, index_type::u32);
  EXPECT_EQ(explain_gather(ctx, {nullptr, 100, 4}, index, {nullptr, 100, 4}).choice()->variant, "reference.serial");
  EXPECT_EQ(explain_scatter(ctx, {nullptr, 100, 4}, index, {nullptr, 100, 4}).choice()->variant, "cpu.owner");
  EXPECT_EQ(
      explain_gather(ctx, {nullptr, 100, 4}, index, {nullptr, 100, 4}, {.variant = "cpu.direct"}).choice()->variant,
      "cpu.direct")
      << "the call's own wish comes first";
}

TEST(Context, ForcingAnotherPrimitiveOrNoneChangesNothing) {
  const index_span index(nullptr, 100, index_type::u32);
  const auto choice = [&] {
    return explain_gather(context::cpu(1), {nullptr, 100, 4}, index, {nullptr, 100, 4}).choice()->variant;
  };
  const std::string unforced = choice();
  for (const char* text : {"scatter:cpu.owner", "", ",", "scatter:cpu.owner,"}) {
    const scoped_environment forced("SHEAF_VARIANT", text);
    EXPECT_EQ(choice(), unforced) << text;
  }
}

TEST(Context, UnknownForcedNamesAreRefusedWithTheListOfThoseThatAre) {
  const auto message_for = [](const char* text) {
    const scoped_environment forced("SHEAF_VARIANT", text);
    return message_of(error_code::bad_argument, [] { context::cpu(1); });
  };
  const std::string variant = message_for("scatter:cpu.owner,gather:cpu.imaginary");
  EXPECT_TRUE(variant.starts_with(
      "SHEAF_VARIANT: gather: no variant is named 'cpu.imaginary'; there are reference.serial, cpu.direct, "))
      << variant;
  EXPECT_TRUE(message_for("sort:cpu.msd")
                  .starts_with("SHEAF_VARIANT: 'sort' is not a primitive; there are gather, scatter, prepare_gather, "
                               "prepare_scatter, scatter_reduce, scatter_reduce_rows, prepare_scatter_reduce, "
                               "gather_reduce, split, split_unstable, "));
  for (const std::string call : {"gather",
                                 "scatter",
                                 "prepare_gather",
                                 "prepare_scatter",
                                 "scatter_reduce",
                                 "scatter_reduce_rows",
                                 "prepare_scatter_reduce",
                                 "gather_reduce",
                                 "spmm",
                                 "prepare_spmm",
                                 "split",
                                 "split_unstable",
                                 "split_gather_index",
                                 "split_scatter_index",
                                 "sort_records",
                                 "sort_pairs",
                                 "sort_gather_index",
                                 "list_rank",
                                 "list_scan",
                                 "build_hash_index",
                                 "hash_search",
                                 "hash_count",
                                 "hash_contains",
                                 "hash_find",
                                 "spmv",
                                 "prepare_spmv",
                                 "conjugate_gradient",
                                 "edge_sum",
                                 "prepare_edge_sum"}) {
    const std::string message = message_for((call + ":cpu.imaginary").c_str());
    EXPECT_TRUE(message.starts_with(fmt::format("SHEAF_VARIANT: {}: no variant is named", call))) << message;
  }
  EXPECT_TRUE(message_for("prepare_gather:direct")
                  .starts_with("SHEAF_VARIANT: prepare_gather: no variant is named 'direct'; there are kept"));
}

// What a call asks for by its name can be forced by that name.
TEST(Context, EveryExplainedCallCanBeForced) {
  for (const primitives::entry* const e : primitives::entries()) {
    const primitives::problem_spec p = jobs::problem_of(e->job->samples.front(), 100);
    std::string call = e->explain(context::cpu(1), p, {}).primitive;
    if (call == "multi_split") call = "split";  // it goes by its split's variants
    const scoped_environment forced("SHEAF_VARIANT", call + ":reference.serial");
    const explanation why = e->explain(context::cpu(1), p, {});
    ASSERT_NE(why.choice(), nullptr) << e->name;
    EXPECT_EQ(why.choice()->variant, "reference.serial") << e->name;
  }
}

TEST(Context, ThatWasMovedFromSaysSo) {
  context first = context::cpu(1);
  const context second = std::move(first);
  EXPECT_EQ(second.threads(), 1);
  constexpr std::string_view message = "context: it was moved from; another context holds its contents now";
  // NOLINTBEGIN(bugprone-use-after-move): that is what is tested
  const auto refused = [&](auto call) { expect_error(error_code::bad_argument, message, call); };
  refused([&] { first.backend(); });
  refused([&] { first.threads(); });
  refused([&] { first.device(); });
  refused([&] { first.stream(); });
  refused([&] { first.profile(); });
  refused([&] { first.scratch_limit(); });
  refused([&] { first.limit_scratch(1); });
  refused([&] { first.use(second.profile()); });
  refused([&] {
    first.use(memory_resource{[](void*, std::uint64_t, CUstream_st*) -> void* { return nullptr; },
                              [](void*, void*, std::uint64_t, CUstream_st*) {}});
  });
  refused([&] { first.wait(); });
  refused([&] { first.status(); });
  refused([&] { buffer(first, 1); });
  std::array<std::uint32_t, 2> table{1, 2}, index{1, 0}, out{};
  refused([&] { copy_bytes(first, out.data(), table.data(), sizeof out); });
  refused([&] { gather(first, table, index, out); });
  refused([&] { scatter(first, table, index, out); });
  refused([&] { explain_gather(first, table, index, out); });
  first = second;
  gather(first, table, index, out);
  EXPECT_EQ(out, (std::array<std::uint32_t, 2>{2, 1}));
  // NOLINTEND(bugprone-use-after-move)
}

TEST(Context, MalformedForcedVariantsAreRefused) {
  for (const char* entry : {"gather", ":cpu.direct", "gather:", ":"}) {
    const scoped_environment forced("SHEAF_VARIANT", fmt::format("scatter:cpu.direct,{}", entry));
    expect_error(error_code::bad_argument,
                 fmt::format("SHEAF_VARIANT: '{}' is not PRIMITIVE:VARIANT, as in gather:cpu.direct", entry),
                 [] { context::cpu(1); });
  }
  const scoped_environment unprintable("SHEAF_VARIANT", "gather=\x1b[31m\xff");
  expect_error(error_code::bad_argument,
               "SHEAF_VARIANT: 'gather=\\x1b[31m\\xff' is not PRIMITIVE:VARIANT, as in gather:cpu.direct",
               [] { context::cpu(1); });
  const scoped_environment twice("SHEAF_VARIANT", "gather:cpu.direct,gather:reference.serial");
  expect_error(error_code::bad_argument, "SHEAF_VARIANT: gather appears twice", [] { context::cpu(1); });
}

TEST(Context, ProfileComesFromTheEnvironment) {
  machine mine = nearest_machine(backend_kind::cpu, "");
  mine.name = "the test's own";
  const std::string path = testing::TempDir() + fmt::format("sheaf_context_profile_{}.json", getpid());
  save_machine(mine, path);
  {
    const scoped_environment profile("SHEAF_PROFILE", path);
    EXPECT_EQ(context::cpu(1).profile().name, "the test's own");
    EXPECT_EQ(context::cpu(1).profile().source, path);
    EXPECT_EQ(context::cpu(1).ignored_profile(), "");
  }
  std::remove(path.c_str());
  EXPECT_NE(context::cpu(1).profile().name, "the test's own");
}

TEST(Context, ProfileOfAnotherBackendInTheEnvironmentIsLeftAside) {
  const std::string path = testing::TempDir() + fmt::format("sheaf_cuda_profile_{}.json", getpid());
  save_machine(nearest_machine(backend_kind::cuda, ""), path);
  const scoped_environment profile("SHEAF_PROFILE", path);
  const context ctx = context::cpu(1);
  EXPECT_EQ(ctx.profile().backend, backend_kind::cpu);
  EXPECT_EQ(ctx.ignored_profile(), fmt::format("SHEAF_PROFILE: {}: is for cuda '{}', but this is cpu '{}'", path,
                                               nearest_machine(backend_kind::cuda, "").name, ctx.state().device_name));
  std::remove(path.c_str());
}

TEST(Context, MissingProfileIsNamed) {
  const std::string path = testing::TempDir() + "sheaf_no_such_profile.json";
  const scoped_environment profile("SHEAF_PROFILE", path);
  const std::string message = message_of(error_code::bad_input, [] { context::cpu(1); });
  EXPECT_NE(message.find(path), std::string::npos) << message;
}

TEST(Context, TakesOnlyProfilesOfItsBackend) {
  context ctx = context::cpu(1);
  machine other = nearest_machine(backend_kind::cuda, "");
  expect_error(error_code::bad_argument,
               fmt::format("context::use: profile '{}' is for cuda, but the context works on cpu", other.name),
               [&] { ctx.use(other); });
  machine mine = ctx.profile();
  mine.name = "slower";
  ctx.use(mine);
  EXPECT_EQ(ctx.profile().name, "slower");
}

TEST(Context, CudaNeedsABackendAndADevice) {
  if (cuda_context()) {
    message_of(error_code::backend_unavailable, [] { context::cuda(1000); });
    return;
  }
  EXPECT_FALSE(message_of(error_code::backend_unavailable, [] { context::cuda(); }).empty());
  EXPECT_FALSE(message_of(error_code::backend_unavailable, [] { context::cuda(0, nullptr); }).empty());
#if !SHEAF_HAS_CUDA
  expect_error(error_code::backend_unavailable, "this build of sheaf has no backend 'cuda'", [] { context::cuda(); });
#endif
}

// Moves records there and back on a context of its own and says how many are wrong.
std::uint64_t there_and_back(int threads, std::uint64_t seed) {
  constexpr std::uint64_t n = 20000;
  const context ctx = context::cpu(threads);
  const inputs::pattern p{inputs::pattern_kind::permutation, 0, seed};
  const buffer index(ctx, n * 8);
  const buffer a(ctx, n * 12), b(ctx, n * 12), c(ctx, n * 12);
  const index_span list(index.data(), n, index_type::u64);
  inputs::fill_index(ctx, p, n, list);
  inputs::fill_records(ctx, records(a.data(), n, 12), seed);
  for (int round = 0; round < 3; ++round) {
    gather(ctx, {a.data(), n, 12}, list, {b.data(), n, 12});
    scatter(ctx, {b.data(), n, 12}, list, {c.data(), n, 12});
  }
  std::uint64_t bad = n;
  std::memcpy(index.data() + 8 * seed, &bad, 8);
  gather(ctx, {a.data(), n, 12}, list, {b.data(), n, 12});
  const std::string message = message_of(error_code::bad_index, [&] { ctx.wait(); });
  EXPECT_EQ(message, fmt::format("gather: index[{}] is 20000, past the table's 20000 records", seed));
  return inputs::count_gather_mismatches(ctx, const_records(c.data(), n, 12), {}, n, seed);
}

TEST(Context, ManyWorkSideBySide) {
  std::vector<std::thread> workers;
  std::array<std::uint64_t, 6> wrong{};
  for (std::size_t w = 0; w < wrong.size(); ++w) {
    workers.emplace_back([&, w] { wrong[w] = there_and_back(1 + static_cast<int>(w % 3), w + 1); });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(wrong, (std::array<std::uint64_t, 6>{}));
}

TEST(Context, LearnsIfItIsAskedTo) {
  for (const auto& [text, learns] : {std::pair{"1", true}, {"0", false}, {"", false}}) {
    const scoped_environment wanted("SHEAF_LEARN", text);
    EXPECT_EQ(context::cpu(1).learns(), learns) << text;
  }
  for (const char* text : {"2", "yes", "01", " 1"}) {
    const scoped_environment wanted("SHEAF_LEARN", text);
    expect_error(error_code::bad_argument, fmt::format("SHEAF_LEARN: '{}' is not 0 or 1", text),
                 [] { context::cpu(1); });
  }
  context ctx = context::cpu(1);
  const context copy = ctx;
  for (const bool wanted : {true, false}) {
    ctx.learn(wanted);
    EXPECT_EQ(copy.learns(), wanted) << "copies share one state";
  }
}

TEST(Context, ReadsTheEnvironmentOnlyWhenItIsMade) {
  const context before = context::cpu(1);
  const scoped_environment forced("SHEAF_VARIANT", "gather:reference.serial");
  const index_span index(nullptr, 100, index_type::u32);
  EXPECT_NE(explain_gather(before, {nullptr, 100, 4}, index, {nullptr, 100, 4}).choice()->variant, "reference.serial");
}

}  // namespace
}  // namespace sheaf::tests::core_context_test
