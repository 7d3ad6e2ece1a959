#pragma once

#include "cuda/device/state.hpp"
#include "cuda/sparse/solvers/system.hpp"

namespace sheaf::cuda {

/// Where a solver's scalars are copied to.
enum class read_memory : std::uint8_t {
  pageable,  ///< read() waits for the device
  pinned,    ///< read() waits for nothing; taking pinned memory costs as much as many small kernels
};

/// Reads a solver's scalars from the device: read() queues a copy, and take() waits for it. Two copies may be under way
/// at a time.
class system_reads {
 public:
  system_reads(const context& ctx, const solver_memory* from, primitives::conjugate_gradient_watch& watch,
               read_memory to = read_memory::pageable);
  ~system_reads();
  system_reads(const system_reads&) = delete;
  system_reads& operator=(const system_reads&) = delete;

  /// Queues copy `number`, of which the last two are kept.
  void read(std::uint64_t number);
  /// Waits for a copy, and reports the iterations that are new in it.
  const solver_state& take(std::uint64_t number);
  const solver_state& read_and_take() {
    read(0);
    return take(0);
  }
  /// The scalars of now, without a report.
  solver_state peek();
  /// What is wrong with a matrix was reported.
  static bool is_faulty(const solver_state& state) noexcept;

 private:
  void release() noexcept;

  const context& ctx_;
  const solver_memory* from_;
  primitives::conjugate_gradient_watch& watch_;
  bool is_pinned_;
  std::unique_ptr<solver_memory[]> pageable_;
  std::byte* copies_;  ///< two, one behind the other
  std::uint64_t bytes_;
  cudaEvent_t read_[2]{};
  solver_state state_;
  std::uint64_t reported_ = 0;  ///< iterations, and the start value
};

}  // namespace sheaf::cuda
