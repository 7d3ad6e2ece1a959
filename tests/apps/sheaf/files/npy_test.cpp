#include "apps/sheaf/files/npy.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/sheaf/files/record_file.hpp"
#include "core/printable.hpp"
#include "support/expect_error.hpp"
#include "support/npy_file.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_files_npy_test {
namespace {

using io::npy_array;
using io::parse_npy;
using shape_list = std::vector<std::uint64_t>;

std::span<const std::byte> as_bytes(const std::string& file) {
  return std::as_bytes(std::span(file.data(), file.size()));
}

npy_array parse(const std::string& file) { return parse_npy(as_bytes(file), "x.npy"); }

std::string dict(const std::string& descr, const std::string& shape, const std::string& fortran_order = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + fortran_order + ", 'shape': " + shape + ", }\n";
}

void expect_refused(const std::string& file, std::string_view message) {
  expect_error(error_code::bad_input, message, [&] { parse(file); });
}

TEST(Npy, ReadsAllThreeVersions) {
  for (const unsigned version : {1U, 2U, 3U}) {
    SCOPED_TRACE(version);
    const std::string file = npy_file(version, dict("'<f4'", "(2, 3)"), std::string(24, 'x'));
    const npy_array array = parse(file);
    EXPECT_EQ(array.shape, (shape_list{2, 3}));
    EXPECT_EQ(array.type.descr, "'<f4'");
    EXPECT_EQ(array.type.kind, 'f');
    EXPECT_EQ(array.type.order, '<');
    EXPECT_EQ(array.type.item_bytes, 4U);
    EXPECT_EQ(array.data_bytes, 24U);
    EXPECT_EQ(array.data, as_bytes(file).data() + file.size() - 24);
  }
}

struct type_case {
  const char* descr;
  char kind;
  char order;
  std::uint64_t item_bytes;
};

TEST(Npy, KnowsEveryTypeOfAFixedSize) {
  const type_case cases[] = {
      {"'<f4'", 'f', '<', 4},      {"'|u1'", 'u', '|', 1},       {"'>i4'", 'i', '>', 4},    {"'<c16'", 'c', '<', 16},
      {"'|S10'", 'S', '|', 10},    {"'<U4'", 'U', '<', 16},      {"'|V8'", 'V', '|', 8},    {"'<M8[ns]'", 'M', '<', 8},
      {"'<m8[25s]'", 'm', '<', 8}, {"'<M8[ms/4]'", 'M', '<', 8}, {"'|b1'", 'b', '|', 1},    {"'?'", 'b', '|', 1},
      {"'<f2'", 'f', '<', 2},      {"'<f16'", 'f', '<', 16},     {"'=i8'", 'i', '<', 8},    {"\"<u8\"", 'u', '<', 8},
      {"'i1'", 'i', '|', 1},       {"'|a3'", 'S', '|', 3},       {"'|S0'", 'S', '|', 0},    {"'<M8[D]'", 'M', '<', 8},
      {"'<M8[M]'", 'M', '<', 8},   {"'<m8[W]'", 'm', '<', 8},    {"'<m8[Y]'", 'm', '<', 8}, {"'>M8'", 'M', '>', 8},
  };
  for (const type_case& c : cases) {
    SCOPED_TRACE(c.descr);
    const io::npy_type type = io::parse_npy_type(c.descr, "x.npy");
    EXPECT_EQ(type.kind, c.kind);
    EXPECT_EQ(type.order, c.order);
    EXPECT_EQ(type.item_bytes, c.item_bytes);
    EXPECT_EQ(type.descr, c.descr);
  }
}

TEST(Npy, AddsUpStructures) {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"[('x', '<f4'), ('y', '<i8')]", 12},
      {"[('x', '<f4', (3,)), ('', '|V4'), ('y', '<i8', 2)]", 32},
      {"[('p', [('x', '<f8'), ('y', '<f8')], (2, 2)), ('id', '|u1')]", 65},
      {"[(('a title', 'name'), '<f4')]", 4},
      {"[('m', ('<f4', (2, 5)))]", 40},
      {"[]", 0},
  };
  for (const auto& [descr, item_bytes] : cases) {
    SCOPED_TRACE(descr);
    const io::npy_type type = io::parse_npy_type(descr, "x.npy");
    EXPECT_EQ(type.item_bytes, item_bytes);
    EXPECT_EQ(type.kind, 'V');
    EXPECT_EQ(type.descr, descr);
  }
}

