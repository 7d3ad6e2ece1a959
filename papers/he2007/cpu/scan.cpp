#include "papers/he2007/scan.hpp"

#include <cstring>

#include <sheaf/machine_profile.hpp>

#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::bench::papers::he2007 {

// An output beyond the last cache is streamed unread, as gather and scatter do.
void queue_scan(const context& ctx, const std::byte* from, std::byte* to, std::uint64_t bytes) {
  if (bytes == 0) return;
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::queue_scan(ctx, from, to, bytes);
#endif
  const bool streams = bytes > ctx.profile().cache_bytes;
  const std::uint64_t parts = cpu::parts_worth(bytes, static_cast<std::uint64_t>(ctx.threads()));
  cpu::for_each_range(bytes / cpu::line_bytes, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    const std::uint64_t first = begin * cpu::line_bytes;
    const std::uint64_t part_bytes = (end - begin) * cpu::line_bytes;
    if (!streams) {
      std::memcpy(to + first, from + first, part_bytes);
      return;
    }
    cpu::stream_lines(to + first, from + first, part_bytes);
    cpu::finish_streaming();
  });
}

}  // namespace sheaf::bench::papers::he2007
