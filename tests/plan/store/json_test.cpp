#include "plan/store/json.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::plan_store_json_test {
namespace {

using io::json_format;
using testing::EndsWith;
using testing::StartsWith;

constexpr json_format notes{.name = "a note", .most_bytes = 8 << 20, .deepest_nesting = 3};
constexpr std::size_t long_bytes = 5'000'000;

nlohmann::json parse(std::string_view text) { return io::parse_json(text, "f", notes); }

std::string refusal_of(std::string_view text) {
  return message_of(error_code::bad_input, [&] { parse(text); });
}

TEST(Json, GivesTheDocument) {
  EXPECT_EQ(parse(R"( {"a": [1, {"b": 2.5}], "c": null} )").dump(), R"({"a":[1,{"b":2.5}],"c":null})");
  EXPECT_EQ(parse("7").dump(), "7");
}

TEST(Json, BytesAfterTheDocumentAreRefused) {
  expect_error(error_code::bad_input, "f: not JSON: byte 2 is zero", [] { parse({"[]\0", 3}); });
  expect_error(error_code::bad_input, "f: not JSON: byte 3 is zero", [] { parse({"[]\n\0[]", 6}); });
  EXPECT_THAT(refusal_of("[] []"), StartsWith("f: not JSON: parse error at line 1, column 4"));
  EXPECT_THAT(refusal_of("{}x"), StartsWith("f: not JSON: parse error at line 1, column 3"));
}

TEST(Json, ANameThatAnObjectHasTwiceIsRefusedWithItsPlace) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"a": 1, "a": 1})", "f: 'a' appears twice"},
      {R"({"b": [{}, {"c": 1, "d": 2, "c": 3}]})", "f: b[1]: 'c' appears twice"},
      {R"([0, {"": 1, "": 1}])", "f: [1]: '' appears twice"},
      {R"([{"\u001b": 1, "\u001b": 1}])", "f: [0]: '?' appears twice"},
  };
  for (const auto& [text, message] : wrong) {
    expect_error(error_code::bad_input, message, [&text = text] { parse(text); });
  }
  EXPECT_NO_THROW(parse(R"([{"a": 1}, {"a": {"a": 1}}])"));
}

TEST(Json, NestingIsBoundedBeforeItExhaustsTheStack) {
  EXPECT_NO_THROW(parse("[[[1]]]"));
  EXPECT_NO_THROW(parse(R"({"a": {"b": {}}, "c": [[]]})"));
  for (const std::string& text : {std::string("[[[[]]]]"), std::string(long_bytes, '['), std::string(R"([{"a": [{)")}) {
    expect_error(error_code::bad_input, "f: nested deeper than a note is", [&] { parse(text); });
  }
}

TEST(Json, SyntaxErrorsAreNamedWithTheirPlace) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "f: not JSON: "},
      {"{", "f: not JSON: "},
      {"[1, 2", "f: [2]: not JSON: "},
      {R"({"a": [{"z": 1}, {}], "b": [{}, 7, {"c": tru}]})", "f: b[2].c: not JSON: "},
      {R"({"b": [{"c": 1}, tru]})", "f: b[1]: not JSON: "},
      {R"({"b": [{"c": 1}], "d": tru})", "f: d: not JSON: "},
      {R"([{"count": 1e400}])", "f: [0].count: not JSON: "},
      {R"([{"count": NaN}])", "f: [0].count: not JSON: "},
      {R"([{"count": 0x10}])", "f: [0].count: not JSON: "},
      {"{\"name\": \"\xff\"}", "f: name: not JSON: "},
  };
  for (const auto& [text, start] : wrong) EXPECT_THAT(refusal_of(text), StartsWith(start)) << text;
}

TEST(Json, MessagesAreShortAndPrintableWhateverTheDocument) {
  const std::string x(long_bytes, 'x');
  for (const std::string& text : {"[\"" + x + "\x01", "[\"" + x, "[" + x, "{\"" + x + "\": tru",
                                  "{\"" + x + "\": 1, \"" + x + "\": 1}", "[" + std::string(long_bytes, '9') + "e999",
                                  std::string("[\x7f\xff\x1b[31m"), "{\"" + std::string(1000, '\x7f') + "\": tru"}) {
    const std::string message = refusal_of(text);
    EXPECT_LE(message.size(), 400U);
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; })) << message;
  }
}

TEST(Json, LongDocumentsAreRefusedUnread) {
  const std::string text = "[" + std::string(notes.most_bytes, ' ') + "]";
  expect_error(error_code::bad_input, "f: 8388610 bytes, but a note has at most 8388608", [&] { parse(text); });
  const temporary_folder folder;
  const std::string path = folder.write("f.json", text);
  expect_error(error_code::bad_input, path + ": 8388610 bytes, but a note has at most 8388608",
               [&] { io::load_json(path, notes); });
}

TEST(Json, AFileIsReadAndNamed) {
  const temporary_folder folder;
  EXPECT_EQ(io::load_json(folder.write("good.json", "[1, 2]"), notes).dump(), "[1,2]");
  EXPECT_THAT(message_of(error_code::bad_input, [&] { io::load_json(folder.write("bad.json", "[1"), notes); }),
              StartsWith((folder / "bad.json") + ": [1]: not JSON: "));
  EXPECT_THAT(message_of(error_code::bad_input, [&] { io::load_json(folder.write("empty.json", ""), notes); }),
              StartsWith((folder / "empty.json") + ": not JSON: "));
  expect_error(error_code::bad_input, (folder / "none.json") + ": cannot be opened: No such file or directory",
               [&] { io::load_json(folder / "none.json", notes); });
}

// Touching the mapping of the file would end the program by SIGBUS.
TEST(Json, AFileThatIsCutShortMeanwhileIsAnError) {
  const temporary_folder folder;
  const std::string path = folder.write("f.json", "[" + std::string(1 << 20, ' ') + "]");
  const io::input_file file(path);
  std::filesystem::resize_file(path, 10);
  expect_error(error_code::bad_input, path + ": was cut short while it was read", [&] { io::read_json(file, notes); });
}

TEST(Json, ValuesAreShownInAFewPrintableBytes) {
  EXPECT_EQ(io::shown(7), "7");
  EXPECT_EQ(io::shown(nullptr), "null");
  EXPECT_EQ(io::shown("a\x1b"), "\"a\\u001b\"");
  EXPECT_EQ(io::shown(nlohmann::json::array({1, 2})), "a list of 2");
  EXPECT_EQ(io::shown(nlohmann::json::object()), "an object");
  EXPECT_EQ(io::shown(std::string(39, 'x')).size(), 43U);
  EXPECT_THAT(io::shown(std::string(long_bytes, 'x')), EndsWith("xxx..."));
  EXPECT_LE(io::shown(std::string(long_bytes, '\x01')).size(), 43U);
  EXPECT_EQ(io::shown(std::string(100, '\xff')).size(), 43U);
}

}  // namespace
}  // namespace sheaf::tests::plan_store_json_test
