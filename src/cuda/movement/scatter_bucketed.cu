#include <algorithm>

#include "cuda/movement/memory_cost.hpp"
#include "cuda/movement/scatter_bucketed.cuh"
#include "primitives/scatter.hpp"

// A scatter at random in three streams: records go with their index into 2^k regions of the output, each of these again
// into windows that fit shared memory, and each window is put in order there and written in whole lines. Regions and
// windows have fixed room; a record that finds its window full, because the list is skewed or repeats itself, is
// written to the output at once: with duplicates::any its writer may win as well as another.
namespace sheaf::cuda {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

/// What plan_clustered decides.
struct cut {
  std::uint32_t indexed_bits;  ///< of an index
  std::uint32_t window_bits;   ///< of a place in a window
  std::uint32_t levels;        ///< 1 or 2
  std::uint32_t first_bits;    ///< of a region's number, where there are two levels
  std::uint32_t last_bits;     ///< of a window's number in its region
  std::uint32_t regions;       ///< that the output has; one where there is one level
  std::uint32_t windows;       ///< of all regions
};

/// Windows of 32 KiB to 128 KiB; places in them are 16 bits.
cut cut_of(const scatter_problem& p) {
  const std::uint32_t indexed_bits = bits_for(p.indexed_count);
  const std::uint32_t usual = p.record_bytes >= 8 ? 12 : p.record_bytes == 4 ? 13 : 14;
  const std::uint32_t most = std::min(16U, 17 - bits_for(p.record_bytes));
  const std::uint32_t level_bits = bits_for(most_clusters);
  std::uint32_t window = std::min(usual, indexed_bits);
  while (window < most && indexed_bits - window > 2 * level_bits) ++window;
  // Eight bits a level go best: runs of a tile are longer then.
  if (window < most && indexed_bits - window == 17) ++window;
  const std::uint32_t rest = indexed_bits - window;
  const std::uint32_t levels = rest <= 8 ? 1 : 2;
  const std::uint32_t last = levels == 1 ? rest : rest / 2;
  const auto parts = [&](std::uint32_t bits) {
    return static_cast<std::uint32_t>(ceil_div(std::max<std::uint64_t>(1, p.indexed_count), std::uint64_t{1} << bits));
  };
  const std::uint32_t regions = levels == 2 ? parts(window + last) : 1;
  return {indexed_bits, window, levels, rest - last, last, regions, levels == 2 ? regions << last : parts(window)};
}

std::uint64_t rounded(std::uint64_t bytes) { return ceil_div(bytes, 256) * 256; }

/// Where things lie in the call's scratch.
struct layout {
  std::uint64_t region_room;  // records of a region, of a window
  std::uint64_t window_room;
  std::uint64_t fill, ticket, region_index, region_word, window_index, window_word, end;  // bytes from the beginning
};

layout layout_of(const scatter_problem& p, const cut& c) {
  layout l{};
  const std::uint64_t regions = c.levels == 2 ? c.regions : 0;
  l.region_room = cluster_capacity(p.count, p.indexed_count, std::uint64_t{1} << (c.indexed_bits - c.first_bits));
  l.window_room = cluster_capacity(p.count, p.indexed_count, std::uint64_t{1} << c.window_bits);
  std::uint64_t at = 0;
  const auto take = [&](std::uint64_t bytes) {
    const std::uint64_t begin = at;
    at += rounded(bytes);
    return begin;
  };
  l.fill = take((regions + c.windows + most_tickets) * sizeof(std::uint32_t));
  l.ticket = l.fill + (regions + c.windows) * sizeof(std::uint32_t);
  l.region_index = take(regions * l.region_room * sizeof(std::uint32_t));
  l.region_word = take(regions * l.region_room * p.record_bytes);
  l.window_index = take(c.windows * l.window_room * sizeof(std::uint16_t));
  l.window_word = take(c.windows * l.window_room * p.record_bytes);
  l.end = at;
  return l;
}

const char* clustered_rejection(const scatter_problem& p) {
  if (p.backend != backend_kind::cuda) return "works on CUDA memory";
  if (p.duplicates == duplicates::last) return "any writer may win";
  if (const char* reason = words_rejection(p)) return reason;
  const cut c = cut_of(p);
  const std::uint32_t most = bits_for(most_clusters);
  if (c.first_bits > most || c.last_bits > most) return "the output has more windows than two levels tell apart";
  const layout l = layout_of(p, c);
  if (p.count >= ~std::uint32_t{0} - cluster_tile || l.region_room >= ~std::uint32_t{0}) return "counts pass 32 bits";
  return nullptr;
}

/// Shares of copy bandwidth that the levels and the placing reach, and records that a multiprocessor takes through them
/// a second where words are narrow.
constexpr double level_share = 0.67;
constexpr double wide_level_share = 0.78;  // of 16-byte words
constexpr double level_per_second = 2.2e9;
constexpr double place_share = 0.90;
constexpr double place_per_second = 3.5e9;

plan::planned plan_clustered(const scatter_problem& p, const machine& m) {
  if (const char* reason = clustered_rejection(p)) return plan::rejected(reason);
  const cut c = cut_of(p);
  const auto count = static_cast<double>(p.count);
  const auto width = static_cast<double>(p.record_bytes);
  const double index = static_cast<double>(bytes(p.index));
  const double bus = m.copy_bytes_per_second;
  const double in = count * (static_cast<double>(p.sequential_stride_bytes) + index);
  plan::planned plan;
  plan.scratch_bytes = layout_of(p, c).end;
  // Kernels wait for one another, and the few blocks of a short list for memory.
  plan.add("latency", m.launch_seconds + (6 + 2 * c.levels) * m.step_seconds);
  const auto stream = [&](const char* name, double bytes, double share, double per_second) {
    plan::planned part;
    part.add_overlapped(3, {{"streamed", bytes / bus / share}, {"ranked", count / (per_second * m.parallelism)}});
    plan.add(name, part.seconds);
  };
  const double share = p.record_bytes == 16 ? wide_level_share : level_share;
  if (c.levels == 2) {
    stream("regions", in + count * (width + 4), share, level_per_second);
    stream("windows", count * (2 * width + 4 + 2), share, level_per_second);
  } else {
    stream("windows", in + count * (width + 2), share, level_per_second);
  }
  stream("placing", count * (width + 2) + std::min(count, static_cast<double>(p.indexed_count)) * width, place_share,
         place_per_second);
  plan.add("empty windows", static_cast<double>(c.windows) * 1e-9);
  if (p.pattern.shape == access_pattern::kind::unknown) {
    // Kernels that leave at once cost a list in order some microseconds each.
    plan.add("sampling", 0.03 * plan.seconds);
    primitives::movement in_order = p;
    in_order.pattern = access_pattern::sequential();
    constexpr double least_in_order = 180e-6;
    plan.by_name_only = to_plan(scatter_cost(in_order, m), m, true).seconds < least_in_order;
  } else {
    plan.by_name_only = p.pattern.shape != access_pattern::kind::random;
  }
  return plan;
}

template <class Word>
class clustered_scatter {
 public:
  clustered_scatter(const context& ctx, const scatter_problem& p, const scatter_buffers& b, std::byte* scratch)
      : ctx_(ctx), p_(p), b_(b), cut_(cut_of(p)), at_(layout_of(p, cut_)), scratch_(scratch) {}

