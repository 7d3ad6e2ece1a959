#include "lab/description/row_name.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab/description/entry.hpp"
#include "lab/description/hash/problem.hpp"
#include "lab/description/keys.hpp"
#include "lab/description/linked_list/problem.hpp"
#include "lab/description/movement/problem.hpp"
#include "lab/description/reduce/problem.hpp"
#include "primitives/enum_names.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::lab_description_row_name_test {
namespace {

using primitives::hash_part;
using primitives::key_part;
using primitives::list_part;
using primitives::movement_part;
using primitives::parse_problem;
using primitives::problem_spec;
using primitives::reduce_part;

TEST(RowName, OfEveryRecordedRowIsReadAndWrittenAgain) {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::recursive_directory_iterator(SHEAF_BENCH_RESULTS)) {
    if (!file.is_regular_file()) continue;
    std::ifstream stream(file.path());
    const nlohmann::json document = nlohmann::json::parse(stream);
    if (document.contains("seconds")) {
      for (const auto& [name, seconds] : document["seconds"].items()) names.insert(name);
    }
    if (!document.contains("rows")) continue;
    for (const nlohmann::json& row : document["rows"]) {
      const auto name = row.at("problem").get<std::string>();
      names.insert(name);
      const problem_spec p = parse_problem(name);
      EXPECT_EQ(p.primitive, row.at("primitive").get<std::string>()) << name;
      EXPECT_EQ(p.count, row.at("count").get<std::uint64_t>()) << name;
      EXPECT_EQ(p.record_bytes, row.at("record_bytes").get<std::uint64_t>()) << name;
      EXPECT_EQ(primitives::pattern_name(p), row.at("pattern").get<std::string>()) << name;
      EXPECT_EQ(primitives::type_name(p), row.at("index_type").get<std::string>()) << name;
    }
  }
  EXPECT_GT(names.size(), 2900U);
  for (const std::string& name : names) EXPECT_EQ(primitives::name(parse_problem(name)), name);
}

TEST(RowName, OfEveryDistributionOfKeysIsReadAndWrittenAgain) {
  std::set<std::string> names;
  for (const primitives::key_distribution d : primitives::all_key_distributions()) {
    EXPECT_EQ(primitives::parse_key_distribution(primitives::name(d)), d);
    for (const char* form : {"sort_keys/{}/r4/f32/n=9", "sort_pairs/{}:b8-15/r8/u64/n=9", "split/{}:b11/r8/own/n=9"}) {
      const std::string name = fmt::format(fmt::runtime(form), primitives::name(d));
      EXPECT_EQ(parse_problem(name).part<key_part>().keys, d) << name;
      EXPECT_EQ(primitives::name(parse_problem(name)), name);
      names.insert(name);
    }
  }
  EXPECT_EQ(names.size(), 3 * primitives::all_key_distributions().size());
}

TEST(RowName, SaysWhatIsMoved) {
  const problem_spec p = parse_problem("gather/partitioned:8/r100/i64/n=4096");
  EXPECT_EQ(p.primitive, "gather");
  EXPECT_EQ(primitives::name(p.pattern), "partitioned:8");
  EXPECT_EQ(p.record_bytes, 100U);
  EXPECT_EQ(p.index, index_type::i64);
  EXPECT_EQ(p.count, 4096U);
  EXPECT_EQ(p.indexed_count(), 4096U);
  EXPECT_EQ(parse_problem("gather/strided:16:s70/r4/u32/n=9").indexed_count(), 70U);
  EXPECT_EQ(parse_problem("scatter/uniform/r4/u32/n=9").part<movement_part>().duplicates, duplicates::any);
  EXPECT_EQ(parse_problem("scatter/uniform/r4/u32+last/n=9").part<movement_part>().duplicates, duplicates::last);
}

