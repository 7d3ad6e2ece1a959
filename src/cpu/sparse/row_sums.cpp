#include "cpu/sparse/row_sums.hpp"

#include "cpu/sparse/row_reader.hpp"
#include "cpu/threads/cache_hints.hpp"

namespace sheaf::cpu {
namespace {

/// The loops over rows. Two sums for a piece are enough to wait for no addition, and what is left of a row of odd
/// length is one entry, so that rows of few entries take few branches.
template <class Value, class Sum, class Column, class Offset, x_access Access>
struct row_loop {
  struct arrays {
    const Value* values;
    const Column* columns;
    const Value* x;
    std::uint64_t column_limit;
    std::uint64_t last_prefetched;  ///< first place after which there is nothing to prefetch

    explicit arrays(const row_product& product)
        : values(static_cast<const Value*>(product.a.values.data)),
          columns(static_cast<const Column*>(product.a.column_indices.data)),
          x(static_cast<const Value*>(product.x)),
          column_limit(product.column_limit),
          last_prefetched(product.entries - std::min(product.entries, prefetch_distance)) {}
  };

  [[gnu::always_inline]] static void add(const arrays& arrays, std::uint64_t place, Sum& sum, bool& bad) noexcept {
    if constexpr (Access == x_access::gathered) {
      sum += static_cast<Sum>(arrays.values[place]) * static_cast<Sum>(arrays.x[place]);
    } else {
      const Column column = arrays.columns[place];
      if (column < arrays.column_limit) [[likely]] {
        sum += static_cast<Sum>(arrays.values[place]) * static_cast<Sum>(arrays.x[column]);
      } else {
        bad = true;
      }
    }
  }

  template <bool Prefetches>
  [[gnu::always_inline]] static Sum pairs(const arrays& arrays, std::uint64_t begin, std::uint64_t end,
                                          bool& bad) noexcept {
    Sum even = 0;
    Sum odd = 0;
    std::uint64_t place = begin;
    for (; place + 2 <= end; place += 2) {
      if constexpr (Prefetches) {
        for (const std::uint64_t i : {place, place + 1}) {
          prefetch(reinterpret_cast<const std::byte*>(arrays.x), arrays.columns[i + prefetch_distance] * sizeof(Value),
                   sizeof(Value));
        }
      }
      add(arrays, place, even, bad);
      add(arrays, place + 1, odd, bad);
    }
    if (place < end) add(arrays, place, even, bad);
    return even + odd;
  }

  [[gnu::always_inline]] static Sum sum_of(const arrays& arrays, std::uint64_t begin, std::uint64_t end,
                                           bool& bad) noexcept {
    if constexpr (Access == x_access::prefetched) {
      if (end <= arrays.last_prefetched) return pairs<true>(arrays, begin, end, bad);
    }
    return pairs<false>(arrays, begin, end, bad);
  }

  /// Of a row. Where rows are long, a row's lines would leave the first-level cache before they are read: 398 entries a
  /// row take 0.78 ns an entry by way of the second level, 0.86 without it; 98 take 0.73 and 0.64.
  [[gnu::always_inline]] static void prefetch_streams(const arrays& arrays, std::uint64_t begin,
                                                      std::uint64_t end) noexcept {
    constexpr std::uint64_t most_entries_near = 128;
    if constexpr (Access == x_access::gathered) {
      prefetch_stream(arrays.values, begin, end);
      prefetch_stream(arrays.x, begin, end);
    } else if (Access == x_access::near && end - begin <= most_entries_near) {
      prefetch_stream_to_first_level(arrays.values, begin, end);
      prefetch_stream_to_first_level(arrays.columns, begin, end);
    } else {
      prefetch_stream(arrays.values, begin, end);
      prefetch_stream(arrays.columns, begin, end);
    }
  }

  struct long_sum {
    Sum sum;
    bool bad;
  };

