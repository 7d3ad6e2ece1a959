// Work of the command on ranks that are threads of this process, as those of --devices are; here they work on the CPU.
#include "apps/sheaf/ranks/devices.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <sheaf/distributed/gather.hpp>

#include "apps/sheaf/ranks/input_part.hpp"
#include "apps/sheaf/ranks/movements.hpp"
#include "apps/sheaf/ranks/process.hpp"
#include "apps/sheaf/ranks/splits.hpp"
#include "apps/sheaf/ranks/systems.hpp"
#include "support/cli_test.hpp"
#include "support/expect_error.hpp"
#include "support/npy_file.hpp"

namespace sheaf::tests::apps_sheaf_ranks_devices_test {
namespace {

using cli::rank_threads;
using distributed::group;
using testing::HasSubstr;

constexpr int numbers_of_ranks[] = {1, 2, 3, 5};
constexpr std::uint64_t record_bytes = 13;
constexpr std::uint64_t record_count = 2011;
constexpr std::uint64_t category_count = 37;

rank_threads threads_on_the_cpu(int ranks) {
  return
      [ranks](const std::function<void(const group&)>& work) { distributed::run_in_one_process(ranks, 1, {}, work); };
}

/// A symmetric matrix, positive definite by its diagonal, of the points of a square.
std::string grid_matrix(std::uint64_t side) {
  std::string entries;
  std::uint64_t count = 0;
  const auto add = [&](std::uint64_t row, std::uint64_t column, double value) {
    entries += fmt::format("{} {} {}\n", row + 1, column + 1, value);
    ++count;
  };
  for (std::uint64_t point = 0; point < side * side; ++point) {
    add(point, point, 4 + 0.001 * static_cast<double>(point % 7));
    if (point + side < side * side) add(point + side, point, -0.75);
    if ((point + 1) % side != 0) add(point + 1, point, -0.9);
  }
  return fmt::format("%%MatrixMarket matrix coordinate real symmetric\n{0} {0} {1}\n", side * side, count) + entries;
}

class WorkOnThreads : public cli_test {
 protected:
  void fill_folder() override {
    std::mt19937_64 random(7);
    std::string rows;
    std::vector<std::uint32_t> index;
    std::vector<std::uint16_t> categories;
    for (std::uint64_t i = 0; i < record_count; ++i) {
      const auto key = static_cast<std::uint32_t>(random() % 50);
      rows += std::string(reinterpret_cast<const char*>(&key), 4) + std::string(reinterpret_cast<const char*>(&i), 8) +
              static_cast<char>(i % 7);
      index.push_back(static_cast<std::uint32_t>(random() % record_count));
      categories.push_back(static_cast<std::uint16_t>(random() % category_count));
    }
    folder.write("in.bin", rows);
    folder.write("index.bin", bytes_of(index));
    index[1211] = record_count + 4;
    folder.write("bad.bin", bytes_of(index));
    folder.write("of.npy", npy_file("'<u2'", "(2011,)", bytes_of(categories)));
    std::vector<std::int32_t> numbers;
    for (std::uint64_t i = 0; i < record_count; ++i)
      numbers.push_back(static_cast<std::int32_t>(random()));  // of the other order of bytes they are as random
    folder.write("numbers.npy", npy_file("'>i4'", "(2011,)", bytes_of(numbers)));
    folder.write("grid.mtx", grid_matrix(27));
    std::vector<double> x;
    for (std::uint64_t i = 0; i < 27 * 27; ++i) x.push_back(static_cast<double>(random() % 1000) / 7 - 60);
    folder.write("x.npy", npy_file("'<f8'", "(729,)", bytes_of(x)));
    quiet.quiet = true;
  }

  std::string by_the_command(const std::string& arguments, const std::string& output) {
    expect_success(arguments + " --quiet --backend cpu -o " + output);
    return folder.read(output);
  }

