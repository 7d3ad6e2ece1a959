#include <boost/sort/spreadsort/float_sort.hpp>
#include <boost/sort/spreadsort/integer_sort.hpp>

#include "lab/peers/packed/keys.hpp"

// Boost's spreadsort, which splits by leading bits until a comparison sort is faster.
namespace sheaf::bench::peers::host {
namespace {

struct spreading {
  static constexpr const char* name = "boost.spreadsort";
  static constexpr bool sorts_floats = true;

  template <class Number>
  static void sort(Number* first, Number* last) {
    if constexpr (std::is_floating_point_v<Number>) {
      boost::sort::spreadsort::float_sort(first, last);
    } else {
      boost::sort::spreadsort::integer_sort(first, last);
    }
  }
};

}  // namespace

std::vector<contender> spreading_sorts(const context&, const problem& p, const workspace& arrays) {
  return sorts_of_numbers<spreading>(p, arrays);
}

}  // namespace sheaf::bench::peers::host
