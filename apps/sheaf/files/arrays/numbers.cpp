#include "apps/sheaf/files/arrays/numbers.hpp"

#include <algorithm>
#include <cstring>

namespace sheaf::io {
namespace {

template <class Number, class Reverse>
void reverse_words(std::byte* numbers, std::uint64_t count, Reverse reverse) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) {
    Number number = 0;
    std::memcpy(&number, numbers + i * sizeof number, sizeof number);
    number = reverse(number);
    std::memcpy(numbers + i * sizeof number, &number, sizeof number);
  }
}

}  // namespace

void reverse_each(std::byte* numbers, std::uint64_t count, std::uint64_t bytes) noexcept {
  switch (bytes) {
    case 1: return;
    case 2: return reverse_words<std::uint16_t>(numbers, count, [](auto n) { return __builtin_bswap16(n); });
    case 4: return reverse_words<std::uint32_t>(numbers, count, [](auto n) { return __builtin_bswap32(n); });
    case 8: return reverse_words<std::uint64_t>(numbers, count, [](auto n) { return __builtin_bswap64(n); });
    default:
      for (std::uint64_t i = 0; i < count; ++i) std::reverse(numbers + i * bytes, numbers + (i + 1) * bytes);
  }
}

native_numbers::native_numbers(const const_records& rows, const npy_type& type)
    : own_(rows.count > 0 ? rows.data : nullptr) {
  const std::uint64_t width = rows.record_bytes;
  const bool aligned = reinterpret_cast<std::uintptr_t>(own_) % width == 0;
  if (rows.count == 0 || (aligned && type.order != '>')) return;
  held_ = held_memory("numbers in this machine's order of bytes", (rows.count * width + 7) / 8 * 8);
  copy_.resize((rows.count * width + 7) / 8);
  auto* const numbers = reinterpret_cast<std::byte*>(copy_.data());
  std::memcpy(numbers, rows.data, rows.count * width);
  if (type.order == '>') reverse_each(numbers, rows.count, width);
}

}  // namespace sheaf::io
