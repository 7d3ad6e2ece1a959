#include "apps/sheaf/sort/block_writer.hpp"

#include <algorithm>
#include <utility>

namespace sheaf::jobs {

block_writer::block_writer(background& thread, std::uint64_t block_bytes, sink write)
    : thread_(thread),
      block_bytes_(std::max(io::direct_ceiling(block_bytes), io::direct_alignment)),
      write_(std::move(write)),
      block_(io::direct_memory_of(block_bytes_)),
      written_(io::direct_memory_of(block_bytes_)) {}

void block_writer::add_in_pieces(const std::byte* from, std::uint64_t bytes) {
  while (bytes > 0) {
    const std::uint64_t piece = std::min(bytes, block_bytes_ - filled_);
    std::memcpy(block_.get() + filled_, from, piece);
    filled_ += piece;
    from += piece;
    bytes -= piece;
    if (filled_ == block_bytes_) flush();
  }
}

void block_writer::flush() {
  if (done_.valid()) done_.get();
  std::swap(block_, written_);
  done_ = thread_.run([this, bytes = std::exchange(filled_, 0)] { write_(written_.get(), bytes); });
}

void block_writer::finish() {
  if (filled_ > 0) flush();
  if (done_.valid()) done_.get();
}

}  // namespace sheaf::jobs
