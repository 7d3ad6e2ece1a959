#include "plan/store/file_mapping.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::io {
namespace {

// What a signal handler can look through: slots without a lock. The files of a command are few; one that finds no free
// slot is mapped all the same, and only not found by its addresses.
constexpr std::size_t most_known_mappings = 32;
constinit std::atomic<const file_mapping*> known_mappings[most_known_mappings]{};

void replace_known(const file_mapping* from, const file_mapping* to) noexcept {
  for (auto& known : known_mappings) {
    const file_mapping* expected = from;
    if (known.compare_exchange_strong(expected, to)) return;
  }
}

const std::byte* mapped(const std::string& path, int descriptor, std::uint64_t size) {
  void* const data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data != MAP_FAILED) return static_cast<const std::byte*>(data);
  const int reason = errno;
  throw error(reason == ENODEV ? error_code::bad_input : error_code::out_of_memory,
              fmt::format("{}: cannot be mapped, {} bytes: {}", path, size, std::strerror(reason)));
}

}  // namespace

file_mapping::file_mapping(const std::string& path, int descriptor, std::uint64_t size)
    : path_(path), data_(mapped(path, descriptor, size)), size_(size) {
  replace_known(nullptr, this);
}

file_mapping::~file_mapping() {
  replace_known(this, nullptr);
  munmap(const_cast<std::byte*>(data_), size_);
}

bool file_mapping::holds(const void* address) const noexcept {
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(data_) < size_;
}

const char* path_of_mapped(const void* address) noexcept {
  for (const auto& known : known_mappings) {
    const file_mapping* const mapping = known.load();
    if (mapping != nullptr && mapping->holds(address)) return mapping->path();
  }
  return nullptr;
}

}  // namespace sheaf::io
