#include "distributed/movement/routing.hpp"

#include <cstring>

#include "core/context_state.hpp"
#include "core/parallel_tasks.hpp"
#include "distributed/collectives.hpp"
#include "distributed/grid.hpp"
#include "distributed/movement/record_copy.hpp"
#include "primitives/index_reader.hpp"

namespace sheaf::distributed {
namespace {

/// Fewer entries than this are not worth a second thread.
constexpr std::uint64_t least_block = 1 << 15;

}  // namespace

std::vector<const_bytes> parts_to(const std::byte* data, std::span<const std::uint64_t> begins, std::uint64_t unit,
                                  int but) {
  std::vector<const_bytes> parts(begins.size() - 1);
  for (std::size_t r = 0; r < parts.size(); ++r) {
    if (static_cast<int>(r) != but) parts[r] = {data + begins[r] * unit, (begins[r + 1] - begins[r]) * unit};
  }
  return parts;
}

std::vector<mutable_bytes> parts_from(std::byte* data, std::span<const std::uint64_t> begins, std::uint64_t unit,
                                      int but) {
  std::vector<mutable_bytes> parts(begins.size() - 1);
  for (std::size_t r = 0; r < parts.size(); ++r) {
    if (static_cast<int>(r) != but) parts[r] = {data + begins[r] * unit, (begins[r + 1] - begins[r]) * unit};
  }
  return parts;
}

template <class Use>
void routing::for_blocks(Use use) const {
  core::for_each_task(blocks_, static_cast<std::uint64_t>(state_.host.threads()), [&](std::uint64_t block) {
    use(block, count_ / blocks_ * block + std::min(block, count_ % blocks_),
        count_ / blocks_ * (block + 1) + std::min(block + 1, count_ % blocks_));
  });
}

routing::routing(group_state& state, const owner_finder& owners, const list_part& list, std::uint64_t call,
                 const core::index_wording& wording)
    : state_(state),
      count_(list.entries.count),
      row_bytes_(owners.is_narrow() ? sizeof(std::uint32_t) : sizeof(std::uint64_t)),
      blocks_(std::clamp<std::uint64_t>(count_ / least_block, 1, static_cast<std::uint64_t>(state.host.threads()))),
      owner_of_entry_(state.host, count_ * sizeof(std::uint16_t)),
      rows_(state, count_ * row_bytes_) {
  count_owners(owners, list, call, wording);
  if (owners.is_narrow()) {
    write_rows<std::uint32_t>(owners, list);
  } else {
    write_rows<std::uint64_t>(owners, list);
  }
  const auto ranks = owners.ranks();
  std::vector<std::uint64_t> asked(ranks);
  for (std::size_t r = 0; r < ranks; ++r) asked[r] = asked_begins_[r + 1] - asked_begins_[r];
  requested_begins_ = begins_of(exchange_counts(state, asked));
  requested_.emplace(state, requested_begins_.back() * row_bytes_);
  const auto to = parts_to(rows_.data(), asked_begins_, row_bytes_, -1);
  const auto from = parts_from(requested_->data(), requested_begins_, row_bytes_, -1);
  if (state.size >= state.bounds.two_level_ranks) {
    exchange_parts(state, to, from);
  } else {
    rows_on_their_way_.emplace(state, to, from);
  }
}

void routing::count_owners(const owner_finder& owners, const list_part& list, std::uint64_t call,
                           const core::index_wording& wording) {
  const std::size_t ranks = owners.ranks();
  const std::uint64_t limit = primitives::namable(list.entries.type, owners.rows());
  std::uint16_t* const owner_of = owner_of_entry_.as<std::uint16_t>();
  cursors_.assign(blocks_ * ranks, 0);
  std::vector<core::index_report> bad(blocks_);
  for_blocks([&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t* const counts = cursors_.data() + block * ranks;
    primitives::with_entries(list.entries, [&](const auto* entry) {
      for (std::uint64_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::uint64_t>(entry[i]);
        if (row >= limit) {
          owner_of[i] = nobody;
          if (bad[block].found()) continue;
          bad[block] = {.call = call,
                        .position = list.first + i,
                        .value = row,
                        .limit = owners.rows(),
                        .wording = &wording,
                        .is_signed = primitives::is_signed(list.entries.type) ? 1U : 0U};
          continue;
        }
        const std::uint32_t owner = owners(row);
        owner_of[i] = static_cast<std::uint16_t>(owner);
        ++counts[owner];
      }
    });
  });
  for (const core::index_report& report : bad) state_.keep_first(report);
  // Counts of blocks become places: owner by owner, and within one block by block.
  asked_begins_.assign(ranks + 1, 0);
  std::uint64_t at = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    asked_begins_[r] = at;
    for (std::uint64_t block = 0; block < blocks_; ++block) at += std::exchange(cursors_[block * ranks + r], at);
  }
  asked_begins_[ranks] = at;
}

