#include "apps/sheaf/sort/record_source.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "apps/sheaf/sort/background.hpp"

namespace sheaf::jobs {
namespace {

constexpr std::uint64_t block_bytes = std::uint64_t{256} << 10;

}  // namespace

record_source source_of(const_records in_memory) {
  return {in_memory.count, in_memory.record_bytes, [=](std::uint64_t first, std::uint64_t number, std::byte* to) {
            for (std::uint64_t i = 0; i < number; ++i) {
              std::memcpy(to + i * in_memory.record_bytes, in_memory.data + (first + i) * in_memory.stride_bytes,
                          in_memory.record_bytes);
            }
          }};
}

record_source source_of(const io::record_file& file, const_records rows) {
  return {rows.count, rows.record_bytes,
          [&file](std::uint64_t first, std::uint64_t number, std::byte* to) { file.read_rows(first, number, to); }};
}

void for_each_block(const record_source& from,
                    const std::function<void(std::uint64_t first, const_records block)>& take) {
  const std::uint64_t most = std::max<std::uint64_t>(block_bytes / from.record_bytes, 1);
  std::vector<std::byte> current(std::min(most, from.count) * from.record_bytes);
  std::vector<std::byte> next(current.size());
  background reader;
  const auto count_from = [&](std::uint64_t first) { return std::min(most, from.count - first); };
  const auto read = [&](std::uint64_t first, std::byte* to) {
    return reader.run([&from, first, to, number = count_from(first)] { from.read(first, number, to); });
  };
  std::future<void> ready;
  if (from.count > 0) ready = read(0, next.data());
  for (std::uint64_t first = 0; first < from.count;) {
    ready.get();
    std::swap(current, next);
    const std::uint64_t number = count_from(first);
    if (first + number < from.count) ready = read(first + number, next.data());
    take(first, {current.data(), number, from.record_bytes});
    first += number;
  }
}

}  // namespace sheaf::jobs