  void run() {
    index_guard guard;  // with bounds::trust an index past the output has no cluster and is left out in silence
    if (p_.bounds == bounds::check) {
      guard = state_of(ctx_).guard(core::index_role::scatter_index, p_.index, p_.indexed_count);
    }
    if (p_.pattern.shape == access_pattern::kind::unknown) {
      auto* const first_ticket = reinterpret_cast<std::uint32_t*>(scratch_ + at_.ticket);
      const begun_movement before = begin_scatter(
          ctx_, what, p_, cuda::arguments_of(p_, b_.in.data, b_.out.data, b_.index, guard), first_ticket + most_walks);
      if (!before.asks) return;
      sample_ = before.sample;
      moved_ = before.moved;
      tickets_ = first_ticket;
    }
    const std::uint64_t fills = (cut_.levels == 2 ? cut_.regions : 0) + cut_.windows + most_tickets;
    require(cudaMemsetAsync(scratch_ + at_.fill, 0, fills * sizeof(std::uint32_t), ctx_.stream()), what);
    bytes(p_.index) == 8 ? first_level<std::uint64_t>(guard) : first_level<std::uint32_t>(guard);
    if (cut_.levels == 2) second_level();
    place();
  }

 private:
  static constexpr const char* what = "cuda.bucketed";
  static constexpr std::size_t level_shared = cluster_tile * (sizeof(Word) + sizeof(std::uint32_t));

  std::uint32_t* fill_of_regions() const { return reinterpret_cast<std::uint32_t*>(scratch_ + at_.fill); }
  std::uint32_t* fill_of_windows() const { return fill_of_regions() + (cut_.levels == 2 ? cut_.regions : 0); }

  // Where blocks may have to leave they are as many as run at once, and walk.
  std::uint64_t blocks_for(std::uint64_t tiles, std::uint32_t resident) const {
    const auto few = static_cast<std::uint64_t>(state_of(ctx_).multiprocessors()) * resident;
    constexpr std::uint64_t most = (std::uint64_t{1} << 31) - 1;
    return std::max<std::uint64_t>(1, std::min(tiles, tickets_ != nullptr ? few : most));
  }

