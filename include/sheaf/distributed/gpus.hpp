#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <sheaf/distributed/group.hpp>

// Groups of GPUs: of one process, a thread for each, or of many processes, over NCCL.
struct ncclComm;  // ncclComm_t points to one

namespace sheaf::distributed {

/// Transports between the GPUs of these contexts, one for each, each for a thread of its own. Arrays travel as copies
/// between the memories of the devices, by NVLink or PCI Express; what ranks tell each other goes through host memory.
/// Devices that can are allowed to read each other's memory, that of the contexts' pools too.
/// @param contexts  of CUDA, each of a device of its own; they and their streams outlive the transports
/// @throws error(bad_argument) if there is no context, one is not of CUDA, or two are of one device;
/// error(device_failure)
SHEAF_API std::vector<std::shared_ptr<transport>> transports_between_gpus(std::span<const context> contexts);

/// Groups of the GPUs of this process, one for each, in the order given: each for a thread of its own.
/// @param devices  numbers of CUDA devices; empty: all
/// @throws error(backend_unavailable) if the library has no CUDA backend or the machine no such device; and what
/// transports_between_gpus() and the constructor of group throw
SHEAF_API std::vector<group> local_gpus(std::span<const int> devices = {}, const limits& bounds = {});

/// Runs `work` on GPUs of this process: each rank is a thread, with a context of its GPU. Returns once all have ended,
/// and throws what the first of them threw. @throws what local_gpus() throws
SHEAF_API void run_on_gpus(std::span<const int> devices, const limits& bounds,
                           const std::function<void(const group&)>& work);

/// Whether NCCL can be loaded: libnccl.so.2, or what SHEAF_NCCL names.
SHEAF_API bool has_nccl() noexcept;

/// A transport whose arrays travel over a communicator of NCCL made for it. Collective over `control`, whose ranks are
/// processes or threads. NCCL is loaded at run time.
/// @param ctx      of CUDA; no other rank's is of the same GPU
/// @param control  carries what ranks tell each other, such as mpi_transport()
/// @param wait_seconds  most seconds to wait for all ranks to join; 0: without end
///
/// NCCL takes memory of its own on each GPU, which a call's scratch limit does not know of. A process makes its GPU the
/// current one before (cudaSetDevice): calls restore the device that was current, and CUDA sets up device 0 where none
/// was. @throws error(backend_unavailable) if NCCL is not found; error(bad_argument) if ctx is not of CUDA or two
/// ranks have one GPU, on all ranks; error(device_failure)
SHEAF_API std::shared_ptr<transport> nccl_transport(const context& ctx, std::shared_ptr<transport> control,
                                                    double wait_seconds = 120);
/// The same over a communicator of the caller's, which has the ranks of `control` and outlives the transport. Calls of
/// the group and of the caller on it take turns. Once the group is lost the caller aborts it: kernels of NCCL may wait
/// for a rank that is gone, and cudaFree() for these.
SHEAF_API std::shared_ptr<transport> nccl_transport(const context& ctx, ncclComm* communicator,
                                                    std::shared_ptr<transport> control);

/// The group of a communicator of NCCL. Collective. @throws what nccl_transport() and group's constructor throw
inline group over(const context& ctx, ncclComm* communicator, std::shared_ptr<transport> control,
                  const limits& bounds = {}) {
  return group(ctx, nccl_transport(ctx, communicator, std::move(control)), bounds);
}

}  // namespace sheaf::distributed
