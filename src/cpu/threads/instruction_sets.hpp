#pragma once

namespace sheaf::cpu {

#if defined(__x86_64__)
/// Whether this processor has AVX2, for functions that are compiled for it beside the plain ones.
inline bool has_avx2() noexcept {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#endif

}  // namespace sheaf::cpu
