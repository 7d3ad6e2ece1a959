#pragma once

#include <cstddef>
#include <cstdint>

#include <sheaf/export.hpp>

struct CUstream_st;

namespace sheaf {

class context;

/// Where memory comes from: two functions, and a pointer that both receive as `state`.
/// `allocate` is asked for 1 byte or more. It returns a block aligned to 256 bytes, or null where memory is short.
/// `deallocate` receives a block with the number of bytes that it was asked for.
/// On CUDA `stream` is the context's stream; a block becomes usable, and is given back, in the order of that stream. On
/// other backends `stream` is null.
struct memory_resource {
  void* (*allocate)(void* state, std::uint64_t bytes, CUstream_st* stream) = nullptr;
  void (*deallocate)(void* state, void* block, std::uint64_t bytes, CUstream_st* stream) = nullptr;
  void* state = nullptr;
};

/// Bytes in the memory where a context works, taken from the context's memory resource in stream order and given back
/// to it when the buffer is destroyed. Contents are undefined at first. A buffer of 0 bytes takes no memory, and its
/// data() is null. Move assignment exchanges the contents of both buffers.
/// @throws error(out_of_memory)
class SHEAF_API buffer {
 public:
  buffer() = default;
  buffer(const context& ctx, std::uint64_t bytes);
  buffer(buffer&& other) noexcept;
  buffer& operator=(buffer&& other) noexcept;
  ~buffer();

  std::byte* data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return bytes_; }
  template <class T>
  T* as() const noexcept {
    return reinterpret_cast<T*>(data_);
  }

 private:
  struct owner;
  owner* owner_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// Copies bytes between host memory and the context's memory, in any direction. `to` and `from` may not overlap.
/// @throws error(bad_argument) if an address is null, error(device_failure)
/// The copy begins after everything queued on ctx, and is done when the call returns.
SHEAF_API void copy_bytes(const context& ctx, void* to, const void* from, std::uint64_t bytes);

}  // namespace sheaf
