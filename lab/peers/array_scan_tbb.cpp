#include <tbb/blocked_range.h>
#include <tbb/parallel_scan.h>
#include <tbb/task_arena.h>

#include <functional>

#include "lab/peers/array_scan.hpp"

namespace sheaf::bench::peers::host {
namespace {

/// oneTBB's parallel_scan on as many threads as the context has.
struct parallel_scan {
  std::shared_ptr<tbb::task_arena> arena;

  template <class Entry, class Value>
  void operator()(const Entry* entries, Value* sums, std::uint64_t count) const {
    const auto scan_part = [&](const tbb::blocked_range<std::uint64_t>& part, Value sum, bool is_final) {
      for (std::uint64_t i = part.begin(); i < part.end(); ++i) {
        sum += value_of_entry(entries[i]);
        if (is_final) sums[i] = sum;
      }
      return sum;
    };
    constexpr std::uint64_t items_of_a_task = 1 << 14;
    arena->execute([&] {
      tbb::parallel_scan(tbb::blocked_range<std::uint64_t>(0, count, items_of_a_task), Value{}, scan_part,
                         std::plus<Value>());
    });
  }
};

}  // namespace

std::vector<contender> tbb_array_scans(const context& ctx, const problem& p, const workspace& arrays) {
  return array_scans_by("tbb.parallel_scan", p, arrays,
                        parallel_scan{std::make_shared<tbb::task_arena>(ctx.threads())});
}

}  // namespace sheaf::bench::peers::host