  cli::common_options quiet;
};

TEST_F(WorkOnThreads, SortsAsOneProcessDoes) {
  const std::string records = by_the_command("sort in.bin --record-bytes 13 --key 0:4:u:desc", "expected.bin");
  const std::string numbers = by_the_command("sort numbers.npy", "expected.npy");
  for (const int ranks : numbers_of_ranks) {
    SCOPED_TRACE(ranks);
    cli::sort_on_ranks({quiet, folder / "in.bin", folder / "out.bin", {"0:4:u:desc"}, record_bytes, false},
                       threads_on_the_cpu(ranks));
    EXPECT_EQ(folder.read("out.bin"), records);
    cli::sort_on_ranks({quiet, folder / "numbers.npy", folder / "out.npy", {}, 0, false}, threads_on_the_cpu(ranks));
    EXPECT_EQ(folder.read("out.npy"), numbers);
  }
}

TEST_F(WorkOnThreads, GathersAsOneProcessDoesAndNamesTheBadIndex) {
  const std::string expected =
      by_the_command("gather in.bin index.bin --record-bytes 13 --index-type u32", "expected.bin");
  cli::movement_options options;
  options.common = quiet;
  options.records_path = folder / "in.bin";
  options.output = folder / "out.bin";
  options.record_bytes = record_bytes;
  options.index_kind = index_type::u32;
  for (const int ranks : numbers_of_ranks) {
    SCOPED_TRACE(ranks);
    options.index = folder / "index.bin";
    cli::gather_on_ranks(options, threads_on_the_cpu(ranks));
    EXPECT_EQ(folder.read("out.bin"), expected);
    folder.write("out.bin", "of before");
    const std::size_t files = folder.count();
    options.index = folder / "bad.bin";
    expect_error(error_code::bad_index, folder / "bad.bin: index[1211] is 2015, past the table's 2011 records",
                 [&] { cli::gather_on_ranks(options, threads_on_the_cpu(ranks)); });
    EXPECT_EQ(folder.read("out.bin"), "of before");
    EXPECT_EQ(folder.count(), files);
  }
}

TEST_F(WorkOnThreads, SplitAsOneProcessDoes) {
  const std::string records = by_the_command(
      "split in.bin --record-bytes 13 --keys of.npy --categories 37 --offsets offsets.npy", "expected.bin");
  struct files_of_rank {
    io::record_file in;
    io::record_file keys;
  };
  const auto open = [&]() -> cli::opened_split {
    const auto mine = std::make_shared<const files_of_rank>(
        files_of_rank{io::record_file(folder / "in.bin", record_bytes), io::record_file(folder / "of.npy", 0)});
    return {mine, mine->in, &mine->keys, true,
            [](const_records, const_records keys) { return split_key::category(keys, category_count); }};
  };
  for (const int ranks : numbers_of_ranks) {
    SCOPED_TRACE(ranks);
    cli::split_on_ranks({quiet, folder / "of.npy", folder / "out.bin", folder / "at.npy", open},
                        threads_on_the_cpu(ranks));
    EXPECT_EQ(folder.read("out.bin"), records);
    EXPECT_EQ(folder.read("at.npy"), folder.read("offsets.npy"));
  }
}

TEST_F(WorkOnThreads, MultiplyAsOneProcessDoes) {
  const std::string wide = by_the_command("spmv grid.mtx x.npy --alpha 1.7 --beta -0.3 --y x.npy", "expected.npy");
  const std::string narrow = by_the_command("spmv grid.mtx --value-type f32", "narrow.npy");
  for (const int ranks : numbers_of_ranks) {
    SCOPED_TRACE(ranks);
    cli::spmv_on_ranks({quiet, folder / "grid.mtx", folder / "x.npy", folder / "x.npy", folder / "out.npy", 1.7, -0.3},
                       threads_on_the_cpu(ranks));
    EXPECT_EQ(folder.read("out.npy"), wide);
    cli::spmv_on_ranks({quiet, folder / "grid.mtx", "", "", folder / "out.npy", 1, 0, true}, threads_on_the_cpu(ranks));
    EXPECT_EQ(folder.read("out.npy"), narrow);
  }
}

TEST_F(WorkOnThreads, SolveAsOneProcessDoes) {
  const std::string expected = by_the_command("solve grid.mtx x.npy --jacobi", "expected.npy");
  conjugate_gradient_options method;
  method.preconditioner = preconditioner::jacobi;
  for (const int ranks : numbers_of_ranks) {
    SCOPED_TRACE(ranks);
    const cli::solved_on_ranks found = cli::solve_on_ranks(
        {quiet, folder / "grid.mtx", folder / "x.npy", folder / "out.npy", folder / "steps.csv", method, false, [] {},
         [](const std::vector<double>& history, double) { return fmt::format("{} steps\n", history.size()); }},
        threads_on_the_cpu(ranks));
    EXPECT_TRUE(found.is_first);
    EXPECT_TRUE(found.result.converged());
    EXPECT_EQ(found.rows, 729U);
    EXPECT_EQ(found.all.ranks, ranks);
    EXPECT_EQ(folder.read("out.npy"), expected);
    EXPECT_THAT(folder.read("steps.csv"), HasSubstr(" steps\n"));
  }
}

TEST_F(WorkOnThreads, RunTheBenchmarkOfNasToTheSameBits) {
  std::set<std::uint64_t> answers;
  for (const int ranks : {1, 2, 3}) {
    const cli::npb_on_ranks found =
        cli::run_npb_on_ranks({quiet, jobs::nas_class_named("S"), "", false}, threads_on_the_cpu(ranks));
    EXPECT_TRUE(found.is_first);
    EXPECT_TRUE(found.answer.is_right) << ranks;
    answers.insert(std::bit_cast<std::uint64_t>(found.answer.zeta));
  }
  EXPECT_EQ(answers.size(), 1U);
}

TEST_F(WorkOnThreads, ReportOnce) {
  cli::common_options common;
  testing::internal::CaptureStdout();
  cli::sort_on_ranks({common, folder / "numbers.npy", folder / "out.npy", {}, 0, false}, threads_on_the_cpu(3));
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, HasSubstr("out.npy: 2011 records of 4 bytes on 3 processes of 1 thread, "));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

// A report on GPUs, of which there may be none here.
TEST_F(WorkOnThreads, ReportGpusByTheirNumbers) {
  EXPECT_EQ(cli::text_of_ranks({1, 1, {3}, "a device"}), "1 GPU");
  EXPECT_EQ(cli::text_of_ranks({2, 1, {0, 2}, "a device"}), "2 GPUs");
  const nlohmann::json report = cli::report_of_ranks("sort", {2, 1, {0, 2}, "a device"});
  EXPECT_EQ(report["devices"], nlohmann::json({0, 2}));
  EXPECT_EQ(report["backend"], "cuda");
  EXPECT_EQ(report["device"], "a device");
}

TEST_F(WorkOnThreads, RefuseInTheWordsOfOneProcessAndLeaveNothing) {
  for (const int ranks : numbers_of_ranks) {
    SCOPED_TRACE(ranks);
    const std::size_t files = folder.count();
    const auto sort = [&](const std::string& in, const std::string& out, const cli::common_options& common) {
      cli::sort_on_ranks({common, in, out, {"0:4"}, record_bytes, false}, threads_on_the_cpu(ranks));
    };
    EXPECT_THAT(message_of(error_code::bad_input, [&] { sort(folder / "absent.bin", folder / "out.bin", quiet); }),
                testing::StartsWith(folder / "absent.bin: "));
    EXPECT_THAT(message_of(error_code::io_failure, [&] { sort(folder / "in.bin", folder / "absent/out", quiet); }),
                testing::StartsWith(folder / "absent/out: "));
    expect_error(error_code::bad_argument, "- is a stream, of which GPUs cannot have parts",
                 [&] { sort(folder / "in.bin", "-", quiet); });
    cli::common_options verifies = quiet;
    verifies.verify = true;
    expect_error(error_code::bad_argument, "--verify is not for --devices",
                 [&] { sort(folder / "in.bin", folder / "out.bin", verifies); });
    EXPECT_EQ(folder.count(), files);
  }
}

TEST(DevicesWorth, AreTheFewestOfTheFastestOnWhichArraysFit) {
  cli::sized_call call;
  call.bytes_on_each = [](int devices) { return std::uint64_t{120} / static_cast<std::uint64_t>(devices); };
  const auto worth = [&](std::vector<double> seconds, std::uint64_t free_bytes) {
    return cli::devices_worth({std::move(seconds)}, call, [=](int) { return free_bytes; });
  };
  EXPECT_EQ(worth({3, 2, 1, 4}, 1000), 3);
  EXPECT_EQ(worth({3, 2, 2, 2}, 1000), 2);
  EXPECT_EQ(worth({1, 2, 3, 4}, 1000), 1);
  EXPECT_EQ(worth({1, 2, 3, 4}, 119), 2);
  EXPECT_EQ(worth({1, 2, 3, 4}, 40), 3);
  EXPECT_EQ(worth({1, 2, 3, 4}, 29), 4) << "it fits on none";
  EXPECT_EQ(worth({1}, 0), 1);
}

TEST(DevicesWorth, TheFullestGpuCountsAndThoseThatStayIdleAreNotAsked) {
  cli::sized_call call;
  call.bytes_on_each = [](int devices) { return std::uint64_t{120} / static_cast<std::uint64_t>(devices); };
  std::vector<int> asked;
  const auto worth = [&](std::vector<double> seconds, std::vector<std::uint64_t> free_bytes) {
    asked.clear();
    return cli::devices_worth({std::move(seconds)}, call, [&](int devices) {
      asked.push_back(devices);
      return *std::min_element(free_bytes.begin(), free_bytes.begin() + devices);
    });
  };
  EXPECT_EQ(worth({4, 3, 2, 1}, {1000, 1000, 39, 1000}), 4);
  EXPECT_EQ(worth({4, 3, 2, 1}, {1000, 1000, 20, 1000}), 2);
  EXPECT_EQ(worth({4, 3, 2, 1}, {20, 1000, 1000, 1000}), 4) << "it fits on none";
  EXPECT_EQ(worth({1, 2, 3, 4}, {1000, 0, 0, 0}), 1);
  EXPECT_EQ(asked, std::vector<int>{1});
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(worth({never, never, never}, {1000, 1000, 1000}), 3);
}

TEST(DevicesWorth, EstimatesAreOfGpus) {
  expect_error(error_code::bad_argument, "an estimate on devices: a context of cpu, not of cuda", [] {
    distributed::explain_gather_on_devices(context::cpu(1), {1, 1, 8}, 2);
  });
  EXPECT_EQ((distributed::device_estimate{{2, 1, 1}}).worth(), 2);
}

TEST(SizesOfFiles, AreSaidByPlainFiles) {
  for (const char* const says : {"in.npy", "in.bin", "a.mtx"}) EXPECT_TRUE(cli::says_its_sizes(says)) << says;
  for (const char* const says : {"-", "in.npz", "in.npz:rows", "a.mtx.gz", "/dev/stdin"})
    EXPECT_FALSE(cli::says_its_sizes(says)) << says;
}

TEST(FailuresOfThreads, OfOneRankEndTheOthersAndNameIt) {
  const auto run = [](const std::function<void(const group&)>& work) {
    cli::work_on_threads(threads_on_the_cpu(4), work);
  };
  expect_error(error_code::bad_input, "rank 2: words", [&] {
    run([](const group& ranks) {
      ranks.agree([&] {
        if (ranks.rank() == 2) throw error(error_code::bad_input, "words");
      });
    });
  });
  // Between two calls.
  expect_error(error_code::out_of_memory, "rank 1: host memory is short", [&] {
    run([](const group& ranks) {
      if (ranks.rank() == 1) throw std::bad_alloc();
      ranks.require_same("a number", 5);
    });
  });
  expect_error(error_code::internal, "rank 3: what it was", [&] {
    run([](const group& ranks) {
      if (ranks.rank() == 3) throw std::runtime_error("what it was");
      ranks.require_same("a number", 5);
    });
  });
  expect_error(error_code::internal, "rank 0: an exception that is not the library's", [&] {
    run([](const group& ranks) {
      if (ranks.rank() == 0) throw 5;
      ranks.require_same("a number", 5);
    });
  });
}

// All ranks throw it, some before others have heard of all ranks.
TEST(FailuresOfThreads, OfAllRanksKeepTheirCodes) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    expect_error(error_code::bad_input, "words", [&] {
      cli::work_on_threads(threads_on_the_cpu(5), [](const group& ranks) {
        cli::agree_on_ranks(ranks, [] { throw error(error_code::bad_input, "words"); });
      });
    });
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_ranks_devices_test
