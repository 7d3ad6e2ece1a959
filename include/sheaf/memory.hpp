#pragma once

#include <cstddef>
#include <cstdint>

#include <sheaf/export.hpp>

struct CUstream_st;

namespace sheaf {

class context;

/// Where scratch memory comes from: two functions, and a pointer that both receive.
/// On CUDA `stream` is the context's stream, and memory becomes usable and is given back in the order of that stream.
/// On the CPU `stream` is null. `allocate` returns null when memory is short. Blocks are aligned to 256 bytes.
struct memory_resource {
  void* (*allocate)(void* state, std::uint64_t bytes, CUstream_st* stream) = nullptr;
  void (*deallocate)(void* state, void* block, std::uint64_t bytes, CUstream_st* stream) = nullptr;
  void* state = nullptr;
};

/// Bytes owned in the memory where a context works, taken from the context's memory resource in stream order.
/// Contents are undefined at first. @throws error(out_of_memory)
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

/// Copies bytes between host memory and the context's memory, in any direction, after everything queued on ctx;
/// waits until it is done. @throws error(device_failure)
SHEAF_API void copy_bytes(const context& ctx, void* to, const void* from, std::uint64_t bytes);

}  // namespace sheaf
