#pragma once

#include <sheaf/records.hpp>

#include "apps/sheaf/files/memory_limit.hpp"
#include "apps/sheaf/files/npy.hpp"

namespace sheaf::io {

/// Reverses the bytes of each of `count` numbers.
void reverse_each(std::byte* numbers, std::uint64_t count, std::uint64_t bytes) noexcept;

/// Numbers of an array as this machine has them, aligned: the array's own bytes where they are that, else a copy.
class native_numbers {
 public:
  native_numbers() = default;
  /// @param rows  side by side, a number each; they outlive this object
  native_numbers(const const_records& rows, const npy_type& type);

  const std::byte* data() const noexcept {
    return copy_.empty() ? own_ : reinterpret_cast<const std::byte*>(copy_.data());
  }

 private:
  const std::byte* own_ = nullptr;
  std::vector<std::uint64_t> copy_;
  held_memory held_;
};

}  // namespace sheaf::io
