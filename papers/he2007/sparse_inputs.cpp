#include "papers/he2007/sparse_inputs.hpp"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>

#include <fmt/format.h>

namespace sheaf::bench::papers::he2007 {
namespace {

/// What scaled matrices may have at most.
struct scaled_limits {
  std::uint64_t columns;
  std::uint64_t entries;
};

// A GPU takes some 10 ms to gather 2^30 values at random, a server's CPU a second for 2^28.
scaled_limits scaled_limits_at(run_size size, backend_kind backend) {
  constexpr std::uint64_t most_columns = std::uint64_t{1} << 31;
  switch (size) {
    case run_size::tiny: return {std::uint64_t{1} << 12, std::uint64_t{1} << 16};
    case run_size::small: return {std::uint64_t{1} << 22, std::uint64_t{1} << 21};
    case run_size::medium: return {most_columns, std::uint64_t{1} << 26};
    default: return {most_columns, std::uint64_t{1} << (backend == backend_kind::cuda ? 30 : 28)};
  }
}

/// The name of a matrix file without its ending, or nothing for another file.
std::string matrix_name(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  for (const std::string_view ending : {".mtx", ".mtx.gz"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return {};
}

}  // namespace

std::uint64_t most_nonzeros_at(run_size size) {
  switch (size) {
    case run_size::tiny: return million;
    case run_size::small: return 8 * million;
    default: return ~std::uint64_t{0};
  }
}

std::vector<scaled_shape> scaled_shapes(run_size size, backend_kind backend, std::uint64_t cache_bytes) {
  constexpr std::uint64_t cache_multiple = 4;
  const bool is_reduced = size == run_size::tiny || size == run_size::small;
  const scaled_limits most = scaled_limits_at(size, backend);
  const std::uint64_t past_the_cache =
      std::bit_ceil(std::max<std::uint64_t>(1, cache_multiple * cache_bytes / sizeof(float)));
  const std::uint64_t columns = std::min(most.columns, past_the_cache);
  const double times_cache =
      static_cast<double>(columns * sizeof(float)) / static_cast<double>(std::max<std::uint64_t>(1, cache_bytes));
  std::vector<scaled_shape> all;
  for (const std::uint64_t length : {11, 98, 145, 399}) {
    if (is_reduced && length > 98) break;
    const std::uint64_t rows = std::min(columns, most.entries / length);
    all.push_back(
        {fmt::format("{} a row, x {:.2g} times the cache{}", length, times_cache, times_cache < 1 ? ", reduced" : ""),
         {rows, columns, length}});
  }
  return all;
}

// The matrix of f64 that is made, a copy of the values' type, and R on the CPU, or what transfers begin with. A row has
// offsets, and vectors of results and of solvers; a column has a value of x.
std::uint64_t host_bytes_of(const matrix_shape& s) noexcept {
  constexpr std::uint64_t bytes_of_an_entry = (8 + 4) + (8 + 4) + (8 + 4);
  constexpr std::uint64_t bytes_of_a_row = 12 * 8;
  return s.entries() * bytes_of_an_entry + s.rows * bytes_of_a_row + s.columns * 8;
}

// Values, columns, R, and the columns that a gather reads.
std::uint64_t device_bytes_of(const matrix_shape& s) noexcept {
  constexpr std::uint64_t bytes_of_an_entry = 8 + 4 + 8 + 4;
  constexpr std::uint64_t bytes_of_a_row = 12 * 8;
  return s.entries() * bytes_of_an_entry + s.rows * bytes_of_a_row + s.columns * 8;
}

std::vector<matrix_file> matrix_files(const std::string& data) {
  std::map<std::string, std::string> paths;
  std::error_code failure;
  const std::filesystem::path folder = std::filesystem::path(data) / "matrices";
  if (!data.empty()) {
    for (std::filesystem::directory_iterator i(folder, failure), end; !failure && i != end; i.increment(failure)) {
      const std::string name = matrix_name(i->path());
      if (name.empty()) continue;
      const auto [place, is_new] = paths.try_emplace(name, i->path().string());
      if (!is_new) place->second = std::min(place->second, i->path().string());  // that without .gz
    }
  }
  std::vector<matrix_file> all;
  all.reserve(paths.size());
  for (const auto& [name, path] : paths) all.push_back({name, path});
  return all;
}

}  // namespace sheaf::bench::papers::he2007
