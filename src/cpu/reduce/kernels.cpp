#include "cpu/reduce/kernels.hpp"
#include "cpu/reduce/combined_values.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

template <class T>
using plain = std::remove_cvref_t<T>;

/// Values of a row that are combined at a time if rows are wide: their sums stay in the first-level cache while all
/// rows of a call go by.
constexpr std::uint64_t tile_values = 2048;

// Rows of so few values that their sums stay in registers.
template <reduction Op, bool HasWeights, std::uint64_t Width, class In, class Sum>
[[gnu::always_inline]] inline void combine_narrow(Sum* sums, const std::byte* base, const std::uint64_t* offsets,
                                                  const Sum* weights, std::uint64_t rows, bool is_first) {
  Sum kept[Width];
  for (std::uint64_t k = 0; k < Width; ++k) kept[k] = is_first ? identity_of<Sum>(Op) : sums[k];
  for (std::uint64_t j = 0; j < rows; ++j) {
    const In* const row = row_at<In>(base, offsets[j]);
    for (std::uint64_t k = 0; k < Width; ++k) {
      if constexpr (HasWeights)
        kept[k] = taken(kept[k], row[k], weights[j]);
      else
        kept[k] = taken<Op>(kept[k], row[k]);
    }
  }
  for (std::uint64_t k = 0; k < Width; ++k) sums[k] = kept[k];
}

/// Whether the operation is one on vectors of the values: that of floats and integers of 4 and 8 bytes, but for minima
/// and maxima, which order zeros and NaN.
template <reduction Op, class In, class Sum>
constexpr bool has_vectors = std::is_same_v<In, Sum>&& std::is_arithmetic_v<Sum> && sizeof(Sum) >= 4 &&
                             (Op == reduction::add || Op == reduction::subtract || Op == reduction::multiply);

template <class T, std::uint64_t Bytes>
struct vector_of {
  // Integers wrap around.
  using value = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  // NOLINTNEXTLINE(modernize-use-using): GCC 12 takes the size of a vector from no argument of an alias
  typedef value type [[gnu::vector_size(Bytes), gnu::aligned(alignof(T)), gnu::may_alias]];
};

// So few values of each row that their sums stay in registers, as the compiler does not see to by itself for arrays.
template <reduction Op, bool HasWeights, std::uint64_t Bytes, std::uint64_t Vectors, class Sum>
[[gnu::always_inline]] inline void combine_vectors(Sum* sums, const std::byte* base, const std::uint64_t* offsets,
                                                   const Sum* weights, std::uint64_t rows, bool is_first) {
  using vector = typename vector_of<Sum, Bytes>::type;
  using value = typename vector_of<Sum, Bytes>::value;
  auto* const to = reinterpret_cast<vector*>(sums);
  vector kept[Vectors];
#pragma GCC unroll 8
  for (std::uint64_t v = 0; v < Vectors; ++v) {
    kept[v] = is_first ? vector{} + static_cast<value>(identity_of<Sum>(Op)) : to[v];
  }
  for (std::uint64_t j = 0; j < rows; ++j) {
    const auto* const row = reinterpret_cast<const vector*>(base + offsets[j]);
#pragma GCC unroll 8
    for (std::uint64_t v = 0; v < Vectors; ++v) {
      if constexpr (HasWeights)
        kept[v] += weights[j] * row[v];
      else if constexpr (Op == reduction::multiply)
        kept[v] *= row[v];
      else if constexpr (Op == reduction::subtract)
        kept[v] -= row[v];
      else
        kept[v] += row[v];
    }
  }
#pragma GCC unroll 8
  for (std::uint64_t v = 0; v < Vectors; ++v) to[v] = kept[v];
}

