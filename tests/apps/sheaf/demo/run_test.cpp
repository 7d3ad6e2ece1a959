#include "apps/sheaf/demo/run.hpp"
#include "lab/inputs/pattern.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sheaf/memory.hpp>
#include <sheaf/version.hpp>

#include "apps/sheaf/demo/report.hpp"
#include "core/backends.hpp"
#include "lab/description/movement/problem.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::apps_sheaf_demo_run_test {
namespace {

using testing::HasSubstr;
using testing::Not;

jobs::demo_settings tiny() {
  jobs::demo_settings settings;
  settings.size = {std::uint64_t{1} << 16, 4096, 0};
  return settings;
}

jobs::demo_result made_up() {
  jobs::demo_result result;
  result.backend = "cpu";
  result.device = "A <fast> & \"cheap\" one";
  result.profile = "generic CPU";
  result.threads = 3;
  result.rates = {"rates kept as <profiles>", {}};
  result.limits.rates = {{1 << 16, 200e9}, {1 << 29, 50e9}};
  const auto row = [&](const char* family, const char* problem, const char* variant, double seconds, double predicted,
                       std::uint64_t bytes, double plain) {
    result.rows.push_back({family, problem, variant, seconds, predicted, bytes, 0, bytes, 50e9, plain});
  };
  row("movement", "gather/identity/r4/u32/n=10", "cpu.direct", 2e-3, 1.5e-3, 50000000, 5e-3);
  row("movement", "scatter/permutation/r8/u32/n=20", "cpu.owner", 4.0, 5e-6, 300, 3.0);
  row("sort", "sort_keys/uniform/r8/u64/n=20", "cpu.msd", 1e-3, 1e-3, 40000000, 12.3e-3);
  return result;
}

TEST(Demo, EveryAnswerIsRightOnEveryContext) {
  for (const named_context& named : every_context()) {
    const jobs::demo_result result = jobs::run_demo(named.ctx, tiny());
    EXPECT_EQ(result.wrong_rows(), 0U) << named.name;
    EXPECT_EQ(result.rows.size(), jobs::demo_row_count(named.ctx.backend(), tiny()));
    for (const jobs::demo_row& row : result.rows) {
      EXPECT_GT(row.seconds, 0) << row.problem;
      EXPECT_GE(row.median_seconds, row.seconds) << row.problem;
      EXPECT_GT(row.predicted_seconds, 0) << row.problem;
      EXPECT_FALSE(row.variant.empty()) << row.problem;
    }
  }
}

TEST(Demo, LeavesOutWhatABackendCannotRun) {
  const auto opengl = opengl_context();
  if (!opengl) GTEST_SKIP() << "no OpenGL device here";
  const jobs::demo_result result = jobs::run_demo(*opengl, tiny());
  EXPECT_EQ(result.wrong_rows(), 0U);
  EXPECT_LT(result.rows.size(), jobs::demo_row_count(opengl->backend(), tiny()));
  std::set<std::string> variants;
  for (const jobs::demo_row& row : result.rows) {
    variants.insert(row.variant);
    EXPECT_GT(row.predicted_seconds, 0) << row.problem;
    EXPECT_GT(row.plain_seconds, 0) << row.problem;
  }
  EXPECT_THAT(variants,
              testing::IsSupersetOf({"opengl.texture", "opengl.points", "opengl.blended", "opengl.fragments"}));
  // Which of two prepared movements is faster is measured.
  EXPECT_THAT(variants, testing::IsSubsetOf({"opengl.texture", "opengl.points", "opengl.blended", "opengl.fragments",
                                             "opengl.resident", "kept"}));
}

// A row's arrays may lie in a cache, where a copy of large arrays is no limit.
TEST(Demo, ComparesEveryRowWithACopyOfItsFootprint) {
  for (const named_context& named : every_context()) {
    const jobs::demo_result result = jobs::run_demo(named.ctx, tiny());
    EXPECT_EQ(result.limits.rates.front().footprint_bytes, std::uint64_t{1} << 16);
    EXPECT_EQ(result.limits.rates.back().footprint_bytes, std::uint64_t{1} << 18);
    for (const jobs::demo_row& row : result.rows) {
      EXPECT_GT(row.footprint_bytes, 0U) << row.problem;
      EXPECT_EQ(row.limit_bytes_per_second, result.limits.bytes_per_second(row.footprint_bytes)) << row.problem;
      EXPECT_GT(row.share(), 0) << row.problem;
    }
  }
}

TEST(Demo, TimesThePlainLoopOfEveryRowInHostMemory) {
  for (const named_context& named : every_context()) {
    const bool is_host = core::backend_of(named.ctx.backend()).uses_host_memory;
    const jobs::demo_result result = jobs::run_demo(named.ctx, tiny());
    for (const jobs::demo_row& row : result.rows) {
      EXPECT_EQ(row.plain_seconds > 0, is_host) << row.problem;
      EXPECT_EQ(row.factor() > 0, is_host) << row.problem;
    }
  }
}

TEST(CopyLimits, AreThoseOfTheFootprintOrLarger) {
  const jobs::copy_limits falling{{{64, 4e9}, {128, 3e9}, {256, 1e9}}};
  EXPECT_EQ(falling.bytes_per_second(1), 4e9);
  EXPECT_EQ(falling.bytes_per_second(64), 4e9);
  EXPECT_EQ(falling.bytes_per_second(127), 4e9);
  EXPECT_EQ(falling.bytes_per_second(128), 3e9);
  EXPECT_EQ(falling.bytes_per_second(1000), 1e9);
  const jobs::copy_limits with_a_dip{{{64, 4e9}, {128, 1e9}, {256, 2e9}}};
  EXPECT_EQ(with_a_dip.bytes_per_second(128), 2e9);
  EXPECT_EQ(with_a_dip.bytes_per_second(300), 2e9);
}

TEST(CopyLimits, AreMeasuredInPowersOfTwo) {
  for (const named_context& named : every_context()) {
    const jobs::copy_limits limits = jobs::measure_copy_limits(named.ctx, 300'000);
    std::vector<std::uint64_t> footprints;
    for (const stream_rate& rate : limits.rates) {
      footprints.push_back(rate.footprint_bytes);
      EXPECT_GT(rate.bytes_per_second, 0);
    }
    EXPECT_THAT(footprints, testing::ElementsAre(1 << 16, 1 << 17, 1 << 18, 1 << 19)) << named.name;
  }
}

TEST(Demo, CoversEveryPrimitiveFamilyByFamily) {
  const jobs::demo_result result = jobs::run_demo(context::cpu(2), tiny());
  std::set<std::string> problems;
  std::vector<std::string> families;
  for (const jobs::demo_row& row : result.rows) {
    EXPECT_TRUE(problems.insert(row.problem).second) << row.problem << " stands twice";
    if (families.empty() || families.back() != row.family) families.push_back(row.family);
  }
  const auto all_families = primitives::families();
  EXPECT_EQ(families, std::vector<std::string>(all_families.begin(), all_families.end()));
  for (const primitives::entry* const e : primitives::entries()) {
    EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), [&](const std::string& problem) {
      return problem.starts_with(std::string(e->name) + "/");
    })) << e->name;
  }
  for (const primitives::entry* const e : primitives::entries()) {
    EXPECT_EQ(e->job->prepare != nullptr, std::any_of(problems.begin(), problems.end(),
                                                      [&](const std::string& problem) {
                                                        return problem.starts_with(std::string(e->name) + "/") &&
                                                               problem.ends_with("/prepared");
                                                      }))
        << e->name;
  }
}

