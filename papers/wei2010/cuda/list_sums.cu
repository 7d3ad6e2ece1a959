#include "papers/wei2010/list_sums.hpp"

#include "cuda/device/launch.cuh"

// The paper's steps on a GPU, with blocks and threads as asked for. Step 3 counts on which multiprocessor nodes are
// walked over, which figure 5 draws.
namespace sheaf::papers::wei2010::device {
namespace {

using cuda::block_threads;

constexpr std::uint64_t blocks_each = 8;  // of a streaming kernel, for each multiprocessor

__device__ __forceinline__ std::uint64_t thread_of_grid() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::uint64_t threads_of_grid() { return std::uint64_t{gridDim.x} * blockDim.x; }

__device__ __forceinline__ std::uint32_t multiprocessor_of_thread() {
  std::uint32_t number = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return min(number, most_multiprocessors - 1);
}

/// Step 1.
__global__ void __launch_bounds__(block_threads)
    copy_nodes(const std::uint64_t* from, std::uint64_t count, std::uint64_t* to, list_sums_state* state) {
  unsigned long long sum = 0;
  std::uint32_t ends = 0;
  bool is_bad = false;
  for (std::uint64_t i = thread_of_grid(); i < count; i += threads_of_grid()) {
    const std::uint64_t node = from[i];
    const seen_node seen = see_node(node, i, count);
    to[i] = seen.node;
    is_bad |= seen.is_bad;
    ends += seen.is_end ? 1 : 0;
    if (!seen.is_end && !seen.is_bad) sum += static_cast<unsigned long long>(successor_of(node));
  }
  __syncwarp();
  for (int other = 16; other > 0; other /= 2) {
    sum += __shfl_xor_sync(~0U, sum, other);
    ends += __shfl_xor_sync(~0U, ends, other);
  }
  const bool any_bad = __any_sync(~0U, static_cast<int>(is_bad)) != 0;
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&state->successor_sum, sum);
  if (ends > 0) atomicAdd(&state->ends, ends);
  if (any_bad) state->is_bad = 1;
}

/// Step 2.
__global__ void __launch_bounds__(block_threads)
    begin_sublists(std::uint64_t* nodes, std::uint64_t count, std::uint64_t sublist_count, sublist_of_sums* sublists,
                   list_sums_state* state) {
  const std::uint64_t head = head_of(state->successor_sum, state->ends, count);
  if (state->is_bad != 0 || head == count) {
    if (thread_of_grid() == 0) state->is_bad = 1;
    return;
  }
  for (std::uint64_t s = thread_of_grid(); s < sublist_count; s += threads_of_grid()) {
    sublists[s] = begin_sublist(nodes, count, static_cast<std::uint32_t>(s), sublist_count, head);
  }
}

/// Step 3. @param loads  by multiprocessor, or null
template <sublist_supply Supply>
__global__ void __launch_bounds__(1024)
    walk_sublists(std::uint64_t* nodes, std::uint64_t sublist_count, sublist_of_sums* sublists, list_sums_state* state,
                  unsigned long long* loads) {
  if (state->is_bad != 0) return;
  const std::uint64_t walkers = threads_of_grid();
  unsigned long long walked = 0;
  for (std::uint64_t s = thread_of_grid(); s < sublist_count;) {
    sublist_walk walk;
    if (walk.begin(sublists, s)) {
      while (walk.step(nodes, sublists)) {
      }
      walk.end(sublists);
      walked += walk.nodes;
    }
    s = Supply == sublist_supply::dealt ? s + walkers : walkers + atomicAdd(&state->drawn, 1ULL);
  }
  if (loads != nullptr && walked > 0) atomicAdd(loads + multiprocessor_of_thread(), walked);
}

/// Step 4 where the device does it.
__global__ void scan_by_one_thread(const sublist_of_sums* sublists, std::uint64_t sublist_count, std::uint64_t nodes,
                                   std::uint32_t* before, list_sums_state* state) {
  if (state->is_bad != 0) return;
  if (!scan_sublists(sublists, sublist_count, nodes, before)) state->is_bad = 1;
}

/// Step 5. The paper keeps what comes before sublists in constant memory, of which there are 64 KB.
__global__ void __launch_bounds__(block_threads)
    write_sums(const std::uint64_t* nodes, std::uint64_t count, const std::uint32_t* before,
               const list_sums_state* state, std::uint32_t* sums) {
  if (state->is_bad != 0) return;
  for (std::uint64_t i = thread_of_grid(); i < count; i += threads_of_grid()) sums[i] = result_of(nodes[i], before);
}

/// One call.
class list_sums_call {
 public:
  list_sums_call(const context& ctx, const list_sums_form& form, const list_sums_buffers& buffers)
      : ctx_(ctx),
        scope_(ctx, "list sums"),
        form_(form),
        buffers_(buffers),
        at_(core::arrays_in<list_sums_arrays>(buffers.scratch, buffers.count, form.sublists)) {}

