#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/cli_test.hpp"
#include "support/npy_file.hpp"

// `sheaf plan --like SUBCOMMAND ARGUMENTS`: what a subcommand would do with the files at hand.
namespace sheaf::tests::apps_sheaf_subcommands_plan_like_test {
namespace {

template <class T, class Function>
std::string numbers(std::uint64_t count, Function number) {
  std::vector<T> list(count);
  for (std::uint64_t i = 0; i < count; ++i) list[i] = static_cast<T>(number(i));
  return bytes_of(list);
}

std::string reversed_numbers(std::string data, std::size_t width) {
  for (std::size_t at = 0; at < data.size(); at += width) {
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(at),
                 data.begin() + static_cast<std::ptrdiff_t>(at + width));
  }
  return data;
}

// An .npy file whose header says that the first axis runs fastest.
std::string fortran_file(std::string_view descr, std::string_view shape, std::string_view data) {
  std::string header = fmt::format("{{'descr': {}, 'fortran_order': True, 'shape': {}, }}", descr, shape);
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  return npy_file(1, header + "\n", data);
}

/// A folder of inputs for every subcommand.
class CliPlanLike : public cli_test {
 protected:
  void fill_folder() override {
    const auto any = [](std::uint64_t below) { return [below](std::uint64_t i) { return i * 7919 % below; }; };
    const std::string floats = numbers<float>(3000, any(1013));
    folder.write("table.npy", npy_file("'<f4'", "(1000, 3)", floats));
    folder.write("columns.npy", fortran_file("'<f4'", "(1000, 3)", floats));
    folder.write("raw.bin", numbers<std::uint8_t>(2'000'000, any(251)));
    folder.write("index.npy", npy_file("'<i8'", "(5000,)", numbers<std::int64_t>(5000, any(1000))));
    folder.write("big.npy", npy_file("'>i4'", "(5000,)", reversed_numbers(numbers<std::int32_t>(5000, any(1000)), 4)));
    folder.write("narrow.npy", npy_file("'|u1'", "(5000,)", numbers<std::uint8_t>(5000, any(250))));
    folder.write("rows.npy", npy_file("'<f4'", "(5000, 3)", numbers<float>(15000, any(1013))));
    folder.write("of.npy", npy_file("'|u1'", "(1000,)", numbers<std::uint8_t>(1000, any(5))));
    folder.write("first.npy", npy_file("'<i8'", "(1001,)", numbers<std::int64_t>(1001, [](auto i) { return 2 * i; })));
    folder.write("each.npy", npy_file("'<u2'", "(2000,)", numbers<std::uint16_t>(2000, any(7))));
    folder.write("list.npy", npy_file("'<i4'", "(1000,)", numbers<std::int32_t>(1000, [](auto i) {
                                        return i == 999 ? -1 : static_cast<std::int64_t>(i) + 1;
                                      })));
    folder.write("values.npy", npy_file("'<f8'", "(1000,)", numbers<double>(1000, any(97))));
    folder.write("keys.npy", npy_file("'<i8'", "(500,)", numbers<std::int64_t>(500, any(900))));
    folder.write("keyed.npy", npy_file("'<i8'", "(1000,)", numbers<std::int64_t>(1000, any(700))));
    folder.write("ends.npy", npy_file("'<u4'", "(4000, 2)", numbers<std::uint32_t>(8000, any(1000))));
    folder.write("nodes.npy", npy_file("'<f8'", "(1000, 2)", numbers<double>(2000, any(1009))));
    folder.write("weights.npy", npy_file("'<f8'", "(4000,)", numbers<double>(4000, any(3))));
    folder.write("triangle.su2", "NDIME= 2\nNELEM= 1\n5 0 1 2\nNPOIN= 3\n0 0\n1 0\n0 1\nNMARK= 0\n");
    folder.write("x.npy", npy_file("'<f8'", "(200,)", numbers<double>(200, any(5))));
    folder.write("dense.npy", npy_file("'<f8'", "(200, 3)", numbers<double>(600, any(5))));
    std::string springs = "%%MatrixMarket matrix coordinate real symmetric\n200 200 399\n";
    for (int i = 1; i <= 200; ++i) springs += fmt::format("{} {} 2\n", i, i);
    for (int i = 1; i < 200; ++i) springs += fmt::format("{} {} -1\n", i + 1, i);
    folder.write("springs.mtx", springs);
  }

