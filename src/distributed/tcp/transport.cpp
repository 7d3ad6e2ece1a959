#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <unordered_map>

#include <fmt/format.h>
#include <sheaf/distributed/tcp.hpp>
#include <sheaf/error.hpp>

#include "distributed/tcp/socket.hpp"

// Two connections between each pair of processes: one for messages, which are read only into memory that waits for
// them, and one for notes, which overtake these.
namespace sheaf::distributed {
namespace {

struct tcp_operation {
  std::size_t open = 0;
  int failed_rank = -1;
  const char* reason = nullptr;
};

struct outgoing {
  std::shared_ptr<tcp_operation> of;
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t sent = 0;  ///< of the length, which goes first, and the data
};

struct incoming {
  std::shared_ptr<tcp_operation> of;
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t got = 0;
  std::uint64_t length = 0;  ///< as the sender says
};

constexpr std::uint64_t length_bytes = sizeof(std::uint64_t);

struct connection {
  tcp_socket messages;
  tcp_socket notes;
  std::deque<outgoing> out;
  std::deque<incoming> in;
  std::deque<control_note> notes_out;
  std::uint64_t note_sent = 0;  ///< bytes of the first of them
  control_note note_in;
  std::uint64_t note_got = 0;
};

class tcp_connections final : public transport {
 public:
  tcp_connections(int rank, std::vector<connection> to) : rank_(rank), to_(std::move(to)) {}
  ~tcp_connections() override {
    // The last notes may say why this process goes.
    const deadline until(1);
    for (connection& c : to_) {
      while (c.notes.is_open() && !c.notes_out.empty() && !until.is_over()) send_notes(c);
    }
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(to_.size()); }

  std::uint64_t start(std::span<const outgoing_message> out, std::span<const incoming_message> in) noexcept override {
    try {
      const auto mine = std::make_shared<tcp_operation>();
      mine->open = out.size() + in.size();
      running_.emplace(++started_, mine);
      for (const incoming_message& m : in) peer(m.from).in.push_back({mine, m.data, m.bytes});
      for (const outgoing_message& m : out) peer(m.to).out.push_back({mine, m.data, m.bytes});
      progress();
      return started_;
    } catch (...) {
      cancel(started_);
      return 0;
    }
  }

  transfer_state poll(std::uint64_t started) noexcept override {
    const auto found = running_.find(started);
    if (found == running_.end()) return {transfer_state::kind::done};
    progress();
    const tcp_operation& mine = *found->second;
    if (mine.reason != nullptr) return {transfer_state::kind::failed, mine.failed_rank, mine.reason};
    if (mine.open > 0) return {};
    running_.erase(found);
    return {transfer_state::kind::done};
  }

  void cancel(std::uint64_t started) noexcept override {
    const auto found = running_.find(started);
    if (found == running_.end()) return;
    for (connection& c : to_) {
      // What has gone in part would be taken for something else: nothing follows on this connection.
      const auto end_part = [&](auto& queue) {
        for (const auto& message : queue) {
          if (message.of == found->second) {
            end_messages(c, -1, "messages of another call were given up");
            return;
          }
        }
      };
      end_part(c.out);
      end_part(c.in);
    }
    running_.erase(found);
  }

  bool has_ended(int rank) const noexcept override {
    return rank != rank_ && !to_[static_cast<std::size_t>(rank)].notes.is_open();
  }

  void post(int to, const control_note& note) noexcept override {
    try {
      connection& c = peer(to);
      if (!c.notes.is_open()) return;
      c.notes_out.push_back(note);
      c.notes_out.back().from = rank_;
      send_notes(c);
      if (c.notes_out.size() > most_notes) end_notes(c, to);
    } catch (...) {
      // Without memory for a note the other rank is left to its limit of waiting.
    }
  }

