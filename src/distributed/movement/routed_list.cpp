#include "distributed/movement/routed_list.hpp"

#include "distributed/movement/peers.hpp"
#include "primitives/views.hpp"

namespace sheaf::distributed {

routed_list::routed_list(group_state& state, const layout& of_rows, index_span index,
                         std::span<const call_header> headers, std::uint64_t call, const core::index_wording& wording,
                         bool keeps_entries)
    : rows(of_rows),
      prepared_by(call),
      entries_(index.count),
      first_(first_position(state, headers)),
      type_(index.type) {
  if (!state.goes_by_primitives) {
    on_host_.emplace(state, owner_finder(rows), list_part{index, first_}, call, wording);
    on_host_->finish_requests();
    return;
  }
  device_owners owners(state, rows, longest_of(headers));
  on_device_.emplace(state, owners, list_part{index, first_}, call, wording);
  on_device_->finish_requests();
  if (!keeps_entries || !memory_is_shared(state, headers)) return;
  kept_ = buffer(state.ctx, entries_ * bytes(type_));
  if (entries_ > 0) copy_bytes(state.ctx, kept_.data(), index.data, kept_.size());
  owners_.emplace(std::move(owners));
}

std::array<std::uint64_t, 3> routed_list::shared_of(const group_state& state, index_span index) {
  return {index.count, free_bytes(state), shares_memory(state)};
}

void require_layout(std::string_view call, const group_state& state, const layout& rows, std::uint64_t count,
                    std::string_view what) {
  if (rows.ranks() != state.size)
    primitives::refuse("{}: the layout of {} is of {} ranks, but the group has {}", call, what, rows.ranks(),
                       state.size);
  if (rows.count(state.rank) != count) {
    primitives::refuse("{}: {} has {} records, but its layout gives this rank {}", call, what, count,
                       rows.count(state.rank));
  }
}

std::uint64_t first_position(const group_state& state, std::span<const call_header> headers) {
  std::uint64_t first = 0;
  for (int r = 0; r < state.rank; ++r) first += headers[static_cast<std::size_t>(r)].shared[0];
  return first;
}

std::shared_ptr<const routed_list> route_list(const group& ranks, std::string_view call, index_span index,
                                              const layout& rows, const core::index_wording& wording,
                                              bool keeps_entries) {
  return collective(ranks, [&](group_state& state, std::uint64_t number) {
    const agreed_value values[] = {agreed_digest("the layout of rows", fingerprint(rows))};
    const auto shared = routed_list::shared_of(state, index);
    const auto headers = state.agree(call, values, shared, [&] {
      require_layout(call, state, rows, rows.ranks() > state.rank ? rows.count(state.rank) : 0, "rows");
      primitives::require_index_type(call, index.type, "index");
      primitives::require_aligned(call, index.data, bytes(index.type), "index");
      primitives::require_memory(call, state.ctx, index.data, index.count * bytes(index.type), "index");
    });
    const reports_aside aside(state);  // errors of earlier calls are not this one's
    auto list = std::make_shared<const routed_list>(state, rows, index, headers, number, wording, keeps_entries);
    throw_first_report(state, [] {});
    return list;
  });
}

}  // namespace sheaf::distributed
