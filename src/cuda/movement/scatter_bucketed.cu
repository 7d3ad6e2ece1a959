#include <algorithm>

#include "core/scratch_offsets.hpp"
#include "cuda/device/speeds.hpp"
#include "cuda/movement/buckets/scatter.cuh"
#include "cuda/movement/memory_cost.hpp"
#include "cuda/movement/variants.hpp"
#include "primitives/scatter.hpp"

// Propagation blocking for a random scatter, in three streams over memory. The first pass sends records with their
// indices to coarse buckets of the output, the second sends each coarse bucket's records to fine buckets that fit
// shared memory, and the last kernel puts each fine bucket in order there and writes it in whole lines. Small outputs
// need one pass. Buckets have fixed capacity. A record that finds its bucket full, because the list is skewed or
// repeats itself, is written to the output at once: with duplicates::any, its writer may win as well as another.
namespace sheaf::cuda {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

/// How the output is cut into buckets.
struct bucketing {
  std::uint32_t index_bits;      ///< bits of an index
  std::uint32_t position_bits;   ///< log2 of the records of a fine bucket
  std::uint32_t passes;          ///< bucketing passes: 1 (fine buckets at once) or 2
  std::uint32_t coarse_bits;     ///< bits of a coarse bucket's number, if there are two passes
  std::uint32_t fine_bits;       ///< bits of a fine bucket's number in its coarse bucket
  std::uint32_t coarse_buckets;  ///< coarse buckets of the output; 1 if there is one pass
  std::uint32_t fine_buckets;    ///< fine buckets of the output
};

/// Cuts the output. Fine buckets have 32 KiB to 128 KiB, and positions in them fit 16 bits.
bucketing bucketing_of(const scatter_problem& p) {
  const std::uint32_t index_bits = bits_for(p.indexed_count);
  const std::uint32_t usual_bits = p.record_bytes >= 8 ? 12 : p.record_bytes == 4 ? 13 : 14;
  const std::uint32_t most_bits = std::min(16U, 17 - bits_for(p.record_bytes));
  const std::uint32_t pass_bits = bits_for(most_buckets);
  std::uint32_t position_bits = std::min(usual_bits, index_bits);
  while (position_bits < most_bits && index_bits - position_bits > 2 * pass_bits) ++position_bits;
  // Eight bits a pass are fastest, because a tile's runs are longer than with nine.
  if (position_bits < most_bits && index_bits - position_bits == 17) ++position_bits;
  const std::uint32_t bucket_bits = index_bits - position_bits;
  const std::uint32_t passes = bucket_bits <= 8 ? 1 : 2;
  const std::uint32_t fine_bits = passes == 1 ? bucket_bits : bucket_bits / 2;
  const auto buckets_of = [&](std::uint32_t bits) {
    return static_cast<std::uint32_t>(ceil_div(std::max<std::uint64_t>(1, p.indexed_count), std::uint64_t{1} << bits));
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

/// Scratch layout of a call. Members other than capacities are offsets in bytes.
struct scratch_layout {
  std::uint64_t coarse_capacity;  ///< records that a coarse bucket holds
  std::uint64_t fine_capacity;    ///< records that a fine bucket holds
  std::uint64_t bucket_sizes;     ///< sizes of coarse buckets, then of fine ones
  std::uint64_t tile_counters;
  std::uint64_t coarse_index, coarse_word, fine_index, fine_word;
  std::uint64_t end;
};

/// What plan decides for run.
struct bucketed_decision {
  bucketing cut;
  scratch_layout layout;
};

scratch_layout layout_of(const scatter_problem& p, const bucketing& c) {
  scratch_layout l{};
  const std::uint64_t coarse_buckets = c.passes == 2 ? c.coarse_buckets : 0;
  l.coarse_capacity = fixed_capacity(p.count, p.indexed_count, std::uint64_t{1} << (c.index_bits - c.coarse_bits));
  l.fine_capacity = fixed_capacity(p.count, p.indexed_count, std::uint64_t{1} << c.position_bits);
  core::scratch_offsets arrays;
  l.bucket_sizes = arrays.take((coarse_buckets + c.fine_buckets + all_counter_words) * sizeof(std::uint32_t));
  l.tile_counters = l.bucket_sizes + (coarse_buckets + c.fine_buckets) * sizeof(std::uint32_t);
  l.coarse_index = arrays.take(coarse_buckets * l.coarse_capacity * sizeof(std::uint32_t));
  l.coarse_word = arrays.take(coarse_buckets * l.coarse_capacity * p.record_bytes);
  l.fine_index = arrays.take(c.fine_buckets * l.fine_capacity * sizeof(std::uint16_t));
  l.fine_word = arrays.take(c.fine_buckets * l.fine_capacity * p.record_bytes);
  l.end = arrays.bytes();
  return l;
}

const char* bucketed_rejection(const scatter_problem& p) {
  if (p.duplicates == duplicates::last) return "any writer may win";
  if (const char* reason = words_rejection(p)) return reason;
  const bucketing c = bucketing_of(p);
  const std::uint32_t most_bits = bits_for(most_buckets);
  if (c.coarse_bits > most_bits || c.fine_bits > most_bits) {
    return "the output has more buckets than two passes tell apart";
  }
  const scratch_layout l = layout_of(p, c);
  if (p.count >= ~std::uint32_t{0} - bucketing_tile || l.coarse_capacity >= ~std::uint32_t{0})
    return "counts pass 32 bits";
  return nullptr;
}

struct bucketed_tuning {
  /// Share of copy bandwidth that a bucketing pass reaches, and records that it ranks in the time in which the L2 cache
  /// moves a byte, which limits narrow words.
  double pass_share = 0.67;
  double wide_pass_share = 0.78;  ///< for 16-byte words
  double pass_ranked = 0.0334;
  /// Share of copy bandwidth that write_fine_buckets reaches, and records that it writes in the time in which the L2
  /// cache moves a byte.
  double write_share = 0.90;
  double write_ranked = 0.0531;
  /// Steps of the profile that a block of an empty bucket takes.
  double empty_bucket_steps = 0.000711;
  /// A list in order that takes fewer steps than this would lose some per cent to the order sample.
  double least_in_order_steps = 128;
};
constexpr bucketed_tuning tuning;

plan::planned plan_bucketed(const scatter_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = bucketed_rejection(p)) return plan::rejected(reason);
  const bucketing c = bucketing_of(p);
  const auto count = static_cast<double>(p.count);
  const auto width = static_cast<double>(p.record_bytes);
  const double index = static_cast<double>(bytes(p.index));
  const double bus = m.copy_bytes_per_second;
  const double in = count * (static_cast<double>(p.sequential_stride_bytes) + index);
  plan::planned plan;
  const bucketed_decision decided{c, layout_of(p, c)};
  plan.decided.set(decided);
  plan.scratch_bytes = decided.layout.end;
  // Kernels run one after another, and the few blocks of a short list wait for memory.
  plan.add("latency", m.launch_seconds + (6 + 2 * c.passes) * m.step_seconds);
  const auto stream = [&](const char* name, double bytes, double share, double ranked) {
    plan::planned stream_plan;
    stream_plan.add_overlapped(3,
                               {{"streamed", bytes / bus / share}, {"ranked", instruction_seconds(count, ranked, m)}});
    plan.add(name, stream_plan.seconds);
  };
  const double share = p.record_bytes == 16 ? tuning.wide_pass_share : tuning.pass_share;
  if (c.passes == 2) {
    stream("coarse buckets", in + count * (width + 4), share, tuning.pass_ranked);
    stream("fine buckets", count * (2 * width + 4 + 2), share, tuning.pass_ranked);
  } else {
    stream("fine buckets", in + count * (width + 2), share, tuning.pass_ranked);
  }
  stream("bucket writes", count * (width + 2) + std::min(count, static_cast<double>(p.indexed_count)) * width,
         tuning.write_share, tuning.write_ranked);
  plan.add("empty buckets", static_cast<double>(c.fine_buckets) * tuning.empty_bucket_steps * m.step_seconds);
  if (p.pattern.shape == access_pattern::kind::unknown) {
    // Kernels that end at once cost a list in order some microseconds each.
    plan.add("sampling", 0.03 * plan.seconds);
    primitives::movement in_order = p;
    in_order.pattern = access_pattern::sequential();
    plan.by_name_only =
        to_plan(scatter_cost(in_order, m), m, true).seconds < tuning.least_in_order_steps * m.step_seconds;
  } else {
    plan.by_name_only = p.pattern.shape != access_pattern::kind::random;
  }
  return plan;
}

template <class Word>
class bucketed_scatter {
 public:
  bucketed_scatter(const context& ctx, const scatter_problem& p, const scatter_buffers& b,
                   const bucketed_decision& decided, std::byte* scratch)
      : ctx_(ctx), p_(p), b_(b), bucketing_(decided.cut), layout_(decided.layout), scratch_(scratch) {}

  void run() {
    index_guard guard;  // with bounds::trust, an index past the output has no bucket and is skipped without a report
    if (p_.bounds == bounds::check) {
      guard = state_of(ctx_).guard(primitives::scatter_words, p_.index, p_.indexed_count);
    }
    if (p_.pattern.shape == access_pattern::kind::unknown) {
      auto* const tile_counters = array<std::uint32_t>(layout_.tile_counters);
      const direct_attempt attempt =
          scatter_if_ordered(ctx_, operation, p_, arguments_of(p_, b_.in.data, b_.out.data, b_.index, guard),
                             tile_counters + most_scheduled_kernels);
      if (!attempt.asks_for_verdict) return;
      sample_ = attempt.sample;
      records_moved_ = attempt.records_moved;
      tile_counters_ = tile_counters;
    }
    const std::uint64_t words = coarse_size_words() + bucketing_.fine_buckets + all_counter_words;
    require(cudaMemsetAsync(scratch_ + layout_.bucket_sizes, 0, words * sizeof(std::uint32_t), ctx_.stream()),
            operation);
    bytes(p_.index) == 8 ? run_first_pass<std::uint64_t>(guard) : run_first_pass<std::uint32_t>(guard);
    if (bucketing_.passes == 2) run_second_pass();
    write_buckets();
  }

 private:
  static constexpr const char* operation = "cuda.bucketed";
  static constexpr std::size_t pass_shared_bytes = bucketing_tile * (sizeof(Word) + sizeof(std::uint32_t));

  template <class T>
  T* array(std::uint64_t offset) const {
    return reinterpret_cast<T*>(scratch_ + offset);
  }

  std::uint32_t coarse_size_words() const { return bucketing_.passes == 2 ? bucketing_.coarse_buckets : 0; }
  std::uint32_t* coarse_sizes() const { return array<std::uint32_t>(layout_.bucket_sizes); }
  std::uint32_t* fine_sizes() const { return coarse_sizes() + coarse_size_words(); }

  // Blocks of a kernel. If the kernel may have to end at once, its blocks are as many as are resident, and draw their
  // tiles. Otherwise each block takes one tile.
  std::uint64_t blocks_for(std::uint64_t tiles, std::uint32_t resident) const {
    const auto resident_blocks = static_cast<std::uint64_t>(state_of(ctx_).multiprocessors()) * resident;
    constexpr std::uint64_t most = (std::uint64_t{1} << 31) - 1;
    return std::max<std::uint64_t>(1, std::min(tiles, tile_counters_ != nullptr ? resident_blocks : most));
  }

  std::uint32_t* next_tile_counter() { return tile_counters_ == nullptr ? nullptr : tile_counters_ + used_counters_++; }

  template <class Index>
  void run_first_pass(const index_guard& guard) {
    bucket_pass_arguments<Index> a{};
    a.index = static_cast<const Index*>(b_.index.data) + records_moved_;
    a.in = b_.in.data + records_moved_ * p_.sequential_stride_bytes;
    a.in_stride = p_.sequential_stride_bytes;
    a.count = p_.count - records_moved_;
    a.last = static_cast<Index>(
        std::min<std::uint64_t>(std::min(p_.index_limit(), p_.indexed_count) - 1, static_cast<Index>(~Index{0})));
    a.guard = guard;
    a.tiles = static_cast<std::uint32_t>(ceil_div(a.count, bucketing_tile));
    a.in_buckets = 1;
    a.in_bucket_bits = bucketing_.index_bits;
    if (bucketing_.passes == 2) {
      a.shift = bucketing_.index_bits - bucketing_.coarse_bits;
      a.out_buckets = bucketing_.coarse_buckets;
      a.out_sizes = coarse_sizes();
      a.out_index = scratch_ + layout_.coarse_index;
      a.out_word = scratch_ + layout_.coarse_word;
      a.out_capacity = layout_.coarse_capacity;
      launch_pass<Index, std::uint32_t>(a);
    } else {
      set_fine_output(a);
      launch_pass<Index, std::uint16_t>(a);
    }
  }

  void run_second_pass() {
    bucket_pass_arguments<std::uint32_t> a{};
    a.index = array<const std::uint32_t>(layout_.coarse_index);
    a.in = scratch_ + layout_.coarse_word;
    a.in_stride = sizeof(Word);
    a.last = ~std::uint32_t{0};
    a.tiles = static_cast<std::uint32_t>(ceil_div(layout_.coarse_capacity, bucketing_tile));
    a.in_buckets = bucketing_.coarse_buckets;
    a.in_sizes = coarse_sizes();
    a.in_capacity = layout_.coarse_capacity;
    a.in_bucket_bits = bucketing_.index_bits - bucketing_.coarse_bits;
    set_fine_output(a);
    launch_pass<std::uint32_t, std::uint16_t>(a);
  }

  template <class Index>
  void set_fine_output(bucket_pass_arguments<Index>& a) {
    a.shift = bucketing_.position_bits;
    a.out_buckets = bucketing_.passes == 2 ? 1U << bucketing_.fine_bits : bucketing_.fine_buckets;
    a.out_sizes = fine_sizes();
    a.out_index = scratch_ + layout_.fine_index;
    a.out_word = scratch_ + layout_.fine_word;
    a.out_capacity = layout_.fine_capacity;
  }

  template <class Index, class OutIndex>
  void launch_pass(bucket_pass_arguments<Index>& a) {
    a.final_out = b_.out.data;
    a.final_stride = p_.indexed_stride_bytes;
    a.sample = sample_;
    a.tile_counter = next_tile_counter();
    launch_shared(ctx_, operation, split_into_buckets<Word, Index, OutIndex>,
                  blocks_for(std::uint64_t{a.tiles} * a.in_buckets, 2), bucketing_threads, pass_shared_bytes, a);
  }

  void write_buckets() {
    const std::size_t shared_bytes = (sizeof(Word) + 1) << bucketing_.position_bits;
    launch_shared(ctx_, operation, write_fine_buckets<Word>, blocks_for(bucketing_.fine_buckets, 4), write_threads,
                  std::max<std::size_t>(shared_bytes, 16), array<const std::uint16_t>(layout_.fine_index),
                  array<const Word>(layout_.fine_word), static_cast<const std::uint32_t*>(fine_sizes()),
                  layout_.fine_capacity, bucketing_.position_bits, bucketing_.fine_buckets, b_.out.data,
                  p_.indexed_stride_bytes, sample_, next_tile_counter());
  }

  const context& ctx_;
  const scatter_problem& p_;
  const scatter_buffers& b_;
  bucketing bucketing_;
  scratch_layout layout_;
  std::byte* scratch_;
  order_sample sample_{};
  std::uint64_t records_moved_ = 0;         // first positions, which direct-if-ordered has moved
  std::uint32_t* tile_counters_ = nullptr;  // null if the list is known to be scattered
  std::uint32_t used_counters_ = 0;
};

void run_bucketed(const context& ctx, const scatter_problem& p, const plan::planned& plan, const scatter_buffers& b,
                  std::byte* scratch) {
  const device_scope scope(ctx.device());
  const auto decided = plan.decided.get<bucketed_decision>();
  with_word(p.word_bytes, [&](auto word) { bucketed_scatter<decltype(word)>(ctx, p, b, decided, scratch).run(); });
}

}  // namespace

constinit const primitives::scatter_variant scatter_bucketed{"cuda.bucketed", backend_kind::cuda, plan_bucketed,
                                                             run_bucketed};

}  // namespace sheaf::cuda