  bool take(control_note& note) noexcept override {
    for (connection& c : to_) {
      if (!c.notes.is_open()) continue;
      send_notes(c);
      const std::int64_t got =
          c.notes.receive(reinterpret_cast<std::byte*>(&c.note_in) + c.note_got, sizeof c.note_in - c.note_got);
      if (got < 0) {
        c.notes = {};
        c.notes_out.clear();
        continue;
      }
      c.note_got += static_cast<std::uint64_t>(got);
      if (c.note_got < sizeof c.note_in) continue;
      c.note_got = 0;
      note = c.note_in;
      note.from = static_cast<std::int32_t>(&c - to_.data());  // whatever it says itself
      note.text[control_note::most_text - 1] = 0;
      return true;
    }
    return false;
  }

 private:
  /// Notes that wait for a rank, beside what the system holds. A rank takes notes whenever it waits: one that has so
  /// many before it has stood still through as many questions, and is taken for one that has ended.
  static constexpr std::size_t most_notes = 4096;

  connection& peer(int rank) noexcept { return to_[static_cast<std::size_t>(rank)]; }

  static void send_notes(connection& c) noexcept {
    while (c.notes.is_open() && !c.notes_out.empty()) {
      const auto* const bytes = reinterpret_cast<const std::byte*>(&c.notes_out.front());
      const std::int64_t sent = c.notes.send(bytes + c.note_sent, sizeof(control_note) - c.note_sent);
      if (sent <= 0) return;
      c.note_sent += static_cast<std::uint64_t>(sent);
      if (c.note_sent < sizeof(control_note)) return;
      c.note_sent = 0;
      c.notes_out.pop_front();
    }
  }

  static void end(std::shared_ptr<tcp_operation>& of, int rank, const char* reason) noexcept {
    if (of->reason != nullptr) return;
    of->failed_rank = rank;
    of->reason = reason;
  }

  void progress() noexcept {
    for (std::size_t r = 0; r < to_.size(); ++r) {
      if (static_cast<int>(r) == rank_) continue;
      connection& c = to_[r];
      const bool goes_on = send_messages(c) && receive_messages(c, static_cast<int>(r));
      if (goes_on) continue;
      // Whoever waits for this rank, or has something for it, does so in vain.
      end_messages(c, static_cast<int>(r), "its connection has ended");
    }
  }

  static void end_notes(connection& c, int rank) noexcept {
    c.notes = {};
    c.notes_out.clear();
    end_messages(c, rank, "it has not read what it was told");
  }

  static void end_messages(connection& c, int rank, const char* reason) noexcept {
    c.messages = {};
    for (outgoing& m : c.out) end(m.of, rank, reason);
    for (incoming& m : c.in) end(m.of, rank, reason);
    c.out.clear();
    c.in.clear();
  }

  /// False: the connection has ended.
  static bool send_messages(connection& c) noexcept {
    while (!c.out.empty()) {
      if (!c.messages.is_open()) return false;
      outgoing& m = c.out.front();
      const bool is_length = m.sent < length_bytes;
      const std::byte* const from =
          is_length ? reinterpret_cast<const std::byte*>(&m.bytes) + m.sent : m.data + (m.sent - length_bytes);
      const std::uint64_t end_of_part = is_length ? length_bytes : length_bytes + m.bytes;
      if (m.sent < end_of_part) {
        const std::int64_t sent = c.messages.send(from, end_of_part - m.sent);
        if (sent < 0) return false;
        if (sent == 0) return true;
        m.sent += static_cast<std::uint64_t>(sent);
      }
      if (m.sent < length_bytes + m.bytes) continue;
      --m.of->open;
      c.out.pop_front();
    }
    return true;
  }

  static bool receive_messages(connection& c, int from) noexcept {
    while (!c.in.empty()) {
      if (!c.messages.is_open()) return false;
      incoming& m = c.in.front();
      const bool is_length = m.got < length_bytes;
      std::byte* const to =
          is_length ? reinterpret_cast<std::byte*>(&m.length) + m.got : m.data + (m.got - length_bytes);
      const std::uint64_t end_of_part = is_length ? length_bytes : length_bytes + m.bytes;
      if (m.got < end_of_part) {
        const std::int64_t got = c.messages.receive(to, end_of_part - m.got);
        if (got < 0) return false;
        if (got == 0) return true;
        m.got += static_cast<std::uint64_t>(got);
      }
      if (m.got == length_bytes && m.length != m.bytes) {
        end(m.of, from, "messages of different lengths met");
        return false;
      }
      if (m.got < length_bytes + m.bytes) continue;
      --m.of->open;
      c.in.pop_front();
    }
    return true;
  }

