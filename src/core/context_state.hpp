#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include <sheaf/machine_profile.hpp>

#include "core/forks.hpp"
#include "core/index_report.hpp"

namespace sheaf::core {

/// What the planner keeps in a context, such as its last decision for one primitive; src/plan knows what it is.
class plan_memory {
 public:
  virtual ~plan_memory() = default;
};

/// What a context is on one backend. Backends derive from it; primitives see only this.
class context_state {
 public:
  context_state(backend_kind backend, std::string device_name, memory_resource memory);
  virtual ~context_state() = default;
  context_state(const context_state&) = delete;
  context_state& operator=(const context_state&) = delete;

  virtual void wait() = 0;
  virtual work_status status() = 0;
  virtual void copy(void* to, const void* from, std::uint64_t bytes) = 0;
  /// Host memory from which, and to which, copies move at the speed of the device's link: page-locked where the backend
  /// has such memory. Whoever queues copies of it finishes them before it is given back. @throws error(out_of_memory)
  virtual std::shared_ptr<std::byte> staging_memory(std::uint64_t bytes);
  /// As copy(), from or to staging_memory(), done once finish_copies() has returned.
  virtual void queue_copy(void* to, const void* from, std::uint64_t bytes) { copy(to, from, bytes); }
  virtual void finish_copies() {}
  /// Sets bytes of this context's memory, in order with its work.
  virtual void fill(void* to, unsigned char value, std::uint64_t bytes) = 0;
  /// Lets kernels and copies of another device reach this context's buffers, where it has a memory pool of its own.
  virtual void allow_access_from(int) {}
  /// Throws bad_argument, naming `call` and `what`, unless kernels of this context can reach the memory.
  virtual void require_reachable(const void* first, std::string_view call, std::string_view what) const = 0;

  /// Throws backend_unavailable, naming `call`, in a child of the process that made this context, unless the context
  /// needs nothing that a fork loses.
  void require_this_process(std::string_view call) const {
    if (!made_by_this_process()) throw_if_lost(call);
  }
  bool made_by_this_process() const noexcept { return forks_before_ == forks_so_far(); }

  /// Gives a block back to the resource that it came from, in the call that took it.
  virtual void give_back(const memory_resource& from, void* block, std::uint64_t bytes) {
    from.deallocate(from.state, block, bytes, stream());
  }

  virtual int device() const noexcept { return -1; }
  virtual CUstream_st* stream() const noexcept { return nullptr; }
  /// Whether what is queued goes into a graph and does not run.
  virtual bool is_captured() const { return false; }
  /// Whether all work is done when a call returns, so that a clock of the host can time the call.
  virtual bool is_done_on_return() const noexcept { return false; }

  /// Numbers the calls of this context; index errors are ordered by it.
  std::uint64_t begin_call() noexcept { return ++calls_; }
  /// Name of the variant whose work is queued now, for errors; empty where a call does work of its own.
  std::string_view running() const noexcept { return running_; }
  /// The variant that the environment forces for a primitive, or empty.
  std::string_view forced_variant(std::string_view primitive) const noexcept;

  /// What context::ignored_profile() says.
  const std::string& ignored_profile() const noexcept { return ignored_profile_; }
  void use(const machine& new_profile);
  /// Most bytes of scratch that a call may take; all ones: no limit.
  std::uint64_t scratch_limit() const noexcept { return scratch_limit_; }
  void limit_scratch(std::uint64_t bytes);
  /// The planner's slot for the primitive that this key stands for; empty at first, and after use(machine) and
  /// limit_scratch().
  std::unique_ptr<plan_memory>& remembered_plan(const void* key);

  /// What context::learns() says.
  bool learns() const noexcept { return learns_; }
  /// Begins to learn, or ends it; what was learned is forgotten.
  void learn(bool wanted);
  /// What the planner has learned from timed calls; null at first, and after learn(), use(machine) and limit_scratch().
  std::unique_ptr<plan_memory>& learned() noexcept { return learned_; }

  const backend_kind backend;
  const std::string device_name;  ///< what the device calls itself, whatever profile is in use
  int threads = 1;
  machine profile;
  memory_resource memory;
  std::function<double()> clock;  ///< seconds, never less than before, by which calls are timed; tests replay others

 protected:
  /// What of this context does not reach a child, "CUDA"; empty if a child can go on with it.
  virtual std::string_view lost_in_a_fork() const noexcept = 0;

 private:
  friend class running_scope;

  void throw_if_lost(std::string_view call) const;

  const std::uint32_t forks_before_ = forks_so_far();
  std::vector<std::pair<const void*, std::unique_ptr<plan_memory>>> plans_;
  std::uint64_t calls_ = 0;
  std::string_view running_;
  std::uint64_t scratch_limit_ = ~std::uint64_t{0};
  std::vector<std::pair<std::string, std::string>> forced_;
  std::string ignored_profile_;
  bool learns_ = false;
  std::unique_ptr<plan_memory> learned_;
};

/// Says which variant's work is queued until the end of the scope.
class running_scope {
 public:
  /// @param variant  lives as long as the scope
  running_scope(context_state& state, std::string_view variant) noexcept : state_(state), outer_(state.running_) {
    state.running_ = variant;
  }
  ~running_scope() { state_.running_ = outer_; }
  running_scope(const running_scope&) = delete;
  running_scope& operator=(const running_scope&) = delete;

 private:
  context_state& state_;
  std::string_view outer_;
};

/// Scratch for one call: taken from the context's resource, given back in stream order at the end of the scope.
class scratch {
 public:
  /// Takes nothing if the resource does not have so many bytes.
  scratch(context_state& state, std::uint64_t bytes);
  scratch(scratch&& other) noexcept;
  scratch& operator=(scratch&& other) noexcept;
  ~scratch();

  bool is_taken() const noexcept { return block_ != nullptr || bytes_ == 0; }
  /// Null if 0 bytes were asked for, or if they were not to be had.
  std::byte* data() const noexcept { return static_cast<std::byte*>(block_); }
  /// @throws error(out_of_memory) that names the call
  [[noreturn]] void throw_not_taken(std::string_view call) const;

 private:
  context_state* state_;
  memory_resource memory_;
  void* block_ = nullptr;
  std::uint64_t bytes_;
};

/// The profile of a new context, and what was left aside for it.
struct chosen_profile {
  machine profile;
  std::string ignored;  ///< what context::ignored_profile() says
};

/// The state of a new context on the CPU.
std::shared_ptr<context_state> make_cpu_state(int threads);

}  // namespace sheaf::core