TEST(RowName, SaysWhatIsReduced) {
  const problem_spec p = parse_problem("scatter_reduce/zipf:s1024/r8/u64+f64+unordered/n=65536");
  EXPECT_EQ(p.indexed_count(), 1024U);
  EXPECT_EQ(p.index, index_type::u64);
  EXPECT_EQ(p.value, value_type::f64);
  EXPECT_EQ(p.part<reduce_part>().op, reduction::add);
  EXPECT_EQ(p.part<reduce_part>().order, reduction_order::unordered);
  const problem_spec most = parse_problem("scatter_reduce/zipf:s65536/r4/u32+i32+max/n=65536");
  EXPECT_EQ(most.part<reduce_part>().op, reduction::max);
  EXPECT_EQ(most.part<reduce_part>().order, reduction_order::deterministic);
  const problem_spec less = parse_problem("scatter_reduce/uniform:s9/r8/u32+f64+subtract+unordered/n=65536");
  EXPECT_EQ(less.part<reduce_part>().op, reduction::subtract);
  EXPECT_EQ(less.part<reduce_part>().order, reduction_order::unordered);
}

TEST(RowName, SaysWhichBitsSplit) {
  const problem_spec own = parse_problem("split/uniform:b96/r12/own/n=65536");
  EXPECT_EQ(own.part<key_part>().bits, 96U);
  EXPECT_EQ(own.key_bytes, 0U);
  const problem_spec apart = parse_problem("split_scatter_index/zipf:b11/r8/k32/n=65536");
  EXPECT_EQ(apart.part<key_part>().bits, 11U);
  EXPECT_EQ(apart.key_bytes, 4U);
  EXPECT_EQ(apart.index, index_type::u64);
  EXPECT_EQ(apart.part<key_part>().keys, primitives::key_distribution::zipf);
  const problem_spec wide = parse_problem("split_gather_index/uniform:b96/r4/k96/n=65536");
  EXPECT_EQ(wide.part<key_part>().bits, 96U);
  EXPECT_EQ(wide.key_bytes, 12U);
}

TEST(RowName, SaysWhatIsSorted) {
  const problem_spec keys = parse_problem("sort_keys/nested:b8-15/r8/u64/n=268435456");
  EXPECT_EQ(keys.key_bytes, 8U);
  EXPECT_EQ(keys.part<key_part>().first_bit, 8U);
  EXPECT_EQ(keys.part<key_part>().bits, 8U);
  const problem_spec records = parse_problem("sort_records/uniform/r100/bytes10/n=16777216");
  EXPECT_EQ(records.part<key_part>().number, key_type::bytes);
  EXPECT_EQ(records.key_bytes, 10U);
  EXPECT_EQ(records.part<key_part>().bits, 80U);
  const problem_spec index = parse_problem("sort_gather_index/uniform/r4/f64/n=65536");
  EXPECT_EQ(index.part<key_part>().number, key_type::floating);
  EXPECT_EQ(index.index, index_type::u32);
}

TEST(RowName, SaysWhatAListIs) {
  const problem_spec rank = parse_problem("list_rank/strided:1001/r8/i64+many/n=65536");
  EXPECT_EQ(primitives::name(rank.pattern), "strided:1001");
  EXPECT_EQ(rank.record_bytes, 8U);
  EXPECT_EQ(rank.index, index_type::i64);
  EXPECT_EQ(rank.part<list_part>().lists, list_count::many);
  const problem_spec sum = parse_problem("list_scan/permutation/r8/u32+u64/n=65536");
  EXPECT_EQ(sum.value, value_type::u64);
  EXPECT_EQ(sum.part<list_part>().op, scan_operator::add);
  EXPECT_EQ(sum.part<list_part>().lists, list_count::one);
  EXPECT_FALSE(sum.part<list_part>().is_exclusive || sum.part<list_part>().is_packed);
  const problem_spec most = parse_problem("list_scan/reverse/r4/i32+f32+max+exclusive+packed+many/n=65536");
  EXPECT_EQ(most.part<list_part>().op, scan_operator::max);
  EXPECT_TRUE(most.part<list_part>().is_exclusive && most.part<list_part>().is_packed);
  EXPECT_EQ(most.part<list_part>().lists, list_count::many);
  for (const auto& op : primitives::scan_operators) {
    const std::string end = op.text == "add" ? "" : "+" + std::string(op.text);
    const std::string name = "list_scan/identity/r4/u32+i32" + end + "/n=9";
    EXPECT_EQ(parse_problem(name).part<list_part>().op, op.value) << name;
    EXPECT_EQ(primitives::name(parse_problem(name)), name);
  }
}