  int rank_;
  std::vector<connection> to_;
  std::uint64_t started_ = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<tcp_operation>> running_;
};

/// What whoever connects says first.
struct hello {
  std::uint64_t key = 0;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::int32_t is_for_notes = 0;
  std::uint16_t port = 0;  ///< where it listens itself
};

struct place {
  std::array<char, 64> address{};
  std::uint16_t port = 0;
};

std::string rank_in_words(int rank) { return fmt::format("rank {}", rank); }

/// A process of this job that connects, and what it says; others are turned away. Visitors speak as they come: one that
/// is silent keeps nobody waiting.
class visitors {
 public:
  visitors(const tcp_socket& listener, const hello& mine) : listener_(listener), mine_(mine) {}

  /// @param missing  a rank that has not come. @throws error(device_failure) at the deadline
  std::pair<hello, tcp_socket> next(const deadline& until, int missing) {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      for (tcp_socket came = listener_.accepted(); came.is_open(); came = listener_.accepted())
        waiting_.push_back({std::move(came), {}, 0});
      for (auto v = waiting_.begin(); v != waiting_.end();) {
        const std::int64_t more =
            v->socket.receive(reinterpret_cast<std::byte*>(&v->said) + v->got, sizeof v->said - v->got);
        if (more > 0) v->got += static_cast<std::uint64_t>(more);
        const bool is_heard = v->got == sizeof v->said;
        if (is_heard && is_of_this_job(v->said)) {
          std::pair<hello, tcp_socket> found(v->said, std::move(v->socket));
          waiting_.erase(v);
          return found;
        }
        v = more < 0 || is_heard ? waiting_.erase(v) : v + 1;
      }
      // Strangers that say nothing are forgotten, the first first.
      constexpr std::size_t most_waiting = 1024;
      if (waiting_.size() > most_waiting) waiting_.erase(waiting_.begin());
      if (until.is_over()) {
        throw error(error_code::device_failure, fmt::format("tcp_transport: rank {} has not come in time", missing));
      }
    }
  }

 private:
  struct visitor {
    tcp_socket socket;
    hello said;
    std::uint64_t got = 0;
  };

  bool is_of_this_job(const hello& said) const noexcept {
    return said.key == mine_.key && said.size == mine_.size && said.rank >= 0 && said.rank < mine_.size &&
           said.rank != mine_.rank;
  }

  const tcp_socket& listener_;
  hello mine_;
  std::vector<visitor> waiting_;
};

[[noreturn]] void throw_came_twice(int rank) {
  throw error(error_code::bad_argument, fmt::format("tcp_transport: rank {} has come twice", rank));
}

/// Whether other ranks than 0 connect to this one: those behind it do.
bool is_sought(const hello& of) noexcept { return of.rank + 1 < of.size; }

[[noreturn]] void throw_link_local(int rank, const std::string& address) {
  throw error(error_code::device_failure,
              fmt::format("tcp_transport: rank {} has come from {}, a link-local address, at which other ranks cannot "
                          "find it; meet at an address of IPv4, or at one of IPv6 that holds beyond a link",
                          rank, address));
}

/// Where each rank listens: rank 0 hears it of all, and tells all.
std::vector<place> exchange_places(const tcp_meeting& meeting, const hello& mine, const deadline& until) {
  std::vector<place> places(static_cast<std::size_t>(mine.size));
  const std::uint64_t bytes = places.size() * sizeof(place);
  if (mine.rank != 0) {
    const tcp_socket to_first = tcp_socket::connected(meeting.host, meeting.port, until);
    to_first.send_all(&mine, sizeof mine, until, rank_in_words(0));
    to_first.receive_all(places.data(), bytes, until, rank_in_words(0));
    return places;
  }
  const tcp_socket listener = tcp_socket::listening(meeting.port);
  visitors door(listener, mine);
  std::vector<tcp_socket> others(places.size());
  for (std::size_t missing = places.size() - 1; missing > 0;) {
    const auto absent =
        std::find_if(others.begin() + 1, others.end(), [](const tcp_socket& s) { return !s.is_open(); });
    auto [said, came] = door.next(until, static_cast<int>(absent - others.begin()));
    const auto r = static_cast<std::size_t>(said.rank);
    if (others[r].is_open()) throw_came_twice(said.rank);
    // Who comes from this host is where others find this host, not at the address that only this host has.
    if (!came.is_from_this_host()) {
      const std::string address = came.peer_address();
      if (is_sought(said) && is_link_local(address)) throw_link_local(said.rank, address);
      address.copy(places[r].address.data(), places[r].address.size() - 1);
    }
    places[r].port = said.port;
    others[r] = std::move(came);
    --missing;
  }
  places.front().port = mine.port;
  for (std::size_t r = 1; r < others.size(); ++r)
    others[r].send_all(places.data(), bytes, until, rank_in_words(static_cast<int>(r)));
  return places;
}

/// No rank leaves before all have met: its next meeting would find the listeners of this one.
void leave_together(int rank, std::span<const connection> to, const deadline& until) {
  std::byte word{1};
  const auto swap_with = [&](std::size_t r, bool speaks) {
    const tcp_socket& with = to[r].messages;
    const std::string name = rank_in_words(static_cast<int>(r));
    speaks ? with.send_all(&word, sizeof word, until, name) : with.receive_all(&word, sizeof word, until, name);
  };
  if (rank != 0) {
    swap_with(0, true);
    swap_with(0, false);
    return;
  }
  for (const bool speaks : {false, true}) {
    for (std::size_t r = 1; r < to.size(); ++r) swap_with(r, speaks);
  }
}

}  // namespace