  nlohmann::json document_of(const std::string& arguments) {
    const program_result result = run_sheaf(folder, arguments + " --json");
    EXPECT_EQ(result.code, 0) << arguments << "\n" << result.err;
    EXPECT_EQ(result.err, "") << arguments;
    return result.code == 0 ? nlohmann::json::parse(result.out) : nlohmann::json::object();
  }
};

/// A command line without its output, and the output.
struct sample {
  std::string arguments;
  std::string output;
};

std::vector<sample> samples() {
  return {
      {"gather table.npy index.npy", "-o out.npy"},
      {"gather columns.npy big.npy --pattern random", "-o out.npy"},
      {"gather raw.bin narrow.npy --record-bytes 5 --threads 1", "-o out.bin"},
      {"gather table.npy index.npy --backend reference", "-o out.npy"},
      {"gather table.npy index.npy --variant reference.serial --runs 2", "-o out.npy"},
      {"scatter rows.npy index.npy --table 1000", "-o out.npy"},
      {"scatter rows.npy big.npy --into table.npy --duplicates any --memory 1G", "-o out.npy"},
      {"reduce rows.npy index.npy --table 1000", "-o out.npy"},
      {"reduce rows.npy big.npy --into table.npy --op max", "-o out.npy"},
      {"split table.npy --keys of.npy --categories 5", "-o out.npy"},
      {"split table.npy --bits 3:90", "-o out.npy"},
      {"split columns.npy --bits 0:11 --unstable --offsets offsets.npy", "-o out.npy"},
      {"split --keys keys.npy --bits 0:10 --index gather", "-o out.npy"},
      {"split --keys keys.npy --bits 0:10 --index scatter --output-type i64", "-o out.npy"},
      {"split table.npy --row-offsets first.npy --keys each.npy --categories 7", "-o out.npy"},
      {"split --row-offsets first.npy --keys each.npy --categories 7 --index gather", "-o out.npy"},
      {"multi-split table.npy --row-offsets first.npy --keys each.npy --categories 7", "-o out.npy"},
      {"multi-split --row-offsets first.npy --keys each.npy --categories 7", "--sources out.npy"},
      {"sort table.npy --key 0:4:f", "-o out.npy"},
      {"sort columns.npy --key 4:4:f:desc --index gather", "-o out.npy"},
      {"sort values.npy --memory 64M", "-o out.npy"},
      {"sort raw.bin --record-bytes 100 --key 0:10 --memory 1M", "-o out.bin"},
      {"sort raw.bin --record-bytes 100 --key 0:10 --memory 1M --index gather", "-o out.bin"},
      {"rank list.npy", "-o out.npy"},
      {"rank list.npy --output-type i64 --lists many --pattern sequential", "-o out.npy"},
      {"scan list.npy values.npy", "-o out.npy"},
      {"scan list.npy values.npy --op max --exclusive-from 0", "-o out.npy"},
      {"search keys.npy keyed.npy", "-o out"},
      {"search keys.npy keyed.npy --matches first", "-o out"},
      {"search keys.npy keyed.npy --matches count --variant cpu.direct", "-o out"},
      {"search keys.npy keyed.npy --load 30 --runs 2", "-o out"},
      {"spmv springs.mtx x.npy", "-o out.npy"},
      {"spmv springs.mtx --value-type f32 --transposed", "-o out.npy"},
      {"spmv springs.mtx --transposed --order unordered", "-o out.npy"},
      {"spmv springs.mtx --transposed --order unordered --runs 10", "-o out.npy"},
      {"spmv springs.mtx x.npy --runs 10", "-o out.npy"},
      {"spmv springs.mtx --runs 3 --backend reference", "-o out.npy"},
      {"spmv springs.mtx --runs 3 --variant reference.serial", "-o out.npy"},
      {"spmm springs.mtx dense.npy", "-o out.npy"},
      {"spmm springs.mtx dense.npy --transposed --value-type f32", "-o out.npy"},
      {"spmm springs.mtx dense.npy --transposed --order unordered", "-o out.npy"},
      {"solve springs.mtx", "-o out.npy"},
      {"solve springs.mtx x.npy --jacobi", "-o out.npy"},
      {"edges ends.npy nodes.npy --runs 1", "-o out.npy"},
      {"edges ends.npy nodes.npy --weights weights.npy --runs 15 --function weighted_difference", "-o out.npy"},
      {"edges triangle.su2 --runs 3", "-o out.npy"},
      {"edges ends.npy nodes.npy --runs 2 --variant reference.serial", "-o out.npy"},
      {"npb-cg S", ""},
      {"npb-cg S --value-type f32 --threads 1", ""},
  };
}

TEST_F(CliPlanLike, SaysWhatTheSubcommandThenReportsAndWritesNothing) {
  for (const sample& each : samples()) {
    const std::string line =
        each.arguments.find("--backend") == std::string::npos ? each.arguments + " --backend cpu" : each.arguments;
    const std::size_t files = folder.count();
    const auto plan = document_of("plan --like " + line);
    const auto with_output = document_of("plan --like " + line + " " + each.output);
    EXPECT_EQ(folder.count(), files) << line;
    EXPECT_EQ(plan["variant"], with_output["variant"]) << line;
    const auto report = document_of(line + " " + each.output);
    const std::string name = line.substr(0, line.find(' '));
    EXPECT_EQ(plan["command"], "plan") << line;
    EXPECT_EQ(plan["like"], name);
    EXPECT_FALSE(plan["variant"].is_null()) << line;
    EXPECT_EQ(plan["variant"], report["variant"]) << line;
    ASSERT_TRUE(report.contains("predicted_seconds")) << line;
    EXPECT_EQ(plan.value("predicted_iteration_seconds", nlohmann::json()),
              report.value("predicted_iteration_seconds", nlohmann::json()))
        << line;
    if (name != "solve") {
      EXPECT_EQ(plan["predicted_seconds"], report["predicted_seconds"]) << line;
    }
    for (const char* const same : {"backend", "threads", "machine"}) EXPECT_EQ(plan[same], report[same]) << line;
    if (name == "sort") {
      for (const char* const same : {"sorted_runs", "merge_levels", "predicted_seconds"})
        EXPECT_EQ(plan[same], report[same]) << line;
    }
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(std::string(folder / ".")))) {
      if (entry.path().filename().string().starts_with("out")) std::filesystem::remove(entry.path());
    }
    std::filesystem::remove(std::string(folder / "offsets.npy"));
  }
}

