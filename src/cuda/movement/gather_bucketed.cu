#include "cuda/movement/gather_schedule.hpp"

#include "cuda/movement/direct_if_ordered.cuh"
#include "cuda/movement/gather_schedule.cuh"
#include "cuda/movement/memory_cost.hpp"
#include "primitives/gather.hpp"

namespace sheaf::cuda {

route_layout layout_of_routes(const primitives::movement& p, list_layout lists) {
  route_layout l{};
  const std::uint32_t indexed_bits = bits_for(p.indexed_count);
  // 256 windows leave runs of 32 records; more where a window would not stay in L2.
  constexpr std::uint32_t most_window_bits = 24;  // of bytes
  std::uint32_t window_bits = std::min(8U, indexed_bits);
  while (window_bits < bits_for(most_clusters) &&
         indexed_bits - window_bits + bits_for(p.record_bytes) > most_window_bits) {
    ++window_bits;
  }
  l.shift = indexed_bits - window_bits;
  l.windows =
      static_cast<std::uint32_t>(ceil_div(std::max<std::uint64_t>(1, p.indexed_count), std::uint64_t{1} << l.shift));
  l.room = cluster_capacity(p.count, p.indexed_count, std::uint64_t{1} << l.shift);
  const std::uint64_t tiles = ceil_div(p.count, cluster_tile);
  const std::uint64_t entries = lists == list_layout::fixed_room ? l.room * l.windows : p.count;
  std::uint64_t at = 0;
  const auto take = [&](std::uint64_t bytes) {
    const std::uint64_t begin = at;
    at += ceil_div(bytes, 256) * 256;
    return begin;
  };
  l.fill = take((l.windows + most_tickets) * sizeof(std::uint32_t));
  l.ticket = l.fill + l.windows * sizeof(std::uint32_t);
  l.window_begin = take(lists == list_layout::fixed_room ? 0 : (2 * most_clusters + 1) * sizeof(std::uint64_t));
  l.window_index = take(entries * sizeof(std::uint32_t));
  l.place = take(p.count * sizeof(std::uint16_t));
  l.run = take(tiles * l.windows * sizeof(std::uint32_t));
  l.run_begin = take(tiles * l.windows * sizeof(std::uint16_t));
  l.word = at;
  l.end = at + entries * p.record_bytes;
  return l;
}

const char* routes_rejection(const primitives::movement& p) {
  if (p.backend != backend_kind::cuda) return "works on CUDA memory";
  if (const char* reason = words_rejection(p)) return reason;
  if (p.count >= ~std::uint32_t{0} - cluster_tile) return "counts pass 32 bits";
  if (layout_of_routes(p, list_layout::fixed_room).shift > 32) return "windows hold more than 2^32 records";
  return nullptr;
}

namespace {

/// Seconds of a stream over `bytes` that ranks or places `count` records on the way.
double beside(double bytes, double share, double count, double per_second, const machine& m) {
  plan::planned part;
  part.add_overlapped(3, {{"streamed", bytes / m.copy_bytes_per_second / share},
                          {"ranked", count / (per_second * std::max(1.0, static_cast<double>(m.parallelism)))}});
  return part.seconds;
}

/// Shares of copy bandwidth and records a second and multiprocessor.
constexpr double find_share = 0.60;
constexpr double find_per_second = 2.0e9;
constexpr double collect_share = 0.68;
constexpr double collect_per_second = 2.0e9;
/// Reads of a window while others stream through L2, over those of a probe that has it to itself.
constexpr double crowded = 1.2;
/// Blocks of a multiprocessor read from all of L2, however narrow a window.
constexpr std::uint64_t least_window_bytes = 1 << 20;
/// Tiles of 16-byte words leave a multiprocessor one block.
constexpr double lonely = 1.35;

}  // namespace

double finding_seconds(const primitives::movement& p, const machine& m) {
  const auto count = static_cast<double>(p.count);
  return beside(count * (static_cast<double>(bytes(p.index)) + 4 + 2), find_share, count, find_per_second, m);
}

double going_seconds(const primitives::movement& p, const machine& m) {
  const route_layout l = layout_of_routes(p, list_layout::fixed_room);
  const auto count = static_cast<double>(p.count);
  const auto width = static_cast<double>(p.record_bytes);
  plan::planned reading;
  reading.add_overlapped(
      3, {{"windows", (count * (4 + width) + static_cast<double>(p.indexed_bytes())) / m.copy_bytes_per_second},
          {"random read", crowded * m.random_reads(p.count, p.record_bytes,
                                                   std::max(least_window_bytes, p.indexed_stride_bytes << l.shift))}});
  const double collecting = beside(count * (2 * width + 2), collect_share, count, collect_per_second, m);
  return (reading.seconds + collecting) * (p.record_bytes == 16 ? lonely : 1.0);
}

namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

plan::planned plan_clustered(const gather_problem& p, const machine& m) {
  if (const char* reason = routes_rejection(p)) return plan::rejected(reason);
  plan::planned plan;
  plan.scratch_bytes = layout_of_routes(p, list_layout::fixed_room).end;
  // Kernels wait for one another, and the few blocks of a short list for memory.
  plan.add("latency", m.launch_seconds + 17 * m.step_seconds);
  plan.add("routes", finding_seconds(p, m));
  plan.add("windows and tiles", going_seconds(p, m));
  if (p.pattern.shape == access_pattern::kind::unknown) {
    plan.add("sampling", 0.03 * plan.seconds);
    primitives::movement in_order = p;
    in_order.pattern = access_pattern::sequential();
    constexpr double least_in_order = 180e-6;
    plan.by_name_only = to_plan(gather_cost(in_order, m), m, false).seconds < least_in_order;
  } else {
    plan.by_name_only = p.pattern.shape != access_pattern::kind::random;
  }
  return plan;
}

// Where blocks may have to leave they are as many as run at once, and walk.
std::uint64_t blocks_for(const context& ctx, std::uint64_t tiles, bool asks, std::uint32_t resident) {
  const auto few = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * resident;
  constexpr std::uint64_t most = (std::uint64_t{1} << 31) - 1;
  return std::max<std::uint64_t>(1, std::min(tiles, asks ? few : most));
}

void run_clustered(const context& ctx, const gather_problem& p, const plan::planned& plan, const gather_buffers& b) {
  constexpr const char* what = "cuda.bucketed";
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::gather_index, p.index, p.indexed_count);
  const core::scratch memory(ctx.state(), plan.scratch_bytes);
  auto* const scratch = memory.as<std::byte>();
  const route_layout l = layout_of_routes(p, list_layout::fixed_room);
  auto* const first_ticket = reinterpret_cast<std::uint32_t*>(scratch + l.ticket);
  begun_movement before;
  if (p.pattern.shape == access_pattern::kind::unknown) {
    before = begin_gather(ctx, what, p, arguments_of(p, b.table.data, b.out.data, b.index, guard),
                          first_ticket + most_walks);
    if (!before.asks) return;
  }
  const routes r{.window_index = reinterpret_cast<std::uint32_t*>(scratch + l.window_index),
                 .fill = reinterpret_cast<std::uint32_t*>(scratch + l.fill),
                 .window_begin = nullptr,
                 .room = l.room,
                 .place = reinterpret_cast<std::uint16_t*>(scratch + l.place),
                 .run = reinterpret_cast<std::uint32_t*>(scratch + l.run),
                 .run_begin = reinterpret_cast<std::uint16_t*>(scratch + l.run_begin),
                 .count = p.count - before.moved,
                 .first = before.moved,
                 .windows = l.windows,
                 .shift = l.shift};
  auto* const tickets = before.asks ? first_ticket : nullptr;
  const auto ticket = [&](std::uint32_t kernel) { return tickets == nullptr ? nullptr : tickets + kernel; };
  const std::uint64_t tiles = ceil_div(r.count, cluster_tile);
  const std::byte* const index = static_cast<const std::byte*>(b.index.data) + before.moved * bytes(p.index);
  require(cudaMemsetAsync(r.fill, 0, (l.windows + most_tickets) * sizeof(std::uint32_t), ctx.stream()), what);
  const auto find = [&](auto value) {
    using index_value = decltype(value);
    const std::uint64_t last = std::min(p.index_limit(), p.indexed_count) - 1;
    const route_arguments<index_value> a{
        reinterpret_cast<const index_value*>(index),
        static_cast<index_value>(std::min<std::uint64_t>(last, static_cast<index_value>(~index_value{0}))), guard,
        before.sample, ticket(0)};
    launch_shared(ctx, what, find_routes<index_value>, blocks_for(ctx, tiles, before.asks, 2), cluster_threads,
                  routes_shared<index_value>, r, a);
  };
  bytes(p.index) == 8 ? find(std::uint64_t{}) : find(std::uint32_t{});
  with_word(p.word_bytes, [&](auto value) {
    using word = decltype(value);
    constexpr int items = sizeof(word) == 16 ? 4 : 8;
    auto* const words = reinterpret_cast<word*>(scratch + l.word);
    const auto tiles_per_window = static_cast<std::uint32_t>(ceil_div(l.room, std::uint64_t{block_threads} * items));
    launch_blocks(ctx, what, read_windows<word, items>,
                  blocks_for(ctx, std::uint64_t{tiles_per_window} * l.windows, before.asks, 8), block_threads, r,
                  b.table.data, static_cast<std::uint32_t>(p.indexed_stride_bytes), words, tiles_per_window,
                  before.sample, ticket(1));
    const leftovers rest{index, bytes(p.index) == 8 ? 1U : 0U, b.table.data, p.indexed_stride_bytes};
    launch_shared(ctx, what, collect_tiles<word>, blocks_for(ctx, tiles, before.asks, 3), cluster_threads,
                  cluster_tile * sizeof(word), r, static_cast<const word*>(words),
                  b.out.data + before.moved * p.sequential_stride_bytes, p.sequential_stride_bytes, rest, 0U,
                  before.sample, ticket(2));
  });
}

}  // namespace

constinit const primitives::gather_variant gather_bucketed{"cuda.bucketed", plan_clustered, run_clustered};

}  // namespace sheaf::cuda
