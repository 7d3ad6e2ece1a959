#include "distributed/state.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "distributed/collectives.hpp"

namespace sheaf::distributed {
namespace {

enum note_kind : std::int32_t { lost = 1, roll_call, present };

template <std::size_t Size>
void copy_text(char (&to)[Size], std::string_view from) noexcept {
  const std::size_t length = std::min(from.size(), Size - 1);
  std::memcpy(to, from.data(), length);
  to[length] = 0;
}

/// How a rank's value differs from that of rank 0, in words.
std::string difference_of(const agreed_value& value, std::uint64_t other, std::size_t rank, std::uint64_t first) {
  constexpr const char* differs = "{} is {} on rank {}, but {} on rank 0";
  switch (value.shown_as) {
    case agreed_value::kind::real:
      return fmt::format(differs, value.what, std::bit_cast<double>(other), rank, std::bit_cast<double>(first));
    case agreed_value::kind::digest: return fmt::format("{} on rank {} is not that of rank 0", value.what, rank);
    default: return fmt::format(differs, value.what, other, rank, first);
  }
}

constexpr int spins_before_yield = 64;
constexpr double seconds_to_answer = 5;

}  // namespace

group_state::group_state(const context& of, std::shared_ptr<transport> carrier, const limits& given)
    : ctx(of),
      host(of.backend() == backend_kind::cpu ? of : context::cpu(1)),
      between(std::move(carrier)),
      bounds(given),
      rank(between->rank()),
      size(between->size()),
      present_(static_cast<std::size_t>(between->size())) {
  goes_by_primitives = is_on_device();
}

group_state::call_under_way::call_under_way(group_state& state) : state_(state) {
  if (state.is_in_call_) throw error(error_code::bad_argument, "group: a call amid another call on the same group");
  state.is_in_call_ = true;
  state.is_shared_ = false;
  ++state.calls_;
}

void group_state::require_usable() const {
  if (is_lost_) throw error(lost_code_, lost_text_);
}

void group_state::tell_lost(error_code code, int about, std::string_view text) noexcept {
  control_note note{.kind = lost, .about = about, .code = static_cast<std::int32_t>(code)};
  copy_text(note.text, text);
  for (int to = 0; to < size; ++to) {
    if (to != rank) between->post(to, note);
  }
}

void group_state::lose(error_code code, int about, std::string_view text) {
  if (!is_lost_) {
    is_lost_ = true;
    lost_code_ = code;
    tell_lost(code, about, text);
    between->abandon();
    lost_text_ = fmt::format("rank {}: {}", about, text);
  }
  is_shared_ = true;
  throw error(lost_code_, lost_text_);
}

void group_state::hear() {
  control_note note;
  while (between->take(note)) {
    switch (note.kind) {
      case lost:
        if (!is_lost_) {
          is_lost_ = true;
          between->abandon();
          lost_code_ = static_cast<error_code>(note.code);
          lost_text_ = fmt::format("rank {}: {}", note.about, static_cast<const char*>(note.text));
        }
        break;
      case roll_call: between->post(note.from, {.kind = present, .number = note.number}); break;
      case present: present_[static_cast<std::size_t>(note.from)] = note.number; break;
      default: break;
    }
  }
  if (is_lost_) {
    is_shared_ = true;
    throw error(lost_code_, lost_text_);
  }
}

// Ranks that wait answer, whatever they wait for; the one that is late does not.
int group_state::call_roll(double seconds) {
  const std::uint64_t number = ++rolls_;
  for (int to = 0; to < size; ++to) {
    if (to != rank) between->post(to, {.kind = roll_call, .number = number});
  }
  const auto begin = clock::now();
  for (int missing = 0;;) {
    while (missing < size && (missing == rank || present_[static_cast<std::size_t>(missing)] == number)) ++missing;
    if (missing == size) return -1;
    const double waited = std::chrono::duration<double>(clock::now() - begin).count();
    if (waited > seconds) return missing;
    hear();
    between->give_way(waited);
  }
}

bool group_state::is_done(std::uint64_t started) {
  if (started == 0) return true;
  const transfer_state now = between->poll(started);
  if (now.state == transfer_state::kind::done) return true;  // a failure meanwhile is the next call's
  if (now.state == transfer_state::kind::failed) {
    hear();
    const int about = now.rank >= 0 ? now.rank : call_roll(seconds_to_answer);
    lose(error_code::device_failure, about < 0 ? rank : about,
         fmt::format("messages failed on rank {}: {}", rank, now.reason));
  }
  hear();
  return false;
}

void group_state::finish(std::uint64_t started) {
  const auto begin = clock::now();
  auto heard = begin;
  try {
    for (int spins = 0; !is_done(started); ++spins) {
      if (spins < spins_before_yield) continue;
      const auto now = clock::now();
      between->give_way(std::chrono::duration<double>(now - begin).count());
      if (bounds.wait_seconds > 0 && now - heard > std::chrono::duration<double>(bounds.wait_seconds)) {
        const int missing = call_roll(std::clamp(bounds.wait_seconds, 0.5, seconds_to_answer));
        if (missing >= 0) {
          lose(
              error_code::device_failure, missing,
              fmt::format("has not been heard of for {} s, in which rank {} waited for it", bounds.wait_seconds, rank));
        }
        heard = clock::now();
      }
    }
  } catch (...) {
    give_up(started);
    throw;
  }
}

void group_state::give_up(std::uint64_t started) noexcept {
  has_given_up_ = true;
  between->cancel(started);
}

std::uint64_t group_state::start(std::span<const outgoing_message> out, std::span<const incoming_message> in) {
  if (out.empty() && in.empty()) return 0;
  const std::uint64_t started = between->start(out, in);
  if (started == 0) lose(error_code::device_failure, rank, "messages could not begin");
  return started;
}

std::uint64_t group_state::start_on_device(std::span<const outgoing_message> out,
                                           std::span<const incoming_message> in) {
  if (out.empty() && in.empty()) return 0;
  const std::uint64_t started = between->start_on(ctx.stream(), out, in);
  if (started == 0) lose(error_code::device_failure, rank, "messages between devices could not begin");
  return started;
}

void group_state::throw_shared(error_code code, const std::string& text) {
  is_shared_ = true;
  throw error(code, text);
}

void group_state::note_refusal(call_refusal& mine, error_code code, const char* text) noexcept {
  mine.code = static_cast<std::int32_t>(code);
  copy_text(mine.text, text);
}

std::vector<call_header> group_state::compare(std::string_view call, std::span<const agreed_value> values,
                                              std::span<const std::uint64_t> shared, const call_refusal& refusal) {
  call_header mine;
  mine.code = refusal.code;
  copy_text(mine.call, call);
  for (std::size_t i = 0; i < values.size(); ++i) mine.values[i] = values[i].value;
  std::copy(shared.begin(), shared.end(), mine.shared.begin());
  std::vector<call_header> all(static_cast<std::size_t>(size));
  all_gather(*this, &mine, sizeof mine, all.data());
  const call_header& first = all.front();
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (std::strcmp(all[r].call, first.call) == 0) continue;
    throw_shared(error_code::bad_argument,
                 fmt::format("rank {} calls {}, but rank 0 calls {}", r, static_cast<const char*>(all[r].call),
                             static_cast<const char*>(first.call)));
  }
  const auto refuses = std::find_if(all.begin(), all.end(), [](const call_header& h) { return h.code >= 0; });
  if (refuses != all.end()) {
    std::vector<call_refusal> refusals(all.size());
    all_gather(*this, &refusal, sizeof refusal, refusals.data());
    const std::ptrdiff_t r = refuses - all.begin();
    throw_shared(static_cast<error_code>(refuses->code),
                 fmt::format("rank {}: {}", r, static_cast<const char*>(refusals[static_cast<std::size_t>(r)].text)));
  }
  for (std::size_t r = 1; r < all.size(); ++r) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (all[r].values[i] == first.values[i]) continue;
      throw_shared(error_code::bad_argument,
                   fmt::format("{}: {}", call, difference_of(values[i], all[r].values[i], r, first.values[i])));
    }
  }
  return all;
}

namespace {

template <class Numbers>
std::uint64_t hash_of(const Numbers& numbers) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const auto number : numbers) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x100000001b3U;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

std::uint64_t fingerprint(const layout& rows) noexcept { return hash_of(rows.begins()); }
std::uint64_t fingerprint(std::string_view text) noexcept { return hash_of(text); }

}  // namespace sheaf::distributed