TEST(RowName, SaysWhatIsSearched) {
  const problem_spec find = parse_problem("hash_find/zipf:s1024:x16:h50/r4/k64+load99/n=65536");
  EXPECT_EQ(primitives::name(find.pattern), "zipf");
  EXPECT_EQ(find.indexed_count(), 1024U);
  EXPECT_EQ(find.part<hash_part>().repeats, 16U);
  EXPECT_EQ(find.part<hash_part>().hit_percent, 50U);
  EXPECT_EQ(find.part<hash_part>().load_percent, 99U);
  EXPECT_EQ(find.key_bytes, 8U);
  EXPECT_EQ(find.index, index_type::u32);
  const problem_spec wide = parse_problem("hash_search/strided:7:s4294967296:xzipf:h0/r8/k32/n=9");
  EXPECT_EQ(primitives::name(wide.pattern), "strided:7");
  EXPECT_EQ(wide.part<hash_part>().repeats, primitives::power_law_repeats);
  EXPECT_EQ(wide.part<hash_part>().hit_percent, 0U);
  EXPECT_EQ(wide.part<hash_part>().load_percent, 0U);
  EXPECT_EQ(wide.key_bytes, 4U);
  EXPECT_EQ(wide.index, index_type::u64);
  EXPECT_EQ(parse_problem("hash_count/uniform:x1:h100/r8/k64/n=9").indexed_count(), 9U);
  const problem_spec build = parse_problem("build_hash_index/x1000/r4/k32+load5/n=65536");
  EXPECT_EQ(build.part<hash_part>().repeats, 1000U);
  EXPECT_EQ(build.part<hash_part>().load_percent, 5U);
  EXPECT_EQ(build.count, 65536U);
  for (const char* name : {"build_hash_index/xzipf/r4/k64/n=0", "build_hash_index/x1/r8/k64/n=4294967296",
                           "hash_contains/same:x2:h7/r1/k32+load95/n=5"}) {
    EXPECT_EQ(primitives::name(parse_problem(name)), name);
  }
}

