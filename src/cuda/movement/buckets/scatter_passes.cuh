#pragma once

#include "core/scratch_offsets.hpp"
#include "cuda/movement/buckets/scatter.cuh"
#include "primitives/movement/scatter.hpp"

// What the bucketed scatters and sums share: how the output is cut into buckets, their arrays in scratch, and the
// passes that send records there. Buckets have fixed capacity.
namespace sheaf::cuda {

/// How the output is cut into buckets.
struct bucketing {
  std::uint32_t index_bits;      ///< bits of an index
  std::uint32_t position_bits;   ///< log2 of the records of a fine bucket
  std::uint32_t passes;          ///< bucketing passes: 1 (fine buckets at once) or 2
  std::uint32_t coarse_bits;     ///< bits of a coarse bucket's number, if there are two passes
  std::uint32_t fine_bits;       ///< bits of a fine bucket's number in its coarse bucket
  std::uint32_t coarse_buckets;  ///< coarse buckets of the output; 1 if there is one pass
  std::uint32_t fine_buckets;    ///< fine buckets of the output

  void tell(plan::told& to) const { to.add("passes", passes).add("buckets", fine_buckets); }
};

/// Cuts the output for words of so many bytes. Fine buckets have 32 KiB to 128 KiB, and positions in them fit 16 bits.
inline bucketing bucketing_of(const primitives::movement& problem, std::uint32_t word_bytes) {
  const std::uint32_t index_bits =
      std::max(2U, bits_for(problem.indexed_count));  // write_fine_buckets clears flags by fours
  const std::uint32_t usual_bits = word_bytes >= 8 ? 12 : word_bytes == 4 ? 13 : 14;
  const std::uint32_t most_bits = std::min(16U, 17 - bits_for(word_bytes));
  const std::uint32_t pass_bits = bits_for(most_buckets);
  std::uint32_t position_bits = std::min(usual_bits, index_bits);
  while (position_bits < most_bits && index_bits - position_bits > 2 * pass_bits) ++position_bits;
  // Eight bits a pass are fastest, because a tile's runs are longer than with nine.
  if (position_bits < most_bits && index_bits - position_bits == 17) ++position_bits;
  const std::uint32_t bucket_bits = index_bits - position_bits;
  const std::uint32_t passes = bucket_bits <= 8 ? 1 : 2;
  const std::uint32_t fine_bits = passes == 1 ? bucket_bits : bucket_bits / 2;
  const auto buckets_of = [&](std::uint32_t bits) {
    return static_cast<std::uint32_t>(
        ceil_div(std::max<std::uint64_t>(1, problem.indexed_count), std::uint64_t{1} << bits));
  };
  const std::uint32_t coarse_buckets = passes == 2 ? buckets_of(position_bits + fine_bits) : 1;
  return {index_bits,
          position_bits,
          passes,
          bucket_bits - fine_bits,
          fine_bits,
          coarse_buckets,
          passes == 2 ? coarse_buckets << fine_bits : buckets_of(position_bits)};
}

/// The arrays of the passes in scratch. Members other than capacities are offsets in bytes.
struct bucket_layout {
  std::uint64_t coarse_capacity;  ///< records that a coarse bucket holds
  std::uint64_t fine_capacity;    ///< records that a fine bucket holds
  std::uint64_t bucket_sizes;     ///< sizes of coarse buckets, then of fine ones
  std::uint64_t tile_counters;
  std::uint64_t coarse_index, coarse_word, fine_index, fine_word;
};

/// Takes the arrays of words of so many bytes.
inline bucket_layout layout_of(const primitives::movement& problem, const bucketing& bucketing,
                               std::uint32_t word_bytes, core::scratch_offsets& arrays) {
  bucket_layout layout{};
  const std::uint64_t coarse_buckets = bucketing.passes == 2 ? bucketing.coarse_buckets : 0;
  layout.coarse_capacity = fixed_capacity(problem.count, problem.indexed_count,
                                          std::uint64_t{1} << (bucketing.index_bits - bucketing.coarse_bits));
  layout.fine_capacity =
      fixed_capacity(problem.count, problem.indexed_count, std::uint64_t{1} << bucketing.position_bits);
  layout.bucket_sizes =
      arrays.take((coarse_buckets + bucketing.fine_buckets + most_scheduled_kernels) * sizeof(std::uint32_t));
  layout.tile_counters = layout.bucket_sizes + (coarse_buckets + bucketing.fine_buckets) * sizeof(std::uint32_t);
  layout.coarse_index = arrays.take(coarse_buckets * layout.coarse_capacity * sizeof(std::uint32_t));
  layout.coarse_word = arrays.take(coarse_buckets * layout.coarse_capacity * word_bytes);
  layout.fine_index = arrays.take(bucketing.fine_buckets * layout.fine_capacity * sizeof(std::uint16_t));
  layout.fine_word = arrays.take(bucketing.fine_buckets * layout.fine_capacity * word_bytes);
  return layout;
}

/// Shared memory of a pass over words of so many bytes.
constexpr std::size_t pass_shared_bytes(std::size_t word_bytes) {
  return bucketing_tile * (word_bytes + sizeof(std::uint32_t));
}

/// Why buckets cannot take the words, whoever may win; or null.
inline const char* bucketing_rejection(const primitives::movement& problem, const bucketing& c,
                                       const bucket_layout& layout, std::uint32_t word_bytes,
                                       const plan::scope& scope) {
  if (const char* reason = shared_memory_rejection(scope, pass_shared_bytes(word_bytes))) return reason;
  constexpr std::uint32_t most_bits = bits_for(most_buckets);
  if (c.coarse_bits > most_bits || c.fine_bits > most_bits) {
    return "the output has more buckets than two passes can tell apart";
  }
  if (problem.count >= ~std::uint32_t{0} - bucketing_tile || layout.coarse_capacity >= ~std::uint32_t{0}) {
    return "counts exceed 32 bits";
  }
  return nullptr;
}

/// The share of the device that the last kernel keeps busy, which takes a block for each fine bucket.
inline double busy_share(const bucketing& c, const machine& m) {
  return std::min(1.0, c.fine_buckets / std::max(1.0, static_cast<double>(m.parallelism)));
}

/// The bucketing passes of a call, which move words that are records, records with their tags, or terms of sums. A call
/// uses it in this order: clear(), make_conditional() if a kernel of the call decides, run(), and the last kernel with
/// next_tile_counter().
template <class Word, class Record = Word>
class bucket_passes {
 public:
  bucket_passes(const context& ctx, const primitives::movement& p, const primitives::scatter_buffers& b,
                const bucketing& cut, const bucket_layout& layout, std::byte* scratch)
      : ctx_(ctx), problem_(p), buffers_(b), bucketing_(cut), layout_(layout), scratch_(scratch) {}