template <reduction Op, bool HasWeights, class Sum>
[[gnu::always_inline]] inline void combine_by_vectors(Sum* sums, const std::byte* base, const std::uint64_t* offsets,
                                                      const Sum* weights, std::uint64_t rows, std::uint64_t width,
                                                      bool is_first) {
  constexpr std::uint64_t lanes = 32 / sizeof(Sum);
  const auto take = [&]<std::uint64_t Bytes, std::uint64_t Vectors>() __attribute__((always_inline)) {
    constexpr std::uint64_t values = Bytes / sizeof(Sum) * Vectors;
    combine_vectors<Op, HasWeights, Bytes, Vectors>(sums, base, offsets, weights, rows, is_first);
    sums += values;
    base += values * sizeof(Sum);
    width -= values;
  };
  // NOLINTBEGIN(bugprone-infinite-loop): take() makes the width less
  while (width >= 8 * lanes) take.template operator()<32, 8>();
  while (width >= 2 * lanes) take.template operator()<32, 2>();
  while (width >= lanes) take.template operator()<32, 1>();
  // NOLINTEND(bugprone-infinite-loop)
  if (width >= lanes / 2) take.template operator()<16, 1>();
  if constexpr (lanes > 4) {
    if (width >= lanes / 4) take.template operator()<8, 1>();
  }
  for (; width > 0; --width, ++sums, base += sizeof(Sum)) {
    combine_narrow<Op, HasWeights, 1, Sum>(sums, base, offsets, weights, rows, is_first);
  }
}

// Two rows at a time, so that sums are read and written half as often.
template <reduction Op, bool HasWeights, class In, class Sum>
[[gnu::always_inline]] inline void combine_tile(Sum* __restrict sums, const std::byte* base,
                                                const std::uint64_t* offsets, const Sum* weights, std::uint64_t rows,
                                                std::uint64_t width, bool is_first) {
  std::uint64_t j = 0;
  if (is_first) {
    const In* __restrict const row = row_at<In>(base, offsets[0]);
    for (std::uint64_t k = 0; k < width; ++k) {
      if constexpr (HasWeights)
        sums[k] = taken(identity_of<Sum>(Op), row[k], weights[0]);
      else
        sums[k] = taken<Op>(identity_of<Sum>(Op), row[k]);
    }
    j = 1;
  }
  for (; j + 1 < rows; j += 2) {
    const In* __restrict const row = row_at<In>(base, offsets[j]);
    const In* __restrict const next = row_at<In>(base, offsets[j + 1]);
    for (std::uint64_t k = 0; k < width; ++k) {
      if constexpr (HasWeights)
        sums[k] = taken(taken(sums[k], row[k], weights[j]), next[k], weights[j + 1]);
      else
        sums[k] = taken<Op>(taken<Op>(sums[k], row[k]), next[k]);
    }
  }
  for (; j < rows; ++j) {
    const In* __restrict const row = row_at<In>(base, offsets[j]);
    for (std::uint64_t k = 0; k < width; ++k) {
      if constexpr (HasWeights)
        sums[k] = taken(sums[k], row[k], weights[j]);
      else
        sums[k] = taken<Op>(sums[k], row[k]);
    }
  }
}

// Width 0 stands for any other.
template <reduction Op, bool HasWeights, std::uint64_t Width, class In, class Sum>
[[gnu::always_inline]] inline void combine_rows(void* to, const std::byte* base, const std::uint64_t* offsets,
                                                const void* factors, std::uint64_t rows, std::uint64_t width,
                                                bool is_first) {
  Sum* const sums = static_cast<Sum*>(to);
  const Sum* const weights = static_cast<const Sum*>(factors);
  if (rows == 0) {
    for (std::uint64_t k = 0; is_first && k < width; ++k) sums[k] = identity_of<Sum>(Op);
    return;
  }
  constexpr std::uint64_t width_bytes = Width * sizeof(Sum);
  if constexpr (has_vectors<Op, In, Sum> && Width > 0 && width_bytes % 32 == 0) {
    combine_vectors<Op, HasWeights, 32, width_bytes / 32>(sums, base, offsets, weights, rows, is_first);
  } else if constexpr (has_vectors<Op, In, Sum> && Width > 1 && (width_bytes & (width_bytes - 1)) == 0) {
    combine_vectors<Op, HasWeights, width_bytes, 1>(sums, base, offsets, weights, rows, is_first);
  } else if constexpr (has_vectors<Op, In, Sum> && Width == 0) {
    combine_by_vectors<Op, HasWeights>(sums, base, offsets, weights, rows, width, is_first);
  } else if constexpr (Width > 0) {
    combine_narrow<Op, HasWeights, Width, In>(sums, base, offsets, weights, rows, is_first);
  } else {
    for (std::uint64_t k = 0; k < width; k += tile_values) {
      combine_tile<Op, HasWeights, In>(sums + k, base + k * sizeof(In), offsets, weights, rows,
                                       std::min(tile_values, width - k), is_first);
    }
  }
}

