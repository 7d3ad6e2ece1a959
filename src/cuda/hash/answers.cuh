#pragma once

#include "cuda/hash/slots.cuh"

// What a search writes for a probe, from the value that the look-up gave.
namespace sheaf::cuda {

/// What steps 3 and 4 of a search for matches need of a probe, where keys may have several records.
template <class Row>
struct alignas(2 * sizeof(Row)) found_key {
  Row value;  ///< the record, or where several begin among the rows
  Row count;  ///< records
};

template <class Types>
__device__ __forceinline__ typename Types::row records_of(const slot_view<Types>& index, typename Types::word value) {
  if (value == Types::slot::empty) return 0;
  return Types::is_repeated(value) ? __ldg(index.rows + Types::rows_at(value)) : typename Types::row{1};
}

/// All bits set if there is none.
template <class Types>
__device__ __forceinline__ typename Types::row first_record_of(const slot_view<Types>& index,
                                                               typename Types::word value) {
  using row = typename Types::row;
  if (Types::has_first || value == Types::slot::empty || !Types::is_repeated(value)) return static_cast<row>(value);
  return __ldg(index.rows + Types::rows_at(value) + 1);
}

template <class Types>
__device__ __forceinline__ found_key<typename Types::row> found_of(const slot_view<Types>& index,
                                                                   typename Types::word value) {
  using row = typename Types::row;
  if (value == Types::slot::empty) return {0, 0};
  if (!Types::is_repeated(value)) return {static_cast<row>(value), 1};
  const auto at = static_cast<row>(Types::rows_at(value));
  return {static_cast<row>(at + 1), __ldg(index.rows + at)};
}

/// Writes the answers of probes as words of 1, 4, 8 or 16 bytes: answer_bytes() of them.
template <class Types>
struct answer_maker {
  using row = typename Types::row;

  slot_view<Types> index;
  primitives::hash_output output;
  bool has_repeats;

  template <class Word>
  __device__ __forceinline__ Word operator()(typename Types::word value, Word*) const {
    using primitives::hash_output;
    Word answer{};
    if constexpr (sizeof(Word) == 1) {
      answer = value != Types::slot::empty ? 1 : 0;  // contains
    } else if (output == hash_output::matches && has_repeats) {
      store(found_of(index, value), answer);
    } else if (output == hash_output::matches) {
      store(static_cast<row>(value), answer);
    } else {
      const row number = output == hash_output::counts ? records_of(index, value) : first_record_of(index, value);
      const bool is_miss = output != hash_output::counts && value == Types::slot::empty;
      if (sizeof(Word) == 4) {
        store(static_cast<std::uint32_t>(number), answer);
      } else {
        store(is_miss ? ~std::uint64_t{0} : static_cast<std::uint64_t>(number), answer);
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
      if constexpr (sizeof(typename Types::row) == 8) body(uint4{});
  }
}

template <class Types>
answer_maker<Types> answers_of(const primitives::hash_search_problem& p, const slot_index& index) {
  return {view_of<Types>(index), p.output, p.index.has_repeats()};
}

}  // namespace sheaf::cuda
