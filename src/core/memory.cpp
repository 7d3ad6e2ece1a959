#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/context_state.hpp"

namespace sheaf {
namespace {

[[noreturn]] void throw_out_of_memory(const core::context_state& state, std::uint64_t bytes, std::string_view call) {
  throw error(error_code::out_of_memory,
              fmt::format("{}: {} bytes of {} memory are not available", call, bytes, name(state.backend)));
}

}  // namespace

/// Keeps the context alive, and the memory resource that the block came from.
struct buffer::owner {
  std::shared_ptr<core::context_state> state;
  memory_resource memory;
};

buffer::buffer(const context& ctx, std::uint64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const core::context_state& state = ctx.state();
  state.require_this_process("buffer");
  auto of = std::make_unique<owner>(owner{ctx.state_, state.memory});  // before there is anything to give back
  data_ = static_cast<std::byte*>(state.memory.allocate(state.memory.state, bytes, state.stream()));
  if (data_ == nullptr) throw_out_of_memory(state, bytes, "buffer");
  owner_ = of.release();
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
  ctx.state().require_this_process("copy_bytes");
  ctx.state().copy(to, from, bytes);
}

namespace core {

scratch::scratch(context_state& state, std::uint64_t bytes) : state_(&state), memory_(state.memory), bytes_(bytes) {
  if (bytes > 0) block_ = memory_.allocate(memory_.state, bytes, state.stream());
}

scratch::scratch(scratch&& other) noexcept
    : state_(other.state_),
      memory_(other.memory_),
      block_(std::exchange(other.block_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

scratch& scratch::operator=(scratch&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(memory_, other.memory_);
  std::swap(block_, other.block_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

scratch::~scratch() {
  if (block_ != nullptr) state_->give_back(memory_, block_, bytes_);
}

void scratch::throw_not_taken(std::string_view call) const { throw_out_of_memory(*state_, bytes_, call); }

}  // namespace core
}  // namespace sheaf