TEST(Npy, AcceptsWhatOlderWritersWrote) {
  const npy_array array =
      parse(npy_file(1, "{'shape': (2L,), \"descr\": '<u4',\t'fortran_order': True}", std::string(8, 'x')));
  EXPECT_EQ(array.shape, (shape_list{2}));
}

TEST(Npy, AnArrayWithoutDimensionsHasOneElement) { EXPECT_EQ(parse(npy_file("'<f4'", "()", "abcd")).data_bytes, 4U); }

TEST(Npy, AnEmptyArrayHasNoData) { EXPECT_EQ(parse(npy_file("'<f4'", "(0, 4611686018427387)", "")).data_bytes, 0U); }

TEST(Npy, FortranOrderIsSeenWhereItIsAnother) {
  const auto is_other = [](const std::string& shape, const std::string& fortran, std::size_t items) {
    return parse(npy_file(1, dict("'<f4'", shape, fortran), std::string(4 * items, 'x'))).column_major;
  };
  EXPECT_TRUE(is_other("(2, 3)", "True", 6));
  EXPECT_TRUE(is_other("(1, 3, 1, 2)", "True", 6));
  EXPECT_FALSE(is_other("(2, 3)", "False", 6));
  EXPECT_FALSE(is_other("(1, 3, 1)", "True", 3));
  EXPECT_FALSE(is_other("(3,)", "True", 3));
  EXPECT_FALSE(is_other("()", "True", 1));
  EXPECT_FALSE(is_other("(0, 3)", "True", 0));
}

TEST(Npy, FieldsOfStructuresHavePlaces) {
  const npy_array array = parse(npy_file(
      "[('id', '>i8'), ('', '|V4'), ('v', '<f4', (3,)), (('a title', 'p'), [('x', '<u2'), ('it\\'s', '|S3')]), "
      "('w', ('<f8', (2, 2)))]",
      "(1,)", std::string(61, 'x')));
  const std::vector<io::npy_field>& fields = array.type.fields;
  ASSERT_EQ(fields.size(), 5U);
  EXPECT_EQ(fields[0].name, "id");
  EXPECT_EQ(fields[0].type.order, '>');
  EXPECT_EQ(fields[1].name, "");
  EXPECT_EQ(fields[2].offset, 12U);
  EXPECT_EQ(fields[2].count, 3U);
  EXPECT_EQ(fields[2].type.item_bytes, 4U);
  EXPECT_EQ(fields[3].name, "p");
  EXPECT_EQ(fields[3].title, "a title");
  EXPECT_EQ(fields[3].offset, 24U);
  ASSERT_EQ(fields[3].type.fields.size(), 2U);
  EXPECT_EQ(fields[3].type.fields[1].name, "it's");
  EXPECT_EQ(fields[3].type.fields[1].offset, 2U);
  EXPECT_EQ(fields[4].offset, 29U);
  EXPECT_EQ(fields[4].count, 4U);
  EXPECT_EQ(fields[4].type.kind, 'f');
}

TEST(Npy, NativeTypesAreLittleEndian) {
  EXPECT_EQ(io::native_type(io::parse_npy_type("'>i4'", "x")).descr, "'<i4'");
  EXPECT_EQ(io::native_type(io::parse_npy_type("'>i4'", "x")).order, '<');
  EXPECT_EQ(io::native_type(io::parse_npy_type("'<f8'", "x")).descr, "'<f8'");
  EXPECT_EQ(io::native_type(io::parse_npy_type("'|u1'", "x")).descr, "'|u1'");
}

