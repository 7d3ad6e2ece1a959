#include <algorithm>
#include <cstring>

#include "cuda/device/launch.cuh"
#include "cuda/reduce/rows/calls.hpp"
#include "primitives/operators/row_value.hpp"

// What is written to rows of out, or counted, without reading other rows.
namespace sheaf::cuda {
namespace {

/// Blocks of a loop over so many values.
std::uint64_t blocks_of_values(const context& ctx, std::uint64_t values) {
  constexpr std::uint64_t each = 16;
  const std::uint64_t most = each * static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
  return std::max<std::uint64_t>(1, std::min(most, ceil_div(values, block_threads)));
}

/// Where the values of rows lie.
struct value_places {
  std::byte* data;
  std::uint64_t stride;
  std::uint64_t values_per_row;
  std::uint64_t count;  ///< of values
  bool is_dense;        ///< rows lie side by side
};

value_places places_of(value_rows rows) {
  const bool is_dense = rows.stride_bytes == rows.values_per_row * bytes(rows.type);
  return {static_cast<std::byte*>(rows.data), rows.stride_bytes, rows.values_per_row, rows.count * rows.values_per_row,
          is_dense};
}

template <class T>
__device__ __forceinline__ T* value_at(const value_places& at, std::uint64_t i) {
  const std::uint64_t row = at.is_dense ? 0 : i / at.values_per_row;
  return reinterpret_cast<T*>(at.data + row * at.stride) + (i - row * at.values_per_row);
}

/// Whether all bytes of a value are the same.
template <class T>
bool is_of_one_byte(T value) {
  unsigned char byte[sizeof value];
  std::memcpy(byte, &value, sizeof value);
  return std::all_of(std::begin(byte), std::end(byte), [&](unsigned char b) { return b == byte[0]; });
}

/// Stores a value to each of `count` places side by side, 16 bytes at once where they are aligned.
template <class T>
__global__ void __launch_bounds__(block_threads) fill_side_by_side(T* to, std::uint64_t count, T value) {
  constexpr std::uint64_t each = sizeof(uint4) / sizeof(T);
  const std::uint64_t past_word = reinterpret_cast<std::uintptr_t>(to) % sizeof(uint4) / sizeof(T);
  const std::uint64_t before = min(count, (each - past_word) % each);
  const std::uint64_t words = (count - before) / each;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  T values[each];
#pragma unroll
  for (std::uint64_t k = 0; k < each; ++k) values[k] = value;
  uint4 word;
  memcpy(&word, values, sizeof word);
  auto* const aligned = reinterpret_cast<uint4*>(to + before);
  for (std::uint64_t i = first; i < words; i += std::uint64_t{gridDim.x} * block_threads) aligned[i] = word;
  if (first < before) to[first] = value;
  const std::uint64_t behind = before + words * each;
  if (first < count - behind) to[behind + first] = value;
}

template <class T>
__global__ void __launch_bounds__(block_threads) fill_values(const value_places at, T value) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < at.count; i += step) {
    *value_at<T>(at, i) = value;
  }
}

template <class T>
__global__ void __launch_bounds__(block_threads) scale_values(const value_places at, T factor) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < at.count; i += step) {
    T* const value = value_at<T>(at, i);
    *value = factor * *value;
  }
}

/// The number of rows of each row of out.
struct row_counts {
  const std::uint64_t* begins;  ///< null: all 0
  const std::uint64_t* ends;
  void* to;  ///< null: not wanted
  bool has_wide_counts;

  __device__ __forceinline__ std::uint64_t of(std::uint64_t row) const {
    return ends[row] - (begins == nullptr ? 0 : begins[row]);
  }
};

__global__ void __launch_bounds__(block_threads) copy_row_counts(const row_counts rows, std::uint64_t count) {
  const std::uint64_t row = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (row >= count) return;
  if (rows.has_wide_counts) {
    static_cast<std::uint64_t*>(rows.to)[row] = rows.of(row);
  } else {
    static_cast<std::uint32_t*>(rows.to)[row] = static_cast<std::uint32_t>(rows.of(row));
  }
}

template <class Out, class Sum>
__global__ void __launch_bounds__(block_threads)
    write_counts(const row_counts rows, const value_places at, std::uint64_t values_per_row, bool reads_out) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < at.count; i += step) {
    const std::uint64_t count = rows.of(i / values_per_row);
    if (count == 0 && reads_out) continue;
    Out* const value = value_at<Out>(at, i);
    const Sum held = reads_out ? primitives::converted<Sum>(*value) : Sum{0};
    *value = primitives::converted<Out>(primitives::combined<reduction::add>(held, primitives::converted<Sum>(count)));
  }
}

}  // namespace

void fill_rows(const context& ctx, value_rows out, reduction op) {
  if (out.count == 0) return;
  const value_places at = places_of(out);
  primitives::with_any_value(out.type, [&](auto type) {
    using T = decltype(type);
    const auto value = primitives::identity_of<T>(op);
    if (!at.is_dense) {
      launch(ctx, fill_values<T>, blocks_of_values(ctx, at.count), at, value);
    } else if (is_of_one_byte(value)) {
      unsigned char byte = 0;
      std::memcpy(&byte, &value, 1);
      ctx.state().fill(out.data, byte, at.count * sizeof(T));
    } else {
      launch(ctx, fill_side_by_side<T>, blocks_of_values(ctx, at.count), reinterpret_cast<T*>(at.data), at.count,
             value);
    }
  });
}

void scale_rows(const context& ctx, value_rows out, double beta) {
  if (beta == 0) return fill_rows(ctx, out, reduction::add);
  if (out.count == 0 || beta == 1) return;
  const value_places at = places_of(out);
  if (out.type == value_type::f64) {
    launch(ctx, scale_values<double>, blocks_of_values(ctx, at.count), at, beta);
  } else {
    launch(ctx, scale_values<float>, blocks_of_values(ctx, at.count), at, static_cast<float>(beta));
  }
}

void write_row_counts(const context& ctx, value_rows out, bool reads_out, bool is_count, values counts,
                      const std::uint64_t* begins, const std::uint64_t* ends) {
  if (out.count == 0) return;
  const row_counts rows{begins, ends, counts.data, bytes(counts.type) == 8};
  if (counts.data != nullptr) launch(ctx, copy_row_counts, ceil_div(out.count, block_threads), rows, out.count);
  if (!is_count) return;
  const value_places at = places_of(out);
  primitives::with_any_value(out.type, [&](auto value) {
    using Out = decltype(value);
    primitives::with_value(primitives::sum_type(value_type_of<Out>(), reduction::count), [&](auto sum) {
      using Sum = decltype(sum);
      if constexpr (primitives::sum_type(value_type_of<Out>(), reduction::count) == value_type_of<Sum>()) {
        launch(ctx, write_counts<Out, Sum>, blocks_of_values(ctx, at.count), rows, at, out.values_per_row, reads_out);
      }
    });
  });
}

}  // namespace sheaf::cuda