TEST(Demo, CoversEveryWidthAndOrderOfMovements) {
  std::set<std::string_view> samples;
  for (const primitives::entry* const e : primitives::entries()) {
    for (const jobs::sample& sample : e->job->samples) samples.insert(sample.name);
  }
  for (const char* width : {"4", "8", "16", "100", "128", "1024"}) {
    for (const char* kind : {"gather/identity", "gather/permutation", "gather/uniform", "gather/zipf",
                             "scatter/identity", "scatter/permutation"}) {
      EXPECT_TRUE(samples.contains(std::string(kind) + "/r" + width + "/u32")) << kind << width;
    }
    EXPECT_TRUE(samples.contains(std::string("scatter/uniform/r") + width + "/u32+last")) << width;
  }
}

TEST(Demo, ReportsAfterTheLimitsAndAfterEachRow) {
  jobs::demo_settings settings = tiny();
  std::vector<std::size_t> seen;
  settings.on_row = [&](const jobs::demo_result& result) {
    EXPECT_FALSE(result.limits.rates.empty());
    seen.push_back(result.rows.size());
  };
  jobs::run_demo(context::cpu(1), settings);
  ASSERT_EQ(seen.size(), jobs::demo_row_count(backend_kind::cpu, settings) + 1);
  EXPECT_EQ(seen.front(), 0U);
  EXPECT_EQ(seen.back(), jobs::demo_row_count(backend_kind::cpu, settings));
}

