// Arrays as numpy saves them: in Fortran order, of big-endian and of narrow numbers, in archives, and of structures.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apps/sheaf/files/zip/archive.hpp"
#include "support/cli_test.hpp"
#include "support/npy_file.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_arrays_test {
namespace {

/// The bytes of numbers from the highest on.
template <class T>
std::string big_endian(const std::vector<T>& numbers) {
  std::string bytes = bytes_of(numbers);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) std::reverse(&bytes[at], &bytes[at] + sizeof(T));
  return bytes;
}

/// An array in Fortran order.
std::string fortran_file(const std::string& descr, const std::string& shape, const std::string& data) {
  return npy_file(1, "{'descr': " + descr + ", 'fortran_order': True, 'shape': " + shape + ", }\n", data);
}

template <class T>
std::string one_axis(const char* descr, const std::vector<T>& numbers) {
  return npy_file(descr, fmt::format("({},)", numbers.size()), bytes_of(numbers));
}

class CliArrays : public cli_test {
 protected:
  void fill_folder() override {
    // [[0, 1, 2], [10, 11, 12], [20, 21, 22], [30, 31, 32]]
    folder.write("table.npy", fortran_file("'<i2'", "(4, 3)",
                                           bytes_of<std::int16_t>({0, 10, 20, 30, 1, 11, 21, 31, 2, 12, 22, 32})));
    folder.write("index.npy", one_axis<std::uint8_t>("'|u1'", {3, 0}));
  }

  void expect_output(const std::string& arguments, const std::string& out, const std::string& expected) {
    for (const char* backend : {"auto", "cpu", "reference"}) {
      expect_success(fmt::format("{} --verify --quiet --backend {}", arguments, backend));
      EXPECT_EQ(folder.read(out), expected) << arguments << " on " << backend;
    }
  }
};

TEST_F(CliArrays, TablesInFortranOrderAreReadByRows) {
  const std::string rows = npy_file("'<i2'", "(2, 3)", bytes_of<std::int16_t>({30, 31, 32, 0, 1, 2}));
  expect_output("gather table.npy index.npy -o out.npy", "out.npy", rows);
  // Three axes: what belongs to the first is a row.
  folder.write("cube.npy", fortran_file("'|u1'", "(2, 2, 3)", std::string("\0\6\3\11\1\7\4\12\2\10\5\13", 12)));
  folder.write("second.npy", one_axis<std::int64_t>("'<i8'", {1}));
  expect_output("gather cube.npy second.npy -o out.npy", "out.npy",
                npy_file("'|u1'", "(1, 2, 3)", std::string("\6\7\10\11\12\13", 6)));
  const std::string base =
      npy_file("'<i2'", "(4, 3)", bytes_of<std::int16_t>({7, 8, 9, 10, 11, 12, 20, 21, 22, 4, 5, 6}));
  folder.write("in.npy", fortran_file("'<i2'", "(2, 3)", bytes_of<std::int16_t>({4, 7, 5, 8, 6, 9})));
  expect_output("scatter in.npy index.npy --into table.npy -o out.npy", "out.npy", base);
  folder.write("of.npy", npy_file("'>u2'", "(4,)", big_endian<std::uint16_t>({1, 0, 1, 0})));
  expect_output("split table.npy --keys of.npy --categories 2 -o out.npy", "out.npy",
                npy_file("'<i2'", "(4, 3)", bytes_of<std::int16_t>({10, 11, 12, 30, 31, 32, 0, 1, 2, 20, 21, 22})));
  expect_output("sort table.npy --key 2:2:i:desc -o out.npy", "out.npy",
                npy_file("'<i2'", "(4, 3)", bytes_of<std::int16_t>({30, 31, 32, 20, 21, 22, 10, 11, 12, 0, 1, 2})));
}

// The data begin at eight places in a row, of which one is a multiple of 8.
std::string headed_anywhere(const std::string& descr, const std::string& shape, std::size_t blanks,
                            const std::string& data) {
  const std::string header = "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }";
  return npy_file(1, header + std::string(blanks, ' ') + "\n", data);
}

