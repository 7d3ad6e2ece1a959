#pragma once

#include <span>
#include <vector>

#include "distributed/sort/keys.hpp"
#include "distributed/state.hpp"

// Keys of single rows in memory that only primitives reach.
namespace sheaf::distributed {

/// Gathers the fields of keys, and copies them to the host.
class key_reader {
 public:
  key_reader(const context& ctx, const_records rows, const key_layout& key);

  /// The keys of the rows at these positions, in the order of the list. Waits.
  std::vector<key_number> operator()(std::span<const std::uint64_t> positions) const;

 private:
  context ctx_;
  const_records rows_;
  key_layout key_;
  key_layout side_by_side_;  // the fields as they are gathered
  std::uint64_t gathered_bytes_ = 0;
};

/// A place among rows that lie in the order of their keys: before the first row of the range whose key is not below
/// `key`, or behind all rows whose key is not above it.
struct key_bound {
  key_number key;
  bool is_behind_equal = false;
  std::uint64_t begin = 0;  ///< of the range of rows
  std::uint64_t end = 0;
};

/// The position of each bound, by a search that reads some thousand keys at a time. @param bounds  with ascending keys
std::vector<std::uint64_t> find_bounds(const key_reader& keys, std::vector<key_bound> bounds);

/// `count` positions evenly spaced over a range that has as many or more.
void add_evenly(std::vector<std::uint64_t>& positions, std::uint64_t begin, std::uint64_t end, std::uint64_t count);

}  // namespace sheaf::distributed
