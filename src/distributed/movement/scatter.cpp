#include <sheaf/distributed/scatter.hpp>

#include <algorithm>

#include "distributed/grid.hpp"
#include "distributed/movement/routed_list.hpp"
#include "primitives/movement/scatter.hpp"
#include "primitives/reduce/contract.hpp"
#include "primitives/reduce/rows.hpp"

namespace sheaf::distributed {
namespace {

constexpr std::string_view scatter_call = "scatter";
constexpr std::string_view reduce_call = "scatter_reduce";

/// Records on their way to the owners of the rows that a list names.
class sent_records {
 public:
  sent_records(group_state& state, const routing& way, const_records in)
      : way_(way),
        width_(in.record_bytes),
        packed_(state, way.asked_count() * width_),
        came_(state, way.requested_count() * width_) {
    way.pack(in, packed_.data());
    const auto to = parts_to(packed_.data(), way.asked_begins(), width_, -1);
    const auto from = parts_from(came_.data(), way.requested_begins(), width_, -1);
    if (state.size >= state.bounds.two_level_ranks) {
      exchange_parts(state, to, from);
    } else {
      on_their_way_.emplace(state, to, from);
    }
  }

  /// The records that came, in the order of positions in the whole list.
  const_records finish() {
    if (on_their_way_) on_their_way_->finish();
    return {came_.data(), way_.requested_count(), width_};
  }

