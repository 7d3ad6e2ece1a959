#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <sheaf/distributed/gpus.hpp>

#include "core/context_state.hpp"
#include "distributed/collectives.hpp"
#include "distributed/devices/device_transport.hpp"
#include "distributed/devices/nccl_functions.hpp"

// Messages of device memory as NCCL's grouped sends and receives, on a stream of the transport's own. Communicators do
// not block, and nothing is synchronized with: NCCL says nothing where a process of the same host dies, so that whoever
// waits asks again and again, and hears of it over the control transport.
namespace sheaf::distributed {
namespace {

using clock = std::chrono::steady_clock;

/// Messages of one start_on(), which NCCL launches one after another.
struct transfer {
  std::uint64_t number = 0;
  std::vector<outgoing_message> out;
  std::vector<incoming_message> in;
  std::unique_ptr<stream_event> ready;  ///< what was queued before
  std::unique_ptr<stream_event> done;
  /// NCCL launches on a thread of its own, one at a time.
  enum class stage : std::uint8_t { waits, launching, runs } now = stage::waits;
  int gone_rank = -1;  ///< a peer that has ended, and since when that is known
  clock::time_point gone_since{};
};

/// Communicators that are being aborted, each on a thread of its own.
class aborts {
 public:
  static void begin(const nccl_functions& nccl, nccl_communicator communicator, int device) noexcept {
    try {
      of_process().start(nccl, communicator, device);
    } catch (...) {
      // Without a thread its kernels wait until the process ends.
    }
  }

 private:
  /// Never destroyed, for a thread that is stuck uses it to the end. At exit NCCL and the driver must be whole until
  /// the others are through: this is registered after both, and so runs before they take themselves down.
  static aborts& of_process() {
    static aborts* const all = [] {
      auto* const made = new aborts;
      std::atexit([] { of_process().wait_for_all(); });
      return made;
    }();
    return *all;
  }

  void start(const nccl_functions& nccl, nccl_communicator communicator, int device) {
    const std::lock_guard lock(mutex_);
    std::thread([this, abort = nccl.abort, communicator, device] {
      {
        const current_device here(device);
        abort(communicator);
      }
      const std::lock_guard ended(mutex_);
      --running_;
      one_ended_.notify_all();
    }).detach();
    ++running_;
  }

  void wait_for_all() {
    constexpr std::chrono::seconds most(10);
    std::unique_lock lock(mutex_);
    one_ended_.wait_for(lock, most, [this] { return running_ == 0; });
  }

  std::mutex mutex_;
  std::condition_variable one_ended_;
  int running_ = 0;
};

class nccl_transport_of final : public device_transport {
 public:
  nccl_transport_of(std::shared_ptr<transport> control, const nccl_functions& nccl, nccl_communicator communicator,
                    int device, bool is_own)
      : device_transport(std::move(control), device), nccl_(nccl), communicator_(communicator), is_own_(is_own) {
    const current_device here(device);
    if (cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess)
      throw error(error_code::device_failure, fmt::format("no stream for messages of CUDA device {}", device));
  }

  ~nccl_transport_of() override {
    // Of a communicator that failed nothing is given back: NCCL may wait for a process that is gone.
    if (has_failed_ || !transfers_.empty()) return;
    const current_device here(device());
    if (is_own_) end_communicator();
    cudaStreamDestroy(stream_);
  }

  void abandon() noexcept override {
    device_transport::abandon();
    fail("the group is lost");
    if (is_own_ && !is_given_up_) end_kernels();
    is_given_up_ = true;
  }

 private:
  bool begin(std::uint64_t number, CUstream_st* stream, std::span<const outgoing_message> out,
             std::span<const incoming_message> in) noexcept override {
    if (has_failed_) return false;
    try {
      transfer& mine = transfers_.emplace_back();
      mine.number = number;
      mine.out.assign(out.begin(), out.end());
      mine.in.assign(in.begin(), in.end());
      mine.ready = std::make_unique<stream_event>();
      mine.done = std::make_unique<stream_event>();
      if (!succeeded(mine.ready->record(stream))) return false;
      advance();
    } catch (...) {
      fail("memory is short");
    }
    return !has_failed_;
  }

  transfer_state state_of(std::uint64_t number) noexcept override {
    if (!has_failed_) advance();
    if (has_failed_) return {transfer_state::kind::failed, -1, reason_};
    const auto found = find(number);
    if (found == transfers_.end()) return {transfer_state::kind::done};
    if (found->now != transfer::stage::runs) return state_of_peers(*found);
    const cudaError_t state = found->done->query();
    if (state == cudaErrorNotReady) return state_of_peers(*found);
    if (!succeeded(state)) return {transfer_state::kind::failed, rank(), reason_};
    transfers_.erase(found);
    return {transfer_state::kind::done};
  }

  void give_up(std::uint64_t number) noexcept override {
    if (find(number) != transfers_.end()) abandon();
  }

