// Sums of whole multiples of one unit, which have the same bits in any order. On the host, which has the same
// functions.
#include "cuda/sparse/transposed/fixed_point.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "lab/inputs/pattern_function.hpp"

namespace sheaf::tests::cuda_fixed_point_test {
namespace {

/// As the kernels add terms.
template <class T>
T sum_of(const std::vector<T>& terms) {
  std::uint32_t largest = cuda::no_exponent;
  for (const T term : terms) largest = std::max(largest, cuda::unit_exponent_of(term));
  std::int64_t sum = 0;
  std::int64_t wraps = 0;
  std::uint32_t marks = 0;
  for (const T term : terms) {
    if (largest == cuda::no_number<T>) {
      if (cuda::exponent_of(term) == cuda::no_number<T>) marks |= cuda::mark_of(term);
      continue;
    }
    const std::int64_t multiple = largest == cuda::no_exponent ? 0 : cuda::fixed_point_of(term, largest);
    wraps += cuda::wraps_of(sum, multiple);
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(multiple));
  }
  return largest == cuda::no_number<T> ? cuda::sum_of_marks<T>(marks) : cuda::number_of<T>(sum, wraps, largest);
}

template <class T>
T drawn(std::uint64_t seed, int least_exponent, int exponents) {
  const auto number = static_cast<double>(static_cast<std::int64_t>(inputs::mix(seed))) / 9.3e18;
  return static_cast<T>(std::ldexp(number, least_exponent + static_cast<int>(inputs::mix(seed + 1) % exponents)));
}

template <class T>
class FixedPoint : public testing::Test {};
using types = testing::Types<float, double>;
TYPED_TEST_SUITE(FixedPoint, types);

TYPED_TEST(FixedPoint, ATermAloneIsWhatItWas) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  std::vector<T> numbers{T{0},
                         T{1},
                         T{-1},
                         limits::min(),
                         limits::denorm_min(),
                         limits::max(),
                         limits::lowest(),
                         limits::min() - limits::denorm_min(),
                         T{0.1}};
  for (std::uint64_t i = 0; i < 2000; ++i) {
    numbers.push_back(drawn<T>(i, limits::min_exponent - limits::digits, limits::max_exponent - limits::min_exponent));
  }
  for (const T number : numbers) {
    EXPECT_EQ(sum_of<T>({number}), number);
    EXPECT_EQ(sum_of<T>({number, -number}), T{0});
    EXPECT_EQ(sum_of<T>({-number, T{0}, number, number}), number);
  }
  EXPECT_EQ(sum_of<T>({}), T{0});
  EXPECT_FALSE(std::signbit(sum_of<T>({-T{0}})));
}

// Against sums in long double, which has more bits than the bound.
TYPED_TEST(FixedPoint, ErrsLessThanAdditionsOneByOne) {
  using T = TypeParam;
  for (const int exponents : {1, 4, 20, 60}) {
    for (const std::size_t count : {2, 3, 16, 1000, 100'000}) {
      std::vector<T> terms;
      long double exact = 0;
      long double magnitude = 0;
      for (std::size_t i = 0; i < count; ++i) {
        terms.push_back(drawn<T>(977 * count + 2 * i, -30, exponents));
        exact += terms.back();
        magnitude += std::abs(static_cast<long double>(terms.back()));
      }
      const long double unit = std::numeric_limits<T>::epsilon() / 2;
      const auto found = static_cast<long double>(sum_of(terms));
      EXPECT_LE(std::abs(found - exact),
                2 * unit * std::abs(exact) + static_cast<long double>(count) * unit / 32 * magnitude)
          << count << " terms of " << exponents << " exponents";
    }
  }
}

TYPED_TEST(FixedPoint, HasTheSameBitsInAnyOrder) {
  using T = TypeParam;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<T> terms;
    for (std::uint64_t i = 0; i < 50 + seed; ++i) terms.push_back(drawn<T>(1000 * seed + 2 * i, -40, 80));
    const T first = sum_of(terms);
    for (int order = 0; order < 5; ++order) {
      for (std::size_t i = terms.size(); i > 1; --i) {
        std::swap(terms[i - 1], terms[inputs::mix(seed + 7919 * i + static_cast<std::uint64_t>(order)) % i]);
      }
      ASSERT_EQ(cuda::bits_of(sum_of(terms)), cuda::bits_of(first)) << seed;
    }
  }
}

