#include <cstring>
#include <list>
#include <new>
#include <unordered_map>

#include <mpi.h>
#include <sheaf/distributed/mpi.hpp>

#include "distributed/mpi/process.hpp"

// Compiled once with each MPI. It uses nothing of the library but declarations, so that its shared object goes with the
// static library and with the shared one.
namespace sheaf::distributed {
namespace {

constexpr int tag = 0;

class mpi_communicator final : public transport {
 public:
  explicit mpi_communicator(MPI_Comm caller) {
    // A group of no ranks is refused by whoever makes one.
    int is_initialized = 0;
    int is_finalized = 0;
    int has_two_sides = 0;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    if (is_initialized == 0 || is_finalized != 0 || caller == MPI_COMM_NULL) return;
    MPI_Comm_test_inter(caller, &has_two_sides);
    if (has_two_sides != 0) return;
    if (!duplicate(caller, messages_) || !duplicate(caller, notes_)) return;
    MPI_Comm_rank(messages_, &rank_);
    MPI_Comm_size(messages_, &size_);
    want_note();
  }

  ~mpi_communicator() override {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (is_finalized == 0) end();
    keep_sent_notes();
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }

  std::uint64_t start(std::span<const outgoing_message> out, std::span<const incoming_message> in) noexcept override {
    try {
      // All memory is taken before the first message begins.
      under_way& mine = running_[started_ + 1];
      const std::uint64_t started = ++started_;
      std::vector<MPI_Request>& requests = mine.requests;
      requests.reserve(out.size() + in.size());
      mine.expected.reserve(in.size());
      mine.statuses.resize(out.size() + in.size());
      mine.places.resize(out.size() + in.size());
      // Receives come first, so that messages need not wait in memory of MPI.
      for (const incoming_message& m : in) {
        mine.expected.push_back(static_cast<int>(m.bytes));
        MPI_Request request = MPI_REQUEST_NULL;
        note_error(MPI_Irecv(m.data, static_cast<int>(m.bytes), MPI_BYTE, m.from, tag, messages_, &request));
        requests.push_back(request);
      }
      for (const outgoing_message& m : out) {
        MPI_Request request = MPI_REQUEST_NULL;
        note_error(MPI_Isend(m.data, static_cast<int>(m.bytes), MPI_BYTE, m.to, tag, messages_, &request));
        requests.push_back(request);
      }
      mine.open = requests.size();
      return started;
    } catch (...) {
      has_failed_ = true;
      return 0;
    }
  }

  transfer_state poll(std::uint64_t started) noexcept override {
    const auto found = running_.find(started);
    if (has_failed_) return {transfer_state::kind::failed, -1, reason_};
    if (found == running_.end()) return {transfer_state::kind::done};
    under_way& mine = found->second;
    int ended = 0;
    note_error(MPI_Testsome(static_cast<int>(mine.requests.size()), mine.requests.data(), &ended, mine.places.data(),
                            mine.statuses.data()));
    if (has_failed_) return {transfer_state::kind::failed, -1, reason_};
    if (ended == MPI_UNDEFINED) ended = 0;
    for (int i = 0; i < ended; ++i) {
      const auto place = static_cast<std::size_t>(mine.places[static_cast<std::size_t>(i)]);
      if (place >= mine.expected.size()) continue;  // sent
      const MPI_Status& status = mine.statuses[static_cast<std::size_t>(i)];
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      if (bytes == mine.expected[place]) continue;
      has_failed_ = true;
      std::strcpy(reason_, "messages of different lengths met");
      return {transfer_state::kind::failed, status.MPI_SOURCE, reason_};
    }
    mine.open -= static_cast<std::size_t>(ended);
    if (mine.open > 0) return {};
    running_.erase(found);
    return {transfer_state::kind::done};
  }