  /// Empties the buckets. Comes before all kernels of the call, so that these follow each other without a gap.
  void clear() const {
    const std::uint64_t words = coarse_size_words() + bucketing_.fine_buckets + most_scheduled_kernels;
    require(cudaMemsetAsync(scratch_ + layout_.bucket_sizes, 0, words * sizeof(std::uint32_t), ctx_.stream()), ctx_);
  }

  /// The kernels, which follow one that decides, do nothing where the list is ordered, and leave out its first
  /// positions, which have moved.
  void make_conditional(const order_sample& sample, std::uint64_t records_moved) {
    sample_ = sample;
    records_moved_ = records_moved;
    tile_counters_ = tile_counters();
  }
  /// Counters in scratch, which clear() sets to 0: one of each kernel that may have to end at once.
  std::uint32_t* tile_counters() const { return array<std::uint32_t>(layout_.tile_counters); }

  /// Sends the records to fine buckets. `overflow` is for tagged ones, `subtracts` for terms.
  void run(const index_guard& guard, const overflow_list& overflow = {}, bool subtracts = false) {
    overflow_ = overflow;
    subtracts_ = subtracts;
    bytes(problem_.index) == 8 ? run_first_pass<std::uint64_t>(guard) : run_first_pass<std::uint32_t>(guard);
    if (bucketing_.passes == 2) run_second_pass();
  }

  const std::uint16_t* fine_index() const { return array<const std::uint16_t>(layout_.fine_index); }
  const Word* fine_words() const { return array<const Word>(layout_.fine_word); }
  std::uint32_t* fine_sizes() const { return coarse_sizes() + coarse_size_words(); }
  const order_sample& sample() const { return sample_; }

  // Blocks of a kernel. If the kernel may have to end at once, its blocks are as many as are resident, and draw their
  // tiles. Otherwise each block takes one tile.
  std::uint64_t blocks_for(std::uint64_t tiles, std::uint32_t resident) const {
    const auto resident_blocks = static_cast<std::uint64_t>(state_of(ctx_).multiprocessors()) * resident;
    constexpr std::uint64_t most = (std::uint64_t{1} << 31) - 1;
    return std::max<std::uint64_t>(1, std::min(tiles, tile_counters_ != nullptr ? resident_blocks : most));
  }

  std::uint32_t* next_tile_counter() { return tile_counters_ == nullptr ? nullptr : tile_counters_ + used_counters_++; }

