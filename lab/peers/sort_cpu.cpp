#include "lab/peers/sort_host.hpp"

namespace sheaf::bench::peers {
namespace host {
namespace {

/// The standard library's sorts, on one thread.
struct std_sorter {
  static constexpr bool is_stable = true;
  static constexpr const char* name_of_sort = "std.sort";
  static constexpr const char* name_of_stable_sort = "std.stable_sort";

  template <class Element, class Less>
  void sort(Element* first, Element* last, Less less) const {
    std::sort(first, last, less);
  }
  template <class Element, class Less>
  void stable_sort(Element* first, Element* last, Less less) const {
    std::stable_sort(first, last, less);
  }
  template <class Body>
  void over_ranges(std::uint64_t count, Body body) const {
    body(0, count);
  }
};

}  // namespace

std::vector<contender> std_sorts(const context&, const problem& p, const workspace& arrays) {
  return sorts_with(std_sorter{}, p, arrays);
}

}  // namespace host
}  // namespace sheaf::bench::peers