TEST(Demo, SeesAWrongAnswerInEveryRow) {
  jobs::demo_settings settings = tiny();
  settings.around = [](const std::function<void()>& call, const jobs::array_set& arrays) {
    call();
    const records written = arrays[jobs::places::target];
    written.data[written.record_bytes - 1] ^= std::byte{1};
  };
  const jobs::demo_result result = jobs::run_demo(context::cpu(2), settings);
  for (const jobs::demo_row& row : result.rows) EXPECT_GT(row.mistakes, 0U) << row.problem;
}

TEST(Demo, SeesCallsThatDoNothing) {
  jobs::demo_settings settings = tiny();
  settings.around = [](const std::function<void()>&, const jobs::array_set&) {};
  const jobs::demo_result result = jobs::run_demo(context::cpu(2), settings);
  EXPECT_EQ(result.wrong_rows(), result.rows.size());
}

TEST(Demo, OfAForcedVariantLeavesPreparedCallsOut) {
  jobs::demo_settings settings = tiny();
  settings.variant = "reference.serial";
  const jobs::demo_result result = jobs::run_demo(context::cpu(2), settings);
  EXPECT_EQ(result.wrong_rows(), 0U);
  for (const jobs::demo_row& row : result.rows) EXPECT_EQ(row.variant, "reference.serial") << row.problem;
}

TEST(DemoSummary, SaysWhatAFamilyHasInCommon) {
  jobs::demo_result result = made_up();
  result.rows[1].mistakes = 17;
  const std::vector<jobs::family_summary> all = jobs::summaries_of(result);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].family, "movement");
  EXPECT_EQ(all[0].rows, 2U);
  EXPECT_EQ(all[0].wrong, 1U);
  EXPECT_NEAR(all[0].most_share, 0.5, 1e-12);
  EXPECT_NEAR(all[0].least_share, 75 / 50e9, 1e-12);
  EXPECT_NEAR(all[0].most_factor, 2.5, 1e-12);
  EXPECT_NEAR(all[0].least_factor, 0.75, 1e-12);
  EXPECT_NEAR(all[0].mean_accuracy, (0.75 + 5e-6 / 4) / 2, 1e-9);
  EXPECT_EQ(all[1].family, "sort");
  EXPECT_NEAR(all[1].median_share, 0.8, 1e-12);
  EXPECT_NEAR(all[1].median_factor, 12.3, 1e-12);
  EXPECT_NEAR(all[1].mean_accuracy, 1, 1e-12);
}

TEST(DemoSummary, FactorsAreOfTheRowsThatHaveAPlainLoop) {
  jobs::demo_result result = made_up();
  result.rows[0].plain_seconds = 0;
  result.rows[2].plain_seconds = 0;
  const std::vector<jobs::family_summary> all = jobs::summaries_of(result);
  EXPECT_NEAR(all[0].median_factor, 0.75, 1e-12);
  EXPECT_NEAR(all[0].most_factor, 0.75, 1e-12);
  EXPECT_EQ(all[1].median_factor, 0);
  EXPECT_THAT(jobs::summary_table(result), HasSubstr("0.75x  (0.75x to 0.75x)"));
  EXPECT_THAT(jobs::summary_table(result), HasSubstr("not timed here"));
}

