#pragma once

#include "lab/description/plain_loops.hpp"
#include "lab/peers/contenders.hpp"

// Peers of gather and scatter on a GPU. Records lie without gaps, aligned to 256 bytes.
namespace sheaf::bench::peers {

using jobs::plain_record;
using jobs::with_record_type;

using move_records = void (*)(const context& ctx, const_records from, index_span index, records to);

/// Linked only where the CUDA backend is built.
namespace device {
/// Thrust's; null where that is not built for the width and index type.
move_records gather(std::uint64_t record_bytes, index_type index) noexcept;
move_records scatter(std::uint64_t record_bytes, index_type index) noexcept;
/// Blocks until the peer's work is done, as its users do.
void wait(const context& ctx);
std::string thrust_version();
}  // namespace device

/// The contender that moves a row's records this way; none for null.
inline std::vector<contender> mover(const char* who, move_records move, const context& ctx, const workspace& arrays,
                                    std::function<void()> wait) {
  if (move == nullptr) return {};
  const auto queue = [ctx, &arrays, move](std::uint64_t copy) {
    move(ctx, arrays.source(copy), arrays.index(copy), arrays.target(copy));
  };
  return {{.who = who, .queue = queue, .wait = std::move(wait)}};
}

}  // namespace sheaf::bench::peers
