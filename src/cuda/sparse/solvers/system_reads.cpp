#include "cuda/sparse/solvers/system_reads.hpp"

namespace sheaf::cuda {

system_reads::system_reads(const context& ctx, const solver_memory* from, primitives::conjugate_gradient_watch& watch,
                           read_memory to)
    : ctx_(ctx),
      from_(from),
      watch_(watch),
      is_pinned_(to == read_memory::pinned),
      bytes_(watch.wants_reports() ? sizeof(solver_memory) : sizeof(solver_state)) {
  if (!is_pinned_) {
    pageable_ = std::make_unique<solver_memory[]>(2);
    copies_ = reinterpret_cast<std::byte*>(pageable_.get());
    return;
  }
  void* pinned = nullptr;
  require(cudaHostAlloc(&pinned, 2 * sizeof(solver_memory), cudaHostAllocDefault), ctx);
  copies_ = static_cast<std::byte*>(pinned);
  for (cudaEvent_t& event : read_) {
    const cudaError_t made = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (made == cudaSuccess) continue;
    release();
    require(made, ctx);
  }
}

system_reads::~system_reads() {
  if (!is_pinned_) return;
  cudaStreamSynchronize(ctx_.stream());  // for copies that nobody took
  release();
}

void system_reads::release() noexcept {
  for (const cudaEvent_t event : read_) {
    if (event != nullptr) cudaEventDestroy(event);
  }
  cudaFreeHost(copies_);
}

void system_reads::read(std::uint64_t number) {
  std::byte* const to = copies_ + number % 2 * sizeof(solver_memory);
  require(cudaMemcpyAsync(to, from_, bytes_, cudaMemcpyDeviceToHost, ctx_.stream()), ctx_);
  if (is_pinned_) require(cudaEventRecord(read_[number % 2], ctx_.stream()), ctx_);
}

solver_state system_reads::peek() {
  solver_state now;
  require(cudaMemcpyAsync(copies_, from_, sizeof now, cudaMemcpyDeviceToHost, ctx_.stream()), ctx_);
  require(cudaStreamSynchronize(ctx_.stream()), ctx_);
  std::memcpy(&now, copies_, sizeof now);
  return now;
}

const solver_state& system_reads::take(std::uint64_t number) {
  if (is_pinned_) {
    require(cudaEventSynchronize(read_[number % 2]), ctx_);
  } else {
    require(cudaStreamSynchronize(ctx_.stream()), ctx_);
  }
  const std::byte* const from = copies_ + number % 2 * sizeof(solver_memory);
  std::memcpy(&state_, from, sizeof state_);
  if (bytes_ == sizeof(solver_state) || is_faulty(state_)) return state_;
  const std::uint64_t done = state_.steps.iterations();
  for (; reported_ <= done; ++reported_) {
    double residual = 0;
    std::memcpy(&residual, from + offsetof(solver_memory, history) + reported_ % history_entries * sizeof residual,
                sizeof residual);
    watch_.report(reported_, residual, state_.steps.target());
  }
  return state_;
}

bool system_reads::is_faulty(const solver_state& s) noexcept {
  for (const std::uint32_t flag : s.is_faulty) {
    if (flag != 0) return true;
  }
  return false;
}

}  // namespace sheaf::cuda