  std::deque<transfer>::iterator find(std::uint64_t number) noexcept {
    return std::find_if(transfers_.begin(), transfers_.end(), [&](const transfer& t) { return t.number == number; });
  }

  /// Ends kernels that wait for a rank that is gone: what is freed would wait for them. Without ncclCommRevoke the
  /// communicator is aborted, which takes half a second and might never return, and is not used any more.
  void end_kernels() noexcept {
    const int revoked = nccl_.revoke != nullptr ? nccl_.revoke(communicator_, 0) : nccl_invalid_usage;
    if (revoked != nccl_success && revoked != nccl_in_progress) aborts::begin(nccl_, communicator_, device());
  }

  /// NCCL says nothing where a rank is gone; the control transport may know. One that has done its part may end a
  /// moment before this rank sees it.
  transfer_state state_of_peers(transfer& of) noexcept {
    constexpr std::chrono::seconds moment(1);
    const auto is_gone = [&](const auto& messages, auto rank_of) {
      for (const auto& m : messages) {
        if (!control().has_ended(rank_of(m))) continue;
        if (of.gone_rank != rank_of(m)) of.gone_since = clock::now();
        of.gone_rank = rank_of(m);
        return clock::now() - of.gone_since > moment;
      }
      return false;
    };
    if (is_gone(of.out, [](const outgoing_message& m) { return m.to; }) ||
        is_gone(of.in, [](const incoming_message& m) { return m.from; }))
      return {transfer_state::kind::failed, of.gone_rank, "its connection has ended"};
    return {};
  }

  void fail(const char* reason) noexcept {
    if (has_failed_) return;
    has_failed_ = true;
    std::strncpy(reason_, reason, sizeof reason_ - 1);
  }
  bool succeeded(cudaError_t result) noexcept {
    if (result != cudaSuccess) fail(cudaGetErrorString(result));
    return result == cudaSuccess;
  }

  /// Whether NCCL is done with launching; a failure is noted.
  bool is_idle() noexcept {
    int state = nccl_success;
    const int asked = nccl_.get_async_error(communicator_, &state);
    if (asked == nccl_in_progress || (asked == nccl_success && state == nccl_in_progress)) return false;
    if (asked != nccl_success || state != nccl_success) fail(nccl_.error_string(asked != nccl_success ? asked : state));
    return !has_failed_;
  }

  /// Launches transfers in the order in which they began, each once NCCL has launched the one before.
  void advance() noexcept {
    for (transfer& t : transfers_) {
      if (t.now == transfer::stage::runs) continue;
      if (!is_idle()) return;
      if (t.now == transfer::stage::waits) {
        launch(t);
        if (has_failed_) return;
        t.now = transfer::stage::launching;
        if (!is_idle()) return;
      }
      if (!succeeded(t.done->record(stream_))) return;
      t.now = transfer::stage::runs;
    }
  }

  void launch(const transfer& t) noexcept {
    if (!succeeded(t.ready->hold(stream_))) return;
    const auto note = [this](int result) {
      if (result != nccl_success && result != nccl_in_progress) fail(nccl_.error_string(result));
    };
    note(nccl_.group_start());
    for (const outgoing_message& m : t.out) note(nccl_.send(m.data, m.bytes, nccl_bytes, m.to, communicator_, stream_));
    for (const incoming_message& m : t.in)
      note(nccl_.receive(m.data, m.bytes, nccl_bytes, m.from, communicator_, stream_));
    note(nccl_.group_end());
  }

  void end_communicator() noexcept {
    constexpr std::chrono::seconds most(10);
    if (nccl_.finalize(communicator_) != nccl_success && !wait_until_idle(most)) return;
    if (wait_until_idle(most)) nccl_.destroy(communicator_);
  }
  bool wait_until_idle(std::chrono::seconds most) noexcept {
    for (const auto begin = clock::now(); !is_idle(); std::this_thread::yield()) {
      if (has_failed_ || clock::now() - begin > most) return false;
    }
    return true;
  }