// Terms that are equal and many, whose sums take more than 64 bits in f64.
TYPED_TEST(FixedPoint, ManyTermsOfOneSignAreCounted) {
  using T = TypeParam;
  for (const std::size_t count : {3, 4, 5, 7, 8, 100, 65'536, 1'000'000}) {
    for (const T term : {T{1}, T{-1}, T{1.5}, T{-1.75}}) {
      std::vector<T> terms(count, term);
      EXPECT_EQ(sum_of(terms), static_cast<T>(static_cast<double>(count) * term)) << count << " times " << term;
      terms.insert(terms.end(), count, -term);
      EXPECT_EQ(sum_of(terms), T{0});
    }
    const T most = std::nextafter(T{2}, T{1});
    const long double exact = static_cast<long double>(count) * most;
    EXPECT_LE(std::abs(sum_of(std::vector<T>(count, most)) - exact), std::numeric_limits<T>::epsilon() * exact);
  }
}

TYPED_TEST(FixedPoint, SumsPastTheLargestAreInfinite) {
  using T = TypeParam;
  constexpr T most = std::numeric_limits<T>::max();
  constexpr T infinity = std::numeric_limits<T>::infinity();
  EXPECT_EQ(sum_of<T>({most, most}), infinity);
  EXPECT_EQ(sum_of<T>({-most, -most, -most}), -infinity);
  EXPECT_EQ(sum_of<T>({most, most, -most}), most) << "what is between is no matter";
}

TYPED_TEST(FixedPoint, InfinityAndNanAreAsIeeeSays) {
  using T = TypeParam;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  EXPECT_EQ(sum_of<T>({T{1}, infinity, std::numeric_limits<T>::lowest()}), infinity);
  EXPECT_EQ(sum_of<T>({-infinity, T{1}, -infinity}), -infinity);
  EXPECT_TRUE(std::isnan(sum_of<T>({infinity, T{3}, -infinity})));
  EXPECT_TRUE(std::isnan(sum_of<T>({T{1}, nan})));
  EXPECT_TRUE(std::isnan(sum_of<T>({-nan, infinity})));
}

TYPED_TEST(FixedPoint, UnitsHaveTheExponentOfTheTermOrUpToThreeMore) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  EXPECT_EQ(cuda::unit_exponent_of(T{0}), cuda::no_exponent);
  EXPECT_EQ(cuda::unit_exponent_of(limits::denorm_min()), 3U);
  EXPECT_EQ(cuda::unit_exponent_of(limits::max()), cuda::exponent_of(limits::max()));
  EXPECT_EQ(cuda::unit_exponent_of(limits::infinity()), cuda::no_number<T>);
  EXPECT_EQ(cuda::unit_exponent_of(limits::quiet_NaN()), cuda::no_number<T>);
  for (int power = limits::min_exponent; power < limits::max_exponent; ++power) {
    const T term = std::ldexp(T{1}, power);
    const std::uint32_t above = cuda::unit_exponent_of(term) - cuda::exponent_of(term);
    EXPECT_LE(above, 3U) << power;
    EXPECT_LT(cuda::unit_exponent_of(term), cuda::no_number<T>) << power;
  }
}

TYPED_TEST(FixedPoint, TermsFarBelowTheLargestAreDropped) {
  using T = TypeParam;
  const T largest = T{1};
  const T tiny = std::ldexp(T{1}, -70);
  EXPECT_EQ(cuda::fixed_point_of(tiny, cuda::exponent_of(largest)), 0);
  EXPECT_EQ(sum_of<T>({largest, tiny, -largest}), T{0});
  // A term of half a unit counts as a whole one.
  const int bits = cuda::fixed_point_format<T>::fraction_bits + cuda::fixed_point_format<T>::extra_bits;
  EXPECT_EQ(cuda::fixed_point_of(std::ldexp(T{1}, -bits - 1), cuda::exponent_of(largest)), 1);
  EXPECT_EQ(cuda::fixed_point_of(std::ldexp(T{-1}, -bits - 1), cuda::exponent_of(largest)), -1);
  EXPECT_EQ(cuda::fixed_point_of(std::ldexp(T{1}, -bits - 2), cuda::exponent_of(largest)), 0);
}

TEST(FixedPointWords, WrapAsTheyAreCounted) {
  using limits = std::numeric_limits<std::int64_t>;
  EXPECT_EQ(cuda::wraps_of(limits::max(), std::int64_t{1}), 1);
  EXPECT_EQ(cuda::wraps_of(limits::min(), std::int64_t{-1}), -1);
  EXPECT_EQ(cuda::wraps_of(limits::min(), limits::max()), 0);
  EXPECT_EQ(cuda::wraps_of(std::int64_t{0}, limits::min()), 0);
  EXPECT_EQ(cuda::wraps_of(std::int64_t{-1}, limits::min()), -1);
  EXPECT_EQ(cuda::wraps_of(std::int32_t{1} << 30, std::int32_t{1} << 30), 1);
}

}  // namespace
}  // namespace sheaf::tests::cuda_fixed_point_test