std::shared_ptr<transport> tcp_transport(int rank, int size, const tcp_meeting& meeting) {
  constexpr int most_ranks = 65534;
  if (rank < 0 || rank >= size || size > most_ranks)
    throw error(error_code::bad_argument, fmt::format("tcp_transport: rank {} of {}", rank, size));
  if (!(meeting.wait_seconds >= 0)) {
    throw error(error_code::bad_argument,
                fmt::format("tcp_transport: a wait of {} seconds, not of 0 or more", meeting.wait_seconds));
  }
  std::vector<connection> to(static_cast<std::size_t>(size));
  if (size == 1) return std::make_shared<tcp_connections>(rank, std::move(to));
  if (meeting.port == 0) throw error(error_code::bad_argument, "tcp_transport: port 0");
  const deadline until(meeting.wait_seconds);
  const tcp_socket listener = tcp_socket::listening(0);
  const hello mine{meeting.key, rank, size, 0, listener.port()};
  const std::vector<place> places = exchange_places(meeting, mine, until);
  // Each connects to those before it, twice, and is connected to by those behind it.
  for (int r = 0; r < rank; ++r) {
    const place& at = places[static_cast<std::size_t>(r)];
    for (const bool is_for_notes : {false, true}) {
      const std::string host = at.address[0] == 0 ? meeting.host : std::string(at.address.data());
      tcp_socket made = tcp_socket::connected(host, at.port, until);
      hello said = mine;
      said.is_for_notes = is_for_notes ? 1 : 0;
      made.send_all(&said, sizeof said, until, rank_in_words(r));
      connection& c = to[static_cast<std::size_t>(r)];
      (is_for_notes ? c.notes : c.messages) = std::move(made);
    }
  }
  visitors door(listener, mine);
  for (int missing = 2 * (size - 1 - rank); missing > 0; --missing) {
    const auto absent = std::find_if(to.begin() + rank + 1, to.end(),
                                     [](const connection& c) { return !c.messages.is_open() || !c.notes.is_open(); });
    auto [said, came] = door.next(until, static_cast<int>(absent - to.begin()));
    connection& c = to[static_cast<std::size_t>(said.rank)];
    tcp_socket& place = said.is_for_notes != 0 ? c.notes : c.messages;
    if (said.rank < rank || place.is_open()) throw_came_twice(said.rank);
    place = std::move(came);
  }
  leave_together(rank, to, until);
  return std::make_shared<tcp_connections>(rank, std::move(to));
}

}  // namespace sheaf::distributed
