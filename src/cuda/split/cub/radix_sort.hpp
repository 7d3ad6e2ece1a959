#pragma once

#include "plan/variant.hpp"

// CUB's device-wide LSD radix sort (cub::DeviceRadixSort, onesweep), for the variants cuda.cub of splits and of sorts.
// No header but these of this folder reaches CUB's, which take long to compile.
namespace sheaf::cuda {

/// What a sort by CUB is, without its arrays.
struct cub_sort_shape {
  std::uint64_t count = 0;        ///< keys
  std::uint32_t key_bytes = 4;    ///< 4 or 8; 1 or 2 of keys that are encoded
  std::uint32_t value_bytes = 0;  ///< 0: keys alone; 4 or 8; 16 beside unsigned keys of 8 bytes that are not encoded
  std::uint32_t first_bit = 0;    ///< lowest bit of the key that is sorted by
  std::uint32_t end_bit = 32;     ///< one past the highest of them
  bool encodes_keys = false;      ///< keys have a cub_key_encoding; else they are numbers in ascending order
  bool are_signed = false;        ///< these numbers are signed; they have no values of 16 bytes then

  std::uint32_t bits() const { return end_bit - first_bit; }
};

/// The unsigned number that a key counts as. The passes encode keys as they load them and decode them as they store
/// them, so that the arrays hold keys as the caller wrote them.
struct cub_key_encoding {
  std::uint64_t flipped_bits[2] = {};      ///< [0]: flipped in keys whose highest bit is 0; [1]: in those with a 1
  std::uint64_t most = ~std::uint64_t{0};  ///< an encoded key above this one becomes a key of all ones, and stays one
};

/// The arrays of a sort. None overlaps another, and the inputs keep their contents.
struct cub_sort_arrays {
  const void* keys = nullptr;
  void* sorted_keys = nullptr;
  const void* values = nullptr;
  void* sorted_values = nullptr;
};

/// Why CUB cannot sort this; null if it can.
const char* cub_rejection(const cub_sort_shape& shape);

/// Scratch of a sort on any device: at least what CUB asks for, and never 0.
std::uint64_t cub_scratch_bytes(const cub_sort_shape& shape);
/// What CUB asks for on the current device.
std::uint64_t cub_wanted_scratch_bytes(const cub_sort_shape& shape);

/// Adds the terms of a sort to a plan: all but the latency of the call.
void add_cub_cost(plan::planned& plan, const cub_sort_shape& shape, const machine& machine);
/// Whether CUB sorts the list in one kernel.
bool is_one_block(const cub_sort_shape& shape);

/// Queues a stable sort of at least one key. The encoding is unused unless the shape encodes keys.
void run_cub_sort(const context& ctx, const cub_sort_shape& shape, const cub_key_encoding& encoding,
                  const cub_sort_arrays& arrays, std::byte* scratch);

/// Queues numbers[i] = i for every i below count; numbers have 4 or 8 bytes.
void write_row_numbers(const context& ctx, void* numbers, std::uint32_t number_bytes, std::uint64_t count);

}  // namespace sheaf::cuda
