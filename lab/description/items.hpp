#pragma once

#include <sheaf/context.hpp>
#include <sheaf/values.hpp>

#include "core/host_device.hpp"
#include "core/startable.hpp"

// Arrays are filled and answers are checked by one function object per item, by one source for host and device.
namespace sheaf::jobs {

/// Sums over the items of an array.
struct tally {
  std::uint64_t mismatches = 0;
  std::uint64_t sum = 0;  ///< sum of checksums, modulo 2^64

  SHEAF_HOST_DEVICE tally& operator+=(const tally& other) {
    mismatches += other.mismatches;
    sum += other.sum;
    return *this;
  }
};

/// Number i of an array of whole numbers of 4 or 8 bytes, of which 4 keep the low half.
SHEAF_HOST_DEVICE inline void store_number(void* to, std::uint64_t number_bytes, std::uint64_t i,
                                           std::uint64_t number) {
  if (number_bytes == 4) {
    static_cast<std::uint32_t*>(to)[i] = static_cast<std::uint32_t>(number);
  } else {
    static_cast<std::uint64_t*>(to)[i] = number;
  }
}

SHEAF_HOST_DEVICE inline std::uint64_t number_at(const void* from, std::uint64_t number_bytes, std::uint64_t i) {
  return number_bytes == 4 ? static_cast<const std::uint32_t*>(from)[i] : static_cast<const std::uint64_t*>(from)[i];
}

SHEAF_HOST_DEVICE inline bool is_float(value_type type) { return type == value_type::f32 || type == value_type::f64; }

/// Number i of an array of floats.
SHEAF_HOST_DEVICE inline void store_float(void* to, value_type type, std::uint64_t i, double number) {
  if (type == value_type::f32) {
    static_cast<float*>(to)[i] = static_cast<float>(number);
  } else {
    static_cast<double*>(to)[i] = number;
  }
}

SHEAF_HOST_DEVICE inline double float_at(const void* from, value_type type, std::uint64_t i) {
  return type == value_type::f32 ? static_cast<const float*>(from)[i] : static_cast<const double*>(from)[i];
}

/// A whole number, stored as a value.
SHEAF_HOST_DEVICE inline void store_whole(void* to, value_type type, std::uint64_t i, std::int64_t number) {
  if (is_float(type)) return store_float(to, type, i, static_cast<double>(number));
  store_number(to, bytes(type), i, static_cast<std::uint64_t>(number));
}

/// Fills an array of values of a source's type, of which WholeOf says each as a whole number.
template <class Source, std::int64_t (*WholeOf)(const Source&, std::uint64_t)>
struct fill_whole_values {
  Source source;
  void* values;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    store_whole(values, source.type, i, WholeOf(source, i));
    return {};
  }
};

/// Whether a float is a whole number, and which.
SHEAF_HOST_DEVICE inline bool is_whole(double value, std::int64_t& number) {
  if (!(value > -0x1p62 && value < 0x1p62)) return false;
  number = static_cast<std::int64_t>(value);
  return static_cast<double>(number) == value;
}

/// The last of `count` parts that begins at or before a place; `begins` ascend from 0.
SHEAF_HOST_DEVICE inline std::uint64_t part_at(const std::uint64_t* begins, std::uint64_t count, std::uint64_t place) {
  std::uint64_t low = 0;
  std::uint64_t high = count;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (begins[middle] <= place ? low : high) = middle;
  }
  return low;
}

namespace device {
/// Defined in items.cu, and instantiated there for each function object.
template <class Item>
tally over_items(const context& ctx, std::uint64_t count, const Item& item);
}  // namespace device

/// Whether over_items() runs where the memory of this backend is: the host's, or a device's that it has loops for.
/// Jobs go through host memory for others.
constexpr bool has_item_loops(backend_kind backend) { return backend != backend_kind::cuda || SHEAF_HAS_CUDA != 0; }

/// The sum of item(0) to item(count - 1), computed where the context's memory is. Waits.
template <class Item>
tally over_items(const context& ctx, std::uint64_t count, const Item& item) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::over_items(ctx, count, item);
#endif
  std::uint64_t mismatches = 0;
  std::uint64_t sum = 0;
#pragma omp parallel for num_threads(core::startable(ctx.threads())) schedule(static) reduction(+ : mismatches, sum)
  for (std::uint64_t i = 0; i < count; ++i) {
    const tally one = item(i);
    mismatches += one.mismatches;
    sum += one.sum;
  }
  return {mismatches, sum};
}

}  // namespace sheaf::jobs
