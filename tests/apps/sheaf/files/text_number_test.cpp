#include "apps/sheaf/files/text/number.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sheaf::tests::apps_sheaf_files_text_number_test {
namespace {

using io::number_status;

struct reading {
  number_status status;
  std::size_t used;
  double value;
};

template <class Value, class Read>
reading read_with(Read read, const std::string& text) {
  // A copy without a byte behind it, so that a sanitizer sees a step past its end.
  const std::vector<char> exact(text.begin(), text.end());
  const char* at = exact.data();
  Value value = 77;
  const number_status status = read(at, exact.data() + exact.size(), value);
  return {status, static_cast<std::size_t>(at - exact.data()), double{value}};
}
template <class Value = double>
reading real(const std::string& text) {
  return read_with<Value>(io::read_real<Value>, text);
}
template <class Value = double>
reading integer(const std::string& text, io::whole_range range = io::whole_range::i64) {
  const auto read = [range](const char*& at, const char* end, Value& value) {
    return io::read_integer(at, end, value, range);
  };
  return read_with<Value>(read, text);
}

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

TEST(TextNumber, RealsAreReadAsCAndFortranWriteThem) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::pair<const char*, double> cases[] = {
      {"1", 1},
      {"-1", -1},
      {"+1", 1},
      {"1.", 1},
      {".5", .5},
      {"-.5", -.5},
      {"+.5", .5},
      {"-0", -0.0},
      {"0.1", 0.1},
      {"1e3", 1000},
      {"1E+3", 1000},
      {"1.5e-3", 0.0015},
      {"1.0D+03", 1000},
      {"1.0d-03", 0.001},
      {"+1.5d2", 150},
      {"0.125D0", 0.125},
      {"-2.5D+100", -2.5e100},
      {"0.5000+101", 0.5e101},
      {"-0.5000-101", -0.5e-101},
      {"1.-300", 1e-300},
      {"0.0366555998208319", 0.0366555998208319},
      {"179769313486231570000000000000000000000000e267", std::numeric_limits<double>::max()},
      {"4.9406564584124654e-324", std::numeric_limits<double>::denorm_min()},
      {"2.2250738585072011e-308", 2.2250738585072011e-308},
      {"000000000000000000000000000000000000001", 1},
      {"inf", infinity},
      {"Inf", infinity},
      {"INF", infinity},
      {"+Infinity", infinity},
      {"-inf", -infinity},
      {"-INFINITY", -infinity},
  };
  for (const auto& [text, value] : cases) {
    SCOPED_TRACE(text);
    const reading read = real(text);
    EXPECT_EQ(read.status, number_status::good);
    EXPECT_EQ(read.used, std::strlen(text));
    EXPECT_EQ(bits(read.value), bits(value)) << read.value;
  }
  for (const char* const text : {"nan", "NaN", "NAN", "+nan", "-nan", "nan(0x8)"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(real(text).status, number_status::good);
    EXPECT_TRUE(std::isnan(real(text).value));
  }
}

TEST(TextNumber, RealsEndWithTheirWord) {
  for (const char* const behind : {" ", "\t", "\r\n", "\n", " x"}) {
    SCOPED_TRACE(behind);
    for (const char* const number : {"-1.25", "+1.25", "1.25D0"}) {
      EXPECT_EQ(real(std::string(number) + behind).used, std::strlen(number));
      EXPECT_EQ(std::abs(real(std::string(number) + behind).value), 1.25);
    }
  }
}

TEST(TextNumber, WordsThatAreNoRealAreRefused) {
  for (const char* const text :
       {"",        "x",        "-",     "+",    ".",     "e5",  "D5",      "1x",       "1.5x",    "1e",    "1e+",
        "1D",      "--1",      "+-1",   "-+1",  "++1",   "1,5", "1_000",   "0x10",     "1.5.2",   "1d5d5", "1e5e5",
        "2012-10", "2012-101", "1.5-1", "infi", "+-inf", "\n1", "*******", "1.0+0103", "1e5+101", "na"}) {
    SCOPED_TRACE(text);
    const reading read = real(text);
    EXPECT_EQ(read.status, number_status::no_number) << read.value;
    EXPECT_EQ(read.used, 0U);
  }
  EXPECT_EQ(real(std::string("1\0 2", 4)).status, number_status::no_number);
}

TEST(TextNumber, RealsThatAreTooLargeAreRefusedAndTooSmallOnesAreZero) {
  const std::string zeros(400, '0');
  for (const std::string& text :
       {std::string("1e309"), std::string("-1e309"), std::string("+1.8e308"), std::string("1D+999"),
        std::string("1e99999999999999999999"), "1" + zeros, fmt::format("1{}.5", zeros),
        fmt::format("0.{}1e900", zeros), fmt::format("1{0}{0}e-400", zeros)}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(real(text).status, number_status::past_range);
    EXPECT_EQ(real(text).used, 0U);
  }
  for (const std::string& text :
       {std::string("1e-400"), std::string("1.5D-999"), std::string("1e-99999999999999999999"),
        fmt::format("0.{}1", zeros), fmt::format("0.{0}{0}1e400", zeros), fmt::format("1{}e-900", zeros),
        std::string("0e999"), std::string("2.4e-324")}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(real(text).status, number_status::good);
    EXPECT_EQ(bits(real(text).value), bits(0.0));
    EXPECT_EQ(bits(real("-" + text).value), bits(-0.0));
  }
}

TEST(TextNumber, FloatsAreReadToNearestOnce) {
  // Just above the middle of 1 and the next float: through a double it would become 1.
  EXPECT_EQ(real<float>("1.000000059604644775390626").value, double{std::nextafter(1.0F, 2.0F)});
  EXPECT_EQ(real<float>("1.000000059604644775390625").value, 1);
  EXPECT_EQ(real<float>("3.4028234e38").status, number_status::good);
  EXPECT_EQ(real<float>("3.5e38").status, number_status::past_range);
  EXPECT_EQ(real<float>("-3.5e38").status, number_status::past_range);
  EXPECT_EQ(real<float>("1e-60").value, 0);
  EXPECT_EQ(real<float>("1.4e-45").value, double{std::numeric_limits<float>::denorm_min()});
}

TEST(TextNumber, IntegersAreExactOrRefused) {
  EXPECT_EQ(integer("12").value, 12);
  EXPECT_EQ(integer("-12\n").value, -12);
  EXPECT_EQ(integer("+12 ").used, 3U);
  EXPECT_EQ(bits(integer("-0").value), bits(0.0));
  EXPECT_EQ(integer("9007199254740992").value, 9007199254740992.0);
  EXPECT_EQ(integer("9007199254740993").status, number_status::not_exact);
  EXPECT_EQ(integer("9223372036854774784").value, 9223372036854774784.0);
  EXPECT_EQ(integer("9223372036854775807").status, number_status::not_exact);
  EXPECT_EQ(integer("9223372036854775808").status, number_status::past_range);
  EXPECT_EQ(integer("-9223372036854775808").value, -9223372036854775808.0);
  EXPECT_EQ(integer("-9223372036854775809").status, number_status::past_range);
  EXPECT_EQ(integer("99999999999999999999999").status, number_status::past_range);
  EXPECT_EQ(integer("00000000000000000000000000012").value, 12);
  EXPECT_EQ(integer<float>("16777216").value, 16777216);
  EXPECT_EQ(integer<float>("16777217").status, number_status::not_exact);
  for (const char* const text : {"", "-", "+", "1.5", "1e-3", "x", "--1", "1x", " 1", "0x1", "inf", "nan", "-inf"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(integer(text).status, number_status::no_number);
    EXPECT_EQ(integer(text).used, 0U);
  }
}

TEST(TextNumber, WholeNumbersMayBeWrittenAsReals) {
  const std::string zeros(300, '0');
  const std::pair<std::string, double> cases[] = {
      {"2.0", 2},
      {"-2.", -2},
      {"+2.000", 2},
      {".0", 0},
      {"0e99999999999999999999", 0},
      {"1e5", 100000},
      {"1E+5", 100000},
      {"1.5e1", 15},
      {"1.5D+01", 15},
      {"1.50+001", 15},
      {"20e-1", 2},
      {"-1200.0d-2", -12},
      {"0.0012e4", 12},
      {"9007199254740992.000", 9007199254740992.0},
      {"9223372036854774784e0", 9223372036854774784.0},
      {"-9223372036854775.808e3", -9223372036854775808.0},
      {"7" + zeros + "e-300", 7},
      {"0." + zeros + "7e301", 7},
      {"7." + zeros, 7},
  };
  for (const auto& [text, value] : cases) {
    SCOPED_TRACE(text);
    const reading read = integer(text);
    EXPECT_EQ(read.status, number_status::good);
    EXPECT_EQ(read.used, text.size());
    EXPECT_EQ(read.value, value);
  }
  for (const char* const text : {"1.5e0", "15e-1", "0.5", "1e-99999999999999999999", ".", "e5", "1e", "1e5x", "1.0.0",
                                 "9007199254740992.5", "1.25e1", "--2.0", "+-2.0", "1e5.0"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(integer(text).status, number_status::no_number);
    EXPECT_EQ(integer(text).used, 0U);
  }
  // Rounded to a double, this would be held.
  EXPECT_EQ(integer("9007199254740993.0").status, number_status::not_exact);
  EXPECT_EQ(integer("1e19").status, number_status::past_range);
  EXPECT_EQ(integer("1e400").status, number_status::past_range);
  EXPECT_EQ(integer("-1e99999999999999999999").status, number_status::past_range);
}

TEST(TextNumber, UnsignedIntegersEndAtSixtyFourBits) {
  constexpr io::whole_range range = io::whole_range::u64;
  EXPECT_EQ(integer("9223372036854775808", range).value, 9223372036854775808.0);
  EXPECT_EQ(integer("18446744073709549568", range).value, 18446744073709549568.0);
  EXPECT_EQ(integer("18446744073709551615", range).status, number_status::not_exact);
  EXPECT_EQ(integer<float>("18446744073709551615", range).status, number_status::not_exact);
  EXPECT_EQ(integer("00018446744073709551615", range).status, number_status::not_exact);
  EXPECT_EQ(integer("18446744073709551616", range).status, number_status::past_range);
  EXPECT_EQ(integer("1e20", range).status, number_status::past_range);
  EXPECT_EQ(integer("-1", range).status, number_status::past_range);
  EXPECT_EQ(integer("-0", range).value, 0);
  EXPECT_EQ(integer("7.0", range).value, 7);
}

TEST(TextNumber, DigitsThatPassSixtyFourBitsBecomeTheLargestNumber) {
  const auto digits = [](const std::string& text) {
    const char* at = text.data();
    std::uint64_t number = 0;
    EXPECT_TRUE(io::read_digits(at, text.data() + text.size(), number));
    EXPECT_EQ(*at, 'x');
    return number;
  };
  EXPECT_EQ(digits("7x"), 7U);
  EXPECT_EQ(digits("1234567890123456789x"), 1234567890123456789U);
  EXPECT_EQ(digits("18446744073709551615x"), ~std::uint64_t{0});
  EXPECT_EQ(digits("18446744073709551616x"), ~std::uint64_t{0});
  EXPECT_EQ(digits("99999999999999999999999999x"), ~std::uint64_t{0});
  EXPECT_EQ(digits("00000000000000000000000000007x"), 7U);
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_text_number_test
