#include "inputs/pattern.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "inputs/device.hpp"
#include "inputs/pattern_function.hpp"

namespace sheaf::inputs {
namespace {

struct kind_row {
  std::string_view name;
  pattern_kind kind;
  bool distinct;
  std::uint64_t example;  ///< the parameter that all_patterns() uses; 0: the kind takes none
};

constexpr std::array<kind_row, 9> kinds{{
    {"identity", pattern_kind::identity, true, 0},
    {"reverse", pattern_kind::reverse, true, 0},
    {"permutation", pattern_kind::permutation, true, 0},
    {"same", pattern_kind::same, false, 0},
    {"uniform", pattern_kind::uniform, false, 0},
    {"zipf", pattern_kind::zipf, false, 0},
    {"strided", pattern_kind::strided, true, 16},
    {"partitioned", pattern_kind::partitioned, true, 256},
    {"clustered", pattern_kind::clustered, true, 4096},
}};

const kind_row& row(pattern_kind kind) {
  return *std::find_if(kinds.begin(), kinds.end(), [&](const kind_row& r) { return r.kind == kind; });
}

template <class T>
void fill(const pattern& p, std::uint64_t indexed_count, const index_span& index, std::uint64_t first, int threads) {
  T* const entries = const_cast<T*>(static_cast<const T*>(index.data));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::uint64_t i = 0; i < index.count; ++i)
    entries[i] = static_cast<T>(pattern_entry(p, first + i, indexed_count));
}

// Whether the bytes are what fill_records writes for the record.
bool is_record(const std::byte* bytes, std::uint64_t record_bytes, std::uint64_t seed, std::uint64_t record) {
  for (std::uint64_t b = 0; b < record_bytes; ++b) {
    if (static_cast<unsigned char>(bytes[b]) != record_byte(seed, record, b)) return false;
  }
  return true;
}

}  // namespace

pattern parse_pattern(std::string_view text) {
  const std::string_view kind = text.substr(0, text.find(':'));
  for (const kind_row& r : kinds) {
    if (kind != r.name) continue;
    pattern p{r.kind, r.example, 1};
    if (kind.size() == text.size()) return p;
    const std::string_view number = text.substr(kind.size() + 1);
    const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), p.parameter);
    if (r.example == 0 || failure != std::errc{} || end != number.data() + number.size() || p.parameter == 0) break;
    return p;
  }
  std::string known;
  for (const kind_row& r : kinds)
    known += fmt::format("{}{}{}", known.empty() ? "" : ", ", r.name, r.example ? ":N" : "");
  throw error(error_code::bad_argument, fmt::format("'{}' is not an access pattern; there are {}", text, known));
}

std::string name(const pattern& p) {
  const kind_row& r = row(p.kind);
  return r.example == 0 ? std::string(r.name) : fmt::format("{}:{}", r.name, p.parameter);
}

bool is_distinct(const pattern& p) noexcept { return row(p.kind).distinct; }

access_pattern hint(const pattern& p) noexcept {
  switch (p.kind) {
    case pattern_kind::identity:
    case pattern_kind::reverse: return access_pattern::sequential();
    case pattern_kind::same: return access_pattern::repeated(1);
    case pattern_kind::permutation:
    case pattern_kind::uniform: return access_pattern::random();
    case pattern_kind::zipf: return access_pattern::skewed();
    case pattern_kind::strided: return access_pattern::strided(p.parameter);
    case pattern_kind::partitioned: return access_pattern::partitioned(p.parameter);
    case pattern_kind::clustered: return access_pattern::clustered(p.parameter);
  }
  return access_pattern::unknown();
}

std::vector<pattern> all_patterns() {
  std::vector<pattern> all;
  all.reserve(std::size(kinds));
  for (const kind_row& r : kinds) all.push_back({r.kind, r.example, 1});
  return all;
}

void fill_index(const context& ctx, const pattern& p, std::uint64_t indexed_count, index_span index,
                std::uint64_t first) {
  if (index.count == 0) return;
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::fill_index(ctx, p, indexed_count, index, first);
#endif
  if (bytes(index.type) == 4) {
    fill<std::uint32_t>(p, indexed_count, index, first, ctx.threads());
  } else {
    fill<std::uint64_t>(p, indexed_count, index, first, ctx.threads());
  }
}

void fill_records(const context& ctx, records out, std::uint64_t seed) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::fill_records(ctx, out, seed);
#endif
#pragma omp parallel for num_threads(ctx.threads()) schedule(static)
  for (std::uint64_t r = 0; r < out.count; ++r) {
    std::byte* const record = out.data + r * out.stride_bytes;
    for (std::uint64_t b = 0; b < out.record_bytes; b += 8) {
      const std::uint64_t word = record_word(seed, r, b / 8);
      std::memcpy(record + b, &word, std::min<std::uint64_t>(8, out.record_bytes - b));
    }
  }
}

std::uint64_t count_gather_mismatches(const context& ctx, const_records out, const pattern& p,
                                      std::uint64_t indexed_count, std::uint64_t seed) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::count_gather_mismatches(ctx, out, p, indexed_count, seed);
#endif
  std::uint64_t mismatches = 0;
#pragma omp parallel for num_threads(ctx.threads()) schedule(static) reduction(+ : mismatches)
  for (std::uint64_t i = 0; i < out.count; ++i) {
    const std::uint64_t record = pattern_entry(p, i, indexed_count);
    mismatches += is_record(out.data + i * out.stride_bytes, out.record_bytes, seed, record) ? 0 : 1;
  }
  return mismatches;
}

std::uint64_t count_scatter_mismatches(const context& ctx, const_records out, const pattern& p, std::uint64_t count,
                                       std::uint64_t seed) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::count_scatter_mismatches(ctx, out, p, count, seed);
#endif
  std::uint64_t mismatches = 0;
#pragma omp parallel for num_threads(ctx.threads()) schedule(static) reduction(+ : mismatches)
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t record = pattern_entry(p, i, out.count);
    mismatches += is_record(out.data + record * out.stride_bytes, out.record_bytes, seed, i) ? 0 : 1;
  }
  return mismatches;
}

}  // namespace sheaf::inputs
