#pragma once

#include <concepts>
#include <memory>

#include <sheaf/distributed/group.hpp>

// Groups of the processes of an MPI communicator. Link to sheaf::mpich with MPICH and what is built like it, whose
// MPI_Comm is a number, or to sheaf::openmpi with Open MPI, whose MPI_Comm is a pointer. This header needs no mpi.h.
struct ompi_communicator_t;

namespace sheaf::distributed {

/// The transport of a communicator, which is duplicated, twice: messages never meet those of the caller. Collective
/// over the communicator. MPI is initialized before, with any level of threads that allows the calling thread to use
/// it, and finalized after the transport and every group over it are gone. Errors of MPI are found by the group's
/// calls, and end no process by themselves, but for two: duplication has the error handler of the caller's
/// communicator, and MPICH asks that of MPI_COMM_WORLD about messages that end badly.
SHEAF_API std::shared_ptr<transport> mpi_transport(int mpich_communicator);
SHEAF_API std::shared_ptr<transport> mpi_transport(ompi_communicator_t* openmpi_communicator);

/// The group of a communicator; collective. @throws what group's constructor throws
template <class Communicator>
requires std::same_as<Communicator, int> || std::same_as<Communicator, ompi_communicator_t*> group
over(const context& ctx, Communicator communicator, const limits& bounds = {}) {
  return group(ctx, mpi_transport(communicator), bounds);
}

}  // namespace sheaf::distributed
