#include "distributed/devices/access.hpp"

#include <algorithm>

#include "distributed/devices/device.hpp"

namespace sheaf::distributed {
namespace {

gpu_access access_of_pair(int device, int other) noexcept {
  int can_read = 0;
  if (cleared(cudaDeviceCanAccessPeer(&can_read, device, other)) != cudaSuccess || can_read == 0)
    return gpu_access::through_host;
  // NVLink carries atomics, and PCI Express does not carry all of them.
  int has_atomics = 0;
  const cudaError_t asked =
      cleared(cudaDeviceGetP2PAttribute(&has_atomics, cudaDevP2PAttrNativeAtomicSupported, device, other));
  return asked == cudaSuccess && has_atomics != 0 ? gpu_access::links : gpu_access::bus;
}

}  // namespace

gpu_access access_between_gpus(int count) noexcept {
  int there = 0;
  if (cleared(cudaGetDeviceCount(&there)) != cudaSuccess) there = 0;
  gpu_access slowest = gpu_access::links;
  for (int device = 0; device < std::min(count, there); ++device) {
    for (int other = 0; other < std::min(count, there); ++other) {
      if (other != device) slowest = std::max(slowest, access_of_pair(device, other));
    }
  }
  return slowest;
}

}  // namespace sheaf::distributed
