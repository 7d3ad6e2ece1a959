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
};

/// Sorts checked arrays; collective, amid a call. @param counts  rows of each rank
sorted_pairs sort_between_ranks(group_state& state, const sort_request& request, std::span<const std::uint64_t> counts);

/// A number for a key, which differs where keys differ.
std::uint64_t fingerprint(const sort_key& key) noexcept;

}  // namespace sheaf::distributed
