#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <type_traits>

#include <fmt/format.h>

namespace sheaf::cli {

/// One line on stderr that updates in place and vanishes at the end. Shown only on a terminal, after one second of
/// work.
class progress_line {
 public:
  explicit progress_line(bool wanted)
      : may_show_(wanted && isatty(STDERR_FILENO) != 0), shows_from_(now() + std::chrono::seconds(1)) {}
  ~progress_line() {
    if (shown_) std::fprintf(stderr, "\r%78s\r", "");
  }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  /// Whether it may ever be shown.
  bool may_show() const noexcept { return may_show_; }
  void show(const std::string& words) {
    show([&]() -> const std::string& { return words; });
  }
  /// Makes the words only where they are shown.
  template <class Words>
  requires std::is_invocable_v<Words>
  void show(Words words_of) {
    if (!may_show_ || now() < shows_from_) return;
    fmt::print(stderr, "\r{:78.78}", words_of());
    shown_ = true;
  }

 private:
  using clock = std::chrono::steady_clock;
  static clock::time_point now() { return clock::now(); }

  bool may_show_;
  bool shown_ = false;
  clock::time_point shows_from_;
};

}  // namespace sheaf::cli