  void cancel(std::uint64_t started) noexcept override {
    const auto found = running_.find(started);
    if (found == running_.end()) return;
    has_failed_ = true;
    std::vector<MPI_Request>& requests = found->second.requests;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i] == MPI_REQUEST_NULL) continue;
      if (i < found->second.expected.size()) MPI_Cancel(&requests[i]);
      MPI_Request_free(&requests[i]);
    }
    running_.erase(found);
  }

  void post(int to, const control_note& note) noexcept override {
    try {
      forget_sent_notes();
      sent_note& sent = sent_notes_.emplace_back();
      sent.note = note;
      sent.note.from = rank_;
      if (MPI_Isend(&sent.note, sizeof sent.note, MPI_BYTE, to, tag, notes_, &sent.request) != MPI_SUCCESS)
        sent.request = MPI_REQUEST_NULL;
    } catch (...) {
      // Without memory for a note the other rank is left to its limit of waiting.
    }
  }

  bool take(control_note& note) noexcept override {
    if (wanted_ == MPI_REQUEST_NULL) return false;
    int has_come = 0;
    MPI_Status status;
    if (MPI_Test(&wanted_, &has_come, &status) != MPI_SUCCESS) {
      // With fault tolerance a receive from any rank ends where one has failed.
      if (wanted_ == MPI_REQUEST_NULL) want_note();
      return false;
    }
    if (has_come == 0) return false;
    note = came_;
    want_note();
    return true;
  }

 private:
  struct under_way {
    std::vector<MPI_Request> requests;  ///< those of receives come first
    std::vector<MPI_Status> statuses;   ///< of those that have ended at one time, and their places
    std::vector<int> places;
    std::size_t open = 0;
    std::vector<int> expected;  ///< bytes of each receive
  };
  struct sent_note {
    control_note note;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  bool duplicate(MPI_Comm from, MPI_Comm& to) noexcept {
    note_error(MPI_Comm_dup(from, &to));
    if (!has_failed_) note_error(MPI_Comm_set_errhandler(to, MPI_ERRORS_RETURN));
    return !has_failed_;
  }

  void note_error(int code) noexcept {
    if (code == MPI_SUCCESS || has_failed_) return;
    has_failed_ = true;
    int length = 0;
    if (MPI_Error_string(code, reason_, &length) != MPI_SUCCESS) std::strcpy(reason_, "MPI reported a failure");
  }

  void want_note() noexcept {
    if (MPI_Irecv(&came_, sizeof came_, MPI_BYTE, MPI_ANY_SOURCE, tag, notes_, &wanted_) != MPI_SUCCESS)
      wanted_ = MPI_REQUEST_NULL;
  }

  void end() noexcept {
    if (wanted_ != MPI_REQUEST_NULL) {
      MPI_Cancel(&wanted_);
      MPI_Wait(&wanted_, MPI_STATUS_IGNORE);
    }
    forget_sent_notes();
    // Messages that were given up may still use a communicator, and a failed process keeps it from being freed.
    if (has_failed_ || !sent_notes_.empty()) return;
    if (messages_ != MPI_COMM_NULL) MPI_Comm_free(&messages_);
    if (notes_ != MPI_COMM_NULL) MPI_Comm_free(&notes_);
  }

  /// Notes that MPI may still send: their memory is never given back.
  void keep_sent_notes() noexcept {
    if (sent_notes_.empty()) return;
    auto* const kept = new (std::nothrow) std::list<sent_note>;
    if (kept != nullptr) kept->swap(sent_notes_);
  }

  void forget_sent_notes() noexcept {
    std::erase_if(sent_notes_, [](sent_note& sent) {
      int is_done = 1;
      if (sent.request != MPI_REQUEST_NULL) MPI_Test(&sent.request, &is_done, MPI_STATUS_IGNORE);
      return is_done != 0;
    });
  }

  MPI_Comm messages_ = MPI_COMM_NULL;
  MPI_Comm notes_ = MPI_COMM_NULL;
  MPI_Request wanted_ = MPI_REQUEST_NULL;
  control_note came_;
  int rank_ = 0;
  int size_ = 0;
  bool has_failed_ = false;
  char reason_[MPI_MAX_ERROR_STRING] = "a failure before";
  std::uint64_t started_ = 0;
  std::unordered_map<std::uint64_t, under_way> running_;
  std::list<sent_note> sent_notes_;
};

std::shared_ptr<transport> begin_process() {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  int level = 0;
  if (is_initialized == 0 && MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
    return nullptr;
  return std::make_shared<mpi_communicator>(MPI_COMM_WORLD);
}

void end_process() { MPI_Finalize(); }
void abort_processes(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

}  // namespace

std::shared_ptr<transport> mpi_transport(MPI_Comm communicator) {
  return std::make_shared<mpi_communicator>(communicator);
}

}  // namespace sheaf::distributed

extern "C" SHEAF_API const sheaf::distributed::mpi_process sheaf_mpi_process;
extern "C" const sheaf::distributed::mpi_process sheaf_mpi_process{
    sheaf::distributed::begin_process, sheaf::distributed::end_process, sheaf::distributed::abort_processes};
