#include "cuda/device/launch.cuh"
#include "primitives/split/contract.hpp"

// The variant cuda.row_of_entry: a load-balancing search. Each entry finds the row that it belongs to by a binary
// search in the rows' first entries.
namespace sheaf::cuda {
namespace {

using namespace primitives;

plan::planned plan_rows(const row_of_entry_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  plan::planned plan;
  plan.add("latency", m.launch_seconds);
  plan.add("streamed", m.streamed(p.rows * 8 + p.entries * bytes(p.index), p.rows * 8 + p.entries * bytes(p.index)));
  return plan;
}

// The row of an entry is the last one that begins at the entry or before it. Adjacent threads search adjacent entries,
// so they read nearly the same path.
template <class Index>
__global__ void __launch_bounds__(block_threads)
    find_rows(const std::uint64_t* first_entry, std::uint64_t rows, std::uint64_t entries, Index* row_of_entry) {
  const std::uint64_t e = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (e >= entries) return;
  std::uint64_t begin = 0;  // the answer lies in [begin, end]
  std::uint64_t end = rows - 1;
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin + 1) / 2;
    if (__ldg(first_entry + middle) <= e) {
      begin = middle;
    } else {
      end = middle - 1;
    }
  }
  row_of_entry[e] = static_cast<Index>(begin);
}

void run_rows(const context& ctx, const row_of_entry_problem& problem, const plan::planned&,
              const row_of_entry_buffers& buffers, std::byte*) {
  if (problem.rows == 0 || problem.entries == 0) return;
  const device_scope current_device(ctx.device());
  const std::uint64_t blocks = ceil_div(problem.entries, block_threads);
  if (bytes(problem.index) == 8) {
    launch(ctx, find_rows<std::uint64_t>, blocks, buffers.first, problem.rows, problem.entries,
           static_cast<std::uint64_t*>(buffers.row_of_entry));
  } else {
    launch(ctx, find_rows<std::uint32_t>, blocks, buffers.first, problem.rows, problem.entries,
           static_cast<std::uint32_t*>(buffers.row_of_entry));
  }
}

}  // namespace

extern constinit const row_of_entry_variant row_of_entry{"cuda.row_of_entry", backend_kind::cuda, plan_rows, run_rows};

}  // namespace sheaf::cuda