TEST_F(CliArrays, EmptyArraysMayBeginAnywhere) {
  folder.write("values.npy", npy_file("'<f8'", "(2, 1)", bytes_of<double>({1, 2})));
  for (std::size_t blanks = 0; blanks < 8; ++blanks) {
    for (const char* descr : {"'<i8'", "'>i4'", "'<u2'"}) {
      folder.write("none.npy", headed_anywhere(descr, "(0,)", blanks, ""));
      expect_output("gather table.npy none.npy -o out.npy", "out.npy", npy_file("'<i2'", "(0, 3)", ""));
      folder.write("edges.npy", headed_anywhere(descr, "(0, 2)", blanks, ""));
      expect_output("edges edges.npy values.npy -o out.npy --runs 1 --threads 1", "out.npy",
                    npy_file("'<f8'", "(2, 1)", bytes_of<double>({0, 0})));
    }
    folder.write("list.npy", headed_anywhere("'<i8'", "(0,)", blanks, ""));
    expect_output("rank list.npy -o out.npy", "out.npy", npy_file("'<u4'", "(0,)", ""));
  }
}

TEST_F(CliArrays, SortsThatFitInMemoryMayBeginAnywhere) {
  std::mt19937_64 random(46);
  std::vector<std::uint64_t> numbers(50'000);
  for (std::uint64_t& number : numbers) number = random();
  std::vector<std::uint64_t> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  const std::string shape = fmt::format("({},)", numbers.size());
  for (std::size_t blanks = 0; blanks < 8; ++blanks) {
    folder.write("u8.npy", headed_anywhere("'<u8'", shape, blanks, bytes_of(numbers)));
    folder.write("big.npy", headed_anywhere("'>u8'", shape, blanks, big_endian(numbers)));
    expect_success("sort u8.npy -o out.npy --memory 1M --backend cpu --quiet");
    EXPECT_EQ(folder.read("out.npy"), npy_file("'<u8'", shape, bytes_of(sorted))) << blanks;
    expect_success("sort big.npy -o out.npy --memory 1M --backend cpu --quiet");
    EXPECT_EQ(folder.read("out.npy"), npy_file("'>u8'", shape, big_endian(sorted))) << blanks;
  }
}

TEST_F(CliArrays, IndicesOfEveryWidthAndOrderNameRows) {
  const std::string rows = npy_file("'<i2'", "(2, 3)", bytes_of<std::int16_t>({30, 31, 32, 0, 1, 2}));
  const std::pair<const char*, std::string> indices[] = {
      {"'|i1'", bytes_of<std::int8_t>({3, 0})},     {"'<u2'", bytes_of<std::uint16_t>({3, 0})},
      {"'>u2'", big_endian<std::uint16_t>({3, 0})}, {"'>i2'", big_endian<std::int16_t>({3, 0})},
      {"'>u4'", big_endian<std::uint32_t>({3, 0})}, {"'>i4'", big_endian<std::int32_t>({3, 0})},
      {"'>u8'", big_endian<std::uint64_t>({3, 0})}, {"'>i8'", big_endian<std::int64_t>({3, 0})}};
  for (const auto& [descr, data] : indices) {
    folder.write("index.npy", npy_file(descr, "(2,)", data));
    expect_output("gather table.npy index.npy -o out.npy", "out.npy", rows);
  }
  folder.write("index.npy", fortran_file("'>i2'", "(2, 3)", big_endian<std::int16_t>({0, 3, 1, 2, 2, 1})));
  folder.write("column.npy", one_axis<std::uint8_t>("'|u1'", {50, 51, 52, 53}));
  expect_output("gather column.npy index.npy -o out.npy", "out.npy", npy_file("'|u1'", "(2, 3)", "234543"));
  expect_output("scatter out.npy index.npy --table 4 -o back.npy", "back.npy",
                one_axis<std::uint8_t>("'|u1'", {50, 51, 52, 53}));
}

TEST_F(CliArrays, BadIndicesAreNamedByTheirValue) {
  folder.write("negative.npy", one_axis<std::int8_t>("'|i1'", {3, -1}));
  expect_failure("gather table.npy negative.npy -o out.npy", 3,
                 "sheaf gather: negative.npy: index[1] is -1, outside the table's 4 records");
  folder.write("negative.npy", npy_file("'>i8'", "(2,)", big_endian<std::int64_t>({-7, 1})));
  expect_failure("gather table.npy negative.npy -o out.npy", 3,
                 "sheaf gather: negative.npy: index[0] is -7, outside the table's 4 records");
  folder.write("past.npy", one_axis<std::uint8_t>("'|u1'", {255}));
  expect_failure("gather table.npy past.npy -o out.npy", 3,
                 "sheaf gather: past.npy: index[0] is 255, past the table's 4 records");
  folder.write("mask.npy", npy_file("'|b1'", "(4,)", std::string("\1\0\0\1", 4)));
  expect_failure(
      "gather table.npy mask.npy -o out.npy", 3,
      "sheaf gather: mask.npy: descr is '|b1': a mask is not an index; numpy.flatnonzero makes an index of it");
}

TEST_F(CliArrays, RowsThatMoveKeepTheirOrderOfBytes) {
  folder.write("big.npy", npy_file("'>i4'", "(3,)", big_endian<std::int32_t>({-5, 300, 7})));
  folder.write("index.npy", one_axis<std::uint8_t>("'|u1'", {2, 1}));
  expect_output("gather big.npy index.npy -o out.npy", "out.npy",
                npy_file("'>i4'", "(2,)", big_endian<std::int32_t>({7, 300})));
  expect_output("sort big.npy -o out.npy", "out.npy",
                npy_file("'>i4'", "(3,)", big_endian<std::int32_t>({-5, 7, 300})));
}

TEST_F(CliArrays, ListsVectorsAndEdgesAreConverted) {
  folder.write("list.npy", npy_file("'>i2'", "(4,)", big_endian<std::int16_t>({3, -1, 0, 1})));
  expect_output("rank list.npy -o out.npy", "out.npy", one_axis<std::uint32_t>("'<u4'", {1, 3, 0, 2}));
  folder.write("values.npy", npy_file("'>f8'", "(4,)", big_endian<double>({1.5, 2.5, 10, 4})));
  expect_output("scan list.npy values.npy --op add -o out.npy", "out.npy",
                one_axis<double>("'<f8'", {11.5, 18, 10, 15.5}));
  folder.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1.5\n1 3 2\n2 2 -1\n");
  folder.write("x.npy", npy_file("'>f4'", "(3,)", big_endian<float>({2, 5, 10})));
  expect_output("spmv a.mtx x.npy -o out.npy", "out.npy", one_axis<double>("'<f8'", {23, -5}));
  folder.write("edges.npy", fortran_file("'|u1'", "(3, 2)", std::string("\0\1\2\1\2\3", 6)));
  folder.write("v.npy", fortran_file("'>f8'", "(4, 2)", big_endian<double>({1, 2, 4, 8, 10, 20, 40, 80})));
  expect_output("edges edges.npy v.npy --function weighted_difference --runs 1 -o out.npy", "out.npy",
                npy_file("'<f8'", "(4, 2)", bytes_of<double>({1, 10, 1, 10, 2, 20, -4, -40})));
}

TEST_F(CliArrays, MembersOfArchivesAreArrays) {
  const std::string table = npy_file("'<i2'", "(3,)", bytes_of<std::int16_t>({5, 6, 7}));
  const std::string index = one_axis<std::int64_t>("'<i8'", {2, 2, 0});
  folder.write("in.npz", zip_file({{"table.npy", table, true, true}, {"index.npy", index, false, true}}));
  const std::string rows = npy_file("'<i2'", "(3,)", bytes_of<std::int16_t>({7, 7, 5}));
  expect_output("gather in.npz:table in.npz:index.npy -o out.npy", "out.npy", rows);
  expect_output("sort in.npz:index --descending -o out.npy", "out.npy", one_axis<std::int64_t>("'<i8'", {2, 2, 0}));
  expect_failure("gather in.npz in.npz:index -o out", 3,
                 "sheaf gather: in.npz: an archive of 2 members; in.npz:NAME reads one of table, index");
  expect_failure("gather in.npz:x in.npz:index -o out", 3,
                 "sheaf gather: in.npz: has no member x; it has table, index");
  expect_failure("gather in.npz:table in.npz:index -o in.npz", 2,
                 "sheaf gather: -o in.npz is the input in.npz:table; inputs are never written");
  expect_failure("sort in.npz:table -o ./in.npz", 2,
                 "sheaf sort: -o ./in.npz is the input in.npz:table; inputs are never written");
  expect_failure("search in.npz:index in.npz:index -o in --record-bytes 0", 2,
                 "sheaf search: --record-bytes: '0' is not a whole number from 1 to 65536\nTry: sheaf search --help");
  folder.write("edges.npz", zip_file({{"e.npy", npy_file("'|u1'", "(1, 2)", std::string("\0\1", 2))},
                                      {"v.npy", one_axis<double>("'<f8'", {1, 3}), true}}));
  expect_output("edges edges.npz:e edges.npz:v --function weighted_difference --runs 1 -o out.npy", "out.npy",
                npy_file("'<f8'", "(2, 1)", bytes_of<double>({2, -2})));
}

/// A structure of fields with both orders of bytes, and padding.
struct person {
  std::int32_t id;  ///< big-endian in the file
  char name[4];
  std::uint8_t label;
  float weight[2];
};
constexpr const char* person_descr =
    "[('id', '>i4'), ('name', 'S4'), ('label', '|u1'), ('', '|V3'), ('weight', '<f4', (2,))]";

std::string bytes_of_people(const std::vector<person>& people) {
  std::string bytes;
  for (const person& p : people) {
    bytes += big_endian<std::int32_t>({p.id}) + std::string(p.name, 4) + std::string(1, static_cast<char>(p.label)) +
             "pad" + std::string(reinterpret_cast<const char*>(p.weight), 8);
  }
  return bytes;
}

std::string file_of_people(const std::vector<person>& people) {
  return npy_file(person_descr, fmt::format("({},)", people.size()), bytes_of_people(people));
}

std::vector<person> random_people(std::size_t count) {
  std::mt19937_64 random(20261127);
  std::vector<person> people(count);
  for (person& p : people) {
    p.id = static_cast<std::int32_t>(random() % 7) - 3;
    for (char& c : p.name) c = static_cast<char>('a' + random() % 2);
    p.label = static_cast<std::uint8_t>(random() % 5);
    for (float& w : p.weight) w = static_cast<float>(random() % 5) - 2;
  }
  return people;
}

template <class Less>
std::string sorted_people(std::vector<person> people, Less less) {
  std::stable_sort(people.begin(), people.end(), less);
  return file_of_people(people);
}

TEST_F(CliArrays, FieldsAreSortedByTheirNames) {
  const std::vector<person> people = random_people(300);
  folder.write("people.npy", file_of_people(people));
  expect_output("sort people.npy --key id -o out.npy", "out.npy",
                sorted_people(people, [](const person& a, const person& b) { return a.id < b.id; }));
  expect_output("sort people.npy --key id:desc --key name -o out.npy", "out.npy",
                sorted_people(people, [](const person& a, const person& b) {
                  return a.id != b.id ? a.id > b.id : std::memcmp(a.name, b.name, 4) < 0;
                }));
  expect_output("sort people.npy --key weight --key id --descending -o out.npy", "out.npy",
                sorted_people(people, [](const person& a, const person& b) {
                  if (a.weight[0] != b.weight[0]) return a.weight[0] > b.weight[0];
                  return a.weight[1] != b.weight[1] ? a.weight[1] > b.weight[1] : a.id > b.id;
                }));
  expect_output("sort people.npy --key 8:1 --key id:asc -o out.npy", "out.npy",
                sorted_people(people, [](const person& a, const person& b) {
                  return a.label != b.label ? a.label < b.label : a.id < b.id;
                }));
  expect_success("sort out.npy --check --key label --key id");
  EXPECT_EQ(run_sheaf(folder, "sort out.npy --check --key name").code, 4);
}

TEST_F(CliArrays, FieldsAreSortedRunByRun) {
  const std::vector<person> people = random_people(60000);
  folder.write("people.npy", file_of_people(people));
  const auto less = [](const person& a, const person& b) {
    return a.id != b.id ? a.id < b.id : a.weight[0] > b.weight[0];
  };
  const program_result result = run_sheaf(
      folder, "sort people.npy --key id --key 12:4:f:desc -o out.npy --memory 1M --verify --json --backend cpu");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out.find("\"merge_levels\": 0"), std::string::npos) << result.out;
  EXPECT_TRUE(folder.read("out.npy") == sorted_people(people, less));
  std::vector<std::uint32_t> order(people.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return less(people[a], people[b]); });
  expect_success("sort people.npy --key id --key 12:4:f:desc -o order.npy --index gather --memory 1M --verify --quiet");
  EXPECT_TRUE(folder.read("order.npy") == one_axis<std::uint32_t>("'<u4'", order));
}

