#include <sheaf/distributed/gpus.hpp>
#include <sheaf/error.hpp>

#include "distributed/devices/access.hpp"

// In place of devices/ where the library has no CUDA backend.
namespace sheaf::distributed {
namespace {

[[noreturn]] void throw_no_cuda(const char* call) {
  throw error(error_code::backend_unavailable, std::string(call) + ": the library has no CUDA backend");
}

}  // namespace

std::vector<std::shared_ptr<transport>> transports_between_gpus(std::span<const context>) {
  throw_no_cuda("transports_between_gpus");
}
std::vector<group> local_gpus(std::span<const int>, const limits&) { throw_no_cuda("local_gpus"); }
void run_on_gpus(std::span<const int>, const limits&, const std::function<void(const group&)>&) {
  throw_no_cuda("run_on_gpus");
}
gpu_access access_between_gpus(int) noexcept { return gpu_access::links; }
bool has_nccl() noexcept { return false; }
// NOLINTBEGIN(performance-unnecessary-value-param): declared so, for who keeps them
std::shared_ptr<transport> nccl_transport(const context&, std::shared_ptr<transport>, double) {
  throw_no_cuda("nccl_transport");
}
std::shared_ptr<transport> nccl_transport(const context&, ncclComm*, std::shared_ptr<transport>) {
  throw_no_cuda("nccl_transport");
}
// NOLINTEND(performance-unnecessary-value-param)

}  // namespace sheaf::distributed
