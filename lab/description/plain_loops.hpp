#pragma once

#include "lab/description/job.hpp"

// What users write today in place of a call: typed arrays, one loop, no check of an index. They are serial unless
// `#pragma omp parallel for` in front of the loop is all that it takes.
namespace sheaf::jobs {

using plain_call = std::function<void()>;

/// Places of the arrays that only a multi_split has.
namespace multi_split_places {
constexpr std::size_t sources = 3;  ///< numbers of the records that are written
constexpr std::size_t first = 6;    ///< first membership of each record, and their count
}  // namespace multi_split_places

/// Places of the arrays that only an edge_sum has.
namespace edge_places {
constexpr std::size_t weights = 3;  ///< of the edges, where they have any
}  // namespace edge_places

/// Places of the arrays that only an spmv has. Row offsets, or the begins of rows, are at places::offsets, columns at
/// places::index, x at places::source and y at places::target.
namespace sparse_places {
constexpr std::size_t values = 3;    ///< of the entries
constexpr std::size_t row_ends = 6;  ///< of rows that have ends of their own
}  // namespace sparse_places

/// The struct that a user would write, aligned to the largest power of two up to 16 that divides its width.
template <std::size_t Bytes>
struct alignas(Bytes % 16 == 0 ? 16 : Bytes & (~Bytes + 1)) plain_record {
  std::array<std::byte, Bytes> bytes;
};

/// What body(std::type_identity<Record>) returns for the type of a width, and nothing for other widths.
template <class Body>
auto with_record_type(std::uint64_t record_bytes, Body body) -> decltype(body(std::type_identity<std::uint8_t>{})) {
  switch (record_bytes) {
    case 1: return body(std::type_identity<std::uint8_t>{});
    case 2: return body(std::type_identity<std::uint16_t>{});
    case 4: return body(std::type_identity<std::uint32_t>{});
    case 8: return body(std::type_identity<std::uint64_t>{});
    case 12: return body(std::type_identity<plain_record<12>>{});
    case 16: return body(std::type_identity<plain_record<16>>{});
    case 24: return body(std::type_identity<plain_record<24>>{});
    case 32: return body(std::type_identity<plain_record<32>>{});
    case 48: return body(std::type_identity<plain_record<48>>{});
    case 64: return body(std::type_identity<plain_record<64>>{});
    case 100: return body(std::type_identity<plain_record<100>>{});
    case 128: return body(std::type_identity<plain_record<128>>{});
    case 256: return body(std::type_identity<plain_record<256>>{});
    case 1024: return body(std::type_identity<plain_record<1024>>{});
    default: return decltype(body(std::type_identity<std::uint8_t>{}))();
  }
}

/// Calls body(std::type_identity<Index>) with the type of an index list.
template <class Body>
plain_call with_index_type(index_type type, Body body) {
  return bytes(type) == 4 ? body(std::type_identity<std::uint32_t>{}) : body(std::type_identity<std::uint64_t>{});
}

/// Calls body(std::type_identity<Value>) with a type in which values are added; signed integers as unsigned ones, whose
/// sums are the same bits.
template <class Body>
plain_call with_sum_type(value_type type, Body body) {
  switch (type) {
    case value_type::f32: return body(std::type_identity<float>{});
    case value_type::f64: return body(std::type_identity<double>{});
    case value_type::i32:
    case value_type::u32: return body(std::type_identity<std::uint32_t>{});
    case value_type::i64:
    case value_type::u64: return body(std::type_identity<std::uint64_t>{});
    default: return {};
  }
  return {};
}

/// The items of an array, as their type.
template <class Item>
Item* items_of(const records& array) {
  return reinterpret_cast<Item*>(array.data);
}

}  // namespace sheaf::jobs
