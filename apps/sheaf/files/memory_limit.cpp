#include "apps/sheaf/files/memory_limit.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "apps/sheaf/files/failure.hpp"

namespace sheaf::io {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// The buffers that are held, in the order in which they came.
struct memory_account {
  std::mutex mutex;
  std::uint64_t limit = unlimited;
  std::uint64_t held = 0;
  std::uint64_t last_number = 0;
  std::map<std::uint64_t, std::vector<memory_need>> entries;
};

memory_account& account() {
  static memory_account of_process;
  return of_process;
}

// Sums of sizes that files announce may be larger than 64 bits hold.
std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) { return a > unlimited - b ? unlimited : a + b; }

// "out.npy 400, a copy of a.npy 300"
std::string list_of(const memory_account& all) {
  std::string list;
  for (const auto& [number, needs] : all.entries) {
    for (const memory_need& need : needs)
      list += fmt::format("{}{} {}", list.empty() ? "" : ", ", need.what, need.bytes);
  }
  return list;
}

}  // namespace

void limit_memory(std::uint64_t bytes) noexcept { account().limit = bytes; }

std::uint64_t memory_left() noexcept {
  memory_account& all = account();
  const std::lock_guard lock(all.mutex);
  return all.limit == unlimited ? unlimited : all.limit - std::min(all.limit, all.held);
}

std::string available_memory::text() const {
  return fmt::format("{}{}{}", is_limited ? "--memory leaves " : "", bytes, is_limited ? "" : " are available");
}

available_memory memory_available() {
  const std::uint64_t of_host = core::host_available_bytes();
  const std::uint64_t left = memory_left();
  return {std::min(of_host, left), left < of_host};
}

std::uint64_t bytes_of(std::uint64_t count, std::uint64_t item_bytes) noexcept {
  std::uint64_t bytes = 0;
  return __builtin_mul_overflow(count, item_bytes, &bytes) ? unlimited : bytes;
}

held_memory::held_memory(std::vector<memory_need> needs) {
  std::erase_if(needs, [](const memory_need& need) { return need.bytes == 0; });
  if (needs.empty()) return;
  for (const memory_need& need : needs) bytes_ = sum_of(bytes_, need.bytes);
  memory_account& all = account();
  const std::lock_guard lock(all.mutex);
  const std::uint64_t needed = sum_of(all.held, bytes_);
  const std::uint64_t number = ++all.last_number;
  all.entries[number] = std::move(needs);
  if (needed > all.limit) {
    const std::string list = list_of(all);
    all.entries.erase(number);
    throw_error(error_code::out_of_memory, "--memory allows {} bytes, but buffers need {}: {}", all.limit, needed,
                list);
  }
  bytes_ = needed - all.held;  // the rest, where the sum is the most that there can be
  all.held = needed;
  number_ = number;
}

held_memory::~held_memory() {
  if (number_ == 0) return;
  memory_account& all = account();
  const std::lock_guard lock(all.mutex);
  all.held -= bytes_;
  all.entries.erase(number_);
}

held_memory::held_memory(held_memory&& other) noexcept
    : bytes_(std::exchange(other.bytes_, 0)), number_(std::exchange(other.number_, 0)) {}

held_memory& held_memory::operator=(held_memory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(number_, other.number_);
  return *this;
}

error with_buffers_in_words(const error& thrown) {
  memory_account& all = account();
  const std::lock_guard lock(all.mutex);
  const std::string list = list_of(all);
  if (all.limit == unlimited || list.empty()) return thrown;
  return {thrown.code(), fmt::format("{}; of the {} bytes that --memory allows, buffers have {}: {}", thrown.what(),
                                     all.limit, all.held, list)};
}

void throw_no_room_for_scratch(std::string_view taker, std::uint64_t scratch_bytes) {
  memory_account& all = account();
  const std::lock_guard lock(all.mutex);
  const std::string list = list_of(all);
  throw_error(error_code::out_of_memory, "--memory allows {} bytes, but {} are needed: scratch of {} {}{}{}", all.limit,
              sum_of(all.held, scratch_bytes), taker, scratch_bytes, list.empty() ? "" : ", ", list);
}

}  // namespace sheaf::io