TEST(DemoSummary, IsATableThatEndsWithTheVerdict) {
  jobs::demo_result result = made_up();
  EXPECT_THAT(jobs::summary_table(result), testing::EndsWith("cpu: 3 problems, every answer is right\n"));
  EXPECT_THAT(jobs::summary_table(result),
              HasSubstr("sort                1      1      0     80 %  (80 to 80 %)          12x  (12x to 12x)"));
  result.rows[0].mistakes = 1;
  EXPECT_THAT(jobs::summary_table(result), testing::EndsWith("cpu: 3 problems, 1 of them answered wrong\n"));
}

class LastWriterCheck : public testing::Test {
 protected:
  static constexpr std::uint64_t count = 5000;
  static constexpr std::uint64_t indexed_count = 3000;
  static constexpr std::uint64_t record_bytes = 12;
  const context ctx = context::cpu(2);
  std::vector<std::uint32_t> index = std::vector<std::uint32_t>(count);
  std::vector<std::byte> in = std::vector<std::byte>(count * record_bytes);
  std::vector<std::byte> out = std::vector<std::byte>(indexed_count * record_bytes);

  void SetUp() override {
    inputs::fill_index(ctx, {inputs::pattern_kind::uniform, 0, 1}, indexed_count,
                       index_span(std::span<const std::uint32_t>(index)));
    inputs::fill_records(ctx, records(in.data(), count, record_bytes), 1);
    inputs::fill_records(ctx, records(out.data(), indexed_count, record_bytes), 2);
  }
  void write(std::uint64_t i) {
    std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(i * record_bytes), record_bytes,
                out.begin() + static_cast<std::ptrdiff_t>(index[i] * record_bytes));
  }
  std::uint64_t mismatches() const {
    return jobs::count_last_writer_mismatches(ctx, const_records(out.data(), indexed_count, record_bytes),
                                              index_span(std::span<const std::uint32_t>(index)), 1, 2);
  }
};

TEST_F(LastWriterCheck, AcceptsTheLastWriter) {
  for (std::uint64_t i = 0; i < count; ++i) write(i);
  EXPECT_EQ(mismatches(), 0U);
}

TEST_F(LastWriterCheck, RefusesTheFirstWriter) {
  for (std::uint64_t i = count; i > 0; --i) write(i - 1);
  const std::set<std::uint32_t> named(index.begin(), index.end());
  std::set<std::uint32_t> twice;
  std::set<std::uint32_t> seen;
  for (const std::uint32_t place : index) {
    if (!seen.insert(place).second) twice.insert(place);
  }
  EXPECT_EQ(mismatches(), twice.size());
}

TEST_F(LastWriterCheck, RefusesAChangedRecordThatNobodyWrites) {
  for (std::uint64_t i = 0; i < count; ++i) write(i);
  const std::set<std::uint32_t> named(index.begin(), index.end());
  std::uint32_t untouched = 0;
  while (named.contains(untouched)) ++untouched;
  ASSERT_LT(untouched, indexed_count);
  out[untouched * record_bytes + 11] ^= std::byte{1};
  EXPECT_EQ(mismatches(), 1U);
}

