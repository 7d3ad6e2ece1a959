#include "cpu/movement/wide_records.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sheaf::cpu {

#if defined(__x86_64__)
bool copies_wide_records() noexcept {
  static const bool copies = __builtin_cpu_supports("avx512f") != 0;
  return copies;
}

[[gnu::target("avx512f")]] void copy_wide_record(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
  // The last vector may overlap the one before it.
  for (std::uint64_t b = 0; b + 64 < bytes; b += 64) _mm512_storeu_si512(to + b, _mm512_loadu_si512(from + b));
  _mm512_storeu_si512(to + bytes - 64, _mm512_loadu_si512(from + bytes - 64));
}

[[gnu::target("avx512f")]] void stream_wide_record(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
  for (std::uint64_t b = 0; b < bytes; b += 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + b), _mm512_loadu_si512(from + b));
  }
}
#else
bool copies_wide_records() noexcept { return false; }

void copy_wide_record(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}

void stream_wide_record(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}
#endif

}  // namespace sheaf::cpu
