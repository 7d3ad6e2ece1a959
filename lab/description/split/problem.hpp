#pragma once

#include "lab/description/entry.hpp"
#include "lab/description/keys.hpp"
#include "lab/description/problem_spec.hpp"
#include "primitives/split/contract.hpp"

// A stable split by more bits than one call takes is several calls, by the lowest bits first: a least-significant-digit
// sort. Records have to hold their key.
namespace sheaf::primitives {

struct split_part {
  bit_order bits_from = bit_order::little_endian;  ///< end of a record at which bit 0 of the key is
  std::uint64_t categories = 0;                    ///< where keys are category numbers; 0: bits decide
};

std::uint32_t calls_of(const problem_spec& problem);
/// The key of one call, which has about as many bits as those of the others. `keys` is the array of keys, which records
/// that hold their key do without.
split_key key_of_call(const problem_spec& problem, const_records keys, std::uint32_t call);
split_problem split_problem_of(const problem_spec& problem, std::uint32_t call, split_product product, bool stable,
                               backend_kind backend);

extern const entry split_entry, split_unstable_entry, split_gather_index_entry, split_scatter_index_entry,
    multi_split_entry;

}  // namespace sheaf::primitives
