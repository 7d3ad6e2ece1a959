#include "apps/sheaf/checks/occurrences.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace sheaf::jobs {
namespace {

constexpr std::uint64_t least_slots = 64;

}  // namespace

// While the table grows, the old one exists beside one of twice its size; hence 2/3 of the memory.
occurrences::occurrences(std::uint64_t memory_bytes)
    : most_slots_(std::max(least_slots, std::bit_floor(memory_bytes / sizeof(slot) * 2 / 3))), slots_(least_slots) {}

occurrences::slot& occurrences::slot_of(const key_digest& key) {
  const std::uint64_t mask = slots_.size() - 1;
  std::uint64_t position = key.high & mask;
  while (slots_[position].count_and_one != 0 && slots_[position].key != key) position = (position + 1) & mask;
  return slots_[position];
}

void occurrences::grow() {
  std::vector<slot> old(slots_.size() * 2);
  std::swap(old, slots_);
  for (const slot& s : old) {
    if (s.count_and_one != 0) slot_of(s.key) = s;
  }
}

bool occurrences::insert(const key_digest& key) {
  if (used_ >= slots_.size() / 2 && slots_.size() < most_slots_) grow();
  slot& s = slot_of(key);
  if (s.count_and_one != 0) return true;
  if (used_ >= capacity()) return false;
  s = {key, 1};
  ++used_;
  return true;
}

std::uint64_t occurrences::next(const key_digest& key) {
  slot& s = slot_of(key);
  return s.count_and_one == 0 ? 0 : s.count_and_one++ - 1;
}

void occurrences::clear() {
  std::ranges::fill(slots_, slot{});
  used_ = 0;
}

}  // namespace sheaf::jobs
