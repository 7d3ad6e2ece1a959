#include "apps/sheaf/files/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/printable.hpp"
#include "plan/store/whole_transfer.hpp"

namespace sheaf::io {
namespace {

constexpr std::chrono::milliseconds shown_after{1000};
constexpr std::chrono::milliseconds between_lines{100};
constexpr std::size_t usual_columns = 80;

// Read before each line, so that a window that changes its size needs no signal.
std::size_t columns_of_terminal() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual_columns;
}

std::string amount_text(double amount, progress_unit unit) {
  if (unit == progress_unit::bytes) {
    constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    std::size_t power = 0;
    for (; amount >= 999.5 && power + 1 < std::size(units); ++power) amount /= 1000;
    return fmt::format("{:.{}f} {}", amount, power == 0 || amount >= 99.95 ? 0 : 1, units[power]);
  }
  if (amount < 1e6) return fmt::format("{:.0f}", amount);
  return amount < 1e9 ? fmt::format("{:.1f} million", amount / 1e6) : fmt::format("{:.1f} billion", amount / 1e9);
}

std::string rate_text(double per_second, progress_unit unit) {
  constexpr double few = 10;
  if (unit == progress_unit::items && per_second < few) return fmt::format("{:.1f}/s", per_second);
  return amount_text(per_second, unit) + "/s";
}

std::string time_text(double seconds) {
  constexpr double most_seconds = 1e7;
  const auto whole = static_cast<std::uint64_t>(std::clamp(seconds, 0.0, most_seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// The bytes of UTF-8 that go on with a character.
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t characters_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !continues(c); }));
}

}  // namespace

/// The line of all steps, and the thread that draws it.
class progress_display {
 public:
  static progress_display& of_process() {
    static progress_display display;
    return display;
  }

  void begin(progress_step& step) {
    if (!is_wanted_.load()) return;
    const std::lock_guard lock(mutex_);
    steps_.push_back(&step);
    if (!thread_.joinable()) start();
    changed_.notify_one();
  }
  void end(progress_step& step) {
    if (!is_wanted_.load()) return;
    const std::lock_guard lock(mutex_);
    std::erase(steps_, &step);
    clear();
  }
  void say(progress_step& step, const std::string& words) {
    const std::lock_guard lock(mutex_);
    step.words_ = words;
  }
  void clear_line() {
    const std::lock_guard lock(mutex_);
    clear();
  }
  void want() { is_wanted_.store(true); }
  bool is_wanted() const noexcept { return is_wanted_.load(); }

 private:
  progress_display() = default;
  ~progress_display() {
    {
      const std::lock_guard lock(mutex_);
      clear();
      ends_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  // Signals are for other threads, which have files to remove. Work that has no thread to spare goes on unseen.
  void start() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([this] { draw_again_and_again(); });
    } catch (const std::system_error&) {
      is_wanted_.store(false);
      steps_.clear();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void draw_again_and_again() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      if (steps_.empty()) {
        changed_.wait(lock);
        continue;
      }
      changed_.wait_for(lock, between_lines);
      if (!ends_) draw();
    }
  }

  // Shows the innermost step that has taken long enough.
  void draw() {
    const auto now = std::chrono::steady_clock::now();
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      const auto after = now - (*step)->begin_;
      if (after < shown_after) continue;
      // The last column stays free: some terminals go to the next line once it is written to.
      print("\r" + (*step)->line(after, columns_of_terminal() - 1) + "\x1b[K");
      is_shown_ = true;
      return;
    }
  }
  void clear() {
    if (std::exchange(is_shown_, false)) print("\r\x1b[K");
  }
  static void print(const std::string& text) {
    static_cast<void>(write_stream(STDERR_FILENO, text.data(), text.size()));
  }

  std::atomic<bool> is_wanted_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<progress_step*> steps_;
  bool is_shown_ = false;
  bool ends_ = false;
  std::thread thread_;
};

void show_progress() {
  if (isatty(STDERR_FILENO) == 1) progress_display::of_process().want();
}

bool shows_progress() noexcept { return progress_display::of_process().is_wanted(); }

void clear_progress() { progress_display::of_process().clear_line(); }

progress_step::progress_step(const std::string& what, progress_unit unit, double total)
    : what_(core::printable(what)), unit_(unit), total_(total), begin_(std::chrono::steady_clock::now()) {
  progress_display::of_process().begin(*this);
}

progress_step::~progress_step() { progress_display::of_process().end(*this); }

void progress_step::say(const std::string& words) { progress_display::of_process().say(*this, words); }

bool progress_step::wants_words() noexcept {
  if (!shows_progress()) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_words_ < between_lines) return false;
  last_words_ = now;
  return true;
}

std::string progress_step::line(std::chrono::duration<double> after, std::size_t columns) const {
  const double seconds = after.count();
  const double total = total_.load();
  const double done =
      unit_ == progress_unit::seconds ? seconds : static_cast<double>(done_.load(std::memory_order_relaxed));
  double share = share_.load();
  if (share < 0 && total > 0) share = std::min(done / total, 1.0);
  std::string text = what_ + ":";
  const auto append = [&](const std::string& part) { text += (text.back() == ':' ? " " : ", ") + part; };
  if (unit_ == progress_unit::seconds || (done == 0 && share <= 0)) {
    append(time_text(seconds));
    if (unit_ == progress_unit::seconds && total > 0) text += " of " + time_text(std::ceil(total)) + " predicted";
  } else {
    if (done > 0) append(amount_text(done, unit_));
    if (done > 0 && total > 0) text += " of " + amount_text(total, unit_);
    if (done > 0) append(rate_text(done / seconds, unit_));
    if (share >= 0) append(fmt::format("{:.0f} %", share * 100));
    if (share > 0) append(time_text(std::ceil(seconds / share - seconds)) + " left");
  }
  const std::size_t characters = characters_of(text) + characters_of(words_);
  if (!words_.empty() && characters + 2 <= columns) append(words_);
  return fitted(text, columns);
}

std::string fitted(const std::string& text, std::size_t columns) {
  const std::size_t characters = characters_of(text);
  if (characters <= columns) return text;
  constexpr std::string_view dots = "...";
  if (columns <= dots.size()) return std::string(dots.substr(0, columns));
  // What is done and left stands at the end, and a third of the room is enough to know the file.
  const std::size_t front = (columns - dots.size()) / 3;
  const std::size_t left_out = characters - (columns - dots.size());
  std::string shown;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!continues(text[at])) ++number;  // the number of this character, from 1 on
    if (number == front + 1 && !continues(text[at])) shown += dots;
    if (number <= front || number > front + left_out) shown += text[at];
  }
  return shown;
}

}  // namespace sheaf::io
