#pragma once

#include "cuda/split_histogram.cuh"
#include "cuda/split_pass.cuh"
#include "cuda/split_passes.hpp"

// From a pass as it is asked for to what its kernels are told; shared by the files that instantiate them.
namespace sheaf::cuda {

/// Where the categories are read by kernels that do not move words.
inline key_arguments keys_of(const context& ctx, const split_pass& p) {
  key_arguments k;
  const bool own = p.keys == nullptr;
  const bit_field bits = own ? p.bits : p.key_bits;
  k.data = own ? p.in : p.keys;
  k.stride = own ? p.word_bytes : p.key_stride;
  k.word_bytes = own ? p.word_bytes : p.key_word_bytes;
  if (k.word_bytes > 8) k.word_bytes = 0;
  k.bits = bits;
  if (k.word_bytes != 0) k.field = word_field_of(bits, k.word_bytes);
  k.categories = p.categories;
  k.checks = p.checks ? 1 : 0;
  if (p.checks) k.guard = state_of(ctx).guard(core::index_role::category, index_type::u32, p.categories);
  return k;
}

inline split_pass_arguments arguments_of(const split_pass& p, const key_arguments& key) {
  split_pass_arguments a{};
  a.in = p.in;
  a.out = p.out;
  a.count = p.count;
  if (p.keys == nullptr) a.field = word_field_of(p.bits, p.word_bytes);
  a.key = key;
  a.tiles_per_chunk = tiles_per_chunk;
  a.categories = static_cast<std::uint32_t>(p.categories);
  a.scatter_index = p.scatter_index;
  return a;
}

template <class Word, int Bins, bool Stable>
void launch_own(const context& ctx, const char* what, const split_pass_arguments& a, bool simple) {
  if (simple) {
    launch_split_tiles<Word, payload::records, bin_source::own_simple_word, Bins, Stable>(ctx, what, a);
  } else {
    launch_split_tiles<Word, payload::records, bin_source::own_word, Bins, Stable>(ctx, what, a);
  }
}

/// Queues the instantiation that moves what the pass says.
template <int Bins, bool Stable>
void launch_split(const context& ctx, const char* what, const split_pass& p, const split_pass_arguments& a) {
  constexpr bool wide = Bins > static_cast<int>(narrow_bins);
  if (p.keys == nullptr) {
    switch (p.word_bytes) {
      case 4:
        return launch_split_tiles<std::uint32_t, payload::records, bin_source::own_word, Bins, Stable>(ctx, what, a);
      case 8: return launch_split_tiles<uint2, payload::records, bin_source::own_word, Bins, Stable>(ctx, what, a);
      default:
        if constexpr (!wide) {
          switch (p.word_bytes) {
            case 1:
              return launch_split_tiles<std::uint8_t, payload::records, bin_source::own_word, Bins, Stable>(ctx, what,
                                                                                                            a);
            case 2:
              return launch_split_tiles<std::uint16_t, payload::records, bin_source::own_word, Bins, Stable>(ctx, what,
                                                                                                             a);
            default:
              return launch_split_tiles<uint4, payload::records, bin_source::own_word, Bins, Stable>(ctx, what, a);
          }
        }
    }
    return;
  }
  if (p.in == nullptr) {
    if (p.word_bytes == 8) {
      launch_split_tiles<uint2, payload::numbers, bin_source::key, Bins, Stable>(ctx, what, a);
    } else {
      launch_split_tiles<std::uint32_t, payload::numbers, bin_source::key, Bins, Stable>(ctx, what, a);
    }
    return;
  }
  switch (p.word_bytes) {
    case 4: return launch_split_tiles<std::uint32_t, payload::records, bin_source::key, Bins, Stable>(ctx, what, a);
    case 8: return launch_split_tiles<uint2, payload::records, bin_source::key, Bins, Stable>(ctx, what, a);
    default:
      if constexpr (!wide) {
        launch_split_tiles<uint4, payload::records, bin_source::key, Bins, Stable>(ctx, what, a);
      }
  }
}

}  // namespace sheaf::cuda
