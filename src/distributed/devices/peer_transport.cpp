#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <fmt/format.h>
#include <sheaf/distributed/gpus.hpp>

#include "core/context_state.hpp"
#include "distributed/devices/device_transport.hpp"

// GPUs of one process: copies between the memories of devices, which copy engines do beside kernels. Whoever comes
// second to a message queues its copy, on the sender's stream for that receiver, behind what both had queued before.
namespace sheaf::distributed {
namespace {

struct copy_operation {
  std::atomic<std::size_t> open{0};
  std::atomic<cudaError_t> failure{cudaSuccess};
  std::atomic<bool> is_cut{false};
  std::mutex mutex;
  std::vector<std::shared_ptr<stream_event>> copies;  ///< until they are done
};

struct pending_copy {
  std::shared_ptr<copy_operation> of;
  std::shared_ptr<stream_event> ready;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::uint64_t bytes = 0;
};

/// Messages of one pair of ranks that one side has begun, and the stream of their copies, which the sender's device
/// has.
struct copy_queue {
  std::mutex mutex;
  std::deque<pending_copy> sent;
  std::deque<pending_copy> wanted;
  cudaStream_t copies = nullptr;
};

struct device_ranks {
  explicit device_ranks(std::vector<int> of) : devices(std::move(of)), pairs(devices.size() * devices.size()) {
    for (std::size_t r = 0; r < devices.size(); ++r) {
      const current_device here(devices[r]);
      for (std::size_t to = 0; to < devices.size(); ++to) {
        if (cudaStreamCreateWithFlags(&pairs[r * devices.size() + to].copies, cudaStreamNonBlocking) != cudaSuccess)
          throw error(error_code::device_failure, fmt::format("no stream for copies of CUDA device {}", devices[r]));
      }
    }
  }
  device_ranks(const device_ranks&) = delete;
  device_ranks& operator=(const device_ranks&) = delete;
  ~device_ranks() {
    for (std::size_t r = 0; r < devices.size(); ++r) {
      const current_device here(devices[r]);
      for (std::size_t to = 0; to < devices.size(); ++to) {
        if (pair(r, to).copies != nullptr) cudaStreamDestroy(pair(r, to).copies);
      }
    }
  }

  copy_queue& pair(std::size_t from, std::size_t to) noexcept { return pairs[from * devices.size() + to]; }

  const std::vector<int> devices;
  std::vector<copy_queue> pairs;
};

class peer_transport final : public device_transport {
 public:
  peer_transport(std::shared_ptr<transport> control, std::shared_ptr<device_ranks> ranks, int device)
      : device_transport(std::move(control), device),
        ranks_(std::move(ranks)),
        rank_(static_cast<std::size_t>(rank())) {}

  bool shares_memory_with(int other) const noexcept override {
    const int there = ranks_->devices[static_cast<std::size_t>(other)];
    int can_read = device() == there ? 1 : 0;
    if (can_read == 0) cudaDeviceCanAccessPeer(&can_read, device(), there);
    return can_read != 0;
  }

 private:
  bool begin(std::uint64_t number, CUstream_st* stream, std::span<const outgoing_message> out,
             std::span<const incoming_message> in) noexcept override {
    try {
      const auto mine = std::make_shared<copy_operation>();
      mine->open = out.size() + in.size();
      const auto ready = std::make_shared<stream_event>();
      if (ready->record(stream) != cudaSuccess) return false;
      running_.emplace(number, mine);
      for (const outgoing_message& m : out) {
        copy_queue& queue = ranks_->pair(rank_, static_cast<std::size_t>(m.to));
        meet(queue, queue.wanted, queue.sent, {mine, ready, m.data, nullptr, m.bytes}, rank_,
             static_cast<std::size_t>(m.to));
      }
      for (const incoming_message& m : in) {
        copy_queue& queue = ranks_->pair(static_cast<std::size_t>(m.from), rank_);
        meet(queue, queue.sent, queue.wanted, {mine, ready, nullptr, m.data, m.bytes}, static_cast<std::size_t>(m.from),
             rank_);
      }
      return true;
    } catch (...) {
      give_up(number);
      return false;
    }
  }

  transfer_state state_of(std::uint64_t number) noexcept override {
    const auto found = running_.find(number);
    if (found == running_.end()) return {transfer_state::kind::done};
    copy_operation& mine = *found->second;
    if (mine.is_cut) return {transfer_state::kind::failed, rank(), "messages of different lengths met"};
    const std::size_t open = mine.open.load(std::memory_order_acquire);
    {
      const std::lock_guard lock(mine.mutex);
      while (!mine.copies.empty()) {
        const cudaError_t state = mine.copies.back()->query();
        if (state == cudaErrorNotReady) return {};
        if (state != cudaSuccess) mine.failure = state;
        mine.copies.pop_back();
      }
    }
    if (mine.failure != cudaSuccess)
      return {transfer_state::kind::failed, rank(), cudaGetErrorString(mine.failure.load())};
    if (open > 0) return {};
    running_.erase(found);
    return {transfer_state::kind::done};
  }