  std::uint32_t* next_ticket() { return tickets_ == nullptr ? nullptr : tickets_ + used_tickets_++; }

  template <class Index>
  void first_level(const index_guard& guard) {
    cluster_arguments<Index> a{};
    a.index = static_cast<const Index*>(b_.index.data) + moved_;
    a.in = b_.in.data + moved_ * p_.sequential_stride_bytes;
    a.in_stride = p_.sequential_stride_bytes;
    a.count = p_.count - moved_;
    a.last = static_cast<Index>(
        std::min<std::uint64_t>(std::min(p_.index_limit(), p_.indexed_count) - 1, static_cast<Index>(~Index{0})));
    a.guard = guard;
    a.tiles = static_cast<std::uint32_t>(ceil_div(a.count, cluster_tile));
    a.regions = 1;
    a.region_bits = cut_.indexed_bits;
    if (cut_.levels == 2) {
      a.shift = cut_.indexed_bits - cut_.first_bits;
      a.clusters = cut_.regions;
      a.fill = fill_of_regions();
      a.out_index = scratch_ + at_.region_index;
      a.out_word = scratch_ + at_.region_word;
      a.room = at_.region_room;
      launch_level<Index, std::uint32_t>(a);
    } else {
      to_windows(a);
      launch_level<Index, std::uint16_t>(a);
    }
  }

  void second_level() {
    cluster_arguments<std::uint32_t> a{};
    a.index = reinterpret_cast<const std::uint32_t*>(scratch_ + at_.region_index);
    a.in = scratch_ + at_.region_word;
    a.in_stride = sizeof(Word);
    a.last = ~std::uint32_t{0};
    a.tiles = static_cast<std::uint32_t>(ceil_div(at_.region_room, cluster_tile));
    a.regions = cut_.regions;
    a.in_fill = fill_of_regions();
    a.in_room = at_.region_room;
    a.region_bits = cut_.indexed_bits - cut_.first_bits;
    to_windows(a);
    launch_level<std::uint32_t, std::uint16_t>(a);
  }

  template <class Index>
  void to_windows(cluster_arguments<Index>& a) {
    a.shift = cut_.window_bits;
    a.clusters = cut_.levels == 2 ? 1U << cut_.last_bits : cut_.windows;
    a.fill = fill_of_windows();
    a.out_index = scratch_ + at_.window_index;
    a.out_word = scratch_ + at_.window_word;
    a.room = at_.window_room;
  }

  template <class Index, class OutIndex>
  void launch_level(cluster_arguments<Index>& a) {
    a.out = b_.out.data;
    a.out_stride = p_.indexed_stride_bytes;
    a.sample = sample_;
    a.ticket = next_ticket();
    launch_shared(ctx_, what, split_into_clusters<Word, Index, OutIndex>,
                  blocks_for(std::uint64_t{a.tiles} * a.regions, 2), cluster_threads, level_shared, a);
  }

  void place() {
    const std::size_t shared = (sizeof(Word) + 1) << cut_.window_bits;
    launch_shared(
        ctx_, what, place_windows<Word>, blocks_for(cut_.windows, 4), window_threads, std::max<std::size_t>(shared, 16),
        reinterpret_cast<const std::uint16_t*>(scratch_ + at_.window_index),
        reinterpret_cast<const Word*>(scratch_ + at_.window_word), static_cast<const std::uint32_t*>(fill_of_windows()),
        at_.window_room, cut_.window_bits, cut_.windows, b_.out.data, p_.indexed_stride_bytes, sample_, next_ticket());
  }

  const context& ctx_;
  const scatter_problem& p_;
  const scatter_buffers& b_;
  cut cut_;
  layout at_;
  std::byte* scratch_;
  order_sample sample_{};
  std::uint64_t moved_ = 0;
  std::uint32_t* tickets_ = nullptr;  // where the list was of unknown order
  std::uint32_t used_tickets_ = 0;
};

void run_clustered(const context& ctx, const scatter_problem& p, const plan::planned& plan, const scatter_buffers& b) {
  const device_scope here(ctx.device());
  const core::scratch memory(ctx.state(), plan.scratch_bytes);
  with_word(p.word_bytes,
            [&](auto word) { clustered_scatter<decltype(word)>(ctx, p, b, memory.as<std::byte>()).run(); });
}

}  // namespace

constinit const primitives::scatter_variant scatter_bucketed{"cuda.bucketed", plan_clustered, run_clustered};

}  // namespace sheaf::cuda
