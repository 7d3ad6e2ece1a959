#pragma once

#include <sheaf/distributed/transport.hpp>

// A program that is linked to no MPI, and loads the one that has started it.
namespace sheaf::distributed {

/// What the shared objects of each MPI bring under the name `sheaf_mpi_process`.
struct mpi_process {
  /// Initializes MPI; null if that fails. The transport is that of all processes.
  std::shared_ptr<transport> (*begin)();
  /// After the last transport is gone.
  void (*end)();
  /// Ends all processes.
  void (*abort)(int code);
};

constexpr const char* mpi_process_symbol = "sheaf_mpi_process";

}  // namespace sheaf::distributed
