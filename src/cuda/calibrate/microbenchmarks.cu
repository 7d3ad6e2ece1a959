#include "plan/microbenchmarks.hpp"

#include <cooperative_groups.h>

#include <chrono>

#include "core/composition.hpp"
#include "cuda/calibrate/kernels.cuh"
#include "cuda/device/launch.cuh"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/prepare.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::cuda {

extern const primitives::gather_variant gather_direct;  // movement/direct.cu

namespace {

constexpr std::uint64_t least_memory = std::uint64_t{1} << 20;
constexpr std::uint64_t most_steps = 500;                  // a stream takes some 1024 launches before the host waits
constexpr std::uint64_t spin_nanoseconds_per_step = 5000;  // how long the device spins while the host queues a step
constexpr std::uint64_t most_warm_steps = 4096;            // these fill L1; L2 still holds the cycle just written

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Device time between two points of a stream.
class stopwatch {
 public:
  explicit stopwatch(cudaStream_t stream) : stream_(stream) {
    require(cudaEventCreate(&begin_), "calibrate: event");
    require(cudaEventCreate(&end_), "calibrate: event");
  }
  ~stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;

  void start() { require(cudaEventRecord(begin_, stream_), "calibrate"); }
  double stop() {
    require(cudaEventRecord(end_, stream_), "calibrate");
    require(cudaEventSynchronize(end_), "calibrate");
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin_, end_), "calibrate");
    return milliseconds * 1e-3;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

class cuda_microbenchmarks final : public plan::microbenchmarks {
 public:
  explicit cuda_microbenchmarks(const context& ctx)
      : ctx_(ctx), here_(ctx, "calibrate"), watch_(ctx.stream()), sink_(ctx, 256), one_record_(ctx, 3 * 256) {
    require(cudaMemsetAsync(one_record_.data(), 0, one_record_.size(), ctx.stream()), "calibrate");
  }
  ~cuda_microbenchmarks() override {
    memory_ = {};
    sink_ = {};
    one_record_ = {};
    state_of(ctx_).release_unused();
  }

