#include <algorithm>
#include <memory>
#include <vector>

#include <sheaf/memory.hpp>

#include "cuda/movement/gather_schedule.cuh"
#include "cuda/movement/gather_schedule.hpp"
#include "cuda/movement/memory_cost.hpp"
#include "cuda/movement/word_copy.cuh"
#include "primitives/prepare.hpp"
#include "primitives/scatter.hpp"

// Routes that are found once and gone many times. A scatter goes those of the list's inverse: each record of the output
// is fetched from the input, and those that no index names are skipped.
namespace sheaf::cuda {
namespace {

using primitives::movement;
using primitives::prepare_buffers;
using primitives::prepare_problem;
using primitives::prepared_direction;
using primitives::prepared_movement;

constexpr const char* what = "cuda.scheduled";
constexpr std::uint32_t no_source = ~std::uint32_t{0};

/// The gather that runs do: the caller's, or that of the scatter's inverse.
movement gather_of(const prepare_problem& p) {
  movement m = p;
  if (p.direction == prepared_direction::scatter) {
    std::swap(m.count, m.indexed_count);
    m.index = index_type::u32;
    m.bounds = bounds::check;
  }
  return m;
}

const char* rejection(const prepare_problem& p) {
  if (const char* reason = routes_rejection(gather_of(p))) return reason;
  if (p.direction == prepared_direction::scatter && p.count >= no_source) return "counts pass 32 bits";
  return nullptr;
}

plan::planned plan_routes(const prepare_problem& p, const machine& m) {
  if (const char* reason = rejection(p)) return plan::rejected(reason);
  const movement g = gather_of(p);
  const double each = m.launch_seconds + m.step_seconds + going_seconds(g, m);
  plan::planned plan;
  const double reading_list = static_cast<double>(g.index_bytes()) / m.copy_bytes_per_second;
  plan.add("routes", 4 * m.launch_seconds + reading_list + finding_seconds(g, m));
  if (p.direction == prepared_direction::scatter) {
    plan.add("inverse", m.random_writes(p.count, 4, p.indexed_count * 4) + 2 * reading_list);
  }
  plan.add("runs", static_cast<double>(p.expected_runs) * each);
  plan.parameters[primitives::run_nanoseconds] = static_cast<std::uint64_t>(each * 1e9);
  plan.by_name_only = !is_scattered(p.pattern);
  return plan;
}

/// source[i] = i, to be scattered.
__global__ void __launch_bounds__(block_threads) number_records(std::uint32_t* source, std::uint64_t count) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) source[i] = static_cast<std::uint32_t>(i);
}

class routed_movement final : public prepared_movement {
 public:
  routed_movement(const context& ctx, const prepare_problem& p, index_span index)
      : gather_(gather_of(p)),
        scatters_(p.direction == prepared_direction::scatter),
        layout_(layout_of_routes(gather_, list_layout::side_by_side)),
        memory_(ctx, std::max<std::uint64_t>(1, layout_.word)) {
    if (!scatters_) {
      find(ctx, index, state_of(ctx).guard(core::index_role::gather_index, p.index, p.indexed_count));
    } else if (gather_.count > 0) {
      find_inverse(ctx, p, index);
    }
  }

  void run(const context& ctx, const_records from, records to) override {
    const device_scope here(ctx.device());
    const core::scratch memory(ctx.state(), std::max<std::uint64_t>(1, layout_.end - layout_.word));
    const routes r = kept();
    with_word(gather_.word_bytes, [&](auto value) {
      using word = decltype(value);
      constexpr int items = sizeof(word) == 16 ? 4 : 8;
      word* const words = memory.as<word>();
      const auto tiles_per_window =
          static_cast<std::uint32_t>(ceil_div(longest_, std::uint64_t{block_threads} * items));
      if (tiles_per_window > 0) {
        launch_blocks(ctx, what, read_windows<word, items>, std::uint64_t{tiles_per_window} * layout_.windows,
                      block_threads, r, from.data, static_cast<std::uint32_t>(from.stride_bytes), words,
                      tiles_per_window, order_sample{}, static_cast<std::uint32_t*>(nullptr));
      }
      launch_shared(ctx, what, collect_tiles<word>, ceil_div(gather_.count, cluster_tile), cluster_threads,
                    cluster_tile * sizeof(word), r, static_cast<const word*>(words), to.data, to.stride_bytes,
                    leftovers{}, scatters_ ? 1U : 0U, order_sample{}, static_cast<std::uint32_t*>(nullptr));
    });
  }

  std::uint64_t kept_bytes() const override { return layout_.word; }

 private:
  template <class T>
  T* at(std::uint64_t byte) const {
    return reinterpret_cast<T*>(memory_.data() + byte);
  }

