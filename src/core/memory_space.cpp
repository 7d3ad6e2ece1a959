#include "core/memory_space.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>

namespace sheaf::core {
namespace {

// cuPointerGetAttributes and its constants, declared here because core includes no CUDA header.
using pointer_attributes = int (*)(unsigned, int*, void**, unsigned long long);
constexpr int attribute_memory_type = 2;
constexpr int attribute_is_managed = 8;
constexpr int attribute_device_ordinal = 9;
constexpr int attribute_range_begin = 11;
constexpr int attribute_range_bytes = 12;
constexpr int attribute_access = 16;  // of the current device
constexpr unsigned access_read = 1;
constexpr unsigned memory_type_host = 1;
constexpr unsigned memory_type_device = 2;

// The number of libraries that this process has loaded so far, including those closed again.
unsigned long long libraries_loaded() noexcept {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

// The driver's function, or null. A search for a library that is not loaded goes through the file system and takes 12
// us, so it is repeated only after the process has loaded another library.
pointer_attributes driver() noexcept {
  static std::atomic<pointer_attributes> known{nullptr};
  if (auto function = known.load(std::memory_order_acquire)) return function;
  static std::atomic<unsigned long long> loaded_when_missing{0};
  const unsigned long long loaded = libraries_loaded();
  if (loaded_when_missing.load(std::memory_order_relaxed) == loaded) return nullptr;
  void* library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);  // finds it only if it is loaded already
  if (library == nullptr) {
    loaded_when_missing.store(loaded, std::memory_order_relaxed);
    return nullptr;
  }
  auto function = reinterpret_cast<pointer_attributes>(dlsym(library, "cuPointerGetAttributes"));
  known.store(function, std::memory_order_release);
  return function;  // the handle is never closed, so the function stays valid
}

}  // namespace

memory_place place_of(const void* address) noexcept {
  const pointer_attributes get_attributes = driver();
  if (get_attributes == nullptr) return {};
  unsigned type = 0;
  unsigned managed = 0;
  int device = -1;
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  int attributes[] = {attribute_memory_type, attribute_is_managed, attribute_device_ordinal, attribute_range_begin,
                      attribute_range_bytes};
  void* answers[] = {&type, &managed, &device, &begin, &bytes};
  if (get_attributes(5, attributes, answers, reinterpret_cast<unsigned long long>(address)) != 0) return {};
  if (managed != 0) return {memory_space::managed, device, begin, bytes};
  if (type == memory_type_device) return {memory_space::device, device, begin, bytes};
  return {type == memory_type_host ? memory_space::pinned : memory_space::host, -1};
}

bool is_read_by_current_device(const void* address) noexcept {
  const pointer_attributes get_attributes = driver();
  if (get_attributes == nullptr) return false;
  unsigned access = 0;
  int attributes[] = {attribute_access};
  void* answers[] = {&access};
  return get_attributes(1, attributes, answers, reinterpret_cast<unsigned long long>(address)) == 0 &&
         (access & access_read) != 0;
}

}  // namespace sheaf::core