TEST(Npy, ObjectsAreRefusedWithAReason) {
  expect_refused(npy_file("'|O'", "(2,)", std::string(16, 'x')),
                 "x.npy: descr: '|O' holds Python objects, which only pickle reads; sheaf moves bytes");
  expect_refused(npy_file("[('a', '|O'), ('b', '<f4')]", "(2,)", std::string(24, 'x')),
                 "x.npy: descr: '|O' holds Python objects, which only pickle reads; sheaf moves bytes");
}

TEST(Npy, TruncatedDataIsNamed) {
  expect_refused(npy_file("'<f4'", "(3, 4)", std::string(40, 'x')),
                 "x.npy: shape (3, 4) of '<f4' takes 48 bytes, but 40 follow the header: the file is cut short");
}

TEST(Npy, TrailingBytesAreNamed) {
  expect_refused(npy_file("'<f4'", "(3,)", std::string(13, 'x')),
                 "x.npy: shape (3,) of '<f4' takes 12 bytes, but 13 follow the header: the file is too long");
}

TEST(Npy, WhatIsNoNpyFileIsNamed) {
  expect_refused("", "x.npy: byte 0: not an .npy file: it starts with '', not '\\x93NUMPY'");
  expect_refused("PK\x03\x04 an archive",
                 "x.npy: byte 0: not an .npy file: it starts with 'PK\\x03\\x04 a', not '\\x93NUMPY'");
}

TEST(Npy, ADamagedPreambleIsNamed) {
  const std::string magic = "\x93NUMPY";
  expect_refused(magic, "x.npy: byte 6: the file ends inside its preamble");
  expect_refused(magic + std::string("\x02\x00\x10\x00", 4), "x.npy: byte 10: the file ends inside its preamble");
  expect_refused(npy_file(4, dict("'<f4'", "()"), "abcd"), "x.npy: byte 6: version 4.0 is not 1.0, 2.0 or 3.0");
  expect_refused(magic + std::string("\x01\x00\xff\x00{}", 6),
                 "x.npy: byte 8: a header of 255 bytes is announced, but 2 bytes follow");
  expect_refused(magic + std::string("\x02\x00\xff\xff\xff\xff{}", 8),
                 "x.npy: byte 8: a header of 4294967295 bytes is announced, but 2 bytes follow");
  expect_refused(npy_file(2, std::string((1 << 20) + 1, ' '), ""),
                 "x.npy: byte 8: a header of 1048577 bytes is announced, more than the 1048576 that are read");
}

TEST(Npy, KeysAreCheckedOneByOne) {
  expect_refused(npy_file(1, "{'descr': '<f4', 'shape': ()}", ""), "x.npy: the header has no key 'fortran_order'");
  expect_refused(npy_file(1, "{'descr': '<f4', 'fortran_order': False}", ""), "x.npy: the header has no key 'shape'");
  expect_refused(npy_file(1, "{'fortran_order': False, 'shape': ()}", ""), "x.npy: the header has no key 'descr'");
  expect_refused(npy_file(1, "{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': ()}", ""),
                 "x.npy: byte 27: key 'descr' appears twice");
  expect_refused(npy_file(1, "{'extra': 1, 'descr': '<f4', 'fortran_order': False, 'shape': ()}", ""),
                 "x.npy: byte 11: key 'extra' is not descr, fortran_order or shape");
  expect_refused(npy_file(1, "{3: 1}", ""), "x.npy: byte 11: key 3 is not descr, fortran_order or shape");
  expect_refused(npy_file(1, "('descr', '<f4')", ""), "x.npy: byte 10: the header is not a dict: ('descr', '<f4')");
}

