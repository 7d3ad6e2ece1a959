#include <new>

#include "cuda/device/launch.cuh"
#include "cuda/linked_list/steps.cuh"

// The variants cuda.sublist and cuda.sublist_host_scan: the algorithm of Wei and JaJa 2010. Each walk writes to each
// node what comes before it in its sublist, and a pass over all nodes adds what comes before the sublist. The list of
// splitters is scanned on the device; or, as the paper runs it in the end (4.2), copied to the host, scanned there by
// one thread, and copied back. That runs by name only, because the call waits for the device.
namespace sheaf::cuda {
namespace {

using list_kernels::list_end;
using list_kernels::list_start;
using list_kernels::no_sublist;
using list_kernels::unreached;
using namespace primitives;

/// Where the list of splitters is scanned.
enum class splitter_scan : std::uint8_t { on_device, on_host };

struct sublist_tuning {
  std::uint32_t least_log2_block = 3;
  std::uint32_t most_log2_block = 8;
  std::uint32_t most_log2_block_for_host = 16;  ///< the host's scan of a sublist costs some thousand times the device's
  double walkers_each = 512;                    ///< threads that walk, for each multiprocessor
  double written = 1.45;              ///< seconds of a walk's writes, over those of writes that nothing waits for
  double host_copy_share = 0.0025;    ///< rate of copies to or from pageable host memory, over those on the device
  double host_sublist_share = 0.045;  ///< a host thread's accesses at random in its cache, over a read of device memory
};
constexpr sublist_tuning tuning_of_sublist;

struct sublist_calls {
  list_cuts cuts;
  std::uint32_t blocks;
};

/// With what a walk works in, which serves to resolve a list that is bad, too.
struct sublist_arrays : list_arrays {
  std::byte* node_prefixes;

  sublist_arrays(const list_problem& p, const list_cuts& cuts, core::scratch_arrays& arrays)
      : list_arrays(p, cuts, arrays),
        node_prefixes(arrays.take<std::byte>(std::max(p.count * prefix_bytes(p), resolve_bytes(p)))) {}
};

double host_scan_seconds(const list_problem& p, double sublists, const machine& m) {
  const auto copied = static_cast<double>(sublist_bytes(p) + 2 * prefix_bytes(p));
  return 4 * m.launch_seconds + sublists * (copied / (tuning_of_sublist.host_copy_share * m.copy_bytes_per_second) +
                                            tuning_of_sublist.host_sublist_share * m.access_seconds);
}

template <splitter_scan Where>
plan::planned plan_sublist(const list_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  constexpr bool on_host = Where == splitter_scan::on_host;
  if (on_host && problem.has_own_operator) return plan::rejected("the caller's function runs on the device");
  if (const char* reason = list_rejection(problem)) return plan::rejected(reason);
  const std::uint32_t most_log2_block =
      on_host ? tuning_of_sublist.most_log2_block_for_host : tuning_of_sublist.most_log2_block;
  const std::uint64_t node = node_bytes(problem);
  return cheapest_cut(problem, tuning_of_sublist.least_log2_block, most_log2_block, [&](std::uint32_t log2_block) {
    const list_cuts cuts(problem, log2_block);
    const auto walks = static_cast<double>(cuts.of[0].blocks);
    const std::uint32_t blocks =
        blocks_of_walkers(problem, walks, machine.parallelism * tuning_of_sublist.walkers_each);
    plan::planned plan;
    price_head(problem, machine, plan);
    if (on_host) {
      plan.add("sublists", host_scan_seconds(problem, walks, machine));
    } else {
      price_sublists(problem, cuts, machine, plan);
    }
    const std::uint64_t footprint = problem.count * (node + prefix_bytes(problem));
    plan.add("walk",
             machine.random_reads(problem.count, node, footprint) +
                 tuning_of_sublist.written * machine.random_writes(problem.count, prefix_bytes(problem), footprint) +
                 longest_walk_seconds(log2_block, walks, problem.count * node, machine));
    const std::uint64_t finished = problem.count * (prefix_bytes(problem) + node + problem.out_bytes);
    plan.add("results", machine.streamed(finished, finished));
    plan.add("sums of sublists",
             machine.random_reads(problem.count, prefix_bytes(problem), cuts.of[0].blocks * prefix_bytes(problem)));
    plan.scratch_bytes = core::bytes_of<sublist_arrays>(problem, cuts);
    plan.decided.set(planned_walks{cuts.of[0].blocks, blocks});
    plan.inner_calls = std::make_shared<sublist_calls>(sublist_calls{cuts, blocks});
    plan.by_name_only = on_host;
    return plan;
  });
}

template <splitter_scan Where>
void run_sublist(const context& ctx, const list_problem& problem, const plan::planned& plan,
                 const list_buffers& buffers, std::byte* scratch) {
  constexpr bool on_host = Where == splitter_scan::on_host;
  if (on_host) refuse_capture(ctx, "cuda.sublist_host_scan");
  const auto& calls = plan.inner<sublist_calls>();
  const auto at = core::arrays_in<sublist_arrays>(scratch, problem, calls.cuts);
  list_call call(ctx, problem, buffers, calls.cuts, at);
  call.begin();
  const detail::device_scan_operator& kernels = call.kernels();
  list_kernels::walk_arguments walk = call.walk_arguments();
  walk.prefixes = at.node_prefixes;
  if (on_host) {
    // The host gets all sublists, also those of a list that is bad, which no walk may have written.
    require(cudaMemsetAsync(walk.above.nodes, 0, walk.above.cut.count * kernels.sublist_bytes, ctx.stream()), ctx);
  }
  require(kernels.walk_level_0(ctx.stream(), calls.blocks, kernels.op, walk, call.input()), ctx);
  buffers.done(list_step::walks);
  if (on_host) {
    call.scan_sublists_on_host();
  } else {
    call.scan_sublists();
  }
  list_kernels::finish_arguments finish = call.finish_arguments();
  finish.node_prefixes = walk.prefixes;
  finish.results = buffers.out;
  require(kernels.finish_places(ctx.stream(), kernels.op, finish, call.input(),
                                static_cast<std::uint32_t>(problem.out_bytes)),
          ctx);
  buffers.done(list_step::results);
  call.resolve(at.node_prefixes, false);
}

/// list_kernels::sublist_node and list_prefix without their sums, which follow.
struct sublist_head {
  std::uint32_t next;
  std::uint32_t length;
};
struct prefix_head {
  std::uint32_t sublist;
  std::uint32_t before;
};

/// An array of nodes or prefixes in host memory.
template <class Head>
class host_items {
 public:
  host_items(std::uint32_t count, std::uint64_t item_bytes) : item_bytes_(item_bytes), bytes_(count * item_bytes) {}

