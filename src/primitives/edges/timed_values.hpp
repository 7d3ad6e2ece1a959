#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <sheaf/context.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/records.hpp>

#include "core/context_state.hpp"

namespace sheaf::primitives {

/// Values of which neighbours differ, for sums that are timed: differences of zeros, their roots and their quotients
/// may take a processor less time. The numbers are between 1 and 2; a prime number of them repeats.
/// @param type  f32 or f64. @throws error(out_of_memory)
inline buffer values_to_time(const context& ctx, std::uint64_t count, value_type type) {
  constexpr std::uint64_t different = 1021;
  buffer made(ctx, std::max<std::uint64_t>(1, count) * bytes(type));
  alignas(8) std::byte first[different * sizeof(double)];
  for (std::uint64_t i = 0; i < different; ++i) {
    const double number = 1 + static_cast<double>(i * 388 % different) / different;
    const auto narrow = static_cast<float>(number);
    if (type == value_type::f64) {
      std::memcpy(first + i * sizeof number, &number, sizeof number);
    } else {
      std::memcpy(first + i * sizeof narrow, &narrow, sizeof narrow);
    }
  }
  std::uint64_t filled = std::min(made.size(), different * bytes(type));
  ctx.state().copy(made.data(), first, filled);
  while (filled < made.size()) {
    const std::uint64_t more = std::min(filled, made.size() - filled);
    ctx.state().copy(made.data() + filled, made.data(), more);
    filled += more;
  }
  return made;
}

}  // namespace sheaf::primitives