TEST(DemoReport, StandsAlone) {
  const std::string page = jobs::demo_page({made_up()});
  for (const char* outside : {"http:", "https:", "src=", "href=", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(page, testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, testing::EndsWith("</html>\n"));
}

TEST(DemoReport, ShowsMachineVersionsAndRows) {
  const std::string page = jobs::demo_page({made_up()});
  EXPECT_THAT(page, HasSubstr("A &lt;fast&gt; &amp; &quot;cheap&quot; one"));
  EXPECT_THAT(page, HasSubstr("3 threads"));
  EXPECT_THAT(page, HasSubstr("50.0 GB/s in 512 MiB, 200.0 GB/s in 64 KiB"));
  EXPECT_THAT(page, HasSubstr("rates kept as &lt;profiles&gt;"));
  EXPECT_THAT(page, HasSubstr("sheaf " SHEAF_VERSION));
  EXPECT_THAT(page, HasSubstr("3 problems, every answer is right"));
  EXPECT_THAT(page, HasSubstr("gather/identity"));
  EXPECT_THAT(page, HasSubstr("cpu.owner"));
  EXPECT_THAT(page, HasSubstr("50 % of the limit"));
  EXPECT_THAT(page, HasSubstr("2.000 ms"));
  EXPECT_THAT(page, HasSubstr("4.000 s"));
  EXPECT_THAT(page, HasSubstr("5.0 us"));
}

TEST(DemoReport, BeginsWithWhatMattersOfEachFamilyAndFoldsTheRows) {
  const std::string page = jobs::demo_page({made_up()});
  const std::string first = page.substr(0, page.find("<details>"));
  ASSERT_LT(first.size(), page.size());
  EXPECT_THAT(first, HasSubstr("<td>sort</td><td class=\"n\">1 of 1</td><td class=\"n\">80 %</td>"));
  EXPECT_THAT(first,
              HasSubstr("<td class=\"n\">12x</td><td class=\"range\">12x to 12x</td><td class=\"n\">100 %</td>"));
  EXPECT_THAT(first, HasSubstr("<td>movement</td><td class=\"n\">2 of 2</td>"));
  EXPECT_THAT(first, HasSubstr("<td class=\"range\">0.75x to 2.50x</td>"));
  EXPECT_THAT(first, HasSubstr("The plain loop is what one would write by hand"));
  EXPECT_THAT(first, Not(HasSubstr("<td>gather/identity")));
  const std::string folded = page.substr(first.size());
  EXPECT_THAT(folded, HasSubstr("<summary>All 3 problems</summary>"));
  EXPECT_THAT(folded, HasSubstr("gather/identity/r4/u32/n=10"));
  EXPECT_THAT(folded, HasSubstr("5.000 ms"));
  EXPECT_THAT(folded, HasSubstr("2.50x"));
}

TEST(DemoReport, HasACardOfTheMachineAndPlotsOfItsRates) {
  jobs::demo_result result = made_up();
  machine& m = result.known;
  m.cache_levels = {32 << 10, 8 << 20};
  m.memory_bytes = std::uint64_t{16} << 30;
  m.access_seconds = 90e-9;
  m.launch_seconds = 3e-6;
  for (const std::uint64_t width : {4, 8, 100}) {
    for (std::uint64_t footprint = 1 << 15; footprint <= 1 << 25; footprint *= 2)
      m.random_read.push_back({footprint, width, 1e9});
  }
  m.random_write = {{1 << 20, 8, 2e8}};
  const std::string page = jobs::demo_page({result});
  EXPECT_THAT(page, HasSubstr("<dt>Runs on</dt><dd>3 threads</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>Memory</dt><dd>16 GiB</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>Caches</dt><dd>32 KiB, 8 MiB</dd>"));
  EXPECT_THAT(page, HasSubstr("<dd>1000 million records of 8 bytes a second in 32 MiB, 8 GB/s</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>Latency</dt><dd>90 ns a read</dd>"));
  EXPECT_THAT(page, HasSubstr("<dd>rates kept as &lt;profiles&gt;; 58 % accurate in the mean</dd>"));
  const auto count = [&](const std::string& part) {
    std::size_t times = 0;
    for (std::size_t at = page.find(part); at != page.npos; at = page.find(part, at + 1)) ++times;
    return times;
  };
  EXPECT_EQ(count("<svg class=\"plot\""), 3U);
  EXPECT_EQ(count("role=\"img\" aria-label=\"Random reads: GB/s by footprint"), 1U);
  EXPECT_EQ(count("<polyline class=\"curve s0\""), 1U) << "4 bytes: reads";
  EXPECT_EQ(count("<polyline class=\"curve s1\""), 2U) << "8 bytes: reads and writes";
  EXPECT_EQ(count("<circle class=\"point\""), result.rows.size());
  EXPECT_THAT(page, HasSubstr("1 of 3 calls within a factor of 1.25"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, Not(HasSubstr("inf\"")));
}

TEST(DemoReport, DoesNotShowAnotherMachinesRatesAsThisOnes) {
  jobs::demo_result result = made_up();
  result.known.memory_bytes = std::uint64_t{16} << 30;
  result.known.random_read = {{1 << 15, 8, 1e9}, {1 << 20, 8, 1e8}};
  result.is_of_this_machine = false;
  result.rates.doubts = {"It could not be <measured>."};
  result.rows.erase(result.rows.begin());
  result.rows.pop_back();
  const std::string page = jobs::demo_page({result});
  EXPECT_THAT(page, Not(HasSubstr("16 GiB")));
  EXPECT_THAT(page, Not(HasSubstr("Random reads")));
  EXPECT_THAT(page, HasSubstr("<p class=\"note\">It could not be &lt;measured&gt;.</p>"));
  const std::string note =
      "Predictions were 0 % accurate in the mean, because they are made from rates of another machine, generic CPU.";
  EXPECT_THAT(page, HasSubstr("<p class=\"note\">" + note + "</p>"));
  EXPECT_THAT(jobs::summary_table(result), HasSubstr("\n" + note + "\ncpu: 1 problems"));
}

TEST(DemoReport, SaysWhereThisMachinesOwnPredictionsAreFarOff) {
  jobs::demo_result result = made_up();
  EXPECT_EQ(jobs::accuracy_note(result), "");
  result.rows[2].predicted_seconds *= 2;
  EXPECT_THAT(jobs::accuracy_note(result), HasSubstr("25 % accurate in the mean, far less than on an idle machine"));
  EXPECT_THAT(jobs::accuracy_note(result), HasSubstr("Without the file of rates"));
  result.known.source = "shipped";
  EXPECT_THAT(jobs::accuracy_note(result), HasSubstr("sheaf machine --calibrate measures this machine."));
  result.is_software = true;
  EXPECT_THAT(jobs::accuracy_note(result), HasSubstr("a renderer in software shares the CPU"));
  result.rows.clear();
  EXPECT_EQ(jobs::accuracy_note(result), "");
}

TEST(DemoReport, HasRenderersInSoftwareLastAndApart) {
  jobs::demo_result software = made_up();
  software.backend = "opengl";
  software.device = "llvmpipe";
  software.is_software = true;
  const std::string page = jobs::demo_page({software, made_up()});
  const std::size_t heading = page.find("<h2>Renderers in software</h2>");
  ASSERT_NE(heading, page.npos);
  EXPECT_LT(page.find("<h2>cpu: "), heading);
  EXPECT_GT(page.find("<h3>opengl: llvmpipe, a renderer in software, on the CPU</h3>"), heading);
  EXPECT_THAT(page, HasSubstr("6 problems, every answer is right"));
  EXPECT_THAT(jobs::demo_page({made_up()}), Not(HasSubstr("Renderers in software")));
}

TEST(DemoReport, SaysWhereNoPlainLoopIsTimed) {
  jobs::demo_result result = made_up();
  for (jobs::demo_row& row : result.rows) row.plain_seconds = 0;
  const std::string page = jobs::demo_page({result});
  EXPECT_THAT(page, HasSubstr("No plain loop is timed in this memory"));
  EXPECT_THAT(page, HasSubstr("not timed"));
  EXPECT_THAT(page, Not(HasSubstr("0.00x")));
}

TEST(DemoReport, LeavesOutWhatIsNotKnown) {
  jobs::demo_result result = made_up();
  result.limits.rates.clear();
  result.threads = 1;
  const std::string page = jobs::demo_page({result});
  EXPECT_EQ(jobs::limit_text(result.limits), "not measured");
  EXPECT_THAT(page, HasSubstr("not measured"));
  EXPECT_THAT(page, Not(HasSubstr("threads")));
}

TEST(DemoReport, ShowsWhatIsWrong) {
  jobs::demo_result result = made_up();
  result.rows[1].mistakes = 17;
  const std::string page = jobs::demo_page({result});
  EXPECT_THAT(page, HasSubstr("<span class=\"wrong\">3 problems, 1 of them answered wrong</span>"));
  EXPECT_THAT(page, HasSubstr("17 wrong"));
  EXPECT_THAT(page, HasSubstr("<span class=\"wrong\">1 of 2</span>"));
  EXPECT_THAT(page, HasSubstr("<details open>"));
}

TEST(DemoReport, IsWrittenWholeOrNotAtAll) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "sheaf_demo_report";
  std::filesystem::remove_all(folder);
  const std::string path = folder / "index.html";
  EXPECT_THAT(message_of(error_code::io_failure, [&] { jobs::write_demo_page({made_up()}, path); }), HasSubstr(path));
  std::filesystem::create_directory(folder);
  jobs::write_demo_page({made_up()}, path);
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), jobs::demo_page({made_up()}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator{}), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_demo_run_test