template <reduction Op, bool HasWeights, std::uint64_t Width, class In, class Sum>
void combine_plain(void* sums, const std::byte* base, const std::uint64_t* offsets, const void* weights,
                   std::uint64_t rows, std::uint64_t width, bool is_first) {
  combine_rows<Op, HasWeights, Width, In, Sum>(sums, base, offsets, weights, rows, width, is_first);
}

#if defined(__x86_64__)
// The same loop with vectors of 32 bytes. Products are rounded before they are added here, too.
template <reduction Op, bool HasWeights, std::uint64_t Width, class In, class Sum>
[[gnu::target("avx2")]] void combine_by_avx2(void* sums, const std::byte* base, const std::uint64_t* offsets,
                                             const void* weights, std::uint64_t rows, std::uint64_t width,
                                             bool is_first) {
  combine_rows<Op, HasWeights, Width, In, Sum>(sums, base, offsets, weights, rows, width, is_first);
}
#endif

template <reduction Op, bool HasWeights, std::uint64_t Width, class In, class Sum>
auto combine_here() {
#if defined(__x86_64__)
  if (has_avx2()) return &combine_by_avx2<Op, HasWeights, Width, In, Sum>;
#endif
  return &combine_plain<Op, HasWeights, Width, In, Sum>;
}

template <reduction Op, bool HasWeights, class In, class Sum>
auto combine_of_width(std::uint64_t width) {
  switch (width) {
    case 1: return combine_here<Op, HasWeights, 1, In, Sum>();
    case 2: return combine_here<Op, HasWeights, 2, In, Sum>();
    case 3: return combine_here<Op, HasWeights, 3, In, Sum>();
    case 4: return combine_here<Op, HasWeights, 4, In, Sum>();
    case 8: return combine_here<Op, HasWeights, 8, In, Sum>();
    case 16: return combine_here<Op, HasWeights, 16, In, Sum>();
    default: return combine_here<Op, HasWeights, 0, In, Sum>();
  }
}

template <reduction Op, class Sum>
void merge_sums(void* to, const void* from, std::uint64_t width) {
  Sum* __restrict const sums = static_cast<Sum*>(to);
  const Sum* __restrict const piece = static_cast<const Sum*>(from);
  for (std::uint64_t k = 0; k < width; ++k) sums[k] = combined<Op>(sums[k], piece[k]);
}

template <class Out, class Sum>
void load_sums(void* to, const void* from, std::uint64_t width) {
  Sum* __restrict const sums = static_cast<Sum*>(to);
  const Out* __restrict const out = static_cast<const Out*>(from);
  for (std::uint64_t k = 0; k < width; ++k) sums[k] = converted<Sum>(out[k]);
}

template <bool IsMean, class Out, class Sum>
void store_sums(void* to, const void* from, std::uint64_t width, [[maybe_unused]] std::uint64_t rows) {
  Out* __restrict const out = static_cast<Out*>(to);
  const Sum* __restrict const sums = static_cast<const Sum*>(from);
  for (std::uint64_t k = 0; k < width; ++k) out[k] = converted<Out>(IsMean ? mean_of<Sum>(sums[k], rows) : sums[k]);
}