  const nccl_functions& nccl_;
  nccl_communicator communicator_;
  bool is_own_;
  bool has_failed_ = false;
  bool is_given_up_ = false;
  char reason_[256] = {};
  cudaStream_t stream_ = nullptr;
  std::deque<transfer> transfers_;
};

/// What ranks tell each other before they join.
struct introduction {
  nccl_unique_id id;
  char gpu[16];            ///< its UUID
  std::uint64_t host = 0;  ///< a number of its name
  std::int64_t process = 0;
  std::int32_t device = 0;
};

introduction introduction_of(const context& ctx, const nccl_unique_id& id) {
  introduction mine{};
  mine.id = id;
  cudaDeviceProp properties{};
  if (cleared(cudaGetDeviceProperties(&properties, ctx.device())) == cudaSuccess)
    std::memcpy(mine.gpu, &properties.uuid, sizeof mine.gpu);
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  mine.host = fingerprint(std::string_view(name));
  mine.process = getpid();
  mine.device = ctx.device();
  return mine;
}

void require_gpus_apart(const context& ctx, std::span<const introduction> all, int rank) {
  const introduction& mine = all[static_cast<std::size_t>(rank)];
  for (int r = 0; r < rank; ++r) {
    const introduction& other = all[static_cast<std::size_t>(r)];
    if (other.host == mine.host && std::memcmp(other.gpu, mine.gpu, sizeof mine.gpu) == 0) {
      throw error(error_code::bad_argument,
                  fmt::format("nccl_transport: CUDA device {} is that of rank {}, too", ctx.device(), r));
    }
  }
}

/// Within one process NCCL's kernels reach the arrays of other ranks directly, those of contexts' pools too.
void allow_access_within_process(const context& ctx, std::span<const introduction> all, const introduction& mine) {
  for (const introduction& other : all) {
    if (other.host != mine.host || other.process != mine.process || other.device == mine.device) continue;
    int can_read = 0;
    if (cleared(cudaDeviceCanAccessPeer(&can_read, other.device, mine.device)) == cudaSuccess && can_read != 0)
      ctx.state().allow_access_from(other.device);
  }
}

void require_cuda(const context& ctx) {
  if (ctx.backend() != backend_kind::cuda)
    throw error(error_code::bad_argument, fmt::format("nccl_transport: a context of {}", name(ctx.backend())));
}

}  // namespace

std::shared_ptr<transport> nccl_transport(const context& ctx, std::shared_ptr<transport> control, double wait_seconds) {
  limits bounds;
  bounds.wait_seconds = wait_seconds;
  const group ranks(context::cpu(1), control, bounds);
  nccl_unique_id id{};
  const nccl_functions* nccl = nullptr;
  ranks.agree([&] {
    require_cuda(ctx);
    nccl = &require_nccl();
    if (ranks.rank() == 0 && nccl->get_unique_id(&id) != nccl_success)
      throw error(error_code::device_failure, "nccl_transport: NCCL makes no id of a communicator");
  });
  const introduction mine = introduction_of(ctx, id);
  std::vector<introduction> all(static_cast<std::size_t>(ranks.size()));
  all_gather(ranks.state(), &mine, sizeof mine, all.data());
  ranks.agree([&] { require_gpus_apart(ctx, all, ranks.rank()); });
  const current_device scope(ctx.device());
  nccl_config config;
  config.blocking = 0;
  nccl_communicator communicator = nullptr;
  const int begun = nccl->init_rank_config(&communicator, ranks.size(), all[0].id, ranks.rank(), &config);
  // Ranks join one another outside of the control transport: each asks until all are there.
  const auto begin = clock::now();
  int state = begun;
  while (state == nccl_in_progress || (state == nccl_success && communicator != nullptr)) {
    if (nccl->get_async_error(communicator, &state) != nccl_success || state == nccl_success) break;
    if (wait_seconds > 0 && std::chrono::duration<double>(clock::now() - begin).count() > wait_seconds) break;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  std::shared_ptr<transport> made;
  try {
    ranks.agree([&] {
      if (state != nccl_success) {
        throw error(error_code::device_failure,
                    fmt::format("nccl_transport: NCCL makes no communicator: {}", nccl->error_string(state)));
      }
      allow_access_within_process(ctx, all, mine);
      made = std::make_shared<nccl_transport_of>(control, *nccl, communicator, ctx.device(), true);
    });
  } catch (...) {
    if (made != nullptr) {
      made->abandon();
    } else if (communicator != nullptr) {
      aborts::begin(*nccl, communicator, ctx.device());
    }
    throw;
  }
  return made;
}

std::shared_ptr<transport> nccl_transport(const context& ctx, ncclComm* communicator,
                                          std::shared_ptr<transport> control) {
  const nccl_functions* nccl = nullptr;
  const group ranks(context::cpu(1), control);
  ranks.agree([&] {
    require_cuda(ctx);
    nccl = &require_nccl();
    int count = 0;
    int rank = -1;
    int device = -1;
    if (communicator == nullptr || nccl->count(communicator, &count) != nccl_success ||
        nccl->user_rank(communicator, &rank) != nccl_success || nccl->device(communicator, &device) != nccl_success)
      throw error(error_code::bad_argument, "nccl_transport: the communicator is none");
    if (count != ranks.size() || rank != ranks.rank()) {
      throw error(error_code::bad_argument,
                  fmt::format("nccl_transport: the communicator's rank {} of {} is rank {} of {} of control", rank,
                              count, ranks.rank(), ranks.size()));
    }
    if (device != ctx.device()) {
      throw error(error_code::bad_argument,
                  fmt::format("nccl_transport: the communicator is of CUDA device {}, but the context of device {}",
                              device, ctx.device()));
    }
  });
  return std::make_shared<nccl_transport_of>(std::move(control), *nccl, communicator, ctx.device(), false);
}

}  // namespace sheaf::distributed
