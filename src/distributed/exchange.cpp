#include "distributed/exchange.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/context_state.hpp"

namespace sheaf::distributed {

namespace {

/// Memory that is kept until the process ends, all of it in one list.
struct kept_memory {
  buffer memory;
  kept_memory* before;
};
std::atomic<kept_memory*> last_kept = nullptr;

}  // namespace

message_buffer::~message_buffer() {
  if (memory_.size() == 0 || !(state_.is_lost() || state_.has_given_up())) return;
  // Without memory for the entry nothing may be given back either: then the entry's own lack ends the process.
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): see above
  auto* const kept = new kept_memory{std::move(memory_), last_kept.load(std::memory_order_relaxed)};
  while (!last_kept.compare_exchange_weak(kept->before, kept)) {
  }
}

void wait_for_queued(const group_state& state) {
  if (!state.is_on_device()) return;
  const buffer word(state.ctx, sizeof(std::uint64_t));
  state.ctx.state().fill(word.data(), 0, word.size());
  std::uint64_t host = 0;
  copy_bytes(state.ctx, &host, word.data(), sizeof host);
}

std::uint64_t message_bytes(const group_state& state) noexcept {
  return std::min(state.bounds.message_bytes, state.between->most_message_bytes());
}

std::vector<std::uint64_t> begins_of(std::span<const std::uint64_t> lengths, std::uint64_t unit) {
  std::vector<std::uint64_t> begins(lengths.size() + 1);
  for (std::size_t r = 0; r < lengths.size(); ++r) begins[r + 1] = begins[r] + lengths[r] * unit;
  return begins;
}

exchange::exchange(group_state& state, std::span<const const_bytes> to, std::span<const mutable_bytes> from)
    : state_(&state) {
  const auto size = static_cast<std::size_t>(state.size);
  const auto rank = static_cast<std::size_t>(state.rank);
  if (to[rank].bytes != from[rank].bytes) {
    throw error(error_code::internal, "an exchange with itself of different lengths");
  }
  if (to[rank].bytes > 0 && to[rank].data != from[rank].data) {
    std::memcpy(from[rank].data, to[rank].data, to[rank].bytes);
  }
  // Ranks begin with different partners, so that no one of them is everybody's first.
  for (std::size_t i = 1; i < size; ++i) {
    const std::size_t next = (rank + i) % size;
    const std::size_t last = (rank + size - i) % size;
    if (to[next].bytes > 0) out_.push_back({static_cast<int>(next), to[next].data, to[next].bytes});
    if (from[last].bytes > 0) in_.push_back({static_cast<int>(last), from[last].data, from[last].bytes});
  }
  begin_round();
}

exchange::~exchange() {
  if (!is_done_) state_->give_up(started_);
}

// A pair's n-th messages match on both sides, because both cut at the same lengths.
void exchange::begin_round() {
  const std::uint64_t most = message_bytes(*state_);
  std::vector<outgoing_message> out;
  std::vector<incoming_message> in;
  const auto cut = [most](auto& rest, auto& round) {
    for (auto& message : rest) {
      const std::uint64_t bytes = std::min(message.bytes, most);
      round.push_back(message);
      round.back().bytes = bytes;
      message.data += bytes;
      message.bytes -= bytes;
    }
    std::erase_if(rest, [](const auto& message) { return message.bytes == 0; });
  };
  cut(out_, out);
  cut(in_, in);
  started_ = state_->start(out, in);
  is_done_ = started_ == 0;
}

void exchange::finish() {
  while (!is_done_) {
    state_->finish(started_);
    begin_round();
  }
}

array_exchange::array_exchange(group_state& state, std::span<const const_bytes> to, std::span<const mutable_bytes> from)
    : state_(&state) {
  const auto size = static_cast<std::size_t>(state.size);
  const auto rank = static_cast<std::size_t>(state.rank);
  std::vector<outgoing_message> out;
  std::vector<incoming_message> in;
  for (std::size_t first = 0; first < to.size(); first += size) {
    const auto sent = to.subspan(first, size);
    const auto got = from.subspan(first, size);
    if (!state.is_on_device()) {
      in_host_memory_.push_back(std::make_unique<exchange>(state, sent, got));
      continue;
    }
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t next = (rank + i) % size;
      const std::size_t last = (rank + size - i) % size;
      if (sent[next].bytes > 0) out.push_back({static_cast<int>(next), sent[next].data, sent[next].bytes});
      if (got[last].bytes > 0) in.push_back({static_cast<int>(last), got[last].data, got[last].bytes});
    }
  }
  if (state.is_on_device()) started_ = state.start_on_device(out, in);
}

array_exchange::~array_exchange() {
  if (started_ != 0) state_->give_up(started_);
}

void array_exchange::finish() {
  for (const auto& one : in_host_memory_) one->finish();
  if (started_ != 0) state_->finish(started_);
  started_ = 0;
}

}  // namespace sheaf::distributed