TEST_F(CliArrays, KeysThatAreNoFieldsAreNamed) {
  folder.write("people.npy", file_of_people(random_people(2)));
  for (const char* key : {"weigh", "0", "id:down", "id.x", "0x0:4"}) {
    expect_failure(fmt::format("sort people.npy -o out --key {}", key), 2,
                   fmt::format("sheaf sort: --key: '{}' is neither OFFSET:BYTES[:TYPE][:asc|desc] nor a field of "
                               "people.npy, whose fields are id, name, label, weight",
                               key));
  }
  expect_failure(
      "sort people.npy -o out", 3,
      fmt::format("sheaf sort: people.npy: descr is {}..., a structure; --key names what to sort by: any of id, "
                  "name, label, weight",
                  std::string(person_descr).substr(0, 60)));
  expect_failure("sort people.npy -o out --key id --key 2:4", 2,
                 "sheaf sort: --key: bytes 0:4 and 2:4 overlap, and one of them is a number in the other byte order, a "
                 "date or a string of characters; give each key its own bytes");
  folder.write("pairs.npy", npy_file("[('a', '<i4')]", "(1, 2)", std::string(8, '\0')));
  expect_failure("sort pairs.npy -o out --key a", 3,
                 "sheaf sort: pairs.npy: shape is (1, 2): a row has several fields a, and only OFFSET:BYTES tells them "
                 "apart");
  folder.write("odd.npy", npy_file("[('c', '<c8'), ('g', '<f16'), ('v', '|V4'), ('e', '|S0'), ('many', '<i2', (9,)), "
                                   "('s', '|S33'), ('u', '<U13'), ('0:4', '<i4')]",
                                   "(1,)", std::string(135, '\0')));
  const auto refused = [&](const std::string& key, int code, const std::string& words) {
    expect_failure("sort odd.npy -o out --key " + key, code, "sheaf sort: " + words);
  };
  const std::string no_order = ", which has no order that sort knows; --key says what bytes to sort by";
  refused("c", 3, "odd.npy: descr is '<c8'" + no_order);
  refused("g", 3, "odd.npy: descr is '<f16'" + no_order);
  refused("v", 3, "odd.npy: descr is '|V4'" + no_order);
  refused("e", 3, "odd.npy: descr is '|S0', of no bytes, which have no order");
  refused("many", 2, "keys of 9 numbers together, more than 8");
  refused("s", 3, "odd.npy: descr is '|S33', strings of more than 32 bytes; --key 46:32 sorts by the first 32");
  refused("u", 3, "odd.npy: descr is '<U13', strings of more than 12 characters, which no key holds");
  expect_success("sort odd.npy -o out.npy --key 0:4 --quiet");
}