TEST(Npy, ValuesAreCheckedOneByOne) {
  expect_refused(npy_file(1, dict("'<f4'", "(3,)", "0"), ""), "x.npy: fortran_order is 0, not True or False");
  expect_refused(npy_file("'<f4'", "(3)", ""), "x.npy: shape is (3), not a tuple of whole numbers");
  expect_refused(npy_file("'<f4'", "[3]", ""), "x.npy: shape is [3], not a tuple of whole numbers");
  expect_refused(npy_file("'<f4'", "(-3,)", ""), "x.npy: shape is (-3,): -3 is not a number of elements");
  expect_refused(npy_file("'<f4'", "('3',)", ""), "x.npy: shape is ('3',): '3' is not a number of elements");
  expect_refused(npy_file("'<f4'", "(99999999999999999999,)", ""),
                 "x.npy: shape is (99999999999999999999,): 99999999999999999999 is not a number of elements");
  expect_refused(npy_file("'<f4'", "(4294967296, 4294967296)", ""),
                 "x.npy: shape is (4294967296, 4294967296): more elements of 4 bytes than memory can hold");
  expect_refused(npy_file("'<f4'", "(0, 4294967296, 4294967296)", ""),
                 "x.npy: shape is (0, 4294967296, 4294967296): more elements of 4 bytes than memory can hold");
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  expect_refused(npy_file("'<f4'", many + ")", "abcd"), "x.npy: shape has 65 dimensions, more than 64");
}

TEST(Npy, TypesAreCheckedOneByOne) {
  for (const char* descr : {"'float32'", "'<f5'", "'<f4[ns]'", "'<M8[ns'", "'<M8ns]'", "'<M8[]'", "'<m8[n s]'",
                            "'<m8[NS]'", "'<'", "''", "'<f'", "'<S-1'", "'i4,f4'", "'<q8'"}) {
    SCOPED_TRACE(descr);
    expect_refused(npy_file(descr, "()", ""),
                   "x.npy: descr: " + std::string(descr) + " is not a type that sheaf knows");
  }
  expect_refused(npy_file("7", "()", ""), "x.npy: descr: 7 is neither a type string nor a list of fields");
  expect_refused(npy_file("[('x',)]", "()", ""),
                 "x.npy: descr: ('x',) is not a field: (name, type) or (name, type, shape)");
  expect_refused(npy_file("['x']", "()", ""), "x.npy: descr: 'x' is not a field: (name, type) or (name, type, shape)");
  expect_refused(npy_file("[('x', '<f4', 2, 3)]", "()", ""),
                 "x.npy: descr: ('x', '<f4', 2, 3) is not a field: (name, type) or (name, type, shape)");
  for (const char* name : {"1", "('title', 2)", "(1, 'name')", "('title',)", "['title', 'name']"}) {
    expect_refused(npy_file("[(" + std::string(name) + ", '<f4')]", "()", ""),
                   "x.npy: descr: " + std::string(name) + " is not the name of a field");
  }
  for (const char* shape : {"'y'", "-1", "('2',)", "[2]", "(2, None)"}) {
    expect_refused(npy_file("[('x', '<f4', " + std::string(shape) + ")]", "()", ""),
                   "x.npy: descr: " + std::string(shape) + " is not the shape of a field");
  }
  expect_refused(npy_file("('<f4', 2, 3)", "()", ""),
                 "x.npy: descr: ('<f4', 2, 3) is neither a type string nor a list of fields");
  for (const char* wide :
       {"[('a', '|V9223372036854775807'), ('b', '|V9223372036854775807'), ('c', '|V9223372036854775807')]",
        "[('a', '|V9223372036854775807'), ('b', '|V1')]"}) {
    expect_refused(npy_file(wide, "()", ""), "x.npy: descr: " + core::printable(wide) + " is wider than memory");
  }
  expect_refused(npy_file("('<f8', (4611686018427387904, 4))", "()", ""),
                 "x.npy: descr: (4611686018427387904, 4) is wider than memory");
  expect_refused(npy_file("[('x', '<f4', (-1,))]", "()", ""), "x.npy: descr: (-1,) is not the shape of a field");
  expect_refused(npy_file("'<U4611686018427387904'", "()", ""),
                 "x.npy: descr: '<U4611686018427387904' is wider than memory");
}

