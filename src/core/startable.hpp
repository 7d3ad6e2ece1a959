#pragma once

namespace sheaf::core {

/// `threads`, once it is known that the process can start so many: for the num_threads of every parallel region,
/// because OpenMP's runtime ends the process where it cannot start a thread. A number that is larger than all before,
/// of the calling thread's regions, is tried out by starting threads with stacks as large; others cost a comparison.
/// OpenMP does not say how often a clause is evaluated; g++ and clang do so once, on the thread that meets the region.
/// Another process may take what was there a moment before, which nobody notices then.
/// @throws error(backend_unavailable) with the limits that this process has
int startable(int threads);

/// Starts the threads of a team, which regions of as many threads then find started: before a time is taken that is not
/// to have this in it. @throws what startable() throws
void start_team(int threads);

/// For other threads that could not be started. @param reason  an errno
[[noreturn]] void throw_unstartable(int wanted, int started, int reason);

}  // namespace sheaf::core
