#pragma once

#include <cstdint>
#include <vector>

namespace sheaf::jobs {

/// Stands for a key; two keys of a file have the same digest with a probability of 2^-64 for files that exist.
struct key_digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator==(const key_digest&, const key_digest&) = default;
};

/// How often keys were met, for a set of keys that is told first: a hash table of bounded size.
class occurrences {
 public:
  explicit occurrences(std::uint64_t memory_bytes);
  /// False where there is no room.
  bool insert(const key_digest& key);
  /// How often the key was asked for before; 0 each time for keys that were not inserted.
  std::uint64_t next(const key_digest& key);
  void clear();
  bool empty() const noexcept { return used_ == 0; }
  /// Keys that always find room.
  std::uint64_t most() const noexcept { return most_slots_ / 2; }

 private:
  struct slot {
    key_digest key;
    std::uint64_t count_and_one = 0;  ///< 0: nobody's
  };
  slot& slot_of(const key_digest& key);
  void grow();

  std::uint64_t most_slots_;
  std::uint64_t used_ = 0;
  std::vector<slot> slots_;
};

}  // namespace sheaf::jobs
