#include "plan/microbenchmarks.hpp"

#include <omp.h>

#include <ctime>
#include <limits>

#include "core/composition.hpp"
#include "core/host.hpp"
#include "core/startable.hpp"
#include "cpu/calibrate/accesses.hpp"
#include "cpu/sort/in_cache.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::cpu {

extern const primitives::gather_variant gather_direct;  // movement/direct.cpp

namespace {

constexpr std::uint64_t list_entries = std::uint64_t{1} << 22;
constexpr std::uint64_t node_bytes = 64;
constexpr std::uint64_t digit_words = std::uint64_t{1} << 14;
constexpr std::uint64_t most_warm_steps = std::uint64_t{1} << 17;
constexpr std::uint64_t least_memory = std::uint64_t{1} << 20;

// The processor time of this thread. What another program takes of its processor is not in it.
double thread_seconds() {
  timespec now{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return omp_get_wtime();
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Calls body(part, parts) on every thread, all at once, and returns the processor time of the slowest. Waiting is not
// in it: where something else runs, a thread is woken some 10 ms late and stopped for as long, which is longer than a
// run. By the clock of the wall, figures beside two busy loops on two cores were 2 times too slow in the mean and up to
// 9 times. Threads that run alone meanwhile may seem up to as many times too fast as there are threads, where they
// share what they wait for.
template <class Body>
double seconds_of(int threads, Body body) {
  double slowest = 0;
#pragma omp parallel num_threads(core::startable(threads)) reduction(max : slowest)
  {
    const auto part = static_cast<std::uint64_t>(omp_get_thread_num());
#pragma omp barrier
    const double begin = thread_seconds();
    body(part, static_cast<std::uint64_t>(omp_get_num_threads()));
    slowest = thread_seconds() - begin;
  }
  return slowest;
}

// Steps and barriers are timed in chunks, of which the least counts. A thread that waits for another one sleeps where
// something else runs, and is woken some 8 ms late: most chunks between two such waits are undisturbed. A run has many
// chunks, however short it is asked to be, unless each of them is disturbed.
constexpr std::uint64_t steps_in_chunk = 16;
constexpr std::uint64_t least_chunks = 16;
constexpr double long_enough = 0.03;

std::uint64_t chunks_of(std::uint64_t count) {
  return std::max(least_chunks, (count + steps_in_chunk - 1) / steps_in_chunk);
}

// Makes the compiler assume that the memory behind a pointer is read and written here.
void use(const void* address) { asm volatile("" : : "r"(address) : "memory"); }

class cpu_microbenchmarks final : public plan::microbenchmarks {
 public:
  explicit cpu_microbenchmarks(const context& ctx) : ctx_(ctx), random_(list_entries) {
    for (std::uint64_t i = 0; i < list_entries; ++i) random_[i] = static_cast<std::uint32_t>(mixed(i));
  }

  machine describe() override {
    machine machine;
    machine.name = ctx_.state().device_name;
    machine.backend = backend_kind::cpu;
    machine.memory_bytes = core::host_memory_bytes();
    machine.cache_levels = core::host_cache_levels();
    machine.cache_bytes = machine.cache_levels.back();
    machine.sector_bytes = machine.fetch_bytes = core::host_line_bytes();
    machine.parallelism = static_cast<std::uint32_t>(ctx_.threads());
    cache_bytes_ = machine.cache_bytes;
    return machine;
  }

  std::uint64_t reserve(std::uint64_t bytes) override {
    bytes = std::max(least_memory, std::min(bytes, core::host_available_bytes() / 2));
    for (;; bytes /= 2) {
      try {
        memory_ = buffer(ctx_, bytes);
        break;
      } catch (const error& e) {
        if (e.code() != error_code::out_of_memory || bytes <= least_memory) throw;
      }
    }
    seconds_of(ctx_.threads(), [&](std::uint64_t part, std::uint64_t parts) {
      const std::uint64_t begin = bytes / parts * part;
      std::memset(memory_.data() + begin, 1, (part + 1 == parts ? bytes : bytes / parts * (part + 1)) - begin);
    });
    return bytes;
  }

  plan::timing stream(std::uint64_t footprint, std::uint64_t bytes) override {
    const std::uint64_t half = footprint / 2;
    const std::uint64_t rounds = (bytes + footprint - 1) / footprint;
    const bool streams = half > cache_bytes_;  // as gather and scatter do
    const double seconds = seconds_of(ctx_.threads(), [&](std::uint64_t part, std::uint64_t parts) {
      const std::uint64_t lines = half / line_bytes;
      const std::uint64_t begin = lines * part / parts * line_bytes;
      const std::uint64_t end = lines * (part + 1) / parts * line_bytes;
      for (std::uint64_t round = 0; round < rounds; ++round) {
        std::byte* const to = memory_.data() + half + begin;
        if (streams) {
          stream_lines(to, memory_.data() + begin, end - begin);
        } else {
          std::memcpy(to, memory_.data() + begin, end - begin);
        }
        use(to);
      }
      if (streams) finish_streaming();
    });
    return {seconds, rounds * footprint};
  }

  plan::timing chase(std::uint64_t footprint, std::uint64_t count) override {
    const std::uint64_t nodes = footprint / node_bytes;
    write_cycle(footprint, nodes);
    const void* node = memory_.data();
    for (std::uint64_t i = 0; i < std::min(nodes, most_warm_steps); ++i) std::memcpy(&node, node, sizeof node);
    use(node);
    const double begin = thread_seconds();
    for (std::uint64_t i = 0; i < count; ++i) std::memcpy(&node, node, sizeof node);
    use(node);
    return {thread_seconds() - begin, count};
  }

  plan::timing access(plan::access_kind kind, std::uint64_t record_bytes, std::uint64_t footprint,
                      std::uint64_t count) override {
    chased_ = 0;
    primitives::movement records;
    records.record_bytes = records.sequential_stride_bytes = records.indexed_stride_bytes = record_bytes;
    const random_positions positions{random_.data(), list_entries - 1, footprint / record_bytes, ++runs_};
    const probed_table table{memory_.data(), footprint > least_prefetched_bytes, footprint > cache_bytes_};
    const double seconds = seconds_of(ctx_.threads(), [&](std::uint64_t part, std::uint64_t parts) {
      const std::uint64_t begin = count / parts * part;
      const std::uint64_t end = part + 1 == parts ? count : count / parts * (part + 1);
      switch (kind) {
        case plan::access_kind::read:
          return with_layout(records, [&](auto layout) { read_at_random(layout, positions, table, begin, end); });
        case plan::access_kind::write:
          return with_layout(records, [&](auto layout) { write_at_random(layout, positions, table, begin, end); });
        case plan::access_kind::atomic_add:
          return record_bytes == 4 ? add_at_random<std::uint32_t>(positions, table, begin, end)
                                   : add_at_random<std::uint64_t>(positions, table, begin, end);
      }
    });
    return {seconds, count};
  }

  plan::timing calls(std::uint64_t count) override {
    const std::array<std::uint32_t, 1> table{7};
    const std::array<std::uint32_t, 1> index{0};
    std::array<std::uint32_t, 1> out{};
    const double begin = omp_get_wtime();
    for (std::uint64_t i = 0; i < count; ++i) {
      gather_one_record(std::span<const std::uint32_t>(table), std::span<const std::uint32_t>(index),
                        std::span<std::uint32_t>(out));
      ctx_.wait();
    }
    return {omp_get_wtime() - begin, count};
  }

  plan::timing steps(std::uint64_t count) override {
    const std::uint64_t chunks = chunks_of(count);
    double least = std::numeric_limits<double>::infinity();
    double spent = 0;
    for (std::uint64_t chunk = 0; chunk < chunks && (chunk < least_chunks / 4 || spent < long_enough); ++chunk) {
      const double begin = omp_get_wtime();
      for (std::uint64_t i = 0; i < steps_in_chunk; ++i) {
#pragma omp parallel num_threads(core::startable(ctx_.threads()))
        use(this);
      }
      const double seconds = omp_get_wtime() - begin;
      least = std::min(least, seconds);
      spent += seconds;
    }
    return {least * static_cast<double>(chunks), chunks * steps_in_chunk};
  }

  plan::timing barriers(std::uint64_t count) override {
    const std::uint64_t chunks = chunks_of(count);
    double least = std::numeric_limits<double>::infinity();
    bool goes_on = true;
#pragma omp parallel num_threads(core::startable(ctx_.threads()))
    {
      double spent = 0;
      for (std::uint64_t chunk = 0;; ++chunk) {
        const double begin = omp_get_wtime();
        for (std::uint64_t i = 0; i < steps_in_chunk; ++i) {
#pragma omp barrier
        }
        const double seconds = omp_get_wtime() - begin;
        spent += seconds;
        if (omp_get_thread_num() == 0) {
          least = std::min(least, seconds);
          goes_on = chunk + 1 < chunks && (chunk + 1 < least_chunks / 4 || spent < long_enough);
        }
        // Thread 0 writes again only behind the barriers of the next chunk, which all threads reach after they read.
#pragma omp barrier
        if (!goes_on) break;
      }
    }
    return {least * static_cast<double>(chunks), chunks * steps_in_chunk};
  }

  plan::timing digits(std::uint64_t count) override {
    const auto threads = static_cast<std::uint64_t>(ctx_.threads());
    if (words_.empty()) {
      words_.resize(2 * threads * digit_words);
      for (std::uint64_t i = 0; i < words_.size(); ++i) words_[i] = mixed(i);
    }
    const std::uint64_t rounds = (count + digit_words - 1) / digit_words;
    const double seconds = seconds_of(ctx_.threads(), [&](std::uint64_t part, std::uint64_t) {
      std::uint64_t* words = words_.data() + 2 * part * digit_words;
      std::uint64_t* spare = words + digit_words;
      // Every round takes another digit, since words that are sorted by a digit already are moved by it faster.
      for (std::uint64_t round = 0; round < rounds; ++round) {
        radix_sort_in_cache(words, spare, digit_words,
                            {.first_bit = static_cast<std::uint32_t>(round % 8 * 8), .bits = 8, .digit_bits = 8});
      }
      use(words);
    });
    return {seconds, rounds * digit_words};
  }

 private:
  // What gather() does with "cpu.direct" forced: checks and plan are part of what a call costs.
  void gather_one_record(const_records table, index_span index, records out) const {
    primitives::require_fit("gather", ctx_, out, "out", index, table, "table", /*writes_sequential=*/true);
    const primitives::gather_problem problem = primitives::describe_gather(ctx_, table, index, out);
    gather_direct.run(ctx_, problem, gather_direct.plan(problem, ctx_.profile()), {table, index, out}, nullptr);
  }

  // Links all lines of the footprint into one cycle for pointer chasing. The cycle is kept until another is written.
  void write_cycle(std::uint64_t footprint, std::uint64_t nodes) {
    if (chased_ == footprint) return;
    chased_ = footprint;
    const int bits = std::countr_zero(nodes);
    std::byte* const memory = memory_.data();
#pragma omp parallel for num_threads(core::startable(ctx_.threads())) schedule(static)
    for (std::uint64_t i = 0; i < nodes; ++i) {
      const void* const next = memory + plan::shuffled((i + 1) % nodes, bits) * node_bytes;
      std::memcpy(memory + plan::shuffled(i, bits) * node_bytes, &next, sizeof next);
    }
  }

  context ctx_;
  buffer memory_;
  std::vector<std::uint32_t> random_;
  std::vector<std::uint64_t> words_;  // two arrays for each thread, for digits()
  std::uint64_t cache_bytes_ = 0;
  std::uint64_t chased_ = 0;  // footprint of the cycle that memory_ holds
  std::uint64_t runs_ = 0;
};

}  // namespace

std::unique_ptr<plan::microbenchmarks> make_microbenchmarks(const context& ctx) {
  return std::make_unique<cpu_microbenchmarks>(ctx);
}

}  // namespace sheaf::cpu
