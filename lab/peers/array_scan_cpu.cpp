#include <functional>
#include <numeric>

#include "lab/peers/array_scan.hpp"

namespace sheaf::bench::peers::host {
namespace {

struct serial_scan {
  template <class Entry, class Value>
  void operator()(const Entry* entries, Value* sums, std::uint64_t count) const {
    std::transform_inclusive_scan(entries, entries + count, sums, std::plus<Value>(),
                                  [](const Entry& entry) { return value_of_entry(entry); });
  }
};

}  // namespace

std::vector<contender> array_scans(const context&, const problem& p, const workspace& arrays) {
  return array_scans_by("std.inclusive_scan", p, arrays, serial_scan{});
}

}  // namespace sheaf::bench::peers::host
