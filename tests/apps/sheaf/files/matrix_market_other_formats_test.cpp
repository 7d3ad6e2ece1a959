// Files of other formats that are given as MatrixMarket are named for what they are.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "support/matrix_market.hpp"

namespace sheaf::tests::apps_sheaf_files_matrix_market_other_formats_test {
namespace {

using namespace std::string_literals;

// The front of an archive: the member's name, and the magic of POSIX at its place.
std::string tar_of(const std::string& member, const std::string& content, char type = '0') {
  std::string archive(1024, '\0');
  archive.replace(0, member.size(), member);
  archive[156] = type;
  archive.replace(257, 5, "ustar");
  archive.replace(512, content.size(), content);
  return archive;
}

TEST(MatrixMarketOtherFormats, AreNamedByTheirFirstBytes) {
  const std::pair<std::string, const char*> cases[] = {
      {"PK\x03\x04\x14\0\0\0rest"s,
       "a zip archive, as .npz files are: unpack it, or write the matrix by scipy.io.mmwrite"},
      {"PK\x05\x06\0\0"s, "a zip archive without a file"},
      {"\x93NUMPY\x01\0"s, "a NumPy array (.npy): write it by scipy.io.mmwrite"},
      {"MATLAB 5.0 MAT-file, Platform: GLNXA64", "a MATLAB file (.mat): write the matrix by mmwrite"},
      {"\x89HDF\r\n\x1a\n"s, "an HDF5 file: write the matrix by scipy.io.mmwrite"},
      {"BZh91AY&SY", "compressed by bzip2: unpack it with bunzip2; only gzip is read"},
      {"\xfd"
       "7zXZ\0\0"s,
       "compressed by xz: unpack it with unxz; only gzip is read"},
      {"\x28\xb5\x2f\xfd$", "compressed by zstd: unpack it with unzstd; only gzip is read"},
      {"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it"},
      {"\xff\xfe%\0%\0M\0"s, "text of 16 bits a character (UTF-16): write it as UTF-8"},
      {"\xfe\xff\0%\0%\0M"s, "text of 16 bits a character (UTF-16): write it as UTF-8"},
      {"\x00\x12\x7b\x50\0\0"s, "a binary matrix of PETSc: write it by scipy.io.mmwrite"},
      {tar_of("1138_bus/1138_bus.mtx", "%%MatrixMarket matrix coordinate real general\n"),
       "a tar archive, whose first member is '1138_bus/1138_bus.mtx': unpack it, and name the .mtx file that it holds"},
      {tar_of("././@PaxHeader", "24 mtime=1.5", 'x'), "a tar archive: unpack it, and name the .mtx file that it holds"},
      {tar_of(std::string(100, 'n'), ""),
       "a tar archive, whose first member is 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...': unpack "
       "it, "
       "and name the .mtx file that it holds"},
      {"1SYMMETRIC STIFFNESS MATRIX                                             BCSSTK01\n"
       "            74             4            14            56             0\n"
       "RSA                       48            48           224             0\n"
       "(16I5)          (16I5)          (4E20.12)\n",
       "a Harwell-Boeing or Rutherford-Boeing file: write it by scipy.io.mmwrite"},
      {"title                                                                   |1138_bus\n"
       "           777            72           162           543\n"
       "rsa                     1138          1138          2596             0\n",
       "a Harwell-Boeing or Rutherford-Boeing file: write it by scipy.io.mmwrite"},
  };
  for (const auto& [front, words] : cases) {
    SCOPED_TRACE(words);
    expect_market_error(front, std::string("m.mtx: not a MatrixMarket file, but ") + words);
    expect_market_error(gzipped(front), std::string("m.mtx: not a MatrixMarket file, but ") + words);
  }
  expect_market_error(gzipped(gzipped("%%MatrixMarket matrix coordinate real general\n1 1 0\n")),
                      "m.mtx: not a MatrixMarket file, but compressed by gzip twice: unpack it once with gunzip");
}

TEST(MatrixMarketOtherFormats, ThatAreNotKnownAreShown) {
  const std::pair<std::string, const char*> cases[] = {
      {"1 2 0.5\n2 3 1\n3 1 7\n4 4 4\n", "1 2 0.5"},
      {"<!DOCTYPE html>\n", "<!DOCTYPE html"},
      {std::string(300, 'x'), "xxxxxxxxxxxxxx"},
      {"title\n1 2 3 4\nRUX 1 2 3 4\nx\n", "title"},
      {"title\n1 2 x 4\nRUA 1 2 3 4\nx\n", "title"},
      {"title\n1 2 3 4\nRUA 1 2\nx\n", "title"},
      {"title\n1 2 3 4\nRUA 1 2 3 4", "title"},
      {"a\n\n\n\n", "a"},
      {"a\n1 2 3 4\nRU\n\n", "a"},
  };
  for (const auto& [front, shown] : cases) {
    SCOPED_TRACE(front);
    expect_market_error(front, std::string("m.mtx: line 1: not a MatrixMarket file: it starts with '") + shown +
                                   "', not '%%MatrixMarket'");
  }
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_matrix_market_other_formats_test
