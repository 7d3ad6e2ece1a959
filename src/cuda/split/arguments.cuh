#pragma once

#include "cuda/split/histogram.cuh"
#include "cuda/split/pass.cuh"
#include "cuda/split/passes.hpp"

// From a pass as it is asked for to what its kernels are told; shared by the files that instantiate them.
namespace sheaf::cuda {

/// How kernels that do not move words read keys; bad ones are not reported.
inline key_arguments keys_of(const key_array& keys) {
  key_arguments k;
  k.data = keys.data;
  k.stride = keys.stride;
  k.word_bytes = keys.word_bytes > 8 ? 0 : keys.word_bytes;
  k.bits = keys.bits;
  if (k.word_bytes != 0) k.field = word_field_of(keys.bits, k.word_bytes);
  k.categories = keys.categories;
  k.checks = keys.checks ? 1 : 0;
  return k;
}

inline key_arguments keys_of(const context& ctx, const split_pass& p) {
  if (p.keys.data == nullptr) {
    return keys_of({.data = p.in, .stride = p.word_bytes, .word_bytes = p.word_bytes, .bits = p.bits});
  }
  key_arguments k = keys_of(p.keys);
  if (p.keys.checks) k.guard = state_of(ctx).guard(p.keys.role, p.keys.type, p.keys.categories);
  return k;
}

inline split_pass_arguments arguments_of(const split_pass& p, const key_arguments& key) {
  split_pass_arguments a{};
  a.in = p.in;
  a.out = p.out;
  a.count = p.count;
  if (p.keys.data == nullptr) a.field = word_field_of(p.bits, p.word_bytes);
  a.key = key;
  a.scatter_index = p.scatter_index;
  return a;
}

/// Queue the counting of a pass in tiles of this many records, and the sums that say where runs begin. One tile is not
/// counted: it writes the offsets itself.
run_begins begin_stable_runs(const context& ctx, const char* what, const key_arguments& key, std::uint64_t count,
                             std::uint32_t tile, std::uint64_t* offsets, std::uint64_t categories, void* scratch);
template <int Bins>
run_begins begin_unordered_runs(const context& ctx, const char* what, const key_arguments& key, std::uint64_t count,
                                std::uint32_t tile, std::uint64_t* offsets, std::uint64_t categories, void* scratch);

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
  if (p.keys.data == nullptr) {
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