  std::byte* data() { return bytes_.data(); }
  std::uint64_t size() const { return bytes_.size(); }
  Head head(std::uint32_t i) const {
    Head h;
    std::memcpy(&h, bytes_.data() + i * item_bytes_, sizeof h);
    return h;
  }
  void set_head(std::uint32_t i, Head h) { std::memcpy(bytes_.data() + i * item_bytes_, &h, sizeof h); }
  std::byte* sum(std::uint32_t i) { return bytes_.data() + i * item_bytes_ + sizeof(Head); }

 private:
  std::uint64_t item_bytes_;
  std::vector<std::byte> bytes_;
};

/// Sums along the list of sublists, of values whose type only the operator knows.
class running_sum {
 public:
  running_sum(const detail::host_scan_operator* op, std::uint64_t value_bytes) : op_(op), bytes_(value_bytes) {}

  /// What comes before is `nodes` nodes, with this sum if there are any.
  void begin(std::uint32_t nodes, const std::byte* sum) {
    nodes_ = nodes;
    std::memcpy(sum_, sum, bytes_);
  }
  void add(std::uint32_t nodes, const std::byte* total) {
    alignas(8) std::byte next[8] = {};
    std::memcpy(next, total, bytes_);
    if (bytes_ > 0 && nodes_ > 0) op_->prepend(op_->op, sum_, next, 1);
    std::memcpy(sum_, next, bytes_);
    nodes_ += nodes;
  }
  std::uint32_t nodes() const { return nodes_; }
  void store(std::byte* sum) const { std::memcpy(sum, sum_, bytes_); }

 private:
  const detail::host_scan_operator* op_;
  std::uint64_t bytes_;
  std::uint32_t nodes_ = 0;
  alignas(8) std::byte sum_[8] = {};
};

}  // namespace

void list_call::scan_sublists_on_host() try {
  const list_kernels::list_level& sublists = at.level[0];
  const std::uint32_t count = sublists.cut.count;
  const auto copy = [&](void* to, const void* from, std::uint64_t bytes) {
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, ctx.stream()), ctx);
  };
  host_items<sublist_head> nodes(count, kernels_.sublist_bytes);
  host_items<prefix_head> carries(count, kernels_.prefix_bytes);
  host_items<prefix_head> prefixes(count, kernels_.prefix_bytes);
  const std::uint32_t bad = 1;
  list_kernels::list_status known;
  copy(&known, at.status, sizeof known);
  copy(nodes.data(), sublists.nodes, nodes.size());
  copy(carries.data(), sublists.carries, carries.size());
  copy(prefixes.data(), sublists.prefixes, prefixes.size());
  require(cudaStreamSynchronize(ctx.stream()), ctx);
  if (known.is_bad != 0) return buffers.done(list_step::sublists);

  // Nodes that lists without a splitter have, and those before the first splitter of the others.
  std::uint64_t reached = known.nodes_of_heads;
  if (problem.lists == list_count::one && known.last >> 32 == no_sublist) {
    reached = static_cast<std::uint32_t>(known.last);
  }
  bool is_bad = false;
  running_sum before(buffers.on_host, problem.value_bytes);
  for (std::uint32_t start = 0; start < count && !is_bad; ++start) {
    if (carries.head(start).sublist != list_start) continue;
    before.begin(carries.head(start).before, carries.sum(start));
    if (problem.lists == list_count::one) reached += before.nodes();
    for (std::uint32_t node = start; node != list_end;) {
      is_bad = node >= count || prefixes.head(node).sublist != unreached;  // else lists join, or are a cycle
      if (is_bad) break;
      prefixes.set_head(node, {no_sublist, before.nodes()});
      before.store(prefixes.sum(node));
      const sublist_head own = nodes.head(node);
      before.add(own.length, nodes.sum(node));
      reached += own.length;
      node = own.next;
    }
  }
  if (is_bad || reached != problem.count) copy(&at.status->is_bad, &bad, sizeof bad);
  copy(sublists.prefixes, prefixes.data(), prefixes.size());
  require(cudaStreamSynchronize(ctx.stream()), ctx);
  buffers.done(list_step::sublists);
} catch (const std::bad_alloc&) {
  throw error(error_code::out_of_memory, std::string(ctx.state().running()) + ": no host memory for the sublists");
}

extern constinit const list_variant list_sublist{
    "cuda.sublist", backend_kind::cuda, plan_sublist<splitter_scan::on_device>, run_sublist<splitter_scan::on_device>};
extern constinit const list_variant list_sublist_host_scan{"cuda.sublist_host_scan", backend_kind::cuda,
                                                           plan_sublist<splitter_scan::on_host>,
                                                           run_sublist<splitter_scan::on_host>};

}  // namespace sheaf::cuda