TEST_F(CliArrays, StringsOfCharactersAreSortedByCodePoints) {
  const std::vector<std::u32string> texts{U"b",          U"",       U"\U0001f600", U"abcdefghij",
                                          U"abcdefghii", U"\u00e4", U"a",          U"\uffff"};
  const std::vector<std::size_t> order{1, 6, 4, 3, 0, 5, 7, 2};
  for (const bool big : {false, true}) {
    const auto file_of = [&](const std::vector<std::size_t>& numbers) {
      std::vector<char32_t> all;
      for (const std::size_t i : numbers) {
        std::u32string text = texts[i];
        text.resize(10);
        all.insert(all.end(), text.begin(), text.end());
      }
      return npy_file(big ? "'>U10'" : "'<U10'", "(8,)", big ? big_endian(all) : bytes_of(all));
    };
    folder.write("texts.npy", file_of({0, 1, 2, 3, 4, 5, 6, 7}));
    expect_output("sort texts.npy -o out.npy", "out.npy", file_of(order));
    expect_success("sort out.npy --check");
    std::vector<std::size_t> descending(order.rbegin(), order.rend());
    expect_output("sort texts.npy -o out.npy --descending", "out.npy", file_of(descending));
  }
  folder.write("bad.npy", one_axis<std::uint32_t>("'<U1'", {'a', 0x200000}));
  expect_failure("sort bad.npy -o out", 3,
                 "sheaf sort: bad.npy: record 1: character 0 is 0x200000, which is not a code point");
}

