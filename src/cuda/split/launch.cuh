#pragma once

#include "cuda/split/passes.hpp"
#include "cuda/split/scatter_kernel.cuh"

// From the description of a pass (split_pass, key_array) to the arguments and the instantiation of its kernels.
namespace sheaf::cuda {

/// How kernels read keys, without the report of bad ones.
inline key_arguments keys_of(const key_array& keys) {
  key_arguments key;
  key.data = keys.data;
  key.stride = keys.stride;
  key.word_bytes = keys.word_bytes > 8 ? 0 : keys.word_bytes;
  key.bits = keys.bits;
  if (key.word_bytes != 0) key.field = word_field_of(keys.bits, key.word_bytes);
  key.categories = keys.categories;
  key.checks = keys.may_be_bad ? 1 : 0;
  return key;
}

/// How the histogram kernels read the keys of a pass, which may be its words; bad keys are reported.
inline key_arguments keys_of(const context& ctx, const split_pass& pass) {
  if (pass.keys.data == nullptr) {
    return keys_of({.data = pass.in, .stride = pass.word_bytes, .word_bytes = pass.word_bytes, .bits = pass.bits});
  }
  key_arguments key = keys_of(pass.keys);
  if (pass.keys.may_be_bad) key.guard = state_of(ctx).guard(*pass.keys.wording, pass.keys.type, pass.keys.categories);
  return key;
}

inline scatter_arguments arguments_of(const split_pass& pass, const key_arguments& key) {
  scatter_arguments args{};
  args.in = pass.in;
  args.out = pass.out;
  args.count = pass.count;
  if (pass.keys.data == nullptr) args.field = word_field_of(pass.bits, pass.word_bytes);
  args.key = key;
  args.scatter_index = pass.scatter_index;
  return args;
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
void launch_scatter(const context& ctx, const split_pass& pass, const scatter_arguments& args) {
  constexpr bool is_narrow = Bins <= static_cast<int>(narrow_bins);
  if (pass.keys.data == nullptr) {
    constexpr bin_source source = bin_source::word;
    switch (pass.word_bytes) {
      case 4: return launch_scatter_tiles<std::uint32_t, record_source::words, source, Bins, Order>(ctx, args);
      case 8: return launch_scatter_tiles<uint2, record_source::words, source, Bins, Order>(ctx, args);
      default:
        if constexpr (is_narrow) {
          switch (pass.word_bytes) {
            case 1: return launch_scatter_tiles<std::uint8_t, record_source::words, source, Bins, Order>(ctx, args);
            case 2: return launch_scatter_tiles<std::uint16_t, record_source::words, source, Bins, Order>(ctx, args);
            default: return launch_scatter_tiles<uint4, record_source::words, source, Bins, Order>(ctx, args);
          }
        }
    }
    return;
  }
  constexpr bin_source source = bin_source::separate_key;
  if (pass.in == nullptr) {
    if (pass.word_bytes == 8)
      return launch_scatter_tiles<uint2, record_source::record_numbers, source, Bins, Order>(ctx, args);
    return launch_scatter_tiles<std::uint32_t, record_source::record_numbers, source, Bins, Order>(ctx, args);
  }
  switch (pass.word_bytes) {
    case 4: return launch_scatter_tiles<std::uint32_t, record_source::words, source, Bins, Order>(ctx, args);
    case 8: return launch_scatter_tiles<uint2, record_source::words, source, Bins, Order>(ctx, args);
    default:
      if constexpr (is_narrow) launch_scatter_tiles<uint4, record_source::words, source, Bins, Order>(ctx, args);
  }
}

}  // namespace sheaf::cuda
