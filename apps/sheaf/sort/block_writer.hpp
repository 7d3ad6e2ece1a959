#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <future>

#include "apps/sheaf/sort/background.hpp"
#include "plan/store/direct.hpp"

namespace sheaf::jobs {

/// Collects bytes in blocks. Another thread writes a block while the next one is collected (double buffering).
class block_writer {
 public:
  /// Takes the bytes in order, in direct_memory, and may change them. Each call but the last takes a whole block.
  using sink = std::function<void(std::byte* block, std::uint64_t bytes)>;

  /// @param block_bytes  size of each of the two blocks; rounded up to io::direct_alignment.
  block_writer(background& thread, std::uint64_t block_bytes, sink write);

  void add(const std::byte* from, std::uint64_t bytes) {
    if (bytes >= block_bytes_ - filled_) return add_in_pieces(from, bytes);
    std::memcpy(block_.get() + filled_, from, bytes);
    filled_ += bytes;
  }
  /// Writes the last block and waits. @throws what the sink threw
  void finish();

 private:
  void add_in_pieces(const std::byte* from, std::uint64_t bytes);
  void flush();

  background& thread_;
  std::uint64_t block_bytes_;
  sink write_;
  io::direct_memory block_;
  io::direct_memory written_;
  std::uint64_t filled_ = 0;
  std::future<void> done_;
};

}  // namespace sheaf::jobs