TEST_F(CliArrays, ArraysInFortranOrderAreSortedRunByRun) {
  constexpr std::size_t count = 70000;
  std::mt19937_64 random(7);
  std::vector<std::int32_t> columns[3];
  for (auto& column : columns) {
    for (std::size_t i = 0; i < count; ++i) column.push_back(static_cast<std::int32_t>(random() % 50) - 25);
  }
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return columns[1][a] < columns[1][b]; });
  std::vector<std::int32_t> expected;
  for (const std::uint32_t i : order) {
    for (const auto& column : columns) expected.push_back(column[i]);
  }
  const std::string file =
      fortran_file("'<i4'", "(70000, 3)", bytes_of(columns[0]) + bytes_of(columns[1]) + bytes_of(columns[2]));
  folder.write("in.npy", file);
  folder.write("in.npz", zip_file({{"in.npy", file, true}}));
  for (const char* in : {"in.npy", "in.npz", "in.npz:in"}) {
    for (const char* memory : {"1M", "1G"}) {
      const std::string rest = fmt::format(" --key 4:4:i --memory {} --verify --quiet", memory);
      expect_success(fmt::format("sort {} -o out.npy{}", in, rest));
      EXPECT_TRUE(folder.read("out.npy") == npy_file("'<i4'", "(70000, 3)", bytes_of(expected))) << in << memory;
      expect_success(fmt::format("sort {} -o order.npy --index gather{}", in, rest));
      EXPECT_TRUE(folder.read("order.npy") == one_axis<std::uint32_t>("'<u4'", order)) << in << memory;
    }
    EXPECT_EQ(run_sheaf(folder, fmt::format("sort {} --check --key 4:4:i", in)).code, 4);
  }
  expect_success("sort out.npy --check --key 4:4:i");
  const program_result checked = run_sheaf(
      folder, fmt::format("version >/dev/null; TMPDIR=none '{}' sort out.npy --check --key 4:4:i", sheaf_program()));
  EXPECT_EQ(checked.code, 0) << checked.err;
}

