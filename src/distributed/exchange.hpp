#pragma once

#include <memory>
#include <span>
#include <vector>

#include <sheaf/memory.hpp>

#include "distributed/state.hpp"

// All ranks send parts of any length to all ranks (MPI's all-to-all-v), in rounds of messages of bounded length.
namespace sheaf::distributed {

struct const_bytes {
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};
struct mutable_bytes {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};

/// Memory that messages read or write: of the host, or where a context works. Once messages were given up, it is never
/// given back: one may still arrive.
class message_buffer {
 public:
  message_buffer(group_state& state, std::uint64_t bytes) : message_buffer(state, bytes, state.host) {}
  message_buffer(group_state& state, std::uint64_t bytes, const context& where)
      : state_(state), memory_(where, bytes) {}
  message_buffer(message_buffer&&) noexcept = default;
  ~message_buffer();
  message_buffer& operator=(message_buffer&&) = delete;

  std::byte* data() const noexcept { return memory_.data(); }
  std::uint64_t size() const noexcept { return memory_.size(); }
  template <class T>
  std::span<T> as() const noexcept {
    return {memory_.as<T>(), static_cast<std::size_t>(memory_.size() / sizeof(T))};
  }

 private:
  group_state& state_;
  buffer memory_;
};

/// An exchange under way, directly between all pairs of ranks. Both sides of a pair give the same number of bytes; what
/// ranks do not know of each other they tell by exchange_counts() before.
class exchange {
 public:
  /// @param to    what each rank gets from this one
  /// @param from  where that goes which each rank sends. A rank's part for itself is copied at once.
  exchange(group_state& state, std::span<const const_bytes> to, std::span<const mutable_bytes> from);
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;
  ~exchange();

  /// Waits until all messages are done. Rounds after the first begin here alone: where exchanges overlap, all ranks
  /// begin and finish them in one order, on which the order of each pair's messages depends.
  void finish();

 private:
  void begin_round();

  group_state* state_;
  std::vector<outgoing_message> out_;
  std::vector<incoming_message> in_;
  std::uint64_t started_ = 0;
  bool is_done_ = false;
};

/// An exchange of parts of arrays where the group's context works, which may be a device: then a part for this rank
/// itself travels, too, and one round takes all. Begins once what is queued on the context is done.
class array_exchange {
 public:
  /// As for `exchange`, of one array or of several one behind the other: a part for each rank of the first, then of the
  /// next.
  array_exchange(group_state& state, std::span<const const_bytes> to, std::span<const mutable_bytes> from);
  array_exchange(const array_exchange&) = delete;
  array_exchange& operator=(const array_exchange&) = delete;
  ~array_exchange();

  /// Waits until all messages are done; what is queued afterwards finds the parts in their places.
  void finish();

 private:
  group_state* state_;
  std::vector<std::unique_ptr<exchange>> in_host_memory_;
  std::uint64_t started_ = 0;
};

/// Waits for work that is queued on the context, and leaves a bad index of the caller's own calls to its wait().
void wait_for_queued(const group_state& state);

/// Most bytes of one message.
std::uint64_t message_bytes(const group_state& state) noexcept;

/// Parts of an array, one for each rank and one behind the other, from the bytes of each.
std::vector<std::uint64_t> begins_of(std::span<const std::uint64_t> lengths, std::uint64_t unit = 1);

}  // namespace sheaf::distributed
