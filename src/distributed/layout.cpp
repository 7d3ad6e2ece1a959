#include <sheaf/distributed/layout.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "distributed/collectives.hpp"

namespace sheaf::distributed {

layout layout::even(std::uint64_t rows, int ranks, std::uint64_t multiple) {
  if (ranks < 1) throw error(error_code::bad_argument, fmt::format("layout: {} ranks, not 1 or more", ranks));
  if (multiple == 0) throw error(error_code::bad_argument, "layout: parts at multiples of 0");
  layout out;
  const std::uint64_t blocks = rows / multiple + (rows % multiple != 0 ? 1 : 0);
  const auto parts = static_cast<std::uint64_t>(ranks);
  out.begins_.resize(parts + 1);
  for (std::uint64_t r = 0; r <= parts; ++r) {
    // floor(blocks * r / parts) without a product that could overflow
    const std::uint64_t block = blocks / parts * r + blocks % parts * r / parts;
    out.begins_[r] = block == blocks ? rows : block * multiple;
  }
  return out;
}

layout layout::of(const group& ranks, std::uint64_t mine) {
  return collective(ranks, [&](group_state& state, std::uint64_t) {
    const std::uint64_t shared[] = {mine};
    const auto all = state.agree("layout::of", {}, shared, [] {});
    std::vector<std::uint64_t> begins(all.size() + 1);
    for (std::size_t r = 0; r < all.size(); ++r) {
      begins[r + 1] = begins[r] + all[r].shared[0];
      if (begins[r + 1] < begins[r])
        state.throw_shared(error_code::bad_argument, "layout::of: ranks have 2^64 rows or more together");
    }
    return at(std::move(begins));
  });
}

layout layout::at(std::vector<std::uint64_t> begins) {
  if (begins.size() < 2 || begins.front() != 0 || !std::is_sorted(begins.begin(), begins.end()))
    throw error(error_code::bad_argument, "layout: begins do not ascend from 0");
  layout out;
  out.begins_ = std::move(begins);
  return out;
}

int layout::owner(std::uint64_t row) const noexcept {
  return static_cast<int>(std::upper_bound(begins_.begin() + 1, begins_.end(), row) - begins_.begin()) - 1;
}

}  // namespace sheaf::distributed
