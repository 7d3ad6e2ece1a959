#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sheaf/records.hpp>

// Checks hash searches in host memory by a sorted array of the table's keys. The results describe the first mistake.
// Keys have 4 or 8 bytes at any stride and alignment, and are equal if their bits are.
namespace sheaf::jobs {

class sorted_keys {
 public:
  explicit sorted_keys(const_records table);

  /// @param offsets, ids  what hash_search has found for the probes: one offset more than there are probes.
  std::optional<std::string> search_mistake(const_records probes, std::span<const std::uint64_t> offsets,
                                            index_span ids) const;
  std::optional<std::string> count_mistake(const_records probes, index_span counts) const;
  /// @param ids  the lowest record of each probe's key; all bits set for none.
  std::optional<std::string> find_mistake(const_records probes, index_span ids) const;

 private:
  struct row {
    std::uint64_t key;
    std::uint64_t record;
  };
  std::span<const row> rows_of(const_records probes, std::uint64_t probe) const;

  std::vector<row> rows_;
};

}  // namespace sheaf::jobs
