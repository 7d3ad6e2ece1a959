#pragma once

#include "cuda/hash/slots.cuh"

// What a search writes for a probe, from the value that the look-up gave.
namespace sheaf::cuda {

/// What steps 3 and 4 of a search for matches need of a probe, where keys may have several records.
template <class Word>
struct alignas(2 * sizeof(Word)) found_key {
  Word value;  ///< of the slot
  Word count;  ///< records
};

template <class Types>
__device__ __forceinline__ std::uint64_t records_of(const slot_view<Types>& index, typename Types::word value) {
  using slot = typename Types::slot;
  if (value == slot::empty) return 0;
  if ((value & slot::repeated) == 0) return 1;
  return __ldg(index.rows + (value & ~slot::repeated));
}

template <class Types>
__device__ __forceinline__ std::uint64_t first_record_of(const slot_view<Types>& index, typename Types::word value) {
  using slot = typename Types::slot;
  if (value == slot::empty) return ~std::uint64_t{0};
  if ((value & slot::repeated) == 0) return value;
  return __ldg(index.rows + (value & ~slot::repeated) + 1);
}

/// Writes the answers of probes as words of 1, 4, 8 or 16 bytes: answer_bytes() of them.
template <class Types>
struct answer_maker {
  using value_word = typename Types::word;

  slot_view<Types> index;
  primitives::hash_output output;
  bool has_repeats;

  template <class Word>
  __device__ __forceinline__ Word operator()(value_word value, Word*) const {
    using primitives::hash_output;
    Word answer{};
    if constexpr (sizeof(Word) == 1) {
      answer = value != Types::slot::empty ? 1 : 0;  // contains
    } else if (output == hash_output::matches) {
      if (has_repeats) {
        const found_key<value_word> found{value, static_cast<value_word>(records_of(index, value))};
        store(found, answer);
      } else {
        store(value, answer);
      }
    } else {
      const std::uint64_t number =
          output == hash_output::counts ? records_of(index, value) : first_record_of(index, value);
      if (sizeof(Word) == 4) {
        store(static_cast<std::uint32_t>(number), answer);
      } else {
        store(number, answer);
      }
    }
    return answer;
  }

 private:
  /// Only where sizes agree, which is so in every branch that runs.
  template <class From, class Word>
  static __device__ __forceinline__ void store(const From& from, Word& to) {
    if constexpr (sizeof(From) == sizeof(Word)) memcpy(&to, &from, sizeof to);
  }
};

/// Calls body with a word as wide as answers: a byte, a number of 4 or 8 bytes, or what steps 3 and 4 need.
template <class Types, class Body>
void with_answer_word(std::uint64_t answer_bytes, Body body) {
  switch (answer_bytes) {
    case 1: return body(std::uint8_t{});
    case 4: return body(std::uint32_t{});
    case 8: return body(uint2{});
    default:
      if constexpr (sizeof(typename Types::word) == 8) body(uint4{});
  }
}

template <class Types>
answer_maker<Types> answers_of(const primitives::hash_search_problem& p, const slot_index& index) {
  return {view_of<Types>(index), p.output, p.index.has_repeats()};
}

}  // namespace sheaf::cuda
