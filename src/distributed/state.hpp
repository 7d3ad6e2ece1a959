#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sheaf/distributed/group.hpp>
#include <sheaf/distributed/layout.hpp>
#include <sheaf/error.hpp>

#include "core/index_report.hpp"

namespace sheaf::distributed {

/// A number that all ranks give a call alike, with its name for messages.
struct agreed_value {
  enum class kind : std::uint8_t {
    number,
    real,    ///< the bits of a double
    digest,  ///< of something that is no number: messages do not show it
  };

  const char* what;
  std::uint64_t value;
  kind shown_as = kind::number;
};
inline agreed_value agreed_real(const char* what, double value) noexcept {
  return {what, std::bit_cast<std::uint64_t>(value), agreed_value::kind::real};
}
inline agreed_value agreed_digest(const char* what, std::uint64_t digest) noexcept {
  return {what, digest, agreed_value::kind::digest};
}

constexpr const char* unknown_exception = "an exception that is not the library's";

/// What one rank tells all others when a call begins.
struct call_header {
  static constexpr std::size_t most_values = 8;

  char call[32] = {};
  std::int32_t code = -1;  ///< an error_code; below 0: the rank refuses nothing
  std::array<std::uint64_t, most_values> values{};
  std::array<std::uint64_t, most_values> shared{};
};

/// How many rows each rank gives to a call, which is what it shares first.
inline std::vector<std::uint64_t> counts_of(const std::vector<call_header>& headers) {
  std::vector<std::uint64_t> counts(headers.size());
  for (std::size_t r = 0; r < headers.size(); ++r) counts[r] = headers[r].shared[0];
  return counts;
}

/// Why a rank refuses a call. Ranks tell it only where one of them has refused.
struct call_refusal {
  std::int32_t code = -1;  ///< an error_code; below 0: the rank refuses nothing
  char text[216] = {};
};

/// What a group's handles share.
class group_state {
 public:
  group_state(const context& ctx, std::shared_ptr<transport> between, const limits& bounds);

  const context ctx;
  const context host;  ///< where control messages lie: the same on the CPU
  const std::shared_ptr<transport> between;
  limits bounds;
  const int rank;
  const int size;

  bool is_lost() const noexcept { return is_lost_; }
  /// Throws if the group is lost.
  void require_usable() const;
  /// The group is lost by this rank's failure; all others are told.
  [[noreturn]] void lose(error_code code, int about, std::string_view text);
  void tell_lost(error_code code, int about, std::string_view text) noexcept;

  /// Waits for messages that have begun. Throws if the group is lost meanwhile.
  void finish(std::uint64_t started);
  /// Whether they are done, after a look at what other ranks say.
  bool is_done(std::uint64_t started);
  /// Gives up messages, which may still read and write their memory. The group is lost then, or will be once the
  /// exception under way has reached collective().
  void give_up(std::uint64_t started) noexcept;
  bool has_given_up() const noexcept { return has_given_up_; }
  std::uint64_t start(std::span<const outgoing_message> out, std::span<const incoming_message> in);
  /// Messages in the memory of the context's device. Every rank calls it for the same exchange, though it may have
  /// none.
  std::uint64_t start_on_device(std::span<const outgoing_message> out, std::span<const incoming_message> in);

  /// Whether arrays lie in the memory of a device, where only calls of the primitives reach them.
  bool is_on_device() const noexcept { return ctx.backend() != backend_kind::cpu; }
  /// Whether calls go the way of devices, which works on the CPU, too: tests compare both there.
  bool goes_by_primitives = false;

  /// Begins a call. `check` throws what is wrong with this rank's arguments; values are compared, and each rank's
  /// `shared` numbers are returned. Throws on all ranks what the first rank refused, or how ranks disagree.
  template <class Check>
  std::vector<call_header> agree(std::string_view call, std::span<const agreed_value> values,
                                 std::span<const std::uint64_t> shared, Check check) {
    call_refusal mine;
    try {
      check();
    } catch (const error& refusal) {
      note_refusal(mine, refusal.code(), refusal.what());
    } catch (const std::bad_alloc&) {
      note_refusal(mine, error_code::out_of_memory, "host memory is short");
    } catch (const std::exception& refusal) {
      note_refusal(mine, error_code::internal, refusal.what());
    } catch (...) {
      note_refusal(mine, error_code::internal, unknown_exception);
    }
    return compare(call, values, shared, mine);
  }
  /// Whether the exception under way was thrown on every rank alike.
  bool is_shared() const noexcept { return is_shared_; }

  /// Marks a call as under way while it exists. Throws amid another call, such as in a function of the caller's that
  /// one rank calls: its messages would meet those of the other call.
  class call_under_way {
   public:
    explicit call_under_way(group_state& state);
    call_under_way(const call_under_way&) = delete;
    call_under_way& operator=(const call_under_way&) = delete;
    ~call_under_way() { state_.is_in_call_ = false; }
    std::uint64_t number() const noexcept { return state_.calls_; }

   private:
    group_state& state_;
  };
  void keep_first(const core::index_report& report) noexcept {
    if (report.found() && report.before(first_report_)) first_report_ = report;
  }
  const core::index_report& first_report() const noexcept { return first_report_; }
  core::index_report take_report() noexcept { return std::exchange(first_report_, core::index_report{}); }
  [[noreturn]] void throw_shared(error_code code, const std::string& text);

 private:
  using clock = std::chrono::steady_clock;

  static void note_refusal(call_refusal& mine, error_code code, const char* text) noexcept;
  std::vector<call_header> compare(std::string_view call, std::span<const agreed_value> values,
                                   std::span<const std::uint64_t> shared, const call_refusal& refusal);
  void hear();
  /// The first rank that does not answer in so many seconds; -1: all do.
  int call_roll(double seconds);

  bool is_lost_ = false;
  bool is_in_call_ = false;
  bool is_shared_ = false;
  bool has_given_up_ = false;
  error_code lost_code_ = error_code::internal;
  std::string lost_text_;
  std::uint64_t calls_ = 0;
  std::uint64_t rolls_ = 0;
  std::vector<std::uint64_t> present_;
  core::index_report first_report_;
};

/// Puts reports of earlier calls aside while a call finds its own, and back when it ends or throws.
class reports_aside {
 public:
  explicit reports_aside(group_state& state) noexcept : state_(state), before_(state.take_report()) {}
  reports_aside(const reports_aside&) = delete;
  reports_aside& operator=(const reports_aside&) = delete;
  ~reports_aside() { state_.keep_first(before_); }

 private:
  group_state& state_;
  core::index_report before_;
};

/// Runs a collective call: what leaves it on this rank alone ends it on all ranks.
template <class Work>
auto collective(const group& ranks, Work work) {
  group_state& state = ranks.state();
  state.require_usable();
  const group_state::call_under_way call(state);
  try {
    return work(state, call.number());
  } catch (const error& thrown) {
    if (state.is_shared()) throw;
    state.lose(thrown.code(), state.rank, thrown.what());
  } catch (const std::bad_alloc&) {
    state.lose(error_code::out_of_memory, state.rank, "host memory is short");
  } catch (const std::exception& thrown) {
    state.lose(error_code::internal, state.rank, thrown.what());
  } catch (...) {
    state.lose(error_code::internal, state.rank, unknown_exception);
  }
}

/// A number for a layout or a text, which differs where these differ.
std::uint64_t fingerprint(const layout& rows) noexcept;
std::uint64_t fingerprint(std::string_view text) noexcept;

}  // namespace sheaf::distributed
