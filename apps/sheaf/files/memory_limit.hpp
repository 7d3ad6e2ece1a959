#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sheaf/error.hpp>

#include "core/host.hpp"

// What --memory allows to scratch and buffers together. It is the process's, as its temporary folder is: memory is
// taken deep inside of what reads files. Files that are mapped take none that the system cannot have back, and do not
// count.
namespace sheaf::io {

/// From now on, buffers that are held and scratch have no more than so many bytes together.
void limit_memory(std::uint64_t bytes) noexcept;
/// What the limit leaves beside the buffers that are held; ~0 without a limit.
std::uint64_t memory_left() noexcept;

/// What can be taken at once: the host's free memory, or what the limit leaves where that is less.
struct available_memory {
  std::uint64_t bytes = 0;
  bool is_limited = false;  ///< by --memory, not by the host

  /// "300 are available", "--memory leaves 300"
  std::string text() const;
};
available_memory memory_available();

struct memory_need {
  std::string what;  ///< that the bytes are for, "a copy of table.npy"
  std::uint64_t bytes = 0;
};
/// Bytes of so many items, or the most that there can be.
std::uint64_t bytes_of(std::uint64_t count, std::uint64_t item_bytes) noexcept;

/// Buffers, or buffers that are to come, which count as long as this object lives.
class held_memory {
 public:
  held_memory() = default;
  /// @throws error(out_of_memory) naming these buffers, the others, and how much all of them need, if the limit is less
  explicit held_memory(std::vector<memory_need> needs);
  held_memory(std::string what, std::uint64_t bytes) : held_memory(std::vector{memory_need{std::move(what), bytes}}) {}
  ~held_memory();
  held_memory(held_memory&& other) noexcept;
  held_memory& operator=(held_memory&& other) noexcept;
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
  std::uint64_t number_ = 0;  ///< of the entry; 0: none
};

/// An error of a call's scratch, with the buffers that have the rest of what the limit allows; as it is if there is no
/// limit.
error with_buffers_in_words(const error& thrown);

/// The error of scratch that is too much beside the buffers that are held.
/// @param taker  whose scratch it is, "cpu.direct of split"
[[noreturn]] void throw_no_room_for_scratch(std::string_view taker, std::uint64_t scratch_bytes);

}  // namespace sheaf::io