 private:
  const routing& way_;
  std::uint64_t width_;
  message_buffer packed_;
  message_buffer came_;
  std::optional<exchange> on_their_way_;
};

template <class Way>
using sent_along = std::conditional_t<std::is_same_v<Way, routing>, sent_records, sent_on_device>;

template <class Way>
void write_to_rows(const group_state& state, const Way& way, const_records came, records out, duplicates repeated) {
  if (way.requested_count() == 0) return;
  scatter_options options;
  options.duplicates = repeated;
  sheaf::scatter(state.ctx, came, way.requested(), out, options);
}

void require_scatter(const group_state& state, const_records in, index_span index, records out, const layout& rows,
                     duplicates repeated) {
  primitives::require_enumerator(scatter_call, "duplicates", repeated, duplicates::last);
  require_layout(scatter_call, state, rows, out.count, "out");
  primitives::require_fit(scatter_call, state.ctx, in, "in", index, out, "out", /*writes_sequential=*/false);
}

std::uint64_t row_bytes(const const_value_rows& rows) noexcept { return rows.values_per_row * bytes(rows.type); }

/// What sheaf::scatter_reduce says of these views and options. @param index  data null: not to be looked at
void require_reduce(const group_state& state, const_value_rows in, index_span index, value_rows out, const layout& rows,
                    reduction op, const scatter_reduce_rows_options& options) {
  require_layout(reduce_call, state, rows, out.count, "out");
  sheaf::explain_scatter_reduce(state.ctx, in, index, out, op, options);
  const auto variants = primitives::scatter_reduce_rows_variants();
  const auto is_asked = [&](const auto& variant) { return variant.name == options.variant; };
  if (!options.variant.empty() && std::none_of(variants.begin(), variants.end(), is_asked))
    primitives::refuse("{}: no variant is named '{}'", reduce_call, options.variant);
  if (index.data == nullptr && index.count > 0) index.count = 0;
  primitives::require_reduction_memory(reduce_call, state.ctx, in, index, out, op, options.counts);
}

template <class Way, class Owners>
void scatter_chunks(group_state& state, const Owners& owners, const list_chunks& chunks, const_records in,
                    const list_part& list, records out, duplicates repeated, std::uint64_t call) {
  std::unique_ptr<Way> way;
  std::unique_ptr<Way> way_before;
  std::unique_ptr<sent_along<Way>> sent;
  const auto write_before = [&] {
    if (!sent) return;
    write_to_rows(state, *way_before, sent->finish(), out, repeated);
    sent.reset();
  };
  for (std::uint64_t chunk = 0; chunk < chunks.count; ++chunk) {
    way = std::make_unique<Way>(state, owners, chunk_of(list, chunks, chunk), call, primitives::scatter_wording);
    write_before();
    way->finish_requests();
    way_before = std::move(way);
    sent = std::make_unique<sent_along<Way>>(state, *way_before, chunk_of(in, chunks, chunk));
  }
  write_before();
}

template <class Way>
void reduce_rows(group_state& state, const Way& way, const_value_rows in, value_rows out, reduction op,
                 const scatter_reduce_rows_options& options) {
  const bool reads_values = op != reduction::count;
  const std::uint64_t width = reads_values ? row_bytes(in) : 0;
  if (!reads_values) {
    const const_value_rows came(nullptr, way.requested_count(), in.values_per_row, in.type);
    sheaf::scatter_reduce(state.ctx, came, way.requested(), out, op, options);
    return;
  }
  sent_along<Way> sent(state, way, const_records(in.data, in.count, width, in.stride_bytes));
  const const_records came = sent.finish();
  sheaf::scatter_reduce(state.ctx, const_value_rows(came.data, came.count, in.values_per_row, in.type), way.requested(),
                        out, op, options);
}

void reduce_along(group_state& state, const routed_list& list, const_value_rows in, value_rows out, reduction op,
                  const scatter_reduce_rows_options& options) {
  list.with_way([&](const auto& way) { reduce_rows(state, way, in, out, op, options); });
  wait_for_queued(state);
}

}  // namespace

void scatter(const group& ranks, const_records in, index_span index, records out, const layout& out_rows,
             duplicates repeated) {
  collective(ranks, [&](group_state& state, std::uint64_t call) {
    const agreed_value values[] = {{"the width of a record", in.record_bytes},
                                   agreed_digest("the layout of out", fingerprint(out_rows)),
                                   {"duplicates", static_cast<std::uint64_t>(repeated)}};
    const auto shared = routed_list::shared_of(state, index);
    const auto headers =
        state.agree(scatter_call, values, shared, [&] { require_scatter(state, in, index, out, out_rows, repeated); });
    const list_part list{index, first_position(state, headers)};
    list_chunks chunks = state.goes_by_primitives ? device_chunks_of(state, headers, in.record_bytes)
                                                  : chunks_of(state, counts_of(headers), in.record_bytes);
    // The last of all positions wins only where records of all ranks are at hand in their order.
    if (repeated == duplicates::last && chunks.count > 1) chunks = {longest_of(headers), 1};
    if (state.goes_by_primitives) {
      scatter_chunks<device_routing>(state, device_owners(state, out_rows, longest_of(headers)), chunks, in, list, out,
                                     repeated, call);
    } else {
      scatter_chunks<routing>(state, owner_finder(out_rows), chunks, in, list, out, repeated, call);
    }
    wait_for_queued(state);
  });
}

void scatter_reduce(const group& ranks, const_value_rows in, index_span index, value_rows out, const layout& out_rows,
                    reduction op, const scatter_reduce_rows_options& options) {
  collective(ranks, [&](group_state& state, std::uint64_t call) {
    const agreed_value values[] = {{"values of a row", in.values_per_row},
                                   {"the type of in", static_cast<std::uint64_t>(in.type)},
                                   {"the type of out", static_cast<std::uint64_t>(out.type)},
                                   {"the reduction", static_cast<std::uint64_t>(op)},
                                   {"the start", static_cast<std::uint64_t>(options.start)},
                                   agreed_digest("the layout of out", fingerprint(out_rows))};
    const auto shared = routed_list::shared_of(state, index);
    const auto headers = state.agree(reduce_call, values, shared, [&] {
      require_reduce(state, in, index, out, out_rows, op, options);
      // A list of no address has no entries.
      primitives::require_memory(reduce_call, state.ctx, index.data, index.count * bytes(index.type), "index");
    });
    const routed_list list(state, out_rows, index, headers, call, primitives::scatter_reduce_rows_wording,
                           /*keeps_entries=*/false);
    reduce_along(state, list, in, out, op, options);
  });
}

prepared_scatter prepare_scatter(const group& ranks, index_span index, const layout& out_rows) {
  return {ranks,
          route_list(ranks, "prepare_scatter", index, out_rows, primitives::scatter_wording, /*keeps_entries=*/false)};
}

void prepared_scatter::run(const_records in, records out, duplicates repeated) const {
  collective(ranks_, [&](group_state& state, std::uint64_t) {
    constexpr std::string_view call = "prepared_scatter::run";
    const agreed_value values[] = {agreed_preparation(list_->prepared_by),
                                   {"the width of a record", in.record_bytes},
                                   {"duplicates", static_cast<std::uint64_t>(repeated)}};
    state.agree(call, values, {}, [&] {
      primitives::require_enumerator(call, "duplicates", repeated, duplicates::last);
      require_layout(call, state, list_->rows, out.count, "out");
      primitives::require_shape(call, in, "in");
      primitives::require_shape(call, out, "out");
      if (in.record_bytes != out.record_bytes)
        primitives::refuse("{}: in has records of {} bytes, but out has {}", call, in.record_bytes, out.record_bytes);
      if (in.count != list_->entries())
        primitives::refuse("{}: in has {} records for a list of {} entries", call, in.count, list_->entries());
      primitives::require_memory(call, state.ctx, in.data, primitives::extent(in), "in");
      primitives::require_memory(call, state.ctx, out.data, primitives::extent(out), "out");
      primitives::require_no_overlap(call, out.data, primitives::extent(out), "out", in.data, primitives::extent(in),
                                     "in");
    });
    list_->with_way([&](const auto& way) {
      sent_along<std::remove_cvref_t<decltype(way)>> sent(state, way, in);
      write_to_rows(state, way, sent.finish(), out, repeated);
    });
    wait_for_queued(state);
  });
}

void prepared_scatter::run_reduce(const_value_rows in, value_rows out, reduction op,
                                  const scatter_reduce_rows_options& options) const {
  collective(ranks_, [&](group_state& state, std::uint64_t) {
    const agreed_value values[] = {agreed_preparation(list_->prepared_by),
                                   {"values of a row", in.values_per_row},
                                   {"the type of in", static_cast<std::uint64_t>(in.type)},
                                   {"the type of out", static_cast<std::uint64_t>(out.type)},
                                   {"the reduction", static_cast<std::uint64_t>(op)},
                                   {"the start", static_cast<std::uint64_t>(options.start)}};
    state.agree("prepared_scatter::run_reduce", values, {}, [&] {
      const index_span entries(nullptr, list_->entries(), index_type::u32);
      require_reduce(state, in, entries, out, list_->rows, op, options);
    });
    reduce_along(state, *list_, in, out, op, options);
  });
}

}  // namespace sheaf::distributed
