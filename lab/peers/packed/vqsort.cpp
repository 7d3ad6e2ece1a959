#include <hwy/contrib/sort/vqsort.h>
#include <hwy/highway.h>

#include "lab/peers/packed/keys.hpp"

// Highway's vectorized quicksort.
namespace sheaf::bench::peers::host {
namespace {

struct vectorized {
  static constexpr const char* name = "vqsort";
  using wide_word = hwy::uint128_t;
  // Before 1.0.5, subnormal numbers and infinities come out in wrong places now and then.
  static constexpr bool sorts_floats = HWY_MAJOR * 10000 + HWY_MINOR * 100 + HWY_PATCH >= 10005;

  template <class Number>
  static void sort(Number* first, Number* last) {
    hwy::Sorter()(first, static_cast<std::size_t>(last - first), hwy::SortAscending());
  }
};

}  // namespace

std::vector<contender> vectorized_sorts(const context&, const problem& p, const workspace& arrays) {
  return sorts_of_numbers<vectorized>(p, arrays);
}

}  // namespace sheaf::bench::peers::host