 private:
  template <class T>
  T* array(std::uint64_t offset) const {
    return reinterpret_cast<T*>(scratch_ + offset);
  }

  std::uint32_t coarse_size_words() const { return bucketing_.passes == 2 ? bucketing_.coarse_buckets : 0; }
  std::uint32_t* coarse_sizes() const { return array<std::uint32_t>(layout_.bucket_sizes); }

  template <class Index>
  void run_first_pass(const index_guard& guard) {
    const std::uint64_t last = std::min(problem_.index_limit(), problem_.indexed_count) - 1;
    bucket_pass_arguments<Index> args{};
    args.list = {static_cast<const Index*>(buffers_.index.data) + records_moved_,
                 static_cast<Index>(std::min<std::uint64_t>(last, static_cast<Index>(~Index{0}))), guard,
                 records_moved_};
    args.in = buffers_.in.data + records_moved_ * problem_.sequential_stride_bytes;
    args.in_stride = problem_.sequential_stride_bytes;
    args.count = problem_.count - records_moved_;
    args.tiles = static_cast<std::uint32_t>(ceil_div(args.count, bucketing_tile));
    args.in_buckets = 1;
    args.in_bucket_bits = bucketing_.index_bits;
    if (bucketing_.passes == 2) {
      args.shift = bucketing_.index_bits - bucketing_.coarse_bits;
      args.out_buckets = bucketing_.coarse_buckets;
      args.out_sizes = coarse_sizes();
      args.out_index = scratch_ + layout_.coarse_index;
      args.out_word = scratch_ + layout_.coarse_word;
      args.out_capacity = layout_.coarse_capacity;
      launch_pass<Index, std::uint32_t, Record>(args);
    } else {
      set_fine_output(args);
      launch_pass<Index, std::uint16_t, Record>(args);
    }
  }

  void run_second_pass() {
    bucket_pass_arguments<std::uint32_t> args{};
    args.list.index = array<const std::uint32_t>(layout_.coarse_index);
    args.list.last = ~std::uint32_t{0};
    args.in = scratch_ + layout_.coarse_word;
    args.in_stride = sizeof(Word);
    args.tiles = static_cast<std::uint32_t>(ceil_div(layout_.coarse_capacity, bucketing_tile));
    args.in_buckets = bucketing_.coarse_buckets;
    args.in_sizes = coarse_sizes();
    args.in_capacity = layout_.coarse_capacity;
    args.in_bucket_bits = bucketing_.index_bits - bucketing_.coarse_bits;
    set_fine_output(args);
    launch_pass<std::uint32_t, std::uint16_t, Word>(args);
  }

  template <class Index>
  void set_fine_output(bucket_pass_arguments<Index>& args) {
    args.shift = bucketing_.position_bits;
    args.out_buckets = bucketing_.passes == 2 ? 1U << bucketing_.fine_bits : bucketing_.fine_buckets;
    args.out_sizes = fine_sizes();
    args.out_index = scratch_ + layout_.fine_index;
    args.out_word = scratch_ + layout_.fine_word;
    args.out_capacity = layout_.fine_capacity;
  }

  template <class Index, class OutIndex, class Input>
  void launch_pass(bucket_pass_arguments<Index>& args) {
    args.final_out = buffers_.out.data;
    args.final_stride = problem_.indexed_stride_bytes;
    args.overflow = overflow_;
    args.subtracts = subtracts_;
    args.sample = sample_;
    args.tile_counter = next_tile_counter();
    const bool follows_kernel = tile_counters_ != nullptr || args.in_sizes != nullptr;
    constexpr std::size_t shared_bytes = pass_shared_bytes(sizeof(Word));
    const auto kernel = split_into_buckets<Word, Index, OutIndex, Input>;
    const std::uint64_t blocks = blocks_for(std::uint64_t{args.tiles} * args.in_buckets, 2);
    if (follows_kernel) {
      launch_overlapped(ctx_, kernel, blocks, bucketing_threads, shared_bytes, args);
    } else {
      launch_shared(ctx_, kernel, blocks, bucketing_threads, shared_bytes, args);
    }
  }

  const context& ctx_;
  const primitives::movement& problem_;
  const primitives::scatter_buffers& buffers_;
  bucketing bucketing_;
  bucket_layout layout_;
  std::byte* scratch_;
  overflow_list overflow_{};
  bool subtracts_ = false;
  order_sample sample_{};
  std::uint64_t records_moved_ = 0;         // first positions, which direct-if-ordered has moved
  std::uint32_t* tile_counters_ = nullptr;  // null if the list is known to be scattered
  std::uint32_t used_counters_ = 0;
};

}  // namespace sheaf::cuda
