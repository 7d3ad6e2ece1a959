#include <cstring>
#include <new>
#include <vector>

#include <sheaf/error.hpp>

#include "cuda/device/launch.cuh"
#include "cuda/linked_list/steps.hpp"
#include "cuda/linked_list/sublist.hpp"
#include "primitives/linked_list/contract.hpp"

// The variant cuda.sublist_host_scan: cuda.sublist as the paper runs it in the end (4.2), whose list of splitters is
// copied to the host, scanned there by one thread, and copied back. It runs by name only, because the call waits for
// the device.
namespace sheaf::cuda {

using list_kernels::list_end;
using list_kernels::list_start;
using list_kernels::no_sublist;
using list_kernels::unreached;
using primitives::list_buffers;
using primitives::list_problem;

namespace {

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
  const list_kernels::list_level sublists = level(0);
  const std::uint32_t count = sublists.cut.count;
  const auto copy = [&](void* to, const void* from, std::uint64_t bytes) {
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, ctx.stream()), ctx);
  };
  host_items<sublist_head> nodes(count, kernels_.sublist_bytes);
  host_items<prefix_head> carries(count, kernels_.prefix_bytes);
  host_items<prefix_head> prefixes(count, kernels_.prefix_bytes);
  const std::uint32_t bad = 1;
  list_kernels::list_status known;
  copy(&known, status(), sizeof known);
  copy(nodes.data(), sublists.nodes, nodes.size());
  copy(carries.data(), sublists.carries, carries.size());
  copy(prefixes.data(), sublists.prefixes, prefixes.size());
  require(cudaStreamSynchronize(ctx.stream()), ctx);
  if (known.is_bad != 0) return buffers.done(primitives::list_step::sublists);

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
  if (is_bad || reached != problem.count) copy(&status()->is_bad, &bad, sizeof bad);
  copy(sublists.prefixes, prefixes.data(), prefixes.size());
  require(cudaStreamSynchronize(ctx.stream()), ctx);
  buffers.done(primitives::list_step::sublists);
} catch (const std::bad_alloc&) {
  throw error(error_code::out_of_memory, std::string(ctx.state().running()) + ": no host memory for the sublists");
}

namespace {

plan::planned plan_host_scan(const list_problem& p, const plan::scope& scope) {
  if (p.has_own_operator) return plan::rejected("the caller's function runs on the device");
  plan::planned plan = plan_sublist(p, scope, splitter_scan::on_host);
  plan.by_name_only = true;
  return plan;
}

void run_host_scan(const context& ctx, const list_problem& p, const plan::planned& plan, const list_buffers& b,
                   std::byte* scratch) {
  refuse_capture(ctx, "cuda.sublist_host_scan");
  run_sublist(ctx, p, plan, b, scratch, splitter_scan::on_host);
}

}  // namespace

extern constinit const primitives::list_variant list_sublist_host_scan{"cuda.sublist_host_scan", backend_kind::cuda,
                                                                       plan_host_scan, run_host_scan};

}  // namespace sheaf::cuda