  void run(std::vector<std::uint64_t>* loads) {
    // Its memory is not part of the copies' times.
    if (form_.scan == sublist_scan::on_host) {
      sublists_.resize(form_.sublists);
      before_.resize(form_.sublists);
    }
    begin();
    walk(loads != nullptr ? at_.loads : nullptr);
    if (form_.scan == sublist_scan::on_host) {
      scan_on_host();
    } else {
      cuda::launch_blocks(ctx_, scan_by_one_thread, 1, 1, constant(at_.sublists), form_.sublists, buffers_.count,
                          at_.before, at_.state);
      buffers_.done(sums_step::sublists);
    }
    cuda::launch(ctx_, write_sums, streaming_blocks(buffers_.count), constant(at_.nodes), buffers_.count,
                 constant(at_.before), constant(at_.state), buffers_.sums);
    buffers_.done(sums_step::results);
    list_sums_state found{};
    copy(&found, at_.state, sizeof found);
    std::vector<unsigned long long> counted(loads != nullptr ? most_multiprocessors : 0);
    if (loads != nullptr) copy(counted.data(), at_.loads, counted.size() * sizeof counted[0]);
    wait();
    if (found.is_bad != 0) throw_no_list();
    if (loads != nullptr) *loads = loads_of(counted);
  }

 private:
  template <class T>
  static const T* constant(T* pointer) {
    return pointer;
  }

  std::uint64_t multiprocessors() const { return static_cast<std::uint64_t>(cuda::state_of(ctx_).multiprocessors()); }
  std::uint64_t streaming_blocks(std::uint64_t items) const {
    return std::min(blocks_each * multiprocessors(), cuda::ceil_div(items, block_threads));
  }
  void copy(void* to, const void* from, std::uint64_t bytes) const {
    cuda::require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, ctx_.stream()), ctx_);
  }
  void wait() const { cuda::require(cudaStreamSynchronize(ctx_.stream()), ctx_); }

  void begin() const {
    cuda::require(cudaMemsetAsync(at_.state, 0, sizeof *at_.state, ctx_.stream()), ctx_);
    cuda::launch(ctx_, copy_nodes, streaming_blocks(buffers_.count), static_cast<const std::uint64_t*>(buffers_.nodes),
                 buffers_.count, at_.nodes, at_.state);
    buffers_.done(sums_step::head);
    cuda::launch(ctx_, begin_sublists, streaming_blocks(form_.sublists), at_.nodes, buffers_.count, form_.sublists,
                 at_.sublists, at_.state);
    buffers_.done(sums_step::splitters);
  }

  void walk(unsigned long long* loads) const {
    if (loads != nullptr) {
      cuda::require(cudaMemsetAsync(loads, 0, most_multiprocessors * sizeof *loads, ctx_.stream()), ctx_);
    }
    const auto kernel = form_.supply == sublist_supply::dealt ? walk_sublists<sublist_supply::dealt>
                                                              : walk_sublists<sublist_supply::drawn>;
    cuda::launch_blocks(ctx_, kernel, form_.blocks, static_cast<unsigned>(form_.threads), at_.nodes, form_.sublists,
                        at_.sublists, at_.state, loads);
    buffers_.done(sums_step::walks);
  }

  void scan_on_host() {
    list_sums_state known{};
    copy(&known, at_.state, sizeof known);
    copy(sublists_.data(), at_.sublists, form_.sublists * sizeof(sublist_of_sums));
    wait();
    if (known.is_bad != 0) throw_no_list();
    buffers_.done(sums_step::copy_to_host);
    if (!scan_sublists(sublists_.data(), form_.sublists, buffers_.count, before_.data())) throw_no_list();
    buffers_.done(sums_step::sublists);
    copy(at_.before, before_.data(), form_.sublists * sizeof(std::uint32_t));
    wait();
    buffers_.done(sums_step::copy_back);
  }

  /// Those that have walked, and as many idle ones as the device has besides.
  std::vector<std::uint64_t> loads_of(const std::vector<unsigned long long>& counted) const {
    std::vector<std::uint64_t> loads;
    for (const unsigned long long nodes : counted) {
      if (nodes > 0) loads.push_back(nodes);
    }
    loads.resize(std::max<std::uint64_t>(loads.size(), multiprocessors()));
    return loads;
  }

  const context& ctx_;
  const cuda::run_scope scope_;
  const list_sums_form& form_;
  const list_sums_buffers& buffers_;
  const list_sums_arrays at_;
  std::vector<sublist_of_sums> sublists_;
  std::vector<std::uint32_t> before_;
};

}  // namespace

void run_list_sums(const context& ctx, const list_sums_form& form, const list_sums_buffers& buffers,
                   std::vector<std::uint64_t>* loads) {
  list_sums_call(ctx, form, buffers).run(loads);
}

}  // namespace sheaf::papers::wei2010::device
