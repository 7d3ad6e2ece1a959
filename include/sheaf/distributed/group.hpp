#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <sheaf/context.hpp>
#include <sheaf/distributed/transport.hpp>
#include <sheaf/export.hpp>

// Many processes, or threads, that work on arrays of which each has a part.
namespace sheaf::distributed {

class group_state;

/// Bounds on what a group's calls take and wait for. All ranks give the same ones.
struct limits {
  std::uint64_t message_bytes = std::uint64_t{64} << 20;  ///< most bytes of one message: longer ones go in rounds
  /// Records of which a call has sent and received messages at a time: exchange and local work overlap by such chunks.
  std::uint64_t chunk_bytes = std::uint64_t{64} << 20;
  /// From so many ranks on, short messages travel in two steps over a grid of ranks: a rank then has some 2 sqrt(ranks)
  /// partners in place of all.
  int two_level_ranks = 32;
  /// Seconds that a call waits for a rank without hearing of it. 0: without end. A rank is silent between two calls,
  /// and while it works on its own part amid one.
  double wait_seconds = 0;
};

/// One rank of a group, with the context in which it does its own part of the work. A group is a cheap handle, and
/// copies share one state. One thread at a time uses it.
///
/// Calls on a group are collective: every rank makes the same calls in the same order, each with its own part of the
/// arrays, and with equal sizes of records, layouts and options. A call that one rank refuses, because of an argument
/// or because its memory is short, throws the same error on all ranks, and the group goes on. Where ranks disagree, all
/// throw error(bad_argument) that names the first rank that differs from rank 0.
///
/// A rank that fails amid a call, dies or is late beyond limits::wait_seconds ends the call on every rank that can
/// still be reached, with an error that names that rank: its own error, or error(device_failure). The group is lost
/// then, and every later call throws the same. MPI's launchers, as they are, end all processes where one dies.
///
/// A group that was moved from can be assigned to and destroyed. @throws error(bad_argument) on any other use, and for
/// a call amid another one on the same group, as in a progress function.
///
/// Contexts are of the CPU, or of CUDA where the transport carries memory of devices.
class SHEAF_API group {
 public:
  /// @throws error(bad_argument) if the context is of OpenGL, or of CUDA and the transport carries no memory of
  /// devices, a limit is out of its range, or ranks disagree about limits; collective.
  group(const context& ctx, std::shared_ptr<transport> between, const limits& bounds = {});

  int rank() const;
  int size() const;
  const context& local() const;
  const limits& bounds() const;

  /// Waits until the work of all ranks is done, and throws what went wrong since the last wait: the first bad index by
  /// (call, position in the whole list), the same on every rank. The group remains usable after a bad index.
  /// @throws error(bad_index)
  void wait() const;

  /// Calls `check` on every rank. Throws on all ranks what the first rank on which it threw an error has thrown, its
  /// rank named, and the group goes on: for what ranks do on their own between calls, such as opening files.
  /// Collective.
  void agree(const std::function<void()>& check) const;
  /// Numbers that ranks have to have alike. Collective. @throws error(bad_argument) that names the first rank whose
  /// number is not that of rank 0. @param what  the number is, for the message; the same on all ranks
  void require_same(const char* what, std::uint64_t number) const;

  /// Makes a failure of this rank known to all ranks, whose calls end with it. For a caller that catches an exception
  /// of its own between two calls and will not make the next one. The group is lost then.
  void abandon(const char* reason) const noexcept;

  /// The library's own view of this group.
  group_state& state() const {
    if (state_ == nullptr) throw_moved_from();
    return *state_;
  }

 private:
  [[noreturn]] static void throw_moved_from();
  std::shared_ptr<group_state> state_;
};

/// Runs `work` on `ranks` ranks in this process: each is a thread, with a CPU context of threads_per_rank threads.
/// Returns once all have ended, and throws what the first of them threw.
SHEAF_API void run_in_one_process(int ranks, int threads_per_rank, const limits& bounds,
                                  const std::function<void(const group&)>& work);

}  // namespace sheaf::distributed
