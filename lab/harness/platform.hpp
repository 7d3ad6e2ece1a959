#pragma once

#include <map>
#include <string>

#include <sheaf/context.hpp>

namespace sheaf::bench {

/// The machine that is measured. Predictions come from a profile instead, which may be another machine's.
struct platform {
  std::string machine;             ///< "NVIDIA H200", "Intel(R) Xeon(R), 2 threads"
  std::uint64_t cache_bytes = 0;   ///< last cache before memory
  std::uint64_t memory_bytes = 0;  ///< bytes that a row may take
  std::map<std::string, std::string> versions;
};

/// The machines that were measured, by backend.
using platforms = std::map<backend_kind, platform>;

platform platform_of(const context& ctx);

/// Two events in the queue of a context, and the time between them.
class queue_clock {
 public:
  virtual ~queue_clock() = default;
  virtual void start() = 0;
  virtual void stop() = 0;
  /// Seconds from start to stop. Waits until the work before stop is done.
  virtual double seconds() = 0;
};

/// Null on the CPU, where a call returns when its work is done and the host's clock suffices.
std::unique_ptr<queue_clock> make_queue_clock(const context& ctx);

/// Host memory for copies to and from the context's memory: pinned memory for a GPU.
std::shared_ptr<std::byte[]> host_memory(const context& ctx, std::uint64_t bytes);

/// Makes a GPU the current one of the calling thread; of other contexts nothing.
void make_current(const context& ctx);

/// The CUDA implementation, linked only where the CUDA backend is built.
namespace device {
void describe(const context& ctx, platform& platform);
std::unique_ptr<queue_clock> make_queue_clock(const context& ctx);
std::shared_ptr<std::byte[]> pinned_memory(const context& ctx, std::uint64_t bytes);
void make_current(const context& ctx);
}  // namespace device

}  // namespace sheaf::bench
