#pragma once

#include <span>
#include <vector>

#include "distributed/sort/keys.hpp"
#include "distributed/state.hpp"
#include "primitives/ranks/steps.hpp"

// Keys of single rows in memory that only primitives reach.
namespace sheaf::distributed {

/// Gathers the fields of keys, and copies them to the host.
class key_reader {
 public:
  key_reader(const context& ctx, const_records rows, const key_layout& key);

  /// The keys of the rows at these positions, in the order of the list. Waits.
  std::vector<key_number> operator()(std::span<const std::uint64_t> positions) const;

  const context& where() const noexcept { return ctx_; }
  const_records rows() const noexcept { return rows_; }
  const key_layout& layout() const noexcept { return key_; }

 private:
  context ctx_;
  const_records rows_;
  key_layout key_;
  key_layout side_by_side_;  // the fields as they are gathered
  std::uint64_t gathered_bytes_ = 0;
};

using primitives::key_bound;

/// The position of each bound. Waits.
std::vector<std::uint64_t> find_bounds(const key_reader& keys, std::span<const key_bound> bounds);

/// `count` positions evenly spaced over a range that has as many or more.
void add_evenly(std::vector<std::uint64_t>& positions, std::uint64_t begin, std::uint64_t end, std::uint64_t count);

}  // namespace sheaf::distributed
