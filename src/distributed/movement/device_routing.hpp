#pragma once

#include "distributed/movement/routing.hpp"
#include "primitives/ranks/steps.hpp"

// The inspector of a list that lies where only primitives reach it, and the executor along it. What `routing` does by
// loops over host memory is done here by a split of the entries by owner, gathers and scatters.
namespace sheaf::distributed {

/// Which rank has which rows, in the memory of the context.
class device_owners {
 public:
  /// @param longest  entries of the longest list of all ranks, so that they choose numbers of one width
  device_owners(group_state& state, const layout& rows, std::uint64_t longest);

  /// For lists of this type.
  primitives::rows_of_ranks rows(index_type type) const noexcept;
  std::uint64_t count() const noexcept { return count_; }
  std::uint32_t ranks() const noexcept { return ranks_; }
  /// Whether 4 bytes do not hold every row's place in its part, and every position in a list.
  bool is_wide() const noexcept { return is_wide_; }
  std::uint64_t number_bytes() const noexcept { return is_wide_ ? sizeof(std::uint64_t) : sizeof(std::uint32_t); }

 private:
  buffer begins_;
  std::uint32_t ranks_;
  std::uint64_t count_;
  bool is_wide_;
};

/// As `routing`, in the memory of the group's context.
class device_routing {
 public:
  /// Finds the owner of each entry, and begins to tell the owners. Bad entries are noted, and asked of nobody.
  device_routing(group_state& state, const device_owners& owners, const list_part& list, std::uint64_t call,
                 const core::index_wording& wording);

  /// Waits until this rank knows what is asked of it.
  void finish_requests();

  /// Places of this rank's rows that all ranks ask for, in the order of ranks.
  index_span requested() const noexcept { return {requested_->data(), requested_count(), number_}; }
  /// The memory of these places, once they are known, for whoever needs nothing else of the list any more.
  message_buffer take_requested() noexcept { return std::move(*requested_); }
  std::uint64_t requested_count() const noexcept { return requested_begins_.back(); }
  std::uint64_t entries() const noexcept { return count_; }
  std::uint64_t asked_count() const noexcept { return asked_begins_.back(); }
  std::span<const std::uint64_t> asked_begins() const noexcept { return asked_begins_; }
  std::span<const std::uint64_t> requested_begins() const noexcept { return requested_begins_; }

  /// Queues out[i] = the record of entry i, from records in the order of owners; zeros where that is bad.
  void place(const std::byte* came, records out) const;
  /// Queues the reverse for good entries.
  void pack(const_records in, std::byte* packed) const;

 private:
  /// Positions of entries in the order of their owners, bad ones last.
  index_span positions(std::uint64_t first, std::uint64_t count) const noexcept;
  /// Brings entries into the order of owners, and returns the position of the first bad one.
  std::uint64_t order_by_owner(const device_owners& owners, index_span list);

  group_state& state_;
  std::uint64_t count_;
  index_type number_;  ///< of rows and positions
  std::vector<std::uint64_t> asked_begins_;
  std::vector<std::uint64_t> requested_begins_;
  buffer positions_;
  message_buffer rows_;
  std::optional<message_buffer> requested_;
  std::optional<array_exchange> rows_on_their_way_;
};

/// Notes a bad entry of a list in the context's memory. @param position  in this part of the list; all ones: none
void note_bad_entry(group_state& state, const list_part& list, std::uint64_t position, std::uint64_t rows,
                    std::uint64_t call, const core::index_wording& wording);

/// Records on their way from owners to a list, and the reverse: a chunk that gather.cpp or scatter.cpp has begun.
class served_on_device {
 public:
  served_on_device(group_state& state, const device_routing& way, const_records table);
  void finish(records out);

 private:
  const device_routing& way_;
  message_buffer served_;
  message_buffer came_;
  std::optional<array_exchange> on_their_way_;
};

class sent_on_device {
 public:
  sent_on_device(group_state& state, const device_routing& way, const_records in);
  /// The records that came, in the order of positions in the whole list.
  const_records finish();

 private:
  const device_routing& way_;
  std::uint64_t width_;
  message_buffer packed_;
  message_buffer came_;
  std::optional<array_exchange> on_their_way_;
};

/// Chunks of lists where calls go by primitives. The ranks' first three `shared` numbers are the length of their lists,
/// free_bytes() and shares_memory().
list_chunks device_chunks_of(const group_state& state, std::span<const call_header> headers,
                             std::uint64_t record_bytes);

/// Entries of the longest list of all ranks.
std::uint64_t longest_of(std::span<const call_header> headers) noexcept;

/// Memory that calls may take on this rank; 0 where calls do not go by primitives.
std::uint64_t free_bytes(const group_state& state);

}  // namespace sheaf::distributed