TEST(Npy, SyntaxErrorsNameTheirPlace) {
  expect_refused(npy_file(1, "{'descr': '<f4'", ""), "x.npy: byte 25: the header ends too early");
  expect_refused(npy_file(1, "{'descr': '<f4", ""), "x.npy: byte 24: the header ends too early");
  expect_refused(npy_file(1, "{'descr' '<f4'}", ""), "x.npy: byte 19: no colon after a key: '<f4'}");
  expect_refused(npy_file(1, "{'descr': '<f4' 'shape': ()}", ""),
                 "x.npy: byte 26: no comma or } after a value: 'shape': ()}");
  expect_refused(npy_file(1, "{'shape': (1 2)}", ""), "x.npy: byte 23: no comma or ) after a value: 2)}");
  expect_refused(npy_file(1, "{'shape': (1.5,)}", ""), "x.npy: byte 22: not a whole number: .5,)}");
  expect_refused(npy_file(1, "{'shape': (-,)}", ""), "x.npy: byte 22: a sign without a number: ,)}");
  expect_refused(npy_file(1, "{'shape': (3x,)}", ""), "x.npy: byte 22: not a whole number: x,)}");
  expect_refused(npy_file(1, "{'shape': (3LL,)}", ""), "x.npy: byte 23: not a whole number: L,)}");
  expect_refused(npy_file(1, "7", ""), "x.npy: byte 10: the header is not a dict: 7");
  expect_refused(npy_file(1, "7L", ""), "x.npy: byte 10: the header is not a dict: 7L");
  expect_refused(npy_file(1, "None", ""), "x.npy: byte 10: the header is not a dict: None");
  expect_refused(npy_file(1, "-", ""), "x.npy: byte 11: a sign without a number: ");
  expect_refused(npy_file(1, "{'a", ""), "x.npy: byte 13: the header ends too early");
  expect_refused(npy_file(1, "{'a\\'", ""), "x.npy: byte 15: the header ends too early");
  expect_refused(npy_file(1, "{'a'", ""), "x.npy: byte 14: no colon after a key: ");
  expect_refused(npy_file(1, "  ", ""), "x.npy: byte 12: the header ends too early");
  expect_refused(npy_file(1, "{} {}", ""), "x.npy: byte 13: more text follows where the header should end: {}");
  expect_refused(npy_file(1, "{'shape': __import__('os')}", ""),
                 "x.npy: byte 20: not a string, whole number, tuple, list, True, False or None: __import__('os')}");
  expect_refused(npy_file(1, "\xff", ""),
                 "x.npy: byte 10: not a string, whole number, tuple, list, True, False or None: \\xff");
  expect_refused(npy_file(1, std::string("{'a\0b': 1}", 10), ""),
                 "x.npy: byte 13: a control character inside a string: \\x00b': 1}");
  expect_refused(npy_file(1, std::string(100, '('), ""),
                 "x.npy: byte 43: brackets are nested deeper than 32: ((((((((((((((((((((");
}

TEST(Npy, NamesOfFieldsMayHaveQuotesAndSigns) {
  const npy_array array =
      parse(npy_file(1, "{'descr': [('it\\'s', '<f4')], 'fortran_order': False, 'shape': (+1,)}", std::string(4, 'x')));
  EXPECT_EQ(array.type.item_bytes, 4U);
  EXPECT_EQ(array.shape, (shape_list{1}));
}

TEST(Npy, AVersionAfterTheThirdOrWithAMinorNumberIsRefused) {
  std::string file = npy_file(1, dict("'<f4'", "()"), "abcd");
  file[7] = '\1';
  expect_refused(file, "x.npy: byte 6: version 1.1 is not 1.0, 2.0 or 3.0");
  file[6] = file[7] = '\0';
  expect_refused(file, "x.npy: byte 6: version 0.0 is not 1.0, 2.0 or 3.0");
}