  routes kept() const {
    return {.window_index = at<std::uint32_t>(layout_.window_index),
            .fill = at<std::uint32_t>(layout_.fill),
            .window_begin = at<unsigned long long>(layout_.window_begin),
            .room = 0,
            .place = at<std::uint16_t>(layout_.place),
            .run = at<std::uint32_t>(layout_.run),
            .run_begin = at<std::uint16_t>(layout_.run_begin),
            .count = gather_.count,
            .first = 0,
            .windows = layout_.windows,
            .shift = layout_.shift};
  }

  void find_inverse(const context& ctx, const prepare_problem& p, index_span index) {
    const core::scratch lists(ctx.state(), (p.count + p.indexed_count) * sizeof(std::uint32_t));
    auto* const inverse = lists.as<std::uint32_t>();
    std::uint32_t* const numbers = inverse + p.indexed_count;
    require(cudaMemsetAsync(inverse, 0xff, p.indexed_count * sizeof(std::uint32_t), ctx.stream()), what);
    launch(ctx, what, number_records, ceil_div(p.count, block_threads), numbers, p.count);
    invert(ctx, p, index, numbers, inverse);  // bad indices are reported here
    find(ctx, {inverse, p.indexed_count, index_type::u32}, index_guard{});
  }

  // The same choice as a caller of scatter gets, less what needs to ask.
  static void invert(const context& ctx, const prepare_problem& p, index_span index, const std::uint32_t* numbers,
                     std::uint32_t* inverse) {
    primitives::scatter_problem s{p, p.duplicates};
    s.record_bytes = s.sequential_stride_bytes = s.indexed_stride_bytes = s.word_bytes = sizeof(std::uint32_t);
    s.pattern = access_pattern::random();
    const primitives::scatter_variant* best = nullptr;
    plan::planned best_plan;
    for (const auto* v : {&scatter_direct, &scatter_bucketed, &scatter_last_writer}) {
      if ((p.duplicates == duplicates::last) != (v == &scatter_last_writer)) continue;
      const plan::planned plan = v->plan(s, ctx.profile());
      if (plan.applicable() && (best == nullptr || plan.seconds < best_plan.seconds)) {
        best = v;
        best_plan = plan;
      }
    }
    best->run(ctx, s, best_plan,
              {const_records(numbers, p.count, sizeof(std::uint32_t)), index,
               records(inverse, p.indexed_count, sizeof(std::uint32_t))});
  }

  void find(const context& ctx, index_span index, const index_guard& guard) {
    bytes(index.type) == 8 ? find_as<std::uint64_t>(ctx, index, guard) : find_as<std::uint32_t>(ctx, index, guard);
    // Runs need to know how long the longest list is; the preparation waits anyway.
    std::vector<std::uint32_t> fill(layout_.windows);
    copy_bytes(ctx, fill.data(), at<std::uint32_t>(layout_.fill), fill.size() * sizeof(std::uint32_t));
    longest_ = fill.empty() ? 0 : *std::max_element(fill.begin(), fill.end());
  }

  template <class Index>
  void find_as(const context& ctx, index_span index, const index_guard& guard) {
    const std::uint64_t limit = std::min(gather_.index_limit(), gather_.indexed_count);
    routes r = kept();
    if (limit == 0 || gather_.count == 0) return;
    auto* const begin = at<unsigned long long>(layout_.window_begin);
    unsigned long long* const total = begin + most_clusters + 1;
    require(cudaMemsetAsync(r.fill, 0, layout_.windows * sizeof(std::uint32_t), ctx.stream()), what);
    require(cudaMemsetAsync(total, 0, most_clusters * sizeof(unsigned long long), ctx.stream()), what);
    const auto blocks = std::min<std::uint64_t>(static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * 4,
                                                ceil_div(gather_.count, cluster_tile));
    const auto last = static_cast<Index>(std::min<std::uint64_t>(limit - 1, static_cast<Index>(~Index{0})));
    launch_blocks(ctx, what, count_windows<Index>, blocks, cluster_threads, static_cast<const Index*>(index.data),
                  gather_.count, last, layout_.shift, total);
    launch_blocks(ctx, what, begin_windows, 1, most_clusters, static_cast<const unsigned long long*>(total), begin);
    const route_arguments<Index> a{static_cast<const Index*>(index.data), last, guard, {}, nullptr};
    launch_shared(ctx, what, find_routes<Index>, ceil_div(gather_.count, cluster_tile), cluster_threads,
                  routes_shared<Index>, r, a);
  }

  movement gather_;
  bool scatters_;
  route_layout layout_;
  buffer memory_;
  std::uint64_t longest_ = 0;
};

void run_routes(const context& ctx, const prepare_problem& p, const plan::planned&, const prepare_buffers& b) {
  const device_scope here(ctx.device());
  *b.made = std::make_shared<routed_movement>(ctx, p, b.index);
}

}  // namespace

constinit const primitives::prepare_variant prepare_scheduled{"cuda.scheduled", plan_routes, run_routes};

}  // namespace sheaf::cuda
