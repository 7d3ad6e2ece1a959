#pragma once

#include <sheaf/distributed/sort.hpp>

#include "distributed/exchange.hpp"

namespace sheaf::distributed {

/// What a sort moves between ranks: the rows that hold the keys, and arrays of values.
struct sort_request {
  const_records keys;
  sort_key key;
  std::vector<const_records> values;
  balance parts = balance::exact;
  bool wants_keys = true;
  /// Rows whose key is this number or a higher one are left out; 0: none are. Only of groups that go by primitives.
  std::uint64_t first_left_out = 0;
  /// Gets where the rows of each number begin in the whole, and where the last ones end, if keys are so few that the
  /// sort counts them all.
  std::vector<std::uint64_t>* number_begins = nullptr;
};

/// Sorts checked arrays; collective, amid a call. @param counts  rows of each rank
sorted_pairs sort_between_ranks(group_state& state, const sort_request& request, std::span<const std::uint64_t> counts);

/// Where sorted rows of a request go, from a row on.
std::vector<records> outputs(const sort_request& request, const sorted_pairs& out, std::uint64_t first,
                             std::uint64_t count);

/// Memory for a rank's rows of the result.
void take_memory(group_state& state, const sort_request& request, std::uint64_t count, sorted_pairs& out);

/// Local rows in the order of parts, array by array. Each rank of the result has as many parts, which follow one
/// another.
struct packed_rows {
  std::vector<message_buffer> arrays;
  std::vector<std::uint64_t> offsets;  ///< of each part
};

/// Where the parts of the sorted whole begin, without the first: `groups` for each rank.
std::vector<std::uint64_t> inner_positions(const layout& rows, std::uint64_t groups);

/// A number for a key, which differs where keys differ.
std::uint64_t fingerprint(const sort_key& key) noexcept;

}  // namespace sheaf::distributed