TEST(Npy, Version3MustBeUtf8) {
  for (const char* name : {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    const std::string descr = "[('" + std::string(name) + "', '<f4')]";
    EXPECT_EQ(parse(npy_file(3, dict(descr, "()"), "abcd")).type.descr, descr);
  }
  // Cut characters, and a byte that begins none.
  for (const char* name : {"\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xff", "\x82"}) {
    const std::string message = message_of(error_code::bad_input, [&] {
      parse(npy_file(3, dict("[('" + std::string(name) + "', '<f4')]", "()"), "abcd"));
    });
    EXPECT_TRUE(message.starts_with("x.npy: byte 25: not UTF-8, which version 3 headers are: \\x")) << message;
  }
  expect_refused(npy_file(3, "{'\xe2\x82", ""), "x.npy: byte 14: not UTF-8, which version 3 headers are: \\xe2\\x82");

  expect_refused(npy_file(3, dict("[('\xe4', '<f4')]", "()"), "abcd"),
                 "x.npy: byte 25: not UTF-8, which version 3 headers are: \\xe4', ");
}

TEST(Npy, WrittenHeadersAreReadBack) {
  std::string wide = "[";
  for (int i = 0; i < 6000; ++i) wide += "('field" + std::to_string(i) + "', '|u1'), ";
  wide += "]";
  const std::pair<std::string, unsigned> cases[] = {{"'<f4'", 1},
                                                    {"[('x', '<f4', (2,)), ('y', '|S3')]", 1},
                                                    {wide, 2},
                                                    {"[('\xc3\xa4', '<f4')]", 1},
                                                    {"[('\xce\xb1', '<f4')]", 3}};
  for (const auto& [descr, version] : cases) {
    SCOPED_TRACE(descr.substr(0, 40));
    const io::npy_type type = io::parse_npy_type(descr, "x.npy");
    for (const shape_list& shape : {shape_list{}, shape_list{3}, shape_list{2, 0, 5}, shape_list{2, 1, 3}}) {
      const std::string header = io::format_npy_header(type, shape);
      EXPECT_EQ(header.size() % 64, 0U);
      EXPECT_EQ(static_cast<unsigned>(header[6]), version);
      EXPECT_EQ(header.back(), '\n');
      std::uint64_t count = 1;
      for (const std::uint64_t extent : shape) count *= extent;
      const std::string file = header + std::string(count * type.item_bytes, 'x');
      const npy_array array = parse(file);
      EXPECT_EQ(array.type.descr, type.descr);
      EXPECT_EQ(array.shape, shape);
    }
  }
}

TEST(Npy, Latin1NamesStayWhatTheyAre) {
  const std::string file = npy_file(1, dict("[('\xe4', '<f4')]", "(1,)"), "abcd");
  const npy_array array = parse(file);
  EXPECT_EQ(array.type.descr, "[('\xc3\xa4', '<f4')]");
  EXPECT_NE(io::format_npy_header(array.type, array.shape).find("[('\xe4', '<f4')]"), std::string::npos);
}

TEST(RecordFile, RowsAreWhatFollowsTheFirstAxes) {
  const temporary_folder folder;
  const std::string path = folder.write("t.npy", npy_file("'<f4'", "(2, 3, 5)", std::string(120, 'x')));
  const io::record_file file(path, 0);
  EXPECT_EQ(file.rows(65536).count, 2U);
  EXPECT_EQ(file.rows(65536).record_bytes, 60U);
  EXPECT_EQ(file.rows(65536, 2).count, 6U);
  EXPECT_EQ(file.rows(65536, 0).record_bytes, 120U);
  expect_error(error_code::bad_input, path + ": rows of shape (3, 5) of '<f4' take 60 bytes; records take 1 to 59",
               [&] { file.rows(59); });
  expect_error(error_code::bad_input, path + ": shape is (2, 3, 5), of fewer than 4 dimensions",
               [&] { file.rows(59, 4); });
}

TEST(RecordFile, RowsAreCountedWithoutMappingThem) {
  const temporary_folder folder;
  const std::string path = folder.write("t.npy", npy_file("'<f4'", "(2, 3, 5)", std::string(120, 'x')));
  const io::record_file file(path, 0);
  const const_records rows = file.unmapped_rows(65536, 2);
  EXPECT_EQ(rows.data, nullptr);
  EXPECT_EQ(rows.count, 6U);
  EXPECT_EQ(rows.record_bytes, 20U);
  EXPECT_EQ(static_cast<char>(*file.rows(65536).data), 'x');
  std::string two(120, ' ');
  file.read_rows(1, 1, reinterpret_cast<std::byte*>(two.data()));
  EXPECT_EQ(two, std::string(60, 'x') + std::string(60, ' '));
}

TEST(RecordFile, TablesWithoutRowsAreRefused) {
  const temporary_folder folder;
  const std::string point = folder.write("point.npy", npy_file("'<f4'", "()", "abcd"));
  expect_error(error_code::bad_input, point + ": shape is (): an array without dimensions has no rows",
               [&] { io::record_file(point, 0).rows(65536); });
  const std::string flat = folder.write("flat.npy", npy_file("'<f4'", "(4, 0)", ""));
  expect_error(error_code::bad_input, flat + ": rows of shape (0,) of '<f4' are empty",
               [&] { io::record_file(flat, 0).rows(65536); });
}

TEST(RecordFile, RawFilesHoldWholeRecords) {
  const temporary_folder folder;
  const std::string path = folder.write("raw", "0123456789");
  EXPECT_EQ(io::record_file(path, 5).rows(65536).count, 2U);
  expect_error(error_code::bad_input, path + ": 10 bytes are not a multiple of 4 bytes: 2 are left over",
               [&] { io::record_file(path, 4); });
  expect_error(error_code::bad_input, path + ": not an .npy file; raw files need --record-bytes",
               [&] { io::record_file(path, 0); });
  const std::string npy = folder.write("a.npy", npy_file("'<f4'", "(1,)", "abcd"));
  expect_error(error_code::bad_input, npy + ": an .npy file, but --record-bytes is for raw files",
               [&] { io::record_file(npy, 1); });
}

TEST(IndexFile, ReadsEveryIndexTypeAndShape) {
  const temporary_folder folder;
  const std::string path = folder.write("i.npy", npy_file("'<i8'", "(2, 2)", bytes_of<std::int64_t>({3, 1, -4, 1})));
  const io::index_file file(path, std::nullopt);
  EXPECT_EQ(file.indices().count, 4U);
  EXPECT_EQ(file.indices().type, index_type::i64);
  EXPECT_EQ(static_cast<const std::int64_t*>(file.indices().data)[2], -4);
  const std::string raw = folder.write("raw", bytes_of<std::uint32_t>({7, 8, 9}));
  EXPECT_EQ(io::index_file(raw, index_type::u32).indices().count, 3U);
}

TEST(IndexFile, AHeaderOfOddLengthDoesNotMisalignTheList) {
  const temporary_folder folder;
  const std::string header = dict("'<u8'", "(2,)");
  for (std::size_t pad = 0; pad < 8; ++pad) {
    const std::string path =
        folder.write("i.npy", npy_file(1, header + std::string(pad, ' '), bytes_of<std::uint64_t>({11, 12})));
    const io::index_file file(path, std::nullopt);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.indices().data) % 8, 0U);
    EXPECT_EQ(static_cast<const std::uint64_t*>(file.indices().data)[1], 12U);
  }
}

