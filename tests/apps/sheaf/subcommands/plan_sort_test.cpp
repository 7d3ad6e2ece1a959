#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/cli_test.hpp"
#include "support/plan_options.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_plan_sort_test {
namespace {

class CliPlanSort : public cli_test {
 protected:
  void fill_folder() override {}
};

TEST_F(CliPlanSort, ExplainsSorts) {
  const auto planned = [&](const std::string& arguments) {
    const program_result result = run_sheaf(folder, "plan " + arguments + " --json --backend cpu");
    EXPECT_EQ(result.code, 0) << arguments << "\n" << result.err;
    auto plan = nlohmann::json::parse(result.out);
    EXPECT_EQ(plan["primitive"], arguments.substr(0, arguments.find(' ')));
    EXPECT_FALSE(plan["choice"].is_null()) << arguments;
    EXPECT_GE(plan["variants"].size(), 3U) << arguments;
    EXPECT_FALSE(plan.contains("categories") || plan.contains("table")) << arguments;
    return plan;
  };
  using list = nlohmann::json::array_t;
  const auto records = planned("sort_records --count 100000 --record-bytes 100 --key 0:10 --key 12:4:f:desc");
  EXPECT_EQ(records["count"], 100000);
  EXPECT_EQ(records["record_bytes"], 100);
  EXPECT_EQ(records["key"], (list{"0:10:bytes", "12:4:f:desc"}));
  EXPECT_EQ(records["key_bits"], 112);

  const auto pairs = planned("sort_pairs --count 1000 --key-bytes 8 --value-bytes 4 --value-bytes 16");
  EXPECT_EQ(pairs["key_bytes"], 8);
  EXPECT_EQ(pairs["value_bytes"], (list{4, 16}));
  EXPECT_EQ(pairs["key"], list{"0:8:u"});
  EXPECT_FALSE(pairs.contains("record_bytes"));
  EXPECT_EQ(planned("sort_pairs --count 1000 --value-bytes 8")["key_bytes"], 4);

  const auto keys = planned("sort_keys --count 1000 --record-bytes 8");
  EXPECT_EQ(keys["key"], list{"0:8:u"});

  const auto index = planned("sort_gather_index --count 5000000000 --record-bytes 16 --key 8:8:i");
  EXPECT_EQ(index["index_type"], "u64") << "there are too many records for the usual u32";
  EXPECT_EQ(index["record_bytes"], 16);
  EXPECT_EQ(index["key"], list{"8:8:i"});
  EXPECT_EQ(planned("sort_gather_index --count 9 --record-bytes 4 --output-type i32")["index_type"], "i32");

  const auto expect_first_line = [&](const std::string& arguments, const std::string& line) {
    const program_result result = run_sheaf(folder, "plan " + arguments + " --backend cpu");
    EXPECT_EQ(result.out.substr(0, result.out.find('\n')), line) << result.err;
  };
  expect_first_line("sort_records --count 1000 --record-bytes 12 --key 8:4:f --key 0:2:u:desc",
                    "sort_records: 1000 records of 12 bytes, by 8:4:f, then 0:2:u:desc (48 bits)");
  expect_first_line("sort_pairs --count 1000 --key-bytes 2 --value-bytes 8 --value-bytes 1",
                    "sort_pairs: 1000 keys of 2 bytes with values of 8 and 1 bytes, by 0:2:u (16 bits)");
  expect_first_line("sort_gather_index --count 1000 --record-bytes 32",
                    "sort_gather_index: u32 index of 1000 records of 32 bytes, by 0:32:u (256 bits)");
}

TEST_F(CliPlanSort, RefusesWhatIsNoSort) {
  for (const std::string sort : {"sort_keys", "sort_records", "sort_pairs", "sort_gather_index"}) {
    const std::string width = sort == "sort_pairs" ? "--value-bytes" : "--record-bytes";
    const std::string plan_of_fours = fmt::format("plan {} --count 1 {} 4", sort, width);
    expect_failure(fmt::format("plan {} --count 1", sort), 2,
                   "sheaf plan: " + width + " is required\nTry: sheaf plan --help");
    expect_failure(plan_of_fours + " --table 1", 2, option_is_for_others("--table"));
    expect_failure(plan_of_fours + " --categories 8", 2, option_is_for_others("--categories"));
    expect_failure(plan_of_fours + " --from-left", 2, option_is_for_others("--from-left"));
    expect_failure(plan_of_fours + " --key 8", 2,
                   "sheaf plan: --key: '8' is not OFFSET:BYTES[:TYPE][:asc|desc], two whole numbers and a TYPE of u, "
                   "i, f or bytes\nTry: sheaf plan --help");
    expect_failure(plan_of_fours + " --key 0:3:f", 2,
                   "sheaf plan: --key: '0:3:f' is 3 bytes wide, not 2, 4 or 8 as floats are\nTry: sheaf plan --help");
  }
  expect_failure("plan sort_records --count 1 --record-bytes 4 --key-bytes 4", 2, option_is_for_others("--key-bytes"));
  expect_failure("plan sort_pairs --count 1 --value-bytes 4 --index-type u64", 2, option_is_for_others("--index-type"));
  expect_failure("plan sort_records --count 1 --record-bytes 4 --record-bytes 8", 2,
                 "sheaf plan: 2 times --record-bytes: sort_records has one\nTry: sheaf plan --help");
  expect_failure("plan sort_records --count 1 --record-bytes 33", 2,
                 "sheaf plan: records of 33 bytes need --key: a key has at most 32 of them\nTry: sheaf plan --help");
  expect_failure("plan sort_pairs --count 1 --value-bytes 4 --key-bytes 40", 2,
                 "sheaf plan: keys of 40 bytes need --key: a key has at most 32 of them\nTry: sheaf plan --help");
  expect_failure("plan sort_gather_index --count 1 --record-bytes 8 --key 4:8", 2,
                 "sheaf plan: --key: '4:8' reaches past the end of records of 8 bytes\nTry: sheaf plan --help");
  expect_failure("plan sort_pairs --count 1 --value-bytes 16 --key 0:8:u", 2,
                 "sheaf plan: --key: '0:8:u' reaches past the end of keys of 4 bytes\nTry: sheaf plan --help");
  expect_failure("plan sort_gather_index --count 5000000000 --record-bytes 4 --output-type u32", 2,
                 "sheaf plan: sort_gather_index: the index has 4-byte entries, too narrow for 5000000000 records");
  std::string nine;
  for (int i = 0; i < 9; ++i) nine += " --value-bytes 1";
  expect_failure("plan sort_pairs --count 1" + nine, 2, "sheaf plan: sort_pairs: 9 arrays of values, more than 8");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_plan_sort_test