TEST(RowName, ThatIsWrongIsRefusedWithTheTextAndThePlace) {
  const auto expect_refused = [](const std::string& text, const std::string& message) {
    EXPECT_THAT(message_of(error_code::bad_argument, [&] { parse_problem(text); }), testing::HasSubstr(message));
  };
  const std::string form = "is not PRIMITIVE/PATTERN/rBYTES/TYPE/n=COUNT";
  expect_refused("", "problem '', character 1: '' " + form);
  expect_refused("gather", "problem 'gather', character 1: 'gather' " + form);
  expect_refused("gather/identity/r4/u32",
                 "problem 'gather/identity/r4/u32', character 1: 'gather/identity/r4/u32' " + form);
  expect_refused(
      "gather/identity/r4/u32/n=1/sheaf",
      "problem 'gather/identity/r4/u32/n=1/sheaf', character 28: 'sheaf' is not the end of a problem's name");
  expect_refused(
      "gathers/identity/r4/u32/n=1",
      "problem 'gathers/identity/r4/u32/n=1', character 1: 'gathers' is not a primitive; there are gather, ");
  expect_refused(
      "gather/random/r4/u32/n=1",
      "problem 'gather/random/r4/u32/n=1', character 8: 'random' is not an access pattern; there are identity");
  expect_refused("gather/identity:s/r4/u32/n=1",
                 "problem 'gather/identity:s/r4/u32/n=1', character 18: '' is not the number of records of a table");
  expect_refused("gather/identity/4/u32/n=1",
                 "problem 'gather/identity/4/u32/n=1', character 17: '4' is not r and the bytes of a record");
  expect_refused("gather/identity/r0/u32/n=1",
                 "problem 'gather/identity/r0/u32/n=1', character 18: '0' is not 1 to 65536 bytes");
  expect_refused("gather/identity/r4/f32/n=1",
                 "problem 'gather/identity/r4/f32/n=1', character 20: 'f32' is not an index type: u32, u64, i32, i64");
  expect_refused("gather/identity/r4/u32+last/n=1",
                 "problem 'gather/identity/r4/u32+last/n=1', character 24: 'last' is not part of a gather's type");
  expect_refused("gather/identity/r4/u32/n=-1",
                 "problem 'gather/identity/r4/u32/n=-1', character 26: '-1' is not a whole number");
  expect_refused(
      "gather/identity/r4/u32/n=18446744073709551616",
      "problem 'gather/identity/r4/u32/n=18446744073709551616', character 26: '18446744073709551616' is not");
  expect_refused("gather/identity/r4/u32/n=007",
                 "problem 'gather/identity/r4/u32/n=007' is written 'gather/identity/r4/u32/n=7'");
  expect_refused("gather/identity:s7/r4/u32/n=7",
                 "problem 'gather/identity:s7/r4/u32/n=7' is written 'gather/identity/r4/u32/n=7'");
  expect_refused(
      "scatter/uniform/r4/u32+first/n=1",
      "problem 'scatter/uniform/r4/u32+first/n=1', character 24: 'first' is not a rule for duplicates: last");
  expect_refused(
      "scatter_reduce/uniform/r4/u32+f32/n=1",
      "problem 'scatter_reduce/uniform/r4/u32+f32/n=1', character 16: 'uniform' is not an order and a number");
  expect_refused("scatter_reduce/uniform:s9/r8/u32+f32/n=1",
                 "problem 'scatter_reduce/uniform:s9/r8/u32+f32/n=1', character 34: 'f32' is not a type of 8 bytes");
  expect_refused("scatter_reduce/uniform:s9/r4/u32/n=1",
                 "'u32' is not an index type and a value type, such as u32+f32");
  expect_refused("scatter_reduce/uniform:s9/r4/u32+f32+mul/n=1",
                 "'mul' is not a reduction or an order: add, min, max, subtract, unordered");
  expect_refused("split/uniform/r4/own/n=1", "character 7: 'uniform' is not a distribution of keys and the bits");
  expect_refused("split/uniform:bx/r4/own/n=1", "character 16: 'x' is not a number of bits that the key has");
  expect_refused("split/uniform:b33/r4/own/n=1", "character 16: '33' is not a number of bits that the key has");
  expect_refused("split/uniform:b8/r4/k33/n=1", "problem 'split/uniform:b8/r4/k33/n=1' is written");
  expect_refused("split_gather_index/uniform:b8/r4/own/n=1", "'own' is not an array of keys: k32 or k64");
  expect_refused("split_gather_index/uniform:b8/r5/k32/n=1",
                 "'k32' is not allowed: entries of an index have 4 or 8 bytes");
  expect_refused("multi_split/uniform:b8/r4/k32/n=1", "'uniform:b8' is not a distribution, bits and records");
  expect_refused("multi_split/uniform:b8:s9/r4/k64/n=1", "'k64' is not the width of a category: k32");
  expect_refused("sort_keys/uniform/r4/x32/n=1", "character 22: 'x32' is not a type of keys: u32, i64, f32, bytes10");
  expect_refused("sort_keys/uniform/r4/u33/n=1", "'u33' is not a type of keys");
  expect_refused("sort_keys/uniform/r4/u64/n=1", "'u64' is not a key of 4 bytes");
  expect_refused("sort_keys/uniform:b8/r4/u32/n=1", "'8' is not a range of the key's bits, such as 8-15");
  expect_refused("sort_keys/uniform:b8-32/r4/u32/n=1", "'32' is not a range of the key's bits, such as 8-15");
  expect_refused("sort_records/uniform/r4/bytes10/n=1", "'bytes10' is not a key that records of 4 bytes hold");
  expect_refused("list_rank/uniform/r4/u32/n=1",
                 "character 11: 'uniform' is not an order that goes through every node once");
  expect_refused("list_rank/identity/r5/u32/n=1", "'u32' is not allowed: ranks have 4 or 8 bytes");
  expect_refused("list_rank/identity/r4/u32+two/n=1", "'two' is not the number of lists: many");
  expect_refused("list_scan/identity/r4/u32/n=1", "'u32' is not an index type and a value type, such as u32+f32");
  expect_refused("list_scan/identity/r8/u32+f32/n=1", "'f32' is not a type of 8 bytes");
  expect_refused("list_scan/identity/r4/u32+f32+xor/n=1", "'xor' is not an operator of floats: add, min, max, mul");
  expect_refused("list_scan/identity/r8/u32+u64+packed/n=1",
                 "'packed' is not allowed: it needs values and successors of 4 bytes");
  expect_refused("list_scan/identity/r4/u32+f32+sub/n=1",
                 "'sub' is not part of a scan's type: an operator, exclusive, packed, many");
  expect_refused("list_scan/identity/r4/u32+f32+add/n=1", "is written 'list_scan/identity/r4/u32+f32/n=1'");
  expect_refused("list_scan/identity/r4/u32+f32+many+max/n=1",
                 "is written 'list_scan/identity/r4/u32+f32+max+many/n=1'");
  expect_refused("build_hash_index/16/r4/k64/n=9", "'16' is not the records of a key, such as x16");
  expect_refused("build_hash_index/x0/r4/k64/n=9", "'0' is not a number of records that share a key, from 1, or zipf");
  expect_refused("build_hash_index/x1/r4/k16/n=9", "'k16' is not the width of keys: k32 or k64");
  expect_refused("build_hash_index/x1/r4/k64+l99/n=9", "'l99' is not a load factor in per cent, load5 to load99");
  expect_refused("build_hash_index/x1/r4/k64+load100/n=9", "'100' is not a load factor in per cent, load5 to load99");
  expect_refused("build_hash_index/x1/r8/k64/n=9",
                 "'k64' is not allowed with record numbers of 8 bytes: 9 records have numbers of 4");
  expect_refused("hash_find/uniform:s9/r4/k64/n=1",
                 "'uniform:s9' is not an order, the records of a key and the per cent of hits, such as uniform:x1:h50");
  expect_refused("hash_find/uniform:s9:h50/r4/k64/n=1",
                 "'uniform:s9:h50' is not an order, the records of a key and the per cent of hits");
  expect_refused("hash_find/uniform:x1:h101/r4/k64/n=1", "'101' is not a number of hits in per cent");
  expect_refused("hash_find/random:x1:h1/r4/k64/n=1", "character 11: 'random' is not an access pattern");
  expect_refused("hash_find/uniform:s4294967296:x1:h1/r4/k64/n=1",
                 "'k64' is not allowed with record numbers of 4 bytes: 4294967296 records have numbers of 8");
  expect_refused("hash_count/uniform:x1:h1/r2/k64/n=1", "'k64' is not allowed: counts have 4 or 8 bytes");
  expect_refused("hash_contains/uniform:x1:h1/r4/k64/n=1", "'k64' is not allowed: answers have one byte");
  expect_refused(std::string("gather/\n\0/r4/u32/n=1", 20), "character 8: ");
}

TEST(RowName, OfHostileTextsIsReadOrRefusedInPrintableWords) {
  const std::string pieces[] = {"gather",    "scatter_reduce",
                                "split",     "sort_pairs",
                                "list_scan", "packed",
                                "hash_find", ":x1:h5",
                                "k64",       "load",
                                "/",         "r",
                                "n=",        ":b",
                                ":s",        "+",
                                "-",         "4",
                                "u32",       "f32",
                                "own",       "uniform",
                                "spmv",      "banded",
                                ":x4",       ":c",
                                "\xff",      ""};
  std::uint64_t state = 20070715;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      text += pieces[(state >> 33) % std::size(pieces)];
    }
    try {
      EXPECT_EQ(primitives::name(parse_problem(text)), text);
    } catch (const error& e) {
      EXPECT_EQ(e.code(), error_code::bad_argument);
      for (const char c : std::string_view(e.what())) EXPECT_TRUE(c >= ' ' && c <= '~') << text;
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::lab_description_row_name_test
