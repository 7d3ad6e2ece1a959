#pragma once

#include <cstdint>
#include <vector>

namespace sheaf::jobs {

/// A hash of 128 bits that stands for a key. The probability that two keys of a file share a digest is 2^-64 for files
/// of realistic size.
struct key_digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator==(const key_digest&, const key_digest&) = default;
};

/// Counts how often each key of a set occurs: a hash table of bounded size, into which the set is inserted first.
class occurrences {
 public:
  explicit occurrences(std::uint64_t memory_bytes);
  /// Returns false if the table is full.
  bool insert(const key_digest& key);
  /// The number of earlier calls with this key; always 0 for keys that were not inserted.
  std::uint64_t next(const key_digest& key);
  void clear();
  bool empty() const noexcept { return used_ == 0; }
  /// Keys that the table can hold.
  std::uint64_t capacity() const noexcept { return most_slots_ / 2; }

 private:
  struct slot {
    key_digest key;
    std::uint64_t count_and_one = 0;  ///< 0: the slot is free
  };
  slot& slot_of(const key_digest& key);
  void grow();

  std::uint64_t most_slots_;
  std::uint64_t used_ = 0;
  std::vector<slot> slots_;
};

}  // namespace sheaf::jobs
