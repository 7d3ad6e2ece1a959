#include <sheaf/distributed/gather.hpp>
#include <sheaf/gather.hpp>

#include "distributed/grid.hpp"
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

void require_views(const group_state& state, const_records table, const layout& rows, index_span index, records out) {
  require_layout(call_name, state, rows, table.count, "table");
  // Entries count rows of the whole table, of which this rank has a part: for the checks they may name any.
  primitives::require_fit(call_name, state.ctx, out, "out", index, table, "table", /*writes_sequential=*/true);
}

}  // namespace

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

void gather(const group& ranks, const_records table, const layout& table_rows, index_span index, records out) {
  collective(ranks, [&](group_state& state, std::uint64_t call) {
    const agreed_value values[] = {{"the width of a record", table.record_bytes},
                                   agreed_digest("the layout of table", fingerprint(table_rows))};
    const std::uint64_t shared[] = {index.count};
    const auto headers =
        state.agree(call_name, values, shared, [&] { require_views(state, table, table_rows, index, out); });
    const std::vector<std::uint64_t> counts = counts_of(headers);
    const list_chunks chunks = chunks_of(state, counts, table.record_bytes);
    const std::uint64_t first = first_position(state, headers);
    const owner_finder owners(table_rows);
    // While the records of a chunk travel, the next one's owners are found and asked.
    std::unique_ptr<routing> way;
    std::unique_ptr<routing> way_before;
    std::unique_ptr<served_chunk> served;
    for (std::uint64_t chunk = 0; chunk < chunks.count; ++chunk) {
      way = std::make_unique<routing>(state, owners,
                                      list_part{chunk_of(index, chunks, chunk), first + chunk * chunks.entries}, call,
                                      primitives::gather_wording);
      if (served) {
        served->finish(chunk_of(out, chunks, chunk - 1));
        served.reset();
      }
      way->finish_requests();
      way_before = std::move(way);
      served = std::make_unique<served_chunk>(state, *way_before, table);
    }
    if (served) served->finish(chunk_of(out, chunks, chunks.count - 1));
  });
}

std::shared_ptr<const routed_list> route_list(const group& ranks, std::string_view call, index_span index,
                                              const layout& rows, const core::index_wording& wording) {
  return collective(ranks, [&](group_state& state, std::uint64_t number) {
    const agreed_value values[] = {agreed_digest("the layout of rows", fingerprint(rows))};
    const std::uint64_t shared[] = {index.count};
    const auto headers = state.agree(call, values, shared, [&] {
      require_layout(call, state, rows, rows.ranks() > state.rank ? rows.count(state.rank) : 0, "rows");
      primitives::require_index_type(call, index.type, "index");
      primitives::require_aligned(call, index.data, bytes(index.type), "index");
      primitives::require_memory(call, state.ctx, index.data, index.count * bytes(index.type), "index");
    });
    const reports_aside aside(state);  // errors of earlier calls are not this one's
    auto list =
        std::make_shared<const routed_list>(state, rows, index, first_position(state, headers), number, wording);
    throw_first_report(state, [] {});
    return list;
  });
}

prepared_gather prepare_gather(const group& ranks, index_span index, const layout& table_rows) {
  return {ranks, route_list(ranks, "prepare_gather", index, table_rows, primitives::gather_wording)};
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
      if (out.count != list_->way.entries())
        primitives::refuse("{}: out has {} records for a list of {} entries", call, out.count, list_->way.entries());
      primitives::require_memory(call, state.ctx, table.data, primitives::extent(table), "table");
      primitives::require_memory(call, state.ctx, out.data, primitives::extent(out), "out");
      primitives::require_no_overlap(call, out.data, primitives::extent(out), "out", table.data,
                                     primitives::extent(table), "table");
    });
    served_chunk(state, list_->way, table).finish(out);
  });
}

}  // namespace sheaf::distributed
