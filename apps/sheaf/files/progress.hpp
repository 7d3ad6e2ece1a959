#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace sheaf::io {

enum class progress_unit : std::uint8_t {
  bytes,
  items,    ///< records, entries, runs
  seconds,  ///< of work that is predicted to take some, counted by the clock
};

/// Lets steps show how far they are, on standard error, if that is a terminal. Nothing is shown before this is called.
void show_progress();
/// Whether a step may ever be shown, for work that costs something to be watched.
bool shows_progress() noexcept;
/// Takes the line off the terminal, before other words go there; a step that goes on is shown again.
void clear_progress();

/// What the command is at, from here to the end of the scope. After a second one line of the terminal shows it, with
/// what is done, the rate and the time left, several times a second and in the terminal's width; the line goes with
/// the step. Of steps inside each other the innermost that has taken a second is shown. They begin and end on one
/// thread, and may count on any.
class progress_step {
 public:
  /// @param what  begins the line: "reading a.mtx". @param total  of the work; 0 where it is not known
  explicit progress_step(const std::string& what, progress_unit unit = progress_unit::items, double total = 0);
  ~progress_step();
  progress_step(const progress_step&) = delete;
  progress_step& operator=(const progress_step&) = delete;

  void add(std::uint64_t more) noexcept { done_.fetch_add(more, std::memory_order_relaxed); }
  /// The total, once it is known.
  void expect(std::uint64_t total) noexcept { total_.store(static_cast<double>(total)); }
  /// The part of the work that is done, from 0 to 1, in place of add().
  void reach(double share) noexcept { share_.store(share); }
  /// Words for the end of the line, if there is room for them.
  void say(const std::string& words);
  /// Whether new words would be seen: where a line is shown, and not more often than it is drawn.
  bool wants_words() noexcept;

  /// The line as it is now, `after` the beginning of the step, in at most `columns`.
  std::string line(std::chrono::duration<double> after, std::size_t columns) const;

 private:
  friend class progress_display;

  std::string what_;
  std::string words_;
  progress_unit unit_;
  std::atomic<double> total_;
  std::atomic<double> share_ = -1;
  std::atomic<std::uint64_t> done_ = 0;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point last_words_{};
};

/// A text in at most `columns` of a terminal: the beginning, three dots, and as much of the end as there is
/// room for. Characters are counted, not bytes.
std::string fitted(const std::string& text, std::size_t columns);

}  // namespace sheaf::io