/// The bytes of numbers from the highest on.
template <class T>
std::string big_endian(std::vector<T> numbers) {
  std::string bytes = bytes_of(numbers);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) std::reverse(&bytes[at], &bytes[at] + sizeof(T));
  return bytes;
}

template <class T>
void expect_indices(const std::string& descr, const std::string& data, index_type type,
                    const std::vector<T>& expected) {
  const temporary_folder folder;
  const std::string path = folder.write("i.npy", npy_file(descr, "(" + std::to_string(expected.size()) + ",)", data));
  const io::index_file file(path, std::nullopt);
  ASSERT_EQ(file.indices().type, type) << descr;
  ASSERT_EQ(file.indices().count, expected.size());
  const T* const found = static_cast<const T*>(file.indices().data);
  EXPECT_EQ(std::vector<T>(found, found + expected.size()), expected) << descr;
}

TEST(IndexFile, ConvertsEveryTypeOfWholeNumber) {
  expect_indices<std::uint32_t>("'|u1'", bytes_of<std::uint8_t>({0, 255, 7}), index_type::u32, {0, 255, 7});
  expect_indices<std::int32_t>("'|i1'", bytes_of<std::int8_t>({0, -128, 127}), index_type::i32, {0, -128, 127});
  expect_indices<std::uint32_t>("'<u2'", bytes_of<std::uint16_t>({1, 65535}), index_type::u32, {1, 65535});
  expect_indices<std::uint32_t>("'>u2'", big_endian<std::uint16_t>({1, 65534}), index_type::u32, {1, 65534});
  expect_indices<std::int32_t>("'<i2'", bytes_of<std::int16_t>({1, -2}), index_type::i32, {1, -2});
  expect_indices<std::int32_t>("'>i2'", big_endian<std::int16_t>({300, -2}), index_type::i32, {300, -2});
  expect_indices<std::uint32_t>("'>u4'", big_endian<std::uint32_t>({1, 0xfffffffeU}), index_type::u32,
                                {1, 0xfffffffeU});
  expect_indices<std::int32_t>("'>i4'", big_endian<std::int32_t>({70000, -3}), index_type::i32, {70000, -3});
  expect_indices<std::uint64_t>("'>u8'", big_endian<std::uint64_t>({1, 1ULL << 40}), index_type::u64, {1, 1ULL << 40});
  expect_indices<std::int64_t>("'>i8'", big_endian<std::int64_t>({5, -1}), index_type::i64, {5, -1});
  expect_indices<std::uint32_t>("'|u1'", "", index_type::u32, {});
}