template <class Row>
void routing::write_rows(const owner_finder& owners, const list_part& list) {
  const std::size_t ranks = owners.ranks();
  const std::uint16_t* const owner_of = owner_of_entry_.as<std::uint16_t>();
  Row* const rows = reinterpret_cast<Row*>(rows_.data());
  for_blocks([&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
    std::vector<std::uint64_t> cursor(cursors_.begin() + static_cast<std::ptrdiff_t>(block * ranks),
                                      cursors_.begin() + static_cast<std::ptrdiff_t>((block + 1) * ranks));
    primitives::with_entries(list.entries, [&](const auto* entry) {
      for (std::uint64_t i = begin; i < end; ++i) {
        const std::uint16_t owner = owner_of[i];
        if (owner == nobody) continue;
        rows[cursor[owner]++] = static_cast<Row>(static_cast<std::uint64_t>(entry[i]) - owners.begin(owner));
      }
    });
  });
}

void routing::finish_requests() {
  if (!rows_on_their_way_) return;
  rows_on_their_way_->finish();
  rows_on_their_way_.reset();
}

index_span routing::requested() const noexcept {
  return {requested_->data(), requested_count(),
          row_bytes_ == sizeof(std::uint32_t) ? index_type::u32 : index_type::u64};
}

void routing::place(const std::byte* came, const std::byte* own, records out) const {
  const std::size_t ranks = asked_begins_.size() - 1;
  const auto me = static_cast<std::size_t>(state_.rank);
  const std::uint64_t width = out.record_bytes;
  const std::uint16_t* const owner_of = owner_of_entry_.as<std::uint16_t>();
  with_width(width, [&](auto copy) {
    for_blocks([&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
      std::vector<const std::byte*> next(ranks);
      for (std::size_t r = 0; r < ranks; ++r) {
        const std::uint64_t cursor = cursors_[block * ranks + r];
        next[r] = r == me ? own + (cursor - asked_begins_[r]) * width : came + cursor * width;
      }
      std::byte* to = out.data + begin * out.stride_bytes;
      for (std::uint64_t i = begin; i < end; ++i, to += out.stride_bytes) {
        const std::uint16_t owner = owner_of[i];
        if (owner == nobody) {
          std::memset(to, 0, width);
          continue;
        }
        copy.run(to, next[owner], width);
        next[owner] += width;
      }
    });
  });
}

void routing::pack(const_records in, std::byte* packed) const {
  const std::size_t ranks = asked_begins_.size() - 1;
  const std::uint64_t width = in.record_bytes;
  const std::uint16_t* const owner_of = owner_of_entry_.as<std::uint16_t>();
  with_width(width, [&](auto copy) {
    for_blocks([&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
      std::vector<std::byte*> next(ranks);
      for (std::size_t r = 0; r < ranks; ++r) next[r] = packed + cursors_[block * ranks + r] * width;
      const std::byte* from = in.data + begin * in.stride_bytes;
      for (std::uint64_t i = begin; i < end; ++i, from += in.stride_bytes) {
        const std::uint16_t owner = owner_of[i];
        if (owner == nobody) continue;
        copy.run(next[owner], from, width);
        next[owner] += width;
      }
    });
  });
}

list_chunks chunks_of_entries(std::span<const std::uint64_t> counts, std::uint64_t entries) noexcept {
  list_chunks chunks{entries, 0};
  for (const std::uint64_t count : counts)
    chunks.count = std::max(chunks.count, count / entries + (count % entries != 0 ? 1 : 0));
  return chunks;
}

list_chunks chunks_of(const group_state& state, std::span<const std::uint64_t> counts, std::uint64_t record_bytes) {
  return chunks_of_entries(
      counts, std::max<std::uint64_t>(1, state.bounds.chunk_bytes / (record_bytes + sizeof(std::uint64_t))));
}

namespace {
struct range_of_chunk {
  std::uint64_t first;
  std::uint64_t count;
};
range_of_chunk range_of(std::uint64_t all, const list_chunks& chunks, std::uint64_t chunk) {
  const std::uint64_t first = chunk > all / chunks.entries ? all : std::min(all, chunk * chunks.entries);
  return {first, std::min(chunks.entries, all - first)};
}
}  // namespace

list_part chunk_of(const list_part& list, const list_chunks& chunks, std::uint64_t chunk) {
  const index_span all = list.entries;
  const range_of_chunk range = range_of(all.count, chunks, chunk);
  return {{static_cast<const std::byte*>(all.data) + range.first * bytes(all.type), range.count, all.type},
          list.first + range.first};
}

const_records chunk_of(const_records list, const list_chunks& chunks, std::uint64_t chunk) {
  const range_of_chunk range = range_of(list.count, chunks, chunk);
  return {list.data + range.first * list.stride_bytes, range.count, list.record_bytes, list.stride_bytes};
}

records chunk_of(records list, const list_chunks& chunks, std::uint64_t chunk) {
  const range_of_chunk range = range_of(list.count, chunks, chunk);
  return {list.data + range.first * list.stride_bytes, range.count, list.record_bytes, list.stride_bytes};
}

}  // namespace sheaf::distributed
