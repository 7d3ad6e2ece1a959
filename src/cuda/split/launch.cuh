#pragma once

#include "cuda/split/passes.hpp"
#include "cuda/split/scatter_kernel.cuh"

// From the description of a pass (split_pass, key_array) to the arguments and the instantiation of its kernels.
namespace sheaf::cuda {

/// How kernels read keys, without the report of bad ones.
inline key_arguments keys_of(const key_array& keys) {
  key_arguments k;
  k.data = keys.data;
  k.stride = keys.stride;
  k.word_bytes = keys.word_bytes > 8 ? 0 : keys.word_bytes;
  k.bits = keys.bits;
  if (k.word_bytes != 0) k.field = word_field_of(keys.bits, k.word_bytes);
  k.categories = keys.categories;
  k.checks = keys.may_be_bad ? 1 : 0;
  return k;
}

/// How the histogram kernels read the keys of a pass, which may be its words; bad keys are reported.
inline key_arguments keys_of(const context& ctx, const split_pass& p) {
  if (p.keys.data == nullptr) {
    return keys_of({.data = p.in, .stride = p.word_bytes, .word_bytes = p.word_bytes, .bits = p.bits});
  }
  key_arguments k = keys_of(p.keys);
  if (p.keys.may_be_bad) k.guard = state_of(ctx).guard(*p.keys.wording, p.keys.type, p.keys.categories);
  return k;
}

inline scatter_arguments arguments_of(const split_pass& p, const key_arguments& key) {
  scatter_arguments a{};
  a.in = p.in;
  a.out = p.out;
  a.count = p.count;
  if (p.keys.data == nullptr) a.field = word_field_of(p.bits, p.word_bytes);
  a.key = key;
  a.scatter_index = p.scatter_index;
  return a;
}

/// Queue the histogram and prefix sums of a pass, and return what they write: where runs begin. A list of one tile
/// (`tile_records`) needs neither: its scatter kernel writes `offsets` itself.
run_offsets count_and_scan_tiles(const context& ctx, const key_arguments& key, std::uint64_t count,
                                 std::uint32_t tile_records, std::uint64_t* offsets, std::uint64_t categories,
                                 void* scratch);
template <int Bins>
run_offsets count_and_scan_list(const context& ctx, const key_arguments& key, std::uint64_t count,
                                std::uint32_t tile_records, std::uint64_t* offsets, std::uint64_t categories,
                                void* scratch);

/// Queues the instantiation of the scatter kernel for the words and keys of the pass.
template <int Bins, record_order Order>
void launch_scatter(const context& ctx, const split_pass& p, const scatter_arguments& a) {
  constexpr bool is_narrow = Bins <= static_cast<int>(narrow_bins);
  if (p.keys.data == nullptr) {
    constexpr bin_source source = bin_source::word;
    switch (p.word_bytes) {
      case 4: return launch_scatter_tiles<std::uint32_t, record_source::words, source, Bins, Order>(ctx, a);
      case 8: return launch_scatter_tiles<uint2, record_source::words, source, Bins, Order>(ctx, a);
      default:
        if constexpr (is_narrow) {
          switch (p.word_bytes) {
            case 1: return launch_scatter_tiles<std::uint8_t, record_source::words, source, Bins, Order>(ctx, a);
            case 2: return launch_scatter_tiles<std::uint16_t, record_source::words, source, Bins, Order>(ctx, a);
            default: return launch_scatter_tiles<uint4, record_source::words, source, Bins, Order>(ctx, a);
          }
        }
    }
    return;
  }
  constexpr bin_source source = bin_source::separate_key;
  if (p.in == nullptr) {
    if (p.word_bytes == 8)
      return launch_scatter_tiles<uint2, record_source::record_numbers, source, Bins, Order>(ctx, a);
    return launch_scatter_tiles<std::uint32_t, record_source::record_numbers, source, Bins, Order>(ctx, a);
  }
  switch (p.word_bytes) {
    case 4: return launch_scatter_tiles<std::uint32_t, record_source::words, source, Bins, Order>(ctx, a);
    case 8: return launch_scatter_tiles<uint2, record_source::words, source, Bins, Order>(ctx, a);
    default:
      if constexpr (is_narrow) launch_scatter_tiles<uint4, record_source::words, source, Bins, Order>(ctx, a);
  }
}

}  // namespace sheaf::cuda
