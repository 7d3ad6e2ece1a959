#pragma once

#include <csignal>

// Names of temporary files, which a process that a signal ends must not leave behind. A program that calls
// remove_temporaries_on_signals() is then ended by these signals once the files of all names that are noted are gone.
namespace sheaf::io {

/// While one lives, a signal that ends the process waits, on any thread: it finds the step done or not begun. For calls
/// that make, rename or remove a file together with the note of its name, or make and remove a folder; they take no
/// time. One at a time on a thread.
class whole_step {
 public:
  whole_step() noexcept;
  ~whole_step();
  whole_step(const whole_step&) = delete;
  whole_step& operator=(const whole_step&) = delete;

 private:
  sigset_t signals_before_;
};

/// Notes the path of a temporary file that exists, within a whole_step. The bytes must stay where they are until
/// forget_temporary(). Where very many are noted already, the path is not, and its file stays behind.
void note_temporary(const char* path) noexcept;
/// Takes the note back, within a whole_step. A path that is not noted is none.
void forget_temporary(const char* path) noexcept;

/// From now on SIGINT, SIGTERM and SIGHUP, and SIGQUIT, SIGPIPE and SIGXCPU, remove the files that are noted and then
/// end the process as they would have. Those that are ignored, as by nohup, stay so. For main(), once.
void remove_temporaries_on_signals() noexcept;

/// Removes the files that are noted, if this process has called remove_temporaries_on_signals(). For handlers of other
/// signals, which must end the process: nothing can be written to a file from here on.
void remove_temporaries() noexcept;

}  // namespace sheaf::io