  void give_up(std::uint64_t number) noexcept override {
    const auto found = running_.find(number);
    if (found == running_.end()) return;
    const auto is_mine = [&](const pending_copy& p) { return p.of == found->second; };
    for (std::size_t other = 0; other < ranks_->devices.size(); ++other) {
      for (copy_queue* const queue : {&ranks_->pair(rank_, other), &ranks_->pair(other, rank_)}) {
        const std::lock_guard lock(queue->mutex);
        std::erase_if(queue->sent, is_mine);
        std::erase_if(queue->wanted, is_mine);
      }
    }
    running_.erase(found);
  }

  void meet(copy_queue& queue, std::deque<pending_copy>& others, std::deque<pending_copy>& own, pending_copy mine,
            std::size_t from, std::size_t to) {
    const std::lock_guard lock(queue.mutex);
    if (others.empty()) {
      own.push_back(std::move(mine));
      return;
    }
    const pending_copy other = std::move(others.front());
    others.pop_front();
    if (other.bytes != mine.bytes) {
      other.of->is_cut = mine.of->is_cut = true;
      return;
    }
    const pending_copy& sender = mine.from != nullptr ? mine : other;
    const pending_copy& receiver = mine.from != nullptr ? other : mine;
    const current_device at_sender(ranks_->devices[from]);
    const auto done = std::make_shared<stream_event>();
    cudaError_t result = sender.ready->hold(queue.copies);
    if (result == cudaSuccess) result = receiver.ready->hold(queue.copies);
    if (result == cudaSuccess) {
      result = cleared(cudaMemcpyPeerAsync(receiver.to, ranks_->devices[to], sender.from, ranks_->devices[from],
                                           mine.bytes, queue.copies));
    }
    if (result == cudaSuccess) result = done->record(queue.copies);
    for (copy_operation* const of : {mine.of.get(), other.of.get()}) {
      if (result == cudaSuccess) {
        const std::lock_guard copies(of->mutex);
        of->copies.push_back(done);
      } else {
        of->failure = result;
      }
      of->open.fetch_sub(1, std::memory_order_release);
    }
  }

  std::shared_ptr<device_ranks> ranks_;
  std::size_t rank_;
  std::unordered_map<std::uint64_t, std::shared_ptr<copy_operation>> running_;
};

/// Lets one device read and write the memory of another, and that of its context's pool.
void allow_access(const context& of, int from) {
  int can_read = 0;
  cudaDeviceCanAccessPeer(&can_read, from, of.device());
  if (can_read == 0) return;
  const current_device here(from);
  const cudaError_t result = cudaDeviceEnablePeerAccess(of.device(), 0);
  cudaGetLastError();
  if (result != cudaSuccess && result != cudaErrorPeerAccessAlreadyEnabled) {
    throw error(error_code::device_failure, fmt::format("CUDA device {} may not access device {}: {}", from,
                                                        of.device(), cudaGetErrorString(result)));
  }
  of.state().allow_access_from(from);
}

}  // namespace

std::vector<std::shared_ptr<transport>> transports_between_gpus(std::span<const context> contexts) {
  std::vector<int> devices;
  for (const context& ctx : contexts) {
    if (ctx.backend() != backend_kind::cuda)
      throw error(error_code::bad_argument,
                  fmt::format("transports_between_gpus: a context of {}", name(ctx.backend())));
    if (std::find(devices.begin(), devices.end(), ctx.device()) != devices.end()) {
      throw error(error_code::bad_argument,
                  fmt::format("transports_between_gpus: two contexts of CUDA device {}", ctx.device()));
    }
    devices.push_back(ctx.device());
  }
  const auto control = transports_in_one_process(static_cast<int>(contexts.size()));
  for (const context& of : contexts) {
    for (const int from : devices) {
      if (from != of.device()) allow_access(of, from);
    }
  }
  const auto ranks = std::make_shared<device_ranks>(std::move(devices));
  std::vector<std::shared_ptr<transport>> all;
  for (std::size_t r = 0; r < control.size(); ++r)
    all.push_back(std::make_shared<peer_transport>(control[r], ranks, ranks->devices[r]));
  return all;
}

}  // namespace sheaf::distributed