template <reduction Op, class Out>
void clear_row(void* to, std::uint64_t width) {
  std::fill_n(static_cast<Out*>(to), width, identity_of<Out>(Op));
}

template <class Out, class Sum>
void count_rows(void* to, std::uint64_t width, std::uint64_t rows, bool adds) {
  if (adds && rows == 0) return;  // adding 0 changes -0, and NaN that signals
  Out* const out = static_cast<Out*>(to);
  const Sum number = converted<Sum>(rows);
  for (std::uint64_t k = 0; k < width; ++k) {
    out[k] = converted<Out>(adds ? combined<reduction::add>(converted<Sum>(out[k]), number) : number);
  }
}

template <class Out, class Sum>
void scale_row(void* to, const void* from, std::uint64_t width, double by, double before) {
  if constexpr (std::is_floating_point_v<Sum>) {
    Out* __restrict const out = static_cast<Out*>(to);
    const Sum* __restrict const sums = static_cast<const Sum*>(from);
    const Sum alpha = static_cast<Sum>(by);
    const Sum beta = static_cast<Sum>(before);
    if (before == 0) {
      for (std::uint64_t k = 0; k < width; ++k) out[k] = converted<Out>(alpha * sums[k]);
    } else {
      for (std::uint64_t k = 0; k < width; ++k) {
        out[k] = converted<Out>(alpha * sums[k] + beta * converted<Sum>(out[k]));
      }
    }
  }
}

}  // namespace

reduction_kernels kernels_of_rows(value_type in, value_type out, reduction op, bool has_weights, std::uint64_t width) {
  reduction_kernels kernels{};
  const value_type read = op == reduction::count ? out : in;
  with_combined_types(read, out, [&](auto from, auto to) {
    with_reduction(op, [&](auto operation) {
      with_value(sum_type(out, op), [&](auto sum) {
        using In = plain<decltype(from)>;
        using Out = plain<decltype(to)>;
        using Sum = plain<decltype(sum)>;
        constexpr reduction Op = plain<decltype(operation)>::value;
        if constexpr (sum_type(value_type_of<Out>(), Op) == value_type_of<Sum>()) {
          // A mean is combined as a sum.
          constexpr reduction Combining = Op == reduction::mean ? reduction::add : Op;
          if constexpr (Op == reduction::count) {
            kernels.count = count_rows<Out, Sum>;
          } else {
            kernels.combine = combine_of_width<Combining, false, In, Sum>(width);
            if constexpr (Combining == reduction::add && std::is_floating_point_v<Sum>) {
              if (has_weights) kernels.combine = combine_of_width<Combining, true, In, Sum>(width);
            }
            kernels.merge = merge_sums<Combining, Sum>;
            kernels.load = load_sums<Out, Sum>;
            kernels.store = store_sums<Op == reduction::mean, Out, Sum>;
            kernels.scale = scale_row<Out, Sum>;
          }
          kernels.clear = clear_row<Op, Out>;
          kernels.sum_bytes = sizeof(Sum);
          kernels.in_place = std::is_same_v<Out, Sum> && Op != reduction::mean;
        }
      });
    });
  });
  if (kernels.in_place && op != reduction::count) kernels.scatter = scatter_kernel_of(in, out, op, width);
  return kernels;
}

void convert_weights(const_values weights, std::uint64_t first, std::uint64_t count, value_type sum, void* to) {
  with_any_value(weights.type, [&](auto weight) {
    using Weight = plain<decltype(weight)>;
    const Weight* const from = static_cast<const Weight*>(weights.data) + first;
    if constexpr (is_any_float<Weight>) {
      if (sum == value_type::f64) {
        for (std::uint64_t i = 0; i < count; ++i) static_cast<double*>(to)[i] = converted<double>(from[i]);
      } else {
        for (std::uint64_t i = 0; i < count; ++i) static_cast<float*>(to)[i] = converted<float>(from[i]);
      }
    }
  });
}

}  // namespace sheaf::cpu
