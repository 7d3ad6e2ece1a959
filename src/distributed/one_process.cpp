#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <fmt/format.h>
#include <sheaf/distributed/transport.hpp>
#include <sheaf/error.hpp>

// Ranks that are threads of one process. Whoever comes second to a message copies it, from the sender's memory to the
// receiver's.
namespace sheaf::distributed {
namespace {

/// Messages that one start() began.
struct operation {
  std::atomic<std::uint64_t> open{0};
  std::atomic<bool> is_cut{false};  ///< a message met one of another length
};

struct pending {
  std::shared_ptr<operation> of;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::uint64_t bytes = 0;
};

/// Messages from one rank to another that have not met.
struct pair_queue {
  std::mutex mutex;
  std::deque<pending> sent;
  std::deque<pending> wanted;
};

struct mailbox {
  std::mutex mutex;
  std::deque<control_note> notes;
};

struct shared_ranks {
  explicit shared_ranks(int count)
      : size(count),
        pairs(static_cast<std::size_t>(count) * static_cast<std::size_t>(count)),
        mailboxes(static_cast<std::size_t>(count)) {}

  pair_queue& pair(int from, int to) {
    return pairs[static_cast<std::size_t>(from) * static_cast<std::size_t>(size) + static_cast<std::size_t>(to)];
  }

  const int size;
  std::vector<pair_queue> pairs;
  std::vector<mailbox> mailboxes;
};

class one_process_transport final : public transport {
 public:
  one_process_transport(std::shared_ptr<shared_ranks> ranks, int rank) : ranks_(std::move(ranks)), rank_(rank) {}

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return ranks_->size; }

  std::uint64_t start(std::span<const outgoing_message> out, std::span<const incoming_message> in) noexcept override {
    ++started_;
    try {
      const auto mine = std::make_shared<operation>();
      mine->open = out.size() + in.size();
      running_.emplace(started_, mine);
      for (const outgoing_message& m : out) {
        pair_queue& queue = ranks_->pair(rank_, m.to);
        meet(queue, queue.wanted, queue.sent, {mine, m.data, nullptr, m.bytes});
      }
      for (const incoming_message& m : in) {
        pair_queue& queue = ranks_->pair(m.from, rank_);
        meet(queue, queue.sent, queue.wanted, {mine, nullptr, m.data, m.bytes});
      }
      return started_;
    } catch (...) {
      cancel(started_);
      return 0;
    }
  }

  transfer_state poll(std::uint64_t started) noexcept override {
    const auto found = running_.find(started);
    if (found == running_.end()) return {transfer_state::kind::done};
    const bool is_done = found->second->open.load(std::memory_order_acquire) == 0;
    const bool is_cut = found->second->is_cut.load(std::memory_order_relaxed);
    if (!is_done && !is_cut) return {};
    if (is_cut) return {transfer_state::kind::failed, rank_, "messages of different lengths met"};
    running_.erase(found);
    return {transfer_state::kind::done};
  }

  void cancel(std::uint64_t started) noexcept override {
    const auto found = running_.find(started);
    if (found == running_.end()) return;
    const auto is_mine = [&](const pending& p) { return p.of == found->second; };
    // A copy under way holds the queue's lock, and is over when the lock is had.
    for (int other = 0; other < ranks_->size; ++other) {
      for (pair_queue* const queue : {&ranks_->pair(rank_, other), &ranks_->pair(other, rank_)}) {
        const std::lock_guard lock(queue->mutex);
        std::erase_if(queue->sent, is_mine);
        std::erase_if(queue->wanted, is_mine);
      }
    }
    running_.erase(found);
  }

  void post(int to, const control_note& note) noexcept override {
    try {
      mailbox& box = ranks_->mailboxes[static_cast<std::size_t>(to)];
      const std::lock_guard lock(box.mutex);
      box.notes.push_back(note);
      box.notes.back().from = rank_;
    } catch (...) {
      // Without memory for a note the other rank is left to its limit of waiting.
    }
  }

  bool take(control_note& note) noexcept override {
    mailbox& box = ranks_->mailboxes[static_cast<std::size_t>(rank_)];
    const std::lock_guard lock(box.mutex);
    if (box.notes.empty()) return false;
    note = box.notes.front();
    box.notes.pop_front();
    return true;
  }

  bool shares_memory_with(int) const noexcept override { return true; }

  // Where ranks are more than processors, one that only yields has its turn as often as one that works.
  void give_way(double seconds_waited) noexcept override {
    constexpr double before_sleep = 0.0005;
    if (!are_many_ || seconds_waited < before_sleep) return transport::give_way(seconds_waited);
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

 private:
  static void meet(pair_queue& queue, std::deque<pending>& others, std::deque<pending>& own, pending mine) {
    const std::lock_guard lock(queue.mutex);
    if (others.empty()) {
      own.push_back(std::move(mine));
      return;
    }
    const pending other = std::move(others.front());
    others.pop_front();
    if (other.bytes != mine.bytes) {
      other.of->is_cut = mine.of->is_cut = true;
      return;
    }
    std::byte* const to = mine.to != nullptr ? mine.to : other.to;
    const std::byte* const from = mine.from != nullptr ? mine.from : other.from;
    if (mine.bytes > 0) std::memcpy(to, from, mine.bytes);
    other.of->open.fetch_sub(1, std::memory_order_release);
    mine.of->open.fetch_sub(1, std::memory_order_release);
  }

  std::shared_ptr<shared_ranks> ranks_;
  int rank_;
  bool are_many_ = static_cast<unsigned>(ranks_->size) > std::thread::hardware_concurrency();
  std::uint64_t started_ = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<operation>> running_;
};

}  // namespace

std::vector<std::shared_ptr<transport>> transports_in_one_process(int size) {
  constexpr int most = 4096;
  if (size < 1 || size > most)
    throw error(error_code::bad_argument, fmt::format("transport: {} ranks in one process, not 1 to {}", size, most));
  const auto ranks = std::make_shared<shared_ranks>(size);
  std::vector<std::shared_ptr<transport>> all;
  all.reserve(static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) all.push_back(std::make_shared<one_process_transport>(ranks, r));
  return all;
}

}  // namespace sheaf::distributed