TEST_F(CliPlanLike, PrintsTheTableOfPlanWithWhatWasDecided) {
  const std::string split = run_sheaf(folder, "plan --like split table.npy --bits 0:16 --backend cpu").out;
  const std::string same = run_sheaf(folder, "plan split --count 1000 --record-bytes 12 --bits 0:16 --backend cpu").out;
  EXPECT_TRUE(split.starts_with(same)) << split << "\nis not\n" << same;
  EXPECT_NE(split.find("; decided: passes 2, digit bits 8, parts "), std::string::npos) << split;
  EXPECT_TRUE(split.ends_with("\n")) << split;
  EXPECT_NE(split.find("\nread: headers and sizes alone\nsheaf split: runs cpu.buffered, predicted "),
            std::string::npos)
      << split;
  const auto document = document_of("plan --like split table.npy --bits 0:16 --backend cpu");
  for (const auto& variant : document["variants"]) {
    if (variant["variant"] != "cpu.buffered") continue;
    EXPECT_EQ(variant["decided"]["passes"], 2) << variant;
    EXPECT_EQ(variant["decided"]["digit_bits"], 8) << variant;
    EXPECT_TRUE(variant["decided"]["streams"].is_boolean()) << variant;
  }
}

TEST_F(CliPlanLike, TakesOptionsInFrontAndAnEqualsSign) {
  const auto plain = document_of("plan --like gather table.npy index.npy --backend cpu --threads 1");
  EXPECT_EQ(plain, document_of("plan --backend cpu --threads 1 --like gather table.npy index.npy"));
  EXPECT_EQ(plain, document_of("plan --backend cpu --like=gather table.npy --threads 1 index.npy"));
  EXPECT_EQ(plain["pattern"], "unknown");
  EXPECT_TRUE(plain["variants"][1].contains("seconds_in_order")) << plain;
  const auto random = document_of("plan --like gather table.npy index.npy --backend cpu --pattern random");
  EXPECT_EQ(random["pattern"], "random");
  EXPECT_FALSE(random["variants"][1].contains("seconds_in_order")) << random;
  const program_result help = run_sheaf(folder, "plan --like gather --help");
  // A plan writes nothing, so that -o may be left out.
  std::string help_of_run = run_sheaf(folder, "gather --help").out;
  const std::string_view required = " (required)";
  const std::size_t at = help_of_run.find(required, help_of_run.find("-o, --output"));
  ASSERT_NE(at, std::string::npos);
  help_of_run.erase(at, required.size());
  EXPECT_EQ(help.out, help_of_run);
  EXPECT_EQ(help.out.find("--plan-only"), std::string::npos);
  const program_result quiet = run_sheaf(folder, "plan --like gather table.npy index.npy --quiet");
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(CliPlanLike, ErrorsAreThoseOfTheSubcommand) {
  for (const std::string arguments : {"gather table.npy missing.npy -o out.npy",
                                      "gather raw.bin index.npy -o out.npy",
                                      "gather table.npy index.npy -o index.npy",
                                      "gather table.npy index.npy -o none/out.npy",
                                      "gather table.npy nodes.npy -o out.npy",
                                      "gather table.npy index.npy -o out.npy --pattern nonsense",
                                      "gather table.npy -o out.npy",
                                      "gather table.npy index.npy -o out.npy --nonsense",
                                      "scatter rows.npy of.npy --table 9 -o out.npy",
                                      "split table.npy -o out.npy",
                                      "split table.npy --bits 0:97 -o out.npy",
                                      "split table.npy --keys index.npy --categories 3 -o out.npy",
                                      "sort table.npy -o out.npy",
                                      "sort table.npy --key 0:4:f --memory 1K -o out.npy",
                                      "rank table.npy -o out.npy",
                                      "scan list.npy x.npy -o out.npy",
                                      "search table.npy keyed.npy -o out",
                                      "spmv springs.mtx values.npy -o out.npy",
                                      "spmv table.npy -o out.npy",
                                      "solve springs.mtx keys.npy -o out.npy",
                                      "edges ends.npy -o out.npy",
                                      "edges ends.npy nodes.npy --weights x.npy -o out.npy",
                                      "npb-cg D"}) {
    const program_result own = run_sheaf(folder, arguments);
    const program_result planned = run_sheaf(folder, "plan --like " + arguments);
    EXPECT_NE(own.code, 0) << arguments;
    EXPECT_EQ(planned.code, own.code) << arguments;
    EXPECT_EQ(planned.err, own.err) << arguments;
    EXPECT_EQ(planned.out, "") << arguments;
  }
  expect_failure("plan --like sort table.npy --key 0:4:f --check", 2,
                 "sheaf sort: --check sorts nothing that could be planned");
}

TEST_F(CliPlanLike, RefusesWhatIsNotPlanned) {
  const std::string help = "\nTry: sheaf plan --help";
  const std::string names =
      " is not a subcommand that is planned; there are gather, scatter, reduce, split, multi-split, sort, search, "
      "rank, scan, spmv, spmm, edges, solve, npb-cg";
  expect_failure("plan --like machine", 2, "sheaf plan: --like: 'machine'" + names + help);
  expect_failure("plan --like nonsense", 2, "sheaf plan: --like: 'nonsense'" + names + help);
  expect_failure("plan --like plan", 2, "sheaf plan: --like: 'plan'" + names + help);
  expect_failure("plan --like", 2, "sheaf plan: --like needs a value: SUBCOMMAND" + help);
  expect_failure("plan gather --like scatter", 2, "sheaf plan: PRIMITIVE excludes --like" + help);
  expect_failure("plan", 2, "sheaf plan: PRIMITIVE is required" + help);
}

// Inputs that have more bytes than there is memory, none of which are on the disk.
TEST_F(CliPlanLike, ReadsNoMoreThanHeaders) {
  const auto write_sparse = [&](const char* name, const std::string& header, std::uint64_t bytes) {
    folder.write(name, header);
    std::filesystem::resize_file(std::string(folder / name), header.size() + bytes);
  };
  constexpr std::uint64_t count = std::uint64_t{1} << 36;
  const auto header = [&](const char* descr, const std::string& shape) { return npy_file(descr, shape, ""); };
  write_sparse("long.npy", header("'>u2'", fmt::format("({},)", count)), 2 * count);
  write_sparse("wide.npy", fortran_file("'<f8'", fmt::format("({}, 4)", count), ""), 32 * count);
  write_sparse("firsts.npy", header("'<i4'", fmt::format("({},)", count + 1)), 4 * (count + 1));
  for (const std::string arguments :
       {"gather wide.npy long.npy", "scatter wide.npy long.npy --table 9", "split wide.npy --bits 0:8",
        "split wide.npy --keys long.npy --categories 7", "split --row-offsets firsts.npy --keys of.npy --categories 7",
        "multi-split --row-offsets firsts.npy --keys long.npy --categories 7",
        "sort wide.npy --key 0:8:f --memory 1G"}) {
    const auto plan = document_of("plan --like " + arguments + " --backend cpu --threads 1");
    EXPECT_EQ(plan["read"], nlohmann::json::array()) << arguments;
  }
}

TEST_F(CliPlanLike, SaysWhatItRead) {
  const auto read = [&](const std::string& arguments) { return document_of("plan --like " + arguments)["read"]; };
  using list = std::vector<std::string>;
  EXPECT_EQ(read("search keys.npy keyed.npy --backend cpu"), list{"keyed.npy"});
  EXPECT_EQ(read("spmv springs.mtx x.npy --backend cpu"), list{"springs.mtx"});
  EXPECT_EQ(read("solve springs.mtx x.npy --backend cpu"), list{"springs.mtx"});
  EXPECT_EQ(read("edges triangle.su2 --backend cpu"), list{"triangle.su2"});
  EXPECT_EQ(read("edges ends.npy nodes.npy --backend cpu"), list{});
  EXPECT_EQ(read("npb-cg S --backend cpu"), list{});
  folder.write(
      "b.mtx", "%%MatrixMarket matrix array real general\n200 1\n" + [] {
        std::string lines;
        for (int i = 0; i < 200; ++i) lines += "1\n";
        return lines;
      }());
  EXPECT_EQ(read("solve springs.mtx b.mtx --backend cpu"), (list{"springs.mtx", "b.mtx"}));
  const std::string shown = run_sheaf(folder, "plan --like search keys.npy keyed.npy --backend cpu").out;
  EXPECT_NE(shown.find("\nbuild_hash_index: 1000 records of keyed.npy, 700 distinct keys of 8 bytes"),
            std::string::npos)
      << shown;
  EXPECT_NE(shown.find("\nthe index was built, because a search is planned by it\nread: all of keyed.npy\n"),
            std::string::npos)
      << shown;
}

TEST_F(CliPlanLike, HasThePlansOfAllCalls) {
  const auto edges = document_of("plan --like edges ends.npy nodes.npy --runs 1000 --backend cpu");
  EXPECT_EQ(edges["primitive"], "prepare_edge_sum");
  EXPECT_EQ(edges["runs"], 1000);
  ASSERT_EQ(edges["other_calls"].size(), 1U);
  EXPECT_EQ(edges["other_calls"][0]["primitive"], "edge_sum");
  for (const auto& variant : edges["variants"]) {
    if (!variant["chosen"].get<bool>()) continue;
    EXPECT_EQ(variant["decided"]["run_seconds"], edges["predicted_seconds"]);
  }
  const auto product = document_of("plan --like spmv springs.mtx --runs 1000 --backend cpu");
  EXPECT_EQ(product["primitive"], "prepare_spmv");
  EXPECT_EQ(product["other_calls"][0]["primitive"], "spmv");
  EXPECT_EQ(document_of("plan --like spmv springs.mtx --backend cpu")["other_calls"].size(), 0U);
}

TEST_F(CliPlanLike, SaysSoWhereNothingCanRun) {
  // Buffers that do not fit are the subcommand's own error, and no plan.
  expect_failure("plan --like split table.npy --bits 0:8 --memory 1 --backend cpu", 5,
                 "sheaf split: --memory allows 1 bytes, but buffers need 12000: the result 12000");
  const std::string split = "plan --like split table.npy --bits 0:8 --memory 12001 --backend cpu";
  const program_result shown = run_sheaf(folder, split);
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(shown.out.ends_with("\nsheaf split: would fail, because no variant can run this\n")) << shown.out;
  const auto document = document_of(split);
  EXPECT_TRUE(document["variant"].is_null());
  EXPECT_TRUE(document["predicted_seconds"].is_null());
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_plan_like_test
