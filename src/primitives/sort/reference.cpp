#include "primitives/sort/contract.hpp"

#include <cmath>
#include <cstring>
#include <numeric>

namespace sheaf::reference {

using namespace primitives;

namespace {

plan::planned plan_serial(const sort_problem& p, const plan::scope& scope) {
  const auto count = static_cast<double>(p.count);
  return plan::serial(2 * count * std::log2(count + 2), scope);
}

void move_row(const_records in, records out, std::uint64_t from, std::uint64_t to) {
  std::memcpy(out.data + to * out.stride_bytes, in.data + from * in.stride_bytes, in.record_bytes);
}

void run_serial(const context&, const sort_problem& p, const plan::planned&, const sort_buffers& b, std::byte*) {
  std::vector<key_number> keys(p.count);
  for (std::uint64_t i = 0; i < p.count; ++i) keys[i] = key_of(b.in.data + i * b.in.stride_bytes, p.key);
  std::vector<std::uint64_t> order(p.count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::ranges::stable_sort(order, [&](std::uint64_t i, std::uint64_t j) { return keys[i] < keys[j]; });
  for (std::uint64_t to = 0; to < p.count; ++to) {
    if (p.product == sort_product::gather_index) {
      const std::uint64_t width = bytes(p.index);
      std::memcpy(static_cast<std::byte*>(b.index.data) + to * width, &order[to], width);
      continue;
    }
    if (p.writes_rows) move_row(b.in, b.out, order[to], to);
    for (std::uint32_t c = 0; c < p.column_count; ++c) move_row(b.columns[c].in, b.columns[c].out, order[to], to);
  }
}

}  // namespace

extern constinit const sort_variant sort_serial{"reference.serial", backend_kind::cpu, plan_serial, run_serial};

}  // namespace sheaf::reference
