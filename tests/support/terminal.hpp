#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace sheaf::tests {

/// A terminal of so many columns, of which this process is the screen.
class terminal {
 public:
  explicit terminal(unsigned short columns = 80) : main_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (main_ < 0 || grantpt(main_) != 0 || unlockpt(main_) != 0) return;
    lines_ = open(ptsname(main_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    set_columns(columns);
  }
  ~terminal() {
    if (lines_ >= 0) close(lines_);
    if (main_ >= 0) close(main_);
  }
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;

  bool is_there() const { return lines_ >= 0; }
  std::string path() const { return ptsname(main_); }
  /// What programs write to.
  int descriptor() const { return lines_; }
  void set_columns(unsigned short columns) const {
    const winsize size{24, columns, 0, 0};
    ioctl(lines_, TIOCSWINSZ, &size);
  }
  /// What was written since the last call, up to a pause of `pause_ms`.
  std::string shown(int pause_ms = 100) const {
    std::string text;
    char part[256];
    for (pollfd ready{main_, POLLIN, 0}; poll(&ready, 1, pause_ms) > 0 && (ready.revents & POLLIN) != 0;) {
      const ssize_t bytes = read(main_, part, sizeof part);
      if (bytes <= 0) break;
      text.append(part, static_cast<std::size_t>(bytes));
    }
    return text;
  }

 private:
  int main_;
  int lines_ = -1;
};

}  // namespace sheaf::tests