TEST_F(CliArrays, FieldsAreCategories) {
  const std::vector<person> people = random_people(200);
  folder.write("people.npy", file_of_people(people));
  expect_output("split people.npy --key label -o out.npy", "out.npy",
                sorted_people(people, [](const person& a, const person& b) { return a.label < b.label; }));
  // The two lowest bits of a big-endian number.
  expect_output("split people.npy --key id --bits 0:2 -o out.npy", "out.npy",
                sorted_people(people, [](const person& a, const person& b) { return (a.id & 3) < (b.id & 3); }));
  expect_output(
      "split people.npy --key id --bits 1:2 -o out.npy", "out.npy",
      sorted_people(people, [](const person& a, const person& b) { return (a.id >> 1 & 3) < (b.id >> 1 & 3); }));
  expect_failure("split people.npy --key label --from-left -o out", 2,
                 "sheaf split: --from-left is for --key OFFSET:BYTES; the bits of field label are counted from the "
                 "lowest");
  expect_failure("split people.npy --key name -o out", 3,
                 "sheaf split: people.npy: --key: field name is 'S4'; a category is a whole number, and OFFSET:BYTES "
                 "takes other bytes");
  expect_failure("split people.npy --key none -o out", 2,
                 "sheaf split: --key: 'none' is neither OFFSET:BYTES nor a field of people.npy, whose fields are id, "
                 "name, label, weight");
  expect_failure("split people.npy --key label --bits 4:5 -o out", 2,
                 "sheaf split: --bits: '4:5' reaches past the 8 bits of --key label");
  expect_failure("split people.npy --key label:4:3 -o out", 2,
                 "sheaf split: --key label:4:3 is now --key label --bits 4:3");
}

