#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>

#include "lab/peers/sort_host.hpp"

namespace sheaf::bench::peers::host {
namespace {

/// oneTBB's parallel_sort on as many threads as the context has.
struct tbb_sorter {
  static constexpr bool is_stable = false;
  static constexpr const char* name_of_sort = "tbb.parallel_sort";
  static constexpr const char* name_of_stable_sort = "tbb.parallel_sort";

  std::shared_ptr<tbb::task_arena> arena;

  template <class Element, class Less>
  void sort(Element* first, Element* last, Less less) const {
    arena->execute([&] { tbb::parallel_sort(first, last, less); });
  }
  template <class Body>
  void over_ranges(std::uint64_t count, Body body) const {
    arena->execute([&] {
      tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, count, 1 << 14),
                        [&](const tbb::blocked_range<std::uint64_t>& part) { body(part.begin(), part.end()); });
    });
  }
};

}  // namespace

std::vector<contender> tbb_sorts(const context& ctx, const problem& p, const workspace& arrays) {
  return sorts_with(tbb_sorter{std::make_shared<tbb::task_arena>(ctx.threads())}, p, arrays);
}

}  // namespace sheaf::bench::peers::host
