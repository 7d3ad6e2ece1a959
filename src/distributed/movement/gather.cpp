#include <sheaf/distributed/gather.hpp>
#include <sheaf/gather.hpp>

#include "distributed/grid.hpp"
#include "distributed/movement/peers.hpp"
#include "distributed/movement/routed_list.hpp"
#include "primitives/movement/gather.hpp"

namespace sheaf::distributed {
namespace {

constexpr std::string_view call_name = "gather";

/// Records on their way from owners to one chunk of the list.
class served_chunk {
 public:
  served_chunk(group_state& state, const routing& way, const_records table)
      : way_(way),
        width_(table.record_bytes),
        served_(state, way.requested_count() * width_),
        came_(state, way.asked_count() * width_),
        rank_(static_cast<std::size_t>(state.rank)) {
    if (way.requested_count() > 0)
      sheaf::gather(state.ctx, table, way.requested(), records(served_.data(), way.requested_count(), width_));
    const auto to = parts_to(served_.data(), way.requested_begins(), width_, state.rank);
    const auto from = parts_from(came_.data(), way.asked_begins(), width_, state.rank);
    if (state.size >= state.bounds.two_level_ranks) {
      exchange_parts(state, to, from);
    } else {
      on_their_way_.emplace(state, to, from);
    }
  }

  void finish(records out) {
    if (on_their_way_) on_their_way_->finish();
    way_.place(came_.data(), served_.data() + way_.requested_begins()[rank_] * width_, out);
  }

 private:
  const routing& way_;
  std::uint64_t width_;
  message_buffer served_;
  message_buffer came_;
  std::size_t rank_;
  std::optional<exchange> on_their_way_;
};

template <class Way>
using served_along = std::conditional_t<std::is_same_v<Way, routing>, served_chunk, served_on_device>;

template <class Way, class Owners>
void gather_chunks(group_state& state, const Owners& owners, const list_chunks& chunks, const_records table,
                   const list_part& list, records out, std::uint64_t call) {
  // While the records of a chunk travel, the next one's owners are found and asked.
  std::unique_ptr<Way> way;
  std::unique_ptr<Way> way_before;
  std::unique_ptr<served_along<Way>> served;
  for (std::uint64_t chunk = 0; chunk < chunks.count; ++chunk) {
    way = std::make_unique<Way>(state, owners, chunk_of(list, chunks, chunk), call, primitives::gather_wording);
    if (served) {
      served->finish(chunk_of(out, chunks, chunk - 1));
      served.reset();
    }
    way->finish_requests();
    way_before = std::move(way);
    served = std::make_unique<served_along<Way>>(state, *way_before, table);
  }
  if (served) served->finish(chunk_of(out, chunks, chunks.count - 1));
}

void gather_by_primitives(group_state& state, std::span<const call_header> headers, const_records table,
                          const layout& table_rows, const list_part& list, records out, std::uint64_t call) {
  const device_owners owners(state, table_rows, longest_of(headers));
  if (memory_is_shared(state, headers) && peer_loads_win(table.record_bytes, owners.number_bytes()) &&
      gather_from_peers(state, owners, table, list, out, call, primitives::gather_wording)) {
    return;
  }
  gather_chunks<device_routing>(state, owners, device_chunks_of(state, headers, table.record_bytes), table, list, out,
                                call);
  wait_for_queued(state);
}

void require_views(const group_state& state, const_records table, const layout& rows, index_span index, records out) {
  require_layout(call_name, state, rows, table.count, "table");
  // Entries count rows of the whole table, of which this rank has a part: for the checks they may name any.
  primitives::require_fit(call_name, state.ctx, out, "out", index, table, "table", /*writes_sequential=*/true);
}

}  // namespace

void gather(const group& ranks, const_records table, const layout& table_rows, index_span index, records out) {
  collective(ranks, [&](group_state& state, std::uint64_t call) {
    const agreed_value values[] = {{"the width of a record", table.record_bytes},
                                   agreed_digest("the layout of table", fingerprint(table_rows))};
    const auto shared = routed_list::shared_of(state, index);
    const auto headers =
        state.agree(call_name, values, shared, [&] { require_views(state, table, table_rows, index, out); });
    const list_part list{index, first_position(state, headers)};
    if (state.goes_by_primitives) return gather_by_primitives(state, headers, table, table_rows, list, out, call);
    gather_chunks<routing>(state, owner_finder(table_rows), chunks_of(state, counts_of(headers), table.record_bytes),
                           table, list, out, call);
  });
}

prepared_gather prepare_gather(const group& ranks, index_span index, const layout& table_rows) {
  return {ranks,
          route_list(ranks, "prepare_gather", index, table_rows, primitives::gather_wording, /*keeps_entries=*/true)};
}

void prepared_gather::run(const_records table, records out) const {
  collective(ranks_, [&](group_state& state, std::uint64_t) {
    constexpr std::string_view call = "prepared_gather::run";
    const agreed_value values[] = {agreed_preparation(list_->prepared_by),
                                   {"the width of a record", table.record_bytes}};
    state.agree(call, values, {}, [&] {
      require_layout(call, state, list_->rows, table.count, "table");
      primitives::require_shape(call, table, "table");
      primitives::require_shape(call, out, "out");
      if (table.record_bytes != out.record_bytes) {
        primitives::refuse("{}: table has records of {} bytes, but out has {}", call, table.record_bytes,
                           out.record_bytes);
      }
      if (out.count != list_->entries())
        primitives::refuse("{}: out has {} records for a list of {} entries", call, out.count, list_->entries());
      primitives::require_memory(call, state.ctx, table.data, primitives::extent(table), "table");
      primitives::require_memory(call, state.ctx, out.data, primitives::extent(out), "out");
      primitives::require_no_overlap(call, out.data, primitives::extent(out), "out", table.data,
                                     primitives::extent(table), "table");
    });
    if (list_->may_read_peers() && peer_loads_win(table.record_bytes, 0) &&
        gather_from_peers(state, list_->owners(), table, list_->kept(), out, list_->prepared_by,
                          primitives::gather_wording)) {
      return;
    }
    list_->with_way(
        [&](const auto& way) { served_along<std::remove_cvref_t<decltype(way)>>(state, way, table).finish(out); });
    wait_for_queued(state);
  });
}

}  // namespace sheaf::distributed
