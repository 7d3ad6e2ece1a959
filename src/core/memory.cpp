#include <sheaf/memory.hpp>

#include <fmt/format.h>
#include <sheaf/context.hpp>
#include <sheaf/error.hpp>

#include "core/context_state.hpp"

namespace sheaf {
namespace {

void* allocate_or_throw(const core::context_state& state, std::uint64_t bytes, std::string_view what) {
  void* block = state.memory.allocate(state.memory.state, bytes, state.stream());
  if (block == nullptr) {
    throw error(error_code::out_of_memory,
                fmt::format("{}: {} bytes of {} memory are not to be had", what, bytes, name(state.backend)));
  }
  return block;
}

}  // namespace

/// Keeps the context alive, and the memory resource that the block came from.
struct buffer::owner {
  std::shared_ptr<core::context_state> state;
  memory_resource memory;
};

buffer::buffer(const context& ctx, std::uint64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  data_ = static_cast<std::byte*>(allocate_or_throw(ctx.state(), bytes, "buffer"));
  owner_ = new owner{ctx.state_, ctx.state().memory};
}

buffer::buffer(buffer&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

buffer& buffer::operator=(buffer&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

buffer::~buffer() {
  if (owner_ == nullptr) return;
  owner_->memory.deallocate(owner_->memory.state, data_, bytes_, owner_->state->stream());
  delete owner_;
}

void copy_bytes(const context& ctx, void* to, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  if (to == nullptr || from == nullptr) throw error(error_code::bad_argument, "copy_bytes: null memory");
  ctx.state().copy(to, from, bytes);
}

namespace core {

scratch::scratch(context_state& state, std::uint64_t bytes)
    : memory_(state.memory), stream_(state.stream()), bytes_(bytes) {
  if (bytes > 0) block_ = allocate_or_throw(state, bytes, "scratch");
}

scratch::~scratch() {
  if (block_ != nullptr) memory_.deallocate(memory_.state, block_, bytes_, stream_);
}

}  // namespace core
}  // namespace sheaf
