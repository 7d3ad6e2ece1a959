#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <sheaf/export.hpp>

struct CUstream_st;

// What the calls of sheaf/distributed need of MPI, or of anything else that carries bytes between ranks. Users need
// this header only to bring a transport of their own.
namespace sheaf::distributed {

/// Bytes that go to, or come from, another rank.
struct outgoing_message {
  int to = 0;
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};
struct incoming_message {
  int from = 0;
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};

/// A note of fixed size from one rank to another. Notes overtake messages, and one another.
struct control_note {
  static constexpr std::size_t most_text = 216;

  std::int32_t kind = 0;
  std::int32_t from = 0;  ///< filled in by the transport
  std::int32_t about = 0;
  std::int32_t code = 0;
  std::uint64_t number = 0;
  char text[most_text] = {};  ///< ends with a 0
};

/// What a transport knows of its messages.
struct transfer_state {
  enum class kind : std::uint8_t { running, done, failed };
  kind state = kind::running;
  int rank = -1;            ///< the rank that failed, where that is known
  const char* reason = "";  ///< why it failed, in words that live as long as the transport
};

/// Carries bytes between the ranks of a group. No function waits, throws, or ends the process. One thread at a time
/// uses it.
class transport {
 public:
  transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;
  virtual ~transport() = default;

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;

  /// Begins messages to and from other ranks; their memory stays as it is until they are done. Messages of one pair of
  /// ranks are matched in the order in which they begin, and matched ones have the same number of bytes, at most
  /// most_message_bytes(). Returns a number by which to ask for them; 0: they could not begin.
  virtual std::uint64_t start(std::span<const outgoing_message> out, std::span<const incoming_message> in) noexcept = 0;
  /// Whether start_on() carries messages, and of which CUDA device; -1: of none.
  virtual bool carries_device_memory() const noexcept { return false; }
  virtual int device() const noexcept { return -1; }
  /// As start(), for memory of the device on which the stream works: messages begin once what was queued on the stream
  /// is done. Of any length, to and from this rank itself, too. All ranks begin such messages in one order, with each
  /// other's in the same call, and do not match them with those of start().
  virtual std::uint64_t start_on(CUstream_st*, std::span<const outgoing_message>,
                                 std::span<const incoming_message>) noexcept {
    return 0;
  }
  /// How far the messages of start() or start_on() have come. Once they are done or failed, the number is forgotten.
  virtual transfer_state poll(std::uint64_t started) noexcept = 0;
  /// Gives up messages of either, whose memory is not touched afterwards where that can be had. Only where the group is
  /// lost.
  virtual void cancel(std::uint64_t started) noexcept = 0;
  /// The group is lost: no message begins any more, and those under way are given up or done.
  virtual void abandon() noexcept {}
  virtual std::uint64_t most_message_bytes() const noexcept { return std::uint64_t{1} << 28; }

  /// Sends a note, which arrives while the other rank polls.
  virtual void post(int to, const control_note& note) noexcept = 0;
  /// Takes a note that has arrived; false where there is none.
  virtual bool take(control_note& note) noexcept = 0;

  /// Called between two questions of a rank that waits, and has waited so many seconds: gives way to others. Ranks may
  /// be more than processors.
  virtual void give_way(double seconds_waited) noexcept;

  /// Whether that rank is known to have ended: its connection has. It may have done all that was asked of it.
  virtual bool has_ended(int) const noexcept { return false; }

  /// Whether this rank can read and write that rank's memory at that rank's addresses; of devices, whether they are
  /// peers, which does not say that of all memory.
  virtual bool shares_memory_with(int) const noexcept { return false; }
};

inline void transport::give_way(double seconds_waited) noexcept {
  constexpr double before_sleep = 0.02;
  if (seconds_waited < before_sleep) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

/// Transports of `size` ranks in this process, one for each rank, each for a thread of its own.
SHEAF_API std::vector<std::shared_ptr<transport>> transports_in_one_process(int size);

}  // namespace sheaf::distributed
