#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Little-endian numbers at any byte of an archive's records.
namespace sheaf::io {

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::uint64_t at) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number = static_cast<Number>(number | std::to_integer<Number>(bytes[at + i]) << (8 * i));
  }
  return number;
}

inline std::uint16_t u16_at(std::span<const std::byte> bytes, std::uint64_t at) {
  return number_at<std::uint16_t>(bytes, at);
}
inline std::uint32_t u32_at(std::span<const std::byte> bytes, std::uint64_t at) {
  return number_at<std::uint32_t>(bytes, at);
}
inline std::uint64_t u64_at(std::span<const std::byte> bytes, std::uint64_t at) {
  return number_at<std::uint64_t>(bytes, at);
}

}  // namespace sheaf::io
