#include "primitives/sort/contract.hpp"

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

void run_serial(const context&, const sort_problem& problem, const plan::planned&, const sort_buffers& buffers,
                std::byte*) {
  std::vector<key_number> keys(problem.count);
  for (std::uint64_t i = 0; i < problem.count; ++i)
    keys[i] = key_of(buffers.in.data + i * buffers.in.stride_bytes, problem.key);
  std::vector<std::uint64_t> order(problem.count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::ranges::stable_sort(order, [&](std::uint64_t i, std::uint64_t j) { return keys[i] < keys[j]; });
  for (std::uint64_t to = 0; to < problem.count; ++to) {
    if (problem.product == sort_product::gather_index) {
      const std::uint64_t width = bytes(problem.index);
      std::memcpy(static_cast<std::byte*>(buffers.index.data) + to * width, &order[to], width);
      continue;
    }
    if (problem.writes_rows) move_row(buffers.in, buffers.out, order[to], to);
    for (std::uint32_t c = 0; c < problem.column_count; ++c)
      move_row(buffers.columns[c].in, buffers.columns[c].out, order[to], to);
  }
}

}  // namespace

extern constinit const sort_variant sort_serial{"reference.serial", backend_kind::cpu, plan_serial, run_serial};

}  // namespace sheaf::reference
