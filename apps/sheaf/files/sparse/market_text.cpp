#include "apps/sheaf/files/sparse/market_text.hpp"

#include <omp.h>

#include <algorithm>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/host.hpp"

namespace sheaf::io {
namespace {

// Below this a file is read without asking how much memory there is, which takes longer than reading it.
constexpr std::uint64_t small_bytes = std::uint64_t{1} << 24;
// Small enough that a part's entries stay in a core's cache until they are split by row, and threads end together;
// large enough that the offsets of a part's row ranges are few beside its entries.
constexpr std::uint64_t least_part_bytes = std::uint64_t{1} << 16;
constexpr std::uint64_t most_part_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t parts_per_thread = 8;

}  // namespace

market_text::market_text(std::span<const std::byte> file, const std::string& origin, std::uint64_t most_bytes)
    : file_(file), origin_(origin) {
  if (!starts_as_gzip(file)) return;
  if (most_bytes == 0) most_bytes = core::host_available_bytes() / 2;
  inflated_.emplace(inflate_gzip(file, origin, most_bytes, [&](std::string_view front) {
    require_banner(named_text{front, origin});
  }));
}

named_text market_text::named() const noexcept {
  if (inflated_) return {inflated_->text(), origin_};
  return {{reinterpret_cast<const char*>(file_.data()), file_.size()}, origin_};
}

int threads_of(const matrix_market_options& options) {
  return options.threads > 0 ? options.threads : omp_get_max_threads();
}

std::uint64_t part_bytes_of(const market_header& header, const matrix_market_options& options) {
  if (options.part_bytes > 0) return options.part_bytes;
  const auto parts = static_cast<std::uint64_t>(threads_of(options)) * parts_per_thread;
  return std::clamp<std::uint64_t>(header.body.size() / parts, least_part_bytes, most_part_bytes);
}

void require_memory(const named_text& file, const market_header& header, wide_count bytes,
                    const std::function<std::string()>& what) {
  if (bytes < small_bytes) return;
  const std::uint64_t available = core::host_available_bytes();
  if (bytes <= available) return;
  throw error(error_code::out_of_memory, fmt::format("{}: line {}: {} {} bytes, {} are available", file.origin,
                                                     file.line_of(header.size_line), what(), bytes, available));
}

template <class Value>
void fail_sum(const std::string& origin, std::uint64_t row, std::uint64_t column) {
  throw error(error_code::bad_input, fmt::format("{}: the entries at ({}, {}) add up to more than {} holds", origin,
                                                 row + 1, column + 1, std::is_same_v<Value, float> ? "f32" : "f64"));
}

template void fail_sum<float>(const std::string&, std::uint64_t, std::uint64_t);
template void fail_sum<double>(const std::string&, std::uint64_t, std::uint64_t);

}  // namespace sheaf::io
