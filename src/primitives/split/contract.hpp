#pragma once

#include "plan/correction.hpp"
#include "primitives/split/category.hpp"

namespace sheaf::primitives {

enum class split_product : std::uint8_t { records, gather_index, scatter_index };

/// What plans know of a split: sizes and layout, never data. With record_bits the records are their own keys.
struct split_problem {
  backend_kind backend = backend_kind::cpu;
  split_product product = split_product::records;
  bool stable = true;
  std::uint64_t count = 0;
  std::uint64_t categories = 0;  ///< 0 where they are not counted

  std::uint64_t record_bytes = 0;  ///< width of what is written: a record, or an entry of the index
  std::uint64_t in_stride_bytes = 0;
  std::uint64_t out_stride_bytes = 0;
  std::uint32_t word_bytes = 1;  ///< widest power of two up to 16 that divides addresses, strides and record_bytes
  index_type index = index_type::u32;

  split_key::kind key_from = split_key::kind::record_bits;
  bit_field bits;               ///< field of the key that holds the category; the whole key for kind::category
  std::uint64_t key_bytes = 0;  ///< width of a key
  std::uint64_t key_stride_bytes = 0;
  std::uint32_t key_word_bytes = 1;  ///< widest power of two up to 16 that divides the keys' address, stride and width

  /// Whether keys can be bad categories.
  bool checks_category() const noexcept {
    return key_from == split_key::kind::category && categories < std::uint64_t{1} << bits.count;
  }
  bool has_separate_key() const noexcept { return key_from != split_key::kind::record_bits; }
  /// Whether the category has more bits than categories are counted by.
  bool has_wide_category() const noexcept { return bits.count > bit_field::most_counted_bits; }

  friend bool operator==(const split_problem&, const split_problem&) = default;
};

/// The call of such a product.
constexpr std::string_view name_of(split_product product, bool stable) noexcept {
  switch (product) {
    case split_product::gather_index: return "split_gather_index";
    case split_product::scatter_index: return "split_scatter_index";
    default: return stable ? "split" : "split_unstable";
  }
}

inline plan::measured_place place_of(const split_problem& p) noexcept {
  // The range is a number of 64 bits, and splits by more bits lie where it ends.
  const std::uint64_t range = p.has_wide_category() ? std::uint64_t{1} << std::min(63U, p.bits.count) : p.categories;
  // On the CPU the variants of stable splits are those of the others, too.
  const bool is_stable = p.stable || p.backend == backend_kind::cpu;
  return {name_of(p.product, is_stable), access_pattern::kind::unknown, p.record_bytes, p.count, range};
}

/// Stable splits have the same bits by all variants; of others the caller leaves the order within a category open.
inline std::optional<split_problem> learned_shape(split_problem p) noexcept {
  p.count = std::bit_floor(p.count);
  p.categories = std::bit_floor(p.categories);
  return p;
}

/// How a bad index of this primitive is reported.
inline constexpr core::index_wording category_wording{"split", "category", "the", "categories"};

struct split_buffers {
  const_records in;                  ///< input of split_product::records
  const_records keys;                ///< array that holds the keys: `in` for record_bits
  records out;                       ///< output of split_product::records
  index_output index;                ///< output of the other products
  std::uint64_t* offsets = nullptr;  ///< categories + 1 values to write, or null
};

using split_variant = plan::variant<split_problem, split_buffers>;

/// All variants of this build, in the order of composition/tables.cpp and of each backend's variants.cpp.
std::span<const split_variant> split_variants();

/// The problem that a split of these records is. Checks nothing: data may be null.
split_problem describe_split(const context& ctx, const_records in, const split_key& key, records out, bool stable);

/// The row of each entry of compressed rows: row_of_entry[e] = r for first[r] <= e < first[r + 1].
struct row_of_entry_problem {
  backend_kind backend = backend_kind::cpu;
  std::uint64_t rows = 0;
  std::uint64_t entries = 0;
  index_type index = index_type::u32;
  friend bool operator==(const row_of_entry_problem&, const row_of_entry_problem&) = default;
};

struct row_of_entry_buffers {
  const std::uint64_t* first;  ///< rows + 1 values
  void* row_of_entry;          ///< `entries` row numbers of type `index`
};

using row_of_entry_variant = plan::variant<row_of_entry_problem, row_of_entry_buffers>;
std::span<const row_of_entry_variant> row_of_entry_variants();

/// Checks of split and multi_split. They throw bad_argument, naming the call.
void require_categories(std::string_view call, const_records category_of_record, std::uint64_t categories);
void require_offsets(std::string_view call, const context& ctx, std::uint64_t categories,
                     std::span<const std::uint64_t> offsets);

}  // namespace sheaf::primitives
