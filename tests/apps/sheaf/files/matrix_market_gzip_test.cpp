#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/matrix_market.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_files_matrix_market_gzip_test {
namespace {

std::string text_of(std::uint64_t entries) {
  std::string text = fmt::format("%%MatrixMarket matrix coordinate real general\n{0} {0} {0}\n", entries);
  for (std::uint64_t i = 1; i <= entries; ++i) {
    text += fmt::format("{} {} {}\n", i, 1 + i * 7919 % entries, static_cast<double>(i * i) / 3);
  }
  return text;
}

TEST(MatrixMarketGzip, FilesAreKnownByTheirBytes) {
  const temporary_folder folder;
  const std::string text = text_of(5000);
  const auto expected = parse_market(text);
  expect_same_matrix(io::read_matrix_market<double>(folder.write("a.mtx", gzipped(text))), expected);
  expect_same_matrix(io::read_matrix_market<double>(folder.write("b.mtx.gz", text)), expected);
}

TEST(MatrixMarketGzip, MembersAreJoined) {
  const std::string text = text_of(5000);
  const std::string file = gzipped(text.substr(0, 1000)) + gzipped("") + gzipped(text.substr(1000));
  expect_same_matrix(parse_market(file), parse_market(text));
}

TEST(MatrixMarketGzip, LinesAreThoseOfTheText) {
  std::string text = text_of(5000);
  text.insert(text.find("\n4000 ") + 1, "wrong");
  expect_market_error(gzipped(text), "m.mtx: line 4002: row 'wrong4000' is not a whole number");
}

TEST(MatrixMarketGzip, FilesThatAreCutShortAreRefused) {
  const std::string file = gzipped(text_of(300));
  for (std::size_t size = 2; size < file.size(); ++size) {
    SCOPED_TRACE(size);
    expect_market_error(
        file.substr(0, size),
        fmt::format("m.mtx: compressed byte {}: the compressed data end early: the file is cut short", size));
  }
}

TEST(MatrixMarketGzip, AWrongChecksumOrSizeIsFound) {
  const std::string file = gzipped(text_of(20000));
  std::string other = file;
  other[file.size() - 8] = static_cast<char>(other[file.size() - 8] ^ 1);
  expect_market_error(other, fmt::format("m.mtx: compressed byte {}: the checksum of the text is wrong: the file is "
                                         "damaged",
                                         file.size() - 4));
  other = file;
  other[file.size() - 1] = static_cast<char>(other[file.size() - 1] ^ 1);
  expect_market_error(
      other, fmt::format("m.mtx: compressed byte {}: the size of the text is wrong: the file is damaged", file.size()));
}

TEST(MatrixMarketGzip, DamagedDataAreRefused) {
  std::string file = gzipped(text_of(10));
  file[2] = 'x';
  const std::string message = message_of(error_code::bad_input, [&] { parse_market(file); });
  EXPECT_TRUE(message.starts_with("m.mtx: compressed byte ")) << message;
  EXPECT_TRUE(message.ends_with(": the compressed data are damaged: unknown compression method")) << message;
}

TEST(MatrixMarketGzip, BytesBehindTheDataAreRefused) {
  const std::string file = gzipped(text_of(10));
  expect_market_error(
      file + "more",
      fmt::format("m.mtx: compressed byte {}: 4 bytes that are not gzip follow the compressed data", file.size()));
}

TEST(MatrixMarketGzip, TextIsReadUpToALimit) {
  for (const std::uint64_t entries : {10, 20000}) {
    SCOPED_TRACE(entries);
    const std::string text = text_of(entries);
    EXPECT_EQ(parse_market(gzipped(text), {.most_text_bytes = text.size()}).entries(), entries);
    expect_market_error(gzipped(text),
                        fmt::format("m.mtx: inflates to more than {} bytes, the most that are read", text.size() - 1),
                        {.most_text_bytes = text.size() - 1});
  }
}

TEST(MatrixMarketGzip, WhatIsNoMatrixIsRefusedByItsFirstBytes) {
  // The rest, which is damaged, is not inflated.
  std::string file = gzipped(std::string(200000, 'x') + text_of(20000));
  file.resize(file.size() - 10);
  expect_market_error(file,
                      "m.mtx: line 1: not a MatrixMarket file: it starts with 'xxxxxxxxxxxxxx', not '%%MatrixMarket'");
  expect_market_error(gzipped(""), "m.mtx: line 1: not a MatrixMarket file: it starts with '', not '%%MatrixMarket'");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_matrix_market_gzip_test