  /// Apart and by value: what a call could change, the loop over rows would read again after every store to y.
  [[gnu::noinline]] static long_sum sum_of_pieces(arrays a, std::uint64_t begin, std::uint64_t end) noexcept {
    bool bad = false;
    Sum sum = sum_of(a, begin, begin + piece_entries, bad);
    for (std::uint64_t place = begin + piece_entries; place < end; place += piece_entries) {
      sum += sum_of(a, place, std::min(end, place + piece_entries), bad);
    }
    return {sum, bad};
  }

  static scaled_values<Value, Sum> scaling_of(const row_product& p) { return {p.alpha, p.beta, p.reads_y, p.y}; }

  static void rows(const row_product& p, std::uint64_t first, std::uint64_t last, long_rows* later,
                   row_faults& faults) {
    const arrays arrays(p);
    const auto out = scaling_of(p);
    const row_places<Offset> places(p.a, p.entries);
    bool bad_row = false;
    bool bad_column = false;
    for (std::uint64_t row = first; row < last; ++row) {
      std::uint64_t begin = places.begins[row];
      std::uint64_t end = places.ends[row];
      if (!places.is_row(begin, end)) [[unlikely]] {
        bad_row = true;
        begin = end = 0;
      }
      if (end - begin > piece_entries) [[unlikely]] {
        if (later != nullptr && later->take(row, begin, end - begin)) continue;
        const long_sum whole = sum_of_pieces(arrays, begin, end);
        bad_column |= whole.bad;
        out.write(row, whole.sum);
      } else {
        prefetch_streams(arrays, begin, end);
        out.write(row, sum_of(arrays, begin, end, bad_column));
      }
    }
    faults.in_rows |= bad_row;
    faults.in_columns |= bad_column;
  }

  static void piece(const row_product& p, std::uint64_t place, std::uint64_t count, void* sums, std::uint64_t piece,
                    row_faults& faults) {
    bool bad_column = false;
    static_cast<Sum*>(sums)[piece] = sum_of(arrays(p), place, place + count, bad_column);
    faults.in_columns |= bad_column;
  }

  static void finish(const row_product& p, std::uint64_t row, const void* sums, std::uint64_t pieces) {
    const Sum* const of_pieces = static_cast<const Sum*>(sums);
    Sum sum = of_pieces[0];
    for (std::uint64_t i = 1; i < pieces; ++i) sum += of_pieces[i];
    scaling_of(p).write(row, sum);
  }

  static constexpr row_kernels kernels{rows, piece, finish, sizeof(Sum)};
};

template <class Value, class Sum, x_access Access>
row_kernels kernels_of_places(const primitives::spmv_problem& p) noexcept {
  return with_index_width(p.column, [&](auto column) {
    return with_index_width(p.offset, [&](auto offset) {
      return row_loop<Value, Sum, decltype(column), decltype(offset), Access>::kernels;
    });
  });
}

template <class Value, class Sum>
row_kernels kernels_of(const primitives::spmv_problem& p, x_access access) noexcept {
  switch (access) {
    case x_access::near: return kernels_of_places<Value, Sum, x_access::near>(p);
    case x_access::prefetched: return kernels_of_places<Value, Sum, x_access::prefetched>(p);
    case x_access::gathered: return kernels_of_places<Value, Sum, x_access::gathered>(p);
    default: return kernels_of_places<Value, Sum, x_access::direct>(p);
  }
}

}  // namespace

bool long_rows::take(std::uint64_t row, std::uint64_t begin, std::uint64_t count) noexcept {
  if (count < least_entries_) return false;
  const std::uint64_t pieces = (count + piece_entries - 1) / piece_entries;
  bool taken = false;
  const std::lock_guard lock(mutex_);
  if (rows_ < most_rows_ && pieces <= most_pieces_ - pieces_) {
    list_[rows_++] = {row, begin, count, pieces_};
    pieces_ += pieces;
    taken = true;
  }
  return taken;
}

row_kernels row_kernels_of(const primitives::spmv_problem& p, x_access access) noexcept {
  return with_value_and_sum(
      p, [&](auto value, auto sum) { return kernels_of<decltype(value), decltype(sum)>(p, access); });
}

}  // namespace sheaf::cpu
