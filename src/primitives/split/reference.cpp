#include "primitives/split/contract.hpp"

#include "core/cpu_state.hpp"

namespace sheaf::reference {

using namespace primitives;

namespace {

// A stable comparison sort of the numbers of good records by category. It has no table of categories, of which there
// may be 2^32.
plan::planned plan_serial(const split_problem& p, const plan::scope& scope) {
  return plan::serial(2 * static_cast<double>(p.count), scope);
}

void write_index(const split_problem& p, const split_buffers& b, std::uint64_t entry, std::uint64_t value) {
  std::memcpy(static_cast<std::byte*>(b.index.data) + entry * p.record_bytes, &value, p.record_bytes);
}

void move_record(const split_problem& p, const split_buffers& b, std::uint64_t from, std::uint64_t to) {
  switch (p.product) {
    case split_product::gather_index: return write_index(p, b, to, from);
    case split_product::scatter_index: return write_index(p, b, from, to);
    default: std::memcpy(b.out.data + to * p.out_stride_bytes, b.in.data + from * p.in_stride_bytes, p.record_bytes);
  }
}

void run_serial(const context& ctx, const split_problem& problem, const plan::planned&, const split_buffers& buffers,
                std::byte*) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const auto category_of = [&](std::uint64_t i) {
    return wide_field_of(buffers.keys.data + i * problem.key_stride_bytes, problem.bits);
  };
  std::vector<std::uint64_t> order;
  order.reserve(problem.count);
  for (std::uint64_t i = 0; i < problem.count; ++i) {
    const std::uint64_t category = category_of(i).low;
    if (!problem.checks_category() || category < problem.categories) {
      order.push_back(i);
    } else {
      state.keep_first({call, i, category, problem.categories, &category_wording, 0});
    }
  }
  std::ranges::stable_sort(order, [&](std::uint64_t i, std::uint64_t j) { return category_of(i) < category_of(j); });
  for (std::uint64_t to = 0; to < order.size(); ++to) move_record(problem, buffers, order[to], to);
  if (buffers.offsets == nullptr) return;
  std::uint64_t to = 0;
  for (std::uint64_t category = 0; category <= problem.categories; ++category) {
    while (to < order.size() && category_of(order[to]).low < category) ++to;
    buffers.offsets[category] = to;
  }
}

plan::planned plan_row_of_entry(const row_of_entry_problem& p, const plan::scope& scope) {
  return plan::serial(static_cast<double>(p.rows + p.entries), scope);
}

void run_row_of_entry(const context&, const row_of_entry_problem& p, const plan::planned&,
                      const row_of_entry_buffers& b, std::byte*) {
  const std::uint64_t width = bytes(p.index);
  for (std::uint64_t row = 0; row < p.rows; ++row) {
    for (std::uint64_t e = b.first[row]; e < b.first[row + 1] && e < p.entries; ++e) {
      std::memcpy(static_cast<std::byte*>(b.row_of_entry) + e * width, &row, width);
    }
  }
}

}  // namespace

extern constinit const split_variant split_serial{"reference.serial", backend_kind::cpu, plan_serial, run_serial};
extern constinit const row_of_entry_variant row_of_entry_serial{"reference.serial", backend_kind::cpu,
                                                                plan_row_of_entry, run_row_of_entry};

}  // namespace sheaf::reference
