#include "jobs/row_order.hpp"

#include <bit>
#include <cstring>

namespace sheaf::jobs {
namespace {

static_assert(std::endian::native == std::endian::little);

std::uint64_t swapped_if(std::uint64_t number, time_rows kind) noexcept {
  return kind == time_rows::big_endian ? __builtin_bswap64(number) : number;
}

template <class Change>
void change_each(std::byte* rows, std::uint64_t count, Change change) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t number = 0;
    std::memcpy(&number, rows + i * time_bytes, time_bytes);
    number = change(number);
    std::memcpy(rows + i * time_bytes, &number, time_bytes);
  }
}

}  // namespace

void make_sortable(std::byte* rows, std::uint64_t count, time_rows kind) noexcept {
  if (kind == time_rows::none) return;
  change_each(rows, count, [=](std::uint64_t number) { return swapped_if(number, kind) - 1; });
}

void restore(std::byte* rows, std::uint64_t count, time_rows kind) noexcept {
  if (kind == time_rows::none) return;
  change_each(rows, count, [=](std::uint64_t number) { return swapped_if(number + 1, kind); });
}

}  // namespace sheaf::jobs
