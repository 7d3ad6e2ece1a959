#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <thread>

#include <mpi.h>
#include <sheaf/distributed/gather.hpp>
#include <sheaf/distributed/mpi.hpp>
#include <sheaf/distributed/sort.hpp>
#include <sheaf/error.hpp>

// One of MPI's processes in which a fault is planted: faults.py starts them, and looks at how they end.
//   faults FAULT RANK WAIT-SECONDS
// FAULT is none, kill, exit, stop, throw or memory: what that rank does amid calls. A rank that gets an error from a
// call says so, and ends all processes.

namespace {

using namespace sheaf;

/// A block of memory that is short from the first call after `is_short` on.
struct short_memory {
  bool is_short = false;
  static void* allocate(void* state, std::uint64_t bytes, CUstream_st*) {
    return static_cast<short_memory*>(state)->is_short ? nullptr : std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  }
  static void give_back(void*, void* block, std::uint64_t, CUstream_st*) { std::free(block); }
};

void plant(std::string_view fault, short_memory& memory) {
  if (fault == "kill") raise(SIGKILL);
  if (fault == "exit") _exit(3);
  if (fault == "stop") raise(SIGSTOP);
  if (fault == "throw") throw std::runtime_error("planted");
  if (fault == "memory") memory.is_short = true;
}

void work(const distributed::group& ranks, std::string_view fault, int bad, short_memory& memory) {
  constexpr std::uint64_t count = 150'000;
  const auto rows = distributed::layout::even(count * static_cast<std::uint64_t>(ranks.size()), ranks.size());
  std::vector<std::uint64_t> table(count);
  std::vector<std::uint32_t> list(count);
  std::vector<std::uint64_t> out(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    table[i] = rows.begin(ranks.rank()) + i;
    list[i] = static_cast<std::uint32_t>((i * 7919 + static_cast<std::uint64_t>(ranks.rank())) % rows.count());
  }
  std::thread later;
  for (int call = 0; call < 20; ++call) {
    // Calls are under way when a signal comes from another thread; what throws comes between two.
    if (call == 8 && ranks.rank() == bad) {
      if (fault == "throw" || fault == "memory") {
        plant(fault, memory);
      } else if (fault != "none") {
        later = std::thread([&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(3));
          plant(fault, memory);
        });
      }
    }
    distributed::gather(ranks, table, rows, list, out);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (out[i] != list[i]) throw error(error_code::internal, "a wrong record");
    }
    const auto sorted = distributed::sort_keys(ranks, out);
    if (sorted.where != rows) throw error(error_code::internal, "a wrong layout");
  }
  if (later.joinable()) later.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  distributed::limits bounds;
  bounds.wait_seconds = std::atof(argv[3]);
  bounds.message_bytes = 1 << 16;
  short_memory memory;
  context ctx = context::cpu(1);
  ctx.use(memory_resource{short_memory::allocate, short_memory::give_back, &memory});
  int code = 0;
  try {
    const distributed::group ranks = distributed::over(ctx, MPI_COMM_WORLD, bounds);
    try {
      work(ranks, argv[1], std::atoi(argv[2]), memory);
    } catch (const std::exception& thrown) {
      std::cerr << "process " + std::to_string(rank) + " has: " + thrown.what() + "\n" << std::flush;
      ranks.abandon(thrown.what());
      // Others hear of it while this process still answers.
      std::this_thread::sleep_for(std::chrono::seconds(2));
      code = 7;
    }
    if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
  } catch (const std::exception& thrown) {
    std::cerr << "process " + std::to_string(rank) + ": " + thrown.what() + "\n" << std::flush;
    MPI_Abort(MPI_COMM_WORLD, 8);
  }
  MPI_Finalize();
  return code;
}
