#include "distributed/movement/device_routing.hpp"

#include <sheaf/gather.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/split.hpp>

#include "core/context_state.hpp"
#include "distributed/collectives.hpp"
#include "primitives/index_reader.hpp"
#include "primitives/views.hpp"

namespace sheaf::distributed {
namespace {

constexpr std::uint64_t most_narrow = ~std::uint32_t{0};

bool needs_wide_numbers(const layout& rows, std::uint64_t longest) {
  bool is_wide = longest > most_narrow;
  for (int r = 0; r < rows.ranks(); ++r) is_wide = is_wide || rows.count(r) > most_narrow;
  return is_wide;
}

}  // namespace

device_owners::device_owners(group_state& state, const layout& rows, std::uint64_t longest)
    : begins_(state.ctx, rows.begins().size_bytes()),
      ranks_(static_cast<std::uint32_t>(rows.ranks())),
      count_(rows.count()),
      is_wide_(needs_wide_numbers(rows, longest)) {
  copy_bytes(state.ctx, begins_.data(), rows.begins().data(), begins_.size());
}

primitives::rows_of_ranks device_owners::rows(index_type type) const noexcept {
  return {begins_.as<std::uint64_t>(), ranks_, primitives::namable(type, count_)};
}

void note_bad_entry(group_state& state, const list_part& list, std::uint64_t position, std::uint64_t rows,
                    std::uint64_t call, const core::index_wording& wording) {
  if (position == ~std::uint64_t{0}) return;
  std::uint64_t bits = 0;
  const std::uint64_t width = bytes(list.entries.type);
  copy_bytes(state.ctx, &bits, static_cast<const std::byte*>(list.entries.data) + position * width, width);
  state.keep_first({.call = call,
                    .position = list.first + position,
                    .value = primitives::bits_at({&bits, 1, list.entries.type}, 0),
                    .limit = rows,
                    .wording = &wording,
                    .is_signed = primitives::is_signed(list.entries.type) ? 1U : 0U});
}

device_routing::device_routing(group_state& state, const device_owners& owners, const list_part& list,
                               std::uint64_t call, const core::index_wording& wording)
    : state_(state),
      count_(list.entries.count),
      number_(owners.is_wide() ? index_type::u64 : index_type::u32),
      asked_begins_(owners.ranks() + std::size_t{1}),
      positions_(state.ctx, count_ * bytes(number_)),
      rows_(state, count_ * bytes(number_), state.ctx) {
  if (count_ > 0) note_bad_entry(state, list, order_by_owner(owners, list.entries), owners.count(), call, wording);
  std::vector<std::uint64_t> asked(owners.ranks());
  for (std::size_t r = 0; r < asked.size(); ++r) asked[r] = asked_begins_[r + 1] - asked_begins_[r];
  requested_begins_ = begins_of(exchange_counts(state, asked));
  requested_.emplace(state, requested_count() * bytes(number_), state.ctx);
  rows_on_their_way_.emplace(state, parts_to(rows_.data(), asked_begins_, bytes(number_), -1),
                             parts_from(requested_->data(), requested_begins_, bytes(number_), -1));
}

// A stable split by owner. Offsets of categories and the first bad position lie side by side: one copy reads both, and
// is the only one that waits for the device.
std::uint64_t device_routing::order_by_owner(const device_owners& owners, index_span list) {
  const context& ctx = state_.ctx;
  const primitives::routing_steps& steps = primitives::routing_steps_of(ctx.backend());
  const std::uint64_t categories = owners.ranks() + std::uint64_t{1};
  const std::uint64_t pair_bytes = 2 * bytes(number_);
  const std::uint64_t owner_bytes = primitives::owner_bytes(owners.ranks());
  const buffer found(ctx, (categories + 2) * sizeof(std::uint64_t));
  std::uint64_t* const offsets = found.as<std::uint64_t>();
  const buffer owner_of_entry(ctx, count_ * owner_bytes);
  const buffer pairs(ctx, count_ * pair_bytes);
  const buffer ordered(ctx, count_ * pair_bytes);
  steps.route(ctx, list, owners.rows(list.type),
              {owner_of_entry.data(), pairs.data(), owners.is_wide(), offsets + categories + 1});
  sheaf::split(ctx, const_records(pairs.data(), count_, pair_bytes),
               split_key::category(const_records(owner_of_entry.data(), count_, owner_bytes), categories),
               records(ordered.data(), count_, pair_bytes), {offsets, categories + 1});
  steps.unzip(ctx, ordered.data(), count_, owners.is_wide(), rows_.data(), positions_.data());
  std::vector<std::uint64_t> host(categories + 2);
  copy_bytes(ctx, host.data(), offsets, found.size());
  std::copy(host.begin(), host.begin() + static_cast<std::ptrdiff_t>(asked_begins_.size()), asked_begins_.begin());
  return host.back();
}

void device_routing::finish_requests() {
  if (!rows_on_their_way_) return;
  rows_on_their_way_->finish();
  rows_on_their_way_.reset();
}

index_span device_routing::positions(std::uint64_t first, std::uint64_t count) const noexcept {
  return {positions_.data() + first * bytes(number_), count, number_};
}

void device_routing::place(const std::byte* came, records out) const {
  const context& ctx = state_.ctx;
  const std::uint64_t width = out.record_bytes;
  if (asked_count() > 0)
    sheaf::scatter(ctx, const_records(came, asked_count(), width), positions(0, asked_count()), out);
  const std::uint64_t bad = count_ - asked_count();
  if (bad == 0) return;
  constexpr std::uint64_t most_zero_bytes = std::uint64_t{1} << 20;
  const std::uint64_t piece = std::min(bad, std::max<std::uint64_t>(1, most_zero_bytes / width));
  const buffer zeros(ctx, piece * width);
  ctx.state().fill(zeros.data(), 0, zeros.size());
  for (std::uint64_t done = 0; done < bad; done += piece) {
    const std::uint64_t count = std::min(piece, bad - done);
    sheaf::scatter(ctx, const_records(zeros.data(), count, width), positions(asked_count() + done, count), out);
  }
}

void device_routing::pack(const_records in, std::byte* packed) const {
  if (asked_count() == 0) return;
  const std::uint64_t width = in.record_bytes;
  // Rows of numbers may be wider than records are.
  for (std::uint64_t first = 0; first < width; first += primitives::most_record_bytes) {
    const std::uint64_t piece = std::min(primitives::most_record_bytes, width - first);
    sheaf::gather(state_.ctx, const_records(in.data + first, in.count, piece, in.stride_bytes),
                  positions(0, asked_count()), records(packed + first, asked_count(), piece, width));
  }
}

served_on_device::served_on_device(group_state& state, const device_routing& way, const_records table)
    : way_(way),
      served_(state, way.requested_count() * table.record_bytes, state.ctx),
      came_(state, way.asked_count() * table.record_bytes, state.ctx) {
  const std::uint64_t width = table.record_bytes;
  if (way.requested_count() > 0)
    sheaf::gather(state.ctx, table, way.requested(), records(served_.data(), way.requested_count(), width));
  on_their_way_.emplace(state, parts_to(served_.data(), way.requested_begins(), width, -1),
                        parts_from(came_.data(), way.asked_begins(), width, -1));
}

void served_on_device::finish(records out) {
  on_their_way_->finish();
  way_.place(came_.data(), out);
}

sent_on_device::sent_on_device(group_state& state, const device_routing& way, const_records in)
    : way_(way),
      width_(in.record_bytes),
      packed_(state, way.asked_count() * width_, state.ctx),
      came_(state, way.requested_count() * width_, state.ctx) {
  way.pack(in, packed_.data());
  on_their_way_.emplace(state, parts_to(packed_.data(), way.asked_begins(), width_, -1),
                        parts_from(came_.data(), way.requested_begins(), width_, -1));
}

const_records sent_on_device::finish() {
  on_their_way_->finish();
  return {came_.data(), way_.requested_count(), width_};
}

// The host waits three times in a chunk, for counts, rows and records: some 0.1 ms, in which NVLink carries 35 MB from
// each GPU of a host. So chunks are as long as memory allows. Two are under way, and if every rank asks one and the
// same, that rank serves the chunks of all: together they take half of what the rank that has least has free, and leave
// the other half to the scratch of splits, gathers and scatters.
list_chunks device_chunks_of(const group_state& state, std::span<const call_header> headers,
                             std::uint64_t record_bytes) {
  std::vector<std::uint64_t> counts(headers.size());
  std::uint64_t free = ~std::uint64_t{0};
  for (std::size_t r = 0; r < headers.size(); ++r) {
    counts[r] = headers[r].shared[0];
    free = std::min(free, headers[r].shared[1]);
  }
  if (!state.is_on_device()) return chunks_of(state, counts, record_bytes);
  constexpr std::uint64_t number = sizeof(std::uint64_t);
  // An owner, two pairs, a row and a position of each entry, and its record; a row and a record of each request.
  const std::uint64_t of_entry = sizeof(std::uint16_t) + 6 * number + record_bytes;
  const std::uint64_t of_requests = static_cast<std::uint64_t>(state.size) * (number + record_bytes);
  return chunks_of_entries(counts, std::max<std::uint64_t>(1, free / 4 / (of_entry + of_requests)));
}

std::uint64_t longest_of(std::span<const call_header> headers) noexcept {
  std::uint64_t longest = 0;
  for (const call_header& header : headers) longest = std::max(longest, header.shared[0]);
  return longest;
}

std::uint64_t free_bytes(const group_state& state) {
  return state.goes_by_primitives ? primitives::routing_steps_of(state.ctx.backend()).free_bytes(state.ctx) : 0;
}

}  // namespace sheaf::distributed
