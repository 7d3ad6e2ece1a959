#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <sheaf/context.hpp>

namespace sheaf::bench {

/// The machine under measurement, as opposed to the profile that predictions are made from.
struct platform {
  std::string machine;             ///< "NVIDIA H200", "Intel(R) Xeon(R), 2 threads"
  std::uint64_t cache_bytes = 0;   ///< last cache before memory
  std::uint64_t memory_bytes = 0;  ///< what a row may take now
  std::map<std::string, std::string> versions;
};

platform platform_of(const context& ctx);

/// Marks in the queue of a context, and the time between them.
class queue_clock {
 public:
  virtual ~queue_clock() = default;
  virtual void start() = 0;
  virtual void stop() = 0;
  /// Seconds from start to stop, once the work before stop is done. Waits for it.
  virtual double seconds() = 0;
};

/// Null where work is done when a call returns: the host's clock tells all.
std::unique_ptr<queue_clock> make_queue_clock(const context& ctx);

/// Host memory that copies from and to the context's memory run fast with: pinned where that is a GPU's.
std::shared_ptr<std::byte[]> host_memory(const context& ctx, std::uint64_t bytes);

/// The CUDA half, linked only where the CUDA backend is built.
namespace device {
void describe(const context& ctx, platform& p);
std::unique_ptr<queue_clock> make_queue_clock(const context& ctx);
std::shared_ptr<std::byte[]> pinned_memory(const context& ctx, std::uint64_t bytes);
}  // namespace device

}  // namespace sheaf::bench
