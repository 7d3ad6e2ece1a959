#pragma once

#include <optional>

#include <sheaf/records.hpp>

#include "distributed/exchange.hpp"
#include "distributed/movement/owners.hpp"

// What an index list, or a chunk of one, asks of each rank: the inspector's half of all movements between ranks. Rows
// travel once, from the rank that has the list to those that have the rows. Records then travel any number of times,
// either way, in the order of ranks and, for each, in the order of the list.
namespace sheaf::distributed {

/// A list, or a part of it.
struct list_part {
  index_span entries;
  std::uint64_t first = 0;  ///< position of its first entry in the whole list
};

class routing {
 public:
  /// Finds the owner of each entry, and begins to tell the owners. Bad entries are noted, and asked of nobody.
  routing(group_state& state, const owner_finder& owners, const list_part& list, std::uint64_t call,
          const core::index_wording& wording);

  /// Waits until this rank knows what is asked of it.
  void finish_requests();

  /// Places of this rank's rows that all ranks ask for, in the order of ranks.
  index_span requested() const noexcept;
  /// The memory of these places, once they are known, for whoever needs nothing else of the list any more.
  message_buffer take_requested() noexcept { return std::move(*requested_); }
  std::uint64_t requested_count() const noexcept { return requested_begins_.back(); }
  std::uint64_t entries() const noexcept { return count_; }
  /// Entries that are good.
  std::uint64_t asked_count() const noexcept { return asked_begins_.back(); }
  std::span<const std::uint64_t> asked_begins() const noexcept { return asked_begins_; }
  std::span<const std::uint64_t> requested_begins() const noexcept { return requested_begins_; }

  /// Brings the records that came, in the order of owners, into the order of the list: out[i] is the record of entry i,
  /// or zeros if that is bad. Those of this rank itself lie in `own`.
  void place(const std::byte* came, const std::byte* own, records out) const;
  /// The reverse: packs the records of good entries in the order of owners.
  void pack(const_records in, std::byte* packed) const;

 private:
  static constexpr std::uint16_t nobody = 0xffff;

  template <class Use>
  void for_blocks(Use use) const;
  void count_owners(const owner_finder& owners, const list_part& list, std::uint64_t call,
                    const core::index_wording& wording);
  template <class Row>
  void write_rows(const owner_finder& owners, const list_part& list);

  group_state& state_;
  std::uint64_t count_;
  std::uint64_t row_bytes_;
  std::uint64_t blocks_;                ///< of entries, which threads share
  buffer owner_of_entry_;               ///< u16
  std::vector<std::uint64_t> cursors_;  ///< of each block and owner: where its first record lies among those of all
  std::vector<std::uint64_t> asked_begins_;
  std::vector<std::uint64_t> requested_begins_;
  message_buffer rows_;
  std::optional<message_buffer> requested_;
  std::optional<exchange> rows_on_their_way_;
};

/// Where records of these counts lie one behind the other, as parts of an exchange. The part of `but` is empty.
std::vector<const_bytes> parts_to(const std::byte* data, std::span<const std::uint64_t> begins, std::uint64_t unit,
                                  int but);
std::vector<mutable_bytes> parts_from(std::byte* data, std::span<const std::uint64_t> begins, std::uint64_t unit,
                                      int but);

/// Chunks of a list, as many on every rank.
struct list_chunks {
  std::uint64_t entries = 0;  ///< of a chunk
  std::uint64_t count = 0;    ///< chunks of the rank that has most
};
/// @param counts   length of each rank's list
/// @param entries  of a chunk
list_chunks chunks_of_entries(std::span<const std::uint64_t> counts, std::uint64_t entries) noexcept;
list_chunks chunks_of(const group_state& state, std::span<const std::uint64_t> counts, std::uint64_t record_bytes);
list_part chunk_of(const list_part& list, const list_chunks& chunks, std::uint64_t chunk);
const_records chunk_of(const_records list, const list_chunks& chunks, std::uint64_t chunk);
records chunk_of(records list, const list_chunks& chunks, std::uint64_t chunk);

}  // namespace sheaf::distributed
