#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

struct CUstream_st;

namespace sheaf::core {

/// Memory of a CPU context. The pool keeps large blocks that are given back for the next call, because the system
/// clears new memory, which takes as long as the work that scratch is for. It keeps at most an eighth of the machine's
/// memory, until the context ends.
class host_pool {
 public:
  host_pool() = default;
  host_pool(const host_pool&) = delete;
  host_pool& operator=(const host_pool&) = delete;
  ~host_pool();

  /// Aligned to 256 bytes; null when memory is short.
  void* allocate(std::uint64_t bytes) noexcept;
  void deallocate(void* block, std::uint64_t bytes) noexcept;
  /// Whether memory holds a block of so many bytes: a kept one serves it, or the system has as many available. Systems
  /// lend more than they have, and end the process that fills it, so a null block would come too late. Kept blocks are
  /// given back if the system has too little without their bytes. @param available_bytes  what the system says
  bool has_room_for(std::uint64_t bytes, std::uint64_t (*available_bytes)());

  // The functions of a memory_resource whose state is the pool.
  static void* allocate_from(void* pool, std::uint64_t bytes, CUstream_st*);
  static void return_to(void* pool, void* block, std::uint64_t bytes, CUstream_st*);

 private:
  struct large_block {
    void* first;
    std::uint64_t bytes;
  };
  void free_kept(std::uint64_t most_bytes) noexcept;
  /// The smallest kept block that may serve a request for a whole block, or the end.
  std::vector<large_block>::iterator find_kept(std::uint64_t whole_bytes) noexcept;

  std::mutex mutex_;               // buffers of a context may be freed while it works
  std::vector<large_block> kept_;  // in the order in which they were given back
  std::vector<large_block> lent_;
  std::uint64_t kept_bytes_ = 0;
};

}  // namespace sheaf::core