  machine describe() override {
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, ctx_.device()), "calibrate: device properties");
    int driver = 0;
    int runtime = 0;
    require(cudaDriverGetVersion(&driver), "calibrate: driver version");
    require(cudaRuntimeGetVersion(&runtime), "calibrate: runtime version");
    machine machine;
    machine.name = ctx_.state().device_name;
    machine.backend = backend_kind::cuda;
    machine.versions = {{"cuda driver", version_text(driver)}, {"cuda runtime", version_text(runtime)}};
    machine.memory_bytes = properties.totalGlobalMem;
    // The first level is the memory that L1 and shared memory divide. The device reports what shared memory can have of
    // it, 228 KB of 256 or 164 of 192.
    constexpr std::uint64_t granule = 64 * 1024;
    machine.cache_levels = {ceil_div(properties.sharedMemPerMultiprocessor, granule) * granule,
                            static_cast<std::uint64_t>(properties.l2CacheSize)};
    machine.cache_bytes = machine.cache_levels.back();
    machine.sector_bytes = 32;
    machine.fetch_bytes = 64;
    machine.parallelism = static_cast<std::uint32_t>(properties.multiProcessorCount);
    return machine;
  }

  std::uint64_t reserve(std::uint64_t bytes) override {
    state_of(ctx_).release_unused();
    std::size_t free = 0;
    std::size_t total = 0;
    require(cudaMemGetInfo(&free, &total), "calibrate: free memory");
    bytes = max(least_memory, min(bytes, std::uint64_t{free} / 16 * 15));
    for (;; bytes /= 2) {
      try {
        memory_ = buffer(ctx_, bytes);
        break;
      } catch (const error& e) {
        if (e.code() != error_code::out_of_memory || bytes <= least_memory) throw;
      }
    }
    launch(ctx_, fill_with_random_bits, wave_blocks(fill_with_random_bits), memory_.as<uint4>(), bytes / sizeof(uint4));
    ctx_.wait();
    return bytes;
  }

  plan::timing stream(std::uint64_t footprint, std::uint64_t bytes) override {
    const std::uint64_t words = footprint / 2 / sizeof(uint4);
    const std::uint64_t rounds = ceil_div(bytes, footprint);
    const std::uint64_t blocks = ceil_div(words * rounds, block_threads * words_in_copy);
    watch_.start();
    launch(ctx_, copy_repeatedly, blocks, memory_.as<const uint4>(), memory_.as<uint4>() + words, words - 1);
    return {watch_.stop(), blocks * block_threads * words_in_copy * 2 * sizeof(uint4)};
  }

  plan::timing chase(std::uint64_t footprint, std::uint64_t count) override {
    const std::uint64_t nodes = footprint / node_bytes;
    if (cycle_footprint_ != footprint) {
      int bits = 0;
      while (std::uint64_t{1} << bits < nodes) ++bits;
      launch(ctx_, write_cycle, ceil_div(nodes, block_threads), memory_.data(), nodes, bits);
      const auto first = reinterpret_cast<std::uint64_t>(memory_.data());
      copy_bytes(ctx_, sink_.as<std::uint64_t>() + 1, &first, sizeof first);
      cycle_footprint_ = footprint;
    }
    launch_blocks(ctx_, chase_pointers, 1, 1, min(nodes, most_warm_steps), count, sink_.as<std::uint64_t>());
    std::uint64_t nanoseconds = 0;
    copy_bytes(ctx_, &nanoseconds, sink_.data(), sizeof nanoseconds);
    return {static_cast<double>(nanoseconds) * 1e-9, count};
  }

  plan::timing access(plan::access_kind kind, std::uint64_t record_bytes, std::uint64_t footprint,
                      std::uint64_t count) override {
    cycle_footprint_ = 0;
    const auto with_word = [&](auto word) {
      using word_type = decltype(word);
      const bool wide = footprint / record_bytes > ~std::uint32_t{0};
      switch (kind) {
        case plan::access_kind::read:
          return wide ? run(read_at_random<word_type, true>, sizeof word, record_bytes, footprint, count)
                      : run(read_at_random<word_type, false>, sizeof word, record_bytes, footprint, count);
        default:
          return wide ? run(write_at_random<word_type, true>, sizeof word, record_bytes, footprint, count)
                      : run(write_at_random<word_type, false>, sizeof word, record_bytes, footprint, count);
      }
    };
    if (kind == plan::access_kind::atomic_add) {
      const bool wide = footprint / record_bytes > ~std::uint32_t{0};
      if (record_bytes == 4) {
        return wide ? run(add_at_random<unsigned, true>, 4, 4, footprint, count)
                    : run(add_at_random<unsigned, false>, 4, 4, footprint, count);
      }
      return wide ? run(add_at_random<unsigned long long, true>, 8, 8, footprint, count)
                  : run(add_at_random<unsigned long long, false>, 8, 8, footprint, count);
    }
    switch (record_bytes) {
      case 4: return with_word(std::uint32_t{});
      case 8: return with_word(uint2{});
      default: return with_word(uint4{});
    }
  }

  plan::timing calls(std::uint64_t count) override {
    const const_records table(one_record_.data(), 1, 4);
    const index_span index(one_record_.data() + 256, 1, index_type::u32);
    const records out(one_record_.data() + 512, 1, 4);
    using clock = std::chrono::steady_clock;
    const clock::time_point begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
      gather_one_record(table, index, out);
      ctx_.wait();
    }
    return {std::chrono::duration<double>(clock::now() - begin).count(), count};
  }

  plan::timing steps(std::uint64_t count) override {
    count = min(count, most_steps);
    launch_blocks(ctx_, spin, 1, 1, count * spin_nanoseconds_per_step);
    watch_.start();
    for (std::uint64_t i = 0; i < count; ++i) launch(ctx_, do_nothing, 1);
    return {watch_.stop(), count};
  }

  plan::timing barriers(std::uint64_t count) override {
    std::uint64_t rounds = count;
    void* arguments[] = {&rounds};
    watch_.start();
    require(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(repeat_grid_barrier),
                                        dim3(static_cast<unsigned>(state_of(ctx_).multiprocessors())),
                                        dim3(block_threads), arguments, 0, ctx_.stream()),
            "calibrate: barriers");
    return {watch_.stop(), count};
  }

 private:
  // What gather() does with "cuda.direct" forced: checks, plan and launch are part of what a call costs.
  void gather_one_record(const_records table, index_span index, records out) const {
    primitives::require_fit("gather", ctx_, out, "out", index, table, "table", /*writes_sequential=*/true);
    const primitives::gather_problem problem = primitives::describe_gather(ctx_, table, index, out);
    gather_direct.run(ctx_, problem, gather_direct.plan(problem, ctx_.profile()), {table, index, out}, nullptr);
  }

  // The blocks that the device runs at once.
  template <class... Parameters>
  std::uint64_t wave_blocks(void (*kernel)(Parameters...)) const {
    int blocks = 0;
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block_threads, 0), "calibrate: occupancy");
    return static_cast<std::uint64_t>(max(1, blocks)) * static_cast<std::uint64_t>(state_of(ctx_).multiprocessors());
  }

  plan::timing run(void (*kernel)(random_accesses), std::uint64_t word_bytes, std::uint64_t record_bytes,
                   std::uint64_t footprint, std::uint64_t count) {
    std::uint32_t shift = 0;
    while (word_bytes << shift < record_bytes) ++shift;
    const std::uint64_t blocks = wave_blocks(kernel);
    const std::uint64_t words_per_round = blocks * block_threads * accesses_in_flight;
    const std::uint64_t rounds = ceil_div(count << shift, words_per_round);
    const random_accesses a{
        memory_.data(), footprint / record_bytes, ++runs_ * 0x9e3779b97f4a7c15U, static_cast<std::uint32_t>(rounds),
        shift,          sink_.as<std::uint32_t>()};
    watch_.start();
    launch(ctx_, kernel, blocks, a);
    return {watch_.stop(), rounds * words_per_round >> shift};
  }

  context ctx_;
  run_scope here_;
  stopwatch watch_;
  buffer memory_;
  buffer sink_;
  buffer one_record_;
  std::uint64_t cycle_footprint_ = 0;  // bytes of the pointer cycle that memory_ holds; 0: none
  std::uint64_t runs_ = 0;
};

}  // namespace

std::unique_ptr<plan::microbenchmarks> make_microbenchmarks(const context& ctx) {
  return std::make_unique<cuda_microbenchmarks>(ctx);
}

}  // namespace sheaf::cuda
