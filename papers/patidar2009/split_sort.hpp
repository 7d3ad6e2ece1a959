#pragma once

#include "papers/patidar2009/basic_split.hpp"
#include "primitives/sort/contract.hpp"

// SplitSort of Patidar and Narayanan 2009 (section 5.1): an LSD radix sort whose passes are basic splits by 8 bits.
// Rows of up to 16 bytes are split themselves. Keys with a value, and keys whose row numbers are wanted, are packed
// into records and split; by the row numbers wider rows are gathered (Algorithm 4).
namespace sheaf::papers::patidar2009 {

/// A key, then what moves with it, in records of whole words of 4 bytes.
struct packed_records {
  std::uint64_t key_bytes = 0;
  std::uint64_t payload_offset = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t record_bytes = 0;
};

/// An array of keys, values or row numbers beside packed records; where data is null, there is none.
struct packed_side {
  std::byte* data = nullptr;
  std::uint64_t stride_bytes = 0;
};

/// What SplitSort does on a backend.
struct split_sort_steps {
  plan::planned (*plan_split)(const primitives::split_problem& problem, const basic_split_form& form,
                              const machine& machine);
  void (*split)(const context& ctx, const primitives::split_problem& problem, const basic_split_form& form,
                const primitives::split_buffers& buffers, std::byte* scratch, const split_listener* listener);
  /// Packs `count` keys with their payloads, or without any with their row numbers.
  void (*pack)(const context& ctx, const packed_records& layout, std::uint64_t count, packed_side keys,
               packed_side payloads, std::byte* packed);
  /// Stores the keys and payloads of packed records, as far as there are arrays for them.
  void (*unpack)(const context& ctx, const packed_records& layout, std::uint64_t count, const std::byte* packed,
                 packed_side keys, packed_side payloads);
  /// Seconds in which `bytes` are packed, unpacked or read.
  double (*streaming_seconds)(std::uint64_t bytes, const machine& machine);
  /// Counts the keys of each category of a split and sums the counts to buffers.offsets.
  /// @param scratch  memory for offset_scratch_bytes
  void (*find_offsets)(const context& ctx, const primitives::split_problem& problem,
                       const primitives::split_buffers& buffers, std::byte* scratch);
};

/// @param form  of the basic splits
plan::planned plan_split_sort(const primitives::sort_problem& problem, const plan::scope& scope,
                              const split_sort_steps& steps, const basic_split_form& form = {});
void run_split_sort(const context& ctx, const primitives::sort_problem& problem, const plan::planned& plan,
                    const primitives::sort_buffers& buffers, std::byte* scratch, const split_sort_steps& steps);

/// Bytes of scratch in which find_offsets sums the counts of a split's categories.
std::uint64_t offset_scratch_bytes(const primitives::split_problem& problem);

/// Algorithm 3, the split to many categories: SplitSort of the records by the bits of the category, or, for a gather
/// index, of packed keys and record numbers (section 3.3).
plan::planned plan_iterated_split(const primitives::split_problem& problem, const plan::scope& scope,
                                  const split_sort_steps& steps);
void run_iterated_split(const context& ctx, const primitives::split_problem& problem, const plan::planned& plan,
                        const primitives::split_buffers& buffers, std::byte* scratch, const split_sort_steps& steps);

}  // namespace sheaf::papers::patidar2009

namespace sheaf::cpu {
extern const papers::patidar2009::split_sort_steps steps_of_split_sort;
}  // namespace sheaf::cpu

namespace sheaf::cuda {
extern const papers::patidar2009::split_sort_steps steps_of_split_sort;
}  // namespace sheaf::cuda