TEST(IndexFile, ReadsFortranOrderInTheOrderOfRows) {
  const temporary_folder folder;
  const std::string path = folder.write(
      "i.npy", npy_file(1, dict("'>i2'", "(2, 3)", "True"), big_endian<std::int16_t>({0, 10, 1, 11, 2, 12})));
  const io::index_file file(path, std::nullopt);
  ASSERT_EQ(file.indices().count, 6U);
  const auto* const found = static_cast<const std::int32_t*>(file.indices().data);
  EXPECT_EQ(std::vector<std::int32_t>(found, found + 6), (std::vector<std::int32_t>{0, 1, 2, 10, 11, 12}));
}

TEST(IndexFile, OtherTypesAreRefusedByName) {
  const temporary_folder folder;
  for (const char* descr : {"'<f4'", "'|S4'", "'<M8[s]'", "[('a', '<i8')]"}) {
    const std::string path = folder.write("i.npy", npy_file(descr, "(0,)", ""));
    expect_error(
        error_code::bad_input,
        path + ": descr is " + descr + "; an index has whole numbers of 1, 2, 4 or 8 bytes, signed or unsigned",
        [&] { io::index_file(path, std::nullopt); });
  }
  const std::string mask = folder.write("m.npy", npy_file("'|b1'", "(2,)", std::string("\1\0", 2)));
  expect_error(error_code::bad_input,
               mask + ": descr is '|b1': a mask is not an index; numpy.flatnonzero makes an index of it",
               [&] { io::index_file(mask, std::nullopt); });
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_npy_test
