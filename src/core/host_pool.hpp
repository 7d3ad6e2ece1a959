#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

struct CUstream_st;

namespace sheaf::core {

/// Memory of a CPU context. Large blocks that are given back are kept for the next call: the system clears what it
/// gives, which takes as long as the work that scratch is for. At most an eighth of the machine's memory is kept, until
/// the context goes.
class host_pool {
 public:
  host_pool() = default;
  host_pool(const host_pool&) = delete;
  host_pool& operator=(const host_pool&) = delete;
  ~host_pool();

  /// Aligned to 256 bytes; null when memory is short.
  void* allocate(std::uint64_t bytes) noexcept;
  void deallocate(void* block, std::uint64_t bytes) noexcept;

  // As functions of a memory_resource whose state is the pool.
  static void* allocate_from(void* pool, std::uint64_t bytes, CUstream_st*);
  static void return_to(void* pool, void* block, std::uint64_t bytes, CUstream_st*);

 private:
  struct large_block {
    void* first;
    std::uint64_t bytes;
  };
  void free_kept(std::uint64_t most_bytes) noexcept;

  std::mutex mutex_;               // buffers of a context may go while it works
  std::vector<large_block> kept_;  // the longest unused first
  std::vector<large_block> lent_;
  std::uint64_t kept_bytes_ = 0;
};

}  // namespace sheaf::core
