#include "cpu/movement/memory_cost.hpp"
#include "cpu/sparse/multiply.hpp"
#include "cpu/sparse/row_cuts.hpp"
#include "cpu/sparse/row_reader.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/huge_pages.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

struct private_decision {
  std::uint64_t chunks = 1;  ///< of the rows, each with sums of its own; by the matrix alone
  std::uint64_t threads = 1;
  std::uint64_t stride_bytes = 0;  ///< from the sums of one chunk to those of the next

  void tell(plan::told& to) const { to.add("chunks", chunks).add("threads", threads); }
};

/// Chunks are as many as have entries enough to pay for sums of their own: four for each column.
std::uint64_t chunks_of(const spmv_problem& p) noexcept {
  constexpr std::uint64_t most_chunks = 16;
  constexpr std::uint64_t entries_per_sum = 4;
  return std::clamp<std::uint64_t>(p.entries / entries_per_sum / std::max<std::uint64_t>(1, p.columns), 1,
                                   std::clamp<std::uint64_t>(p.rows, 1, most_chunks));
}

// The transposed product without a transposed matrix: each entry adds to the sum of its column. The rows are cut into
// chunks, whose number the matrix alone decides, and each chunk adds to sums of its own, row after row; the sums of a
// column are then added chunk after chunk. So threads need no atomics, and the order of sums is always one.
plan::planned plan_private(const spmv_problem& problem, const plan::scope& scope) {
  if (!problem.transposed) return plan::rejected("multiplies by the transposed matrix");
  const machine& machine = scope.machine;
  private_decision decision;
  decision.chunks = chunks_of(problem);
  decision.threads = std::min(decision.chunks, parts_worth(problem.matrix_bytes(), machine.parallelism));
  decision.stride_bytes = core::scratch_aligned(problem.columns * problem.sum_bytes());
  plan::planned plan;
  plan.scratch_bytes = decision.chunks * decision.stride_bytes;
  plan.decided.set(decision);
  // One thread's chunk is one of as many matrices as there are threads.
  const auto of_threads = machine.with_parallelism(static_cast<std::uint32_t>(decision.threads));
  movement columns = gather_of_columns(problem);
  columns.record_bytes = columns.sequential_stride_bytes = columns.indexed_stride_bytes = problem.sum_bytes();
  const memory_cost sums = scatter_cost(columns, of_threads);
  const std::uint64_t streamed = problem.matrix_bytes() + problem.rows * problem.value_bytes();
  const std::uint64_t of_sums = 2 * plan.scratch_bytes + problem.y_bytes();
  plan.add("latency", machine.launch_seconds + 2 * machine.step_seconds);
  plan.add_overlapped(overlap_exponent, {{"streamed", of_threads.streamed(streamed, streamed) + sums.indexed_streamed},
                                         {"random write", problem.entries == 0 ? 0 : sums.indexed_random},
                                         {"steps", step_seconds(problem, machine, decision.threads)}});
  plan.add("sums", machine.streamed(of_sums, of_sums));
  return plan;
}

template <class Value, class Sum, class Column>
row_faults add_chunk(const spmv_problem& problem, const spmv_buffers& b, row_reader rows, std::uint64_t first,
                     std::uint64_t last, Sum* sums) {
  const auto* const value = static_cast<const Value*>(b.a.values.data);
  const auto* const column = static_cast<const Column*>(b.a.column_indices.data);
  const auto* const x = static_cast<const Value*>(b.x);
  const std::uint64_t limit = column_limit_of(problem);
  row_faults faults;
  for (std::uint64_t row = first; row < last; ++row) {
    const std::uint64_t begin = rows.begin(row);
    const std::uint64_t end = rows.end(row);
    if (!rows.is_row(row)) {
      faults.in_rows = true;
      continue;
    }
    prefetch_stream(value, begin, end);
    prefetch_stream(column, begin, end);
    const Sum of_row = static_cast<Sum>(x[row]);
    for (std::uint64_t place = begin; place < end; ++place) {
      const std::uint64_t c = column[place];
      if (c < limit) [[likely]] {
        sums[c] += static_cast<Sum>(value[place]) * of_row;
      } else {
        faults.in_columns = true;
      }
    }
  }
  return faults;
}

/// Writes y of the columns [first, last), of the sums of all chunks, chunk after chunk.
template <class Value, class Sum>
void write_columns(const spmv_problem& p, const private_decision& decision, const spmv_buffers& b,
                   const std::byte* scratch, std::uint64_t first, std::uint64_t last) {
  constexpr std::uint64_t block = 512;
  Sum totals[block];
  const scaled_values<Value, Sum> out(b.alpha, b.beta, p.reads_y, b.y);
  for (std::uint64_t begin = first; begin < last; begin += block) {
    const std::uint64_t count = std::min(last - begin, block);
    std::copy_n(reinterpret_cast<const Sum*>(scratch) + begin, count, totals);
    for (std::uint64_t chunk = 1; chunk < decision.chunks; ++chunk) {
      const auto* const sums = reinterpret_cast<const Sum*>(scratch + chunk * decision.stride_bytes) + begin;
      for (std::uint64_t i = 0; i < count; ++i) totals[i] += sums[i];
    }
    for (std::uint64_t i = 0; i < count; ++i) out.write(begin + i, totals[i]);
  }
}

template <class Value, class Sum, class Column>
row_faults multiply_transposed(const spmv_problem& problem, const private_decision& decision,
                               const spmv_buffers& buffers, std::byte* scratch) {
  const row_reader rows(buffers.a, problem.entries);
  const row_cuts cuts(problem, rows, decision.chunks);
  shared_faults faults;
  for_each_task(decision.chunks, decision.threads, [&](std::uint64_t chunk) {
    Sum* const sums = reinterpret_cast<Sum*>(scratch + chunk * decision.stride_bytes);
    std::fill_n(sums, problem.columns, Sum{0});
    faults.add(add_chunk<Value, Sum, Column>(problem, buffers, rows, cuts.begin(chunk), cuts.begin(chunk + 1), sums));
  });
  const std::uint64_t parts = parts_worth(decision.chunks * decision.stride_bytes, decision.threads);
  for_each_range(problem.columns, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    write_columns<Value, Sum>(problem, decision, buffers, scratch, begin, end);
  });
  return faults.all();
}

void run_private(const context& ctx, const spmv_problem& problem, const plan::planned& plan,
                 const spmv_buffers& buffers, std::byte* scratch) {
  const auto decision = plan.decided.get<private_decision>();
  ask_for_huge_pages(scratch, plan.scratch_bytes);
  run_checked(ctx, problem, buffers.a, [&] {
    return with_value_and_sum(problem, [&](auto value, auto sum) {
      return with_index_width(problem.column, [&](auto column) {
        return multiply_transposed<decltype(value), decltype(sum), decltype(column)>(problem, decision, buffers,
                                                                                     scratch);
      });
    });
  });
}

}  // namespace

extern constinit const spmv_variant spmv_private{"cpu.private", backend_kind::cpu, plan_private, run_private};

}  // namespace sheaf::cpu