// By all of a number's 64 bits, in either order of bytes.
TEST_F(CliArrays, FieldsOfEightBytesAreCategories) {
  const std::vector<std::uint64_t> numbers{5, std::uint64_t{1} << 40, 3, std::uint64_t{7} << 56, 4};
  const std::vector<std::uint64_t> sorted{3, 4, 5, std::uint64_t{1} << 40, std::uint64_t{7} << 56};
  const std::string files[][2] = {{npy_file("[('n', '<u8')]", "(5,)", bytes_of<std::uint64_t>(numbers)),
                                   npy_file("[('n', '<u8')]", "(5,)", bytes_of<std::uint64_t>(sorted))},
                                  {npy_file("[('n', '>u8')]", "(5,)", big_endian<std::uint64_t>(numbers)),
                                   npy_file("[('n', '>u8')]", "(5,)", big_endian<std::uint64_t>(sorted))}};
  for (const auto& [in, out] : files) {
    folder.write("wide.npy", in);
    expect_output("split wide.npy --key n -o out.npy", "out.npy", out);
    expect_output("split wide.npy --key n --bits 1:40 --index gather -o index.npy", "index.npy",
                  one_axis<std::uint32_t>("'<u4'", {3, 2, 0, 4, 1}));
  }
  expect_failure("split wide.npy --key n -o out --offsets offsets.npy", 2,
                 "sheaf split: --offsets is for keys of up to 32 bits; one of 64 has too many categories for offsets");
}

TEST_F(CliArrays, FieldsAreSearched) {
  const std::vector<person> people = random_people(100);
  folder.write("people.npy", file_of_people(people));
  const std::string keys[] = {npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({-1, 9, 2})),
                              npy_file("'>i4'", "(3,)", big_endian<std::int32_t>({-1, 9, 2}))};
  std::vector<std::uint32_t> counts{0, 0, 0};
  for (const person& p : people) {
    counts[0] += p.id == -1 ? 1 : 0;
    counts[2] += p.id == 2 ? 1 : 0;
  }
  for (const std::string& key : keys) {
    folder.write("keys.npy", key);
    expect_output("search keys.npy people.npy --key id --matches count -o out", "out.counts.npy",
                  one_axis<std::uint32_t>("'<u4'", counts));
  }
  folder.write("keys.npy", fortran_file("'>i4'", "(2, 2)", big_endian<std::int32_t>({-1, 9, 2, 9})));
  expect_output("search keys.npy people.npy --key id --matches count -o out", "out.counts.npy",
                npy_file("'<u4'", "(2, 2)", bytes_of<std::uint32_t>({counts[0], counts[2], 0, 0})));
  folder.write("keys.npy", keys[0]);
  folder.write("floats.npy", one_axis<float>("'<f4'", {1}));
  expect_failure("search floats.npy people.npy --key id -o other", 3,
                 "sheaf search: floats.npy: descr is '<f4', but people.npy has '>i4'; bits are compared, so both need "
                 "the same type");
  expect_failure("search keys.npy people.npy --key weight -o other", 3,
                 "sheaf search: people.npy: field weight is 2 times '<f4'; keys are numbers or dates of 4 or 8 bytes");
  expect_failure("search keys.npy people.npy --key nobody -o other", 2,
                 "sheaf search: --key: 'nobody' is neither OFFSET:BYTES nor a field of people.npy, whose fields are "
                 "id, name, label, weight");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_arrays_test
