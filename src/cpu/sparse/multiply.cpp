#include "cpu/sparse/multiply.hpp"

#include "cpu/movement/order_sample.hpp"
#include "cpu/sparse/row_cuts.hpp"
#include "cpu/sparse/row_reader.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"
#include "plan/choose.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

/// Parts for each thread: an idle thread takes the next, so that what else runs on the machine delays a product little.
constexpr std::uint64_t parts_per_thread = 8;
/// Rows of a part that are worth a thread's way to the counter of parts, where rows are counted and not their entries.
constexpr std::uint64_t rows_of_a_part = 256;
/// Pieces of a long row that a thread takes at once.
constexpr std::uint64_t pieces_of_a_task = 4;

row_product product_of(const spmv_problem& problem, const spmv_buffers& buffers, const void* gathered) {
  row_product product;
  product.a = buffers.a;
  product.entries = problem.entries;
  product.x = gathered != nullptr ? gathered : buffers.x;
  product.y = buffers.y;
  product.column_limit = column_limit_of(problem);
  product.alpha = buffers.alpha;
  product.beta = buffers.beta;
  product.reads_y = problem.reads_y;
  return product;
}

/// Whether reads of x by these columns are seldom of a line that was read shortly before. Looks at 64 runs of 64
/// neighbours, and wants two fifths of them to be of lines that the sample has not seen, which a Bloom filter of one
/// bit a line says. Of uniform columns it has seen next to none, of R-MAT's 0.56 are new, of a 27-point grid's 0.19,
/// and of finite elements' with three unknowns a node 0.29.
template <class Column>
bool reads_many_lines(const Column* columns, std::uint64_t count, std::uint64_t value_bytes) {
  constexpr std::uint64_t runs = 64;
  constexpr std::uint64_t run_entries = 64;
  if (count < runs * run_entries) return false;
  seen_blocks seen;
  std::uint64_t lines = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    const Column* const first = columns + count / runs * run;
    for (std::uint64_t i = 0; i < run_entries; ++i) {
      lines += seen.add(std::uint64_t{first[i]} * value_bytes / line_bytes) ? 1 : 0;
    }
  }
  return 5 * lines >= 2 * runs * run_entries;
}

/// The sums of all pieces of the rows that were left, then these rows.
void multiply_long_rows(const row_product& product, const row_kernels& kernels, const long_rows& left,
                        std::uint64_t threads, void* sums, shared_faults& faults) {
  if (left.count() == 0) return;
  const std::uint64_t tasks = (left.pieces() + pieces_of_a_task - 1) / pieces_of_a_task;
  for_each_task(tasks, threads, [&](std::uint64_t task) {
    row_faults found;
    const std::uint64_t end = std::min(left.pieces(), (task + 1) * pieces_of_a_task);
    std::uint64_t r = 0;
    for (std::uint64_t piece = task * pieces_of_a_task; piece < end; ++piece) {
      while (r + 1 < left.count() && left[r + 1].first_piece <= piece) ++r;
      const std::uint64_t first = (piece - left[r].first_piece) * piece_entries;
      kernels.piece(product, left[r].begin + first, std::min(piece_entries, left[r].count - first), sums, piece, found);
    }
    faults.add(found);
  });
  for (std::uint64_t r = 0; r < left.count(); ++r) {
    const std::uint64_t end = r + 1 < left.count() ? left[r + 1].first_piece : left.pieces();
    kernels.finish(product, left[r].row, static_cast<const std::byte*>(sums) + left[r].first_piece * kernels.sum_bytes,
                   end - left[r].first_piece);
  }
}

class kept_rows final : public prepared_product {
 public:
  kept_rows(const spmv_problem& p, const csr_view& a, std::string_view variant)
      : problem_(p), a_(a), variant_(variant) {}

  void run(const context& ctx, const const_values x, sheaf::values y, double alpha, double beta) override {
    run_rows(ctx, problem_, variant_, {a_, x.data, y.data, alpha, beta});
  }
  std::uint64_t kept_bytes() const override { return 0; }
  std::string_view product() const override { return spmv_rows.name; }
  bool is_unprepared() const override { return true; }

 private:
  spmv_problem problem_;
  csr_view a_;
  std::string_view variant_;
};

}  // namespace

// On an AMD EPYC of family 25 with a second-level cache of 1 MB, one thread, f64: uniform columns over x of 2 MB 1.04
// ns an entry in place of 1.13, of 8 MB 1.11 in place of 1.62; R-MAT over 8 MB 1.77 in place of 2.64.
bool may_prefetch_x(const spmv_problem& p, const machine& m) noexcept {
  return p.columns * p.value_bytes() >= 2 * own_cache_bytes(m);
}

// Prefetching costs a third of a product whose x is near, so the columns are looked at.
x_access access_of(const spmv_problem& p, const csr_view& a, bool may_prefetch) {
  if (!may_prefetch) return x_access::direct;
  const bool is_scattered = with_index_width(p.column, [&](auto column) {
    return reads_many_lines(static_cast<const decltype(column)*>(a.column_indices.data), p.entries, p.value_bytes());
  });
  return is_scattered ? x_access::prefetched : x_access::near;
}

rows_decision decide_rows(const spmv_problem& problem, const machine& m, core::scratch_offsets& place) noexcept {
  rows_decision decision;
  decision.may_prefetch = may_prefetch_x(problem, m);
  decision.threads = parts_worth(problem.matrix_bytes() + problem.y_bytes(), m.parallelism);
  if (decision.threads == 1) return decision;
  decision.parts = decision.threads * parts_per_thread;
  if (problem.has_row_ends) decision.parts = std::max(decision.parts, problem.rows / rows_of_a_part);
  decision.parts = std::clamp<std::uint64_t>(decision.parts, 1, std::max<std::uint64_t>(1, problem.rows));
  // Rows that do not overlap are at most as many as their least length goes into the entries.
  decision.long_entries =
      std::max(2 * pieces_of_a_task * piece_entries, problem.entries / (decision.threads * parts_per_thread));
  decision.most_long_rows = std::min(problem.rows, problem.entries / decision.long_entries);
  decision.most_pieces = decision.most_long_rows == 0 ? 0 : problem.entries / piece_entries + decision.most_long_rows;
  decision.long_rows_at = place.take(decision.most_long_rows * sizeof(long_row));
  decision.sums_at = place.take(decision.most_pieces * problem.sum_bytes());
  return decision;
}

row_faults multiply_rows(const spmv_problem& problem, const rows_decision& decision, const spmv_buffers& buffers,
                         const void* gathered, std::byte* scratch) {
  const row_product product = product_of(problem, buffers, gathered);
  const row_kernels kernels = row_kernels_of(
      problem, gathered != nullptr ? x_access::gathered : access_of(problem, buffers.a, decision.may_prefetch));
  if (decision.threads == 1) {
    row_faults faults;
    kernels.rows(product, 0, problem.rows, nullptr, faults);
    return faults;
  }
  long_rows left(reinterpret_cast<long_row*>(scratch + decision.long_rows_at), decision.most_long_rows,
                 decision.most_pieces, decision.long_entries);
  shared_faults faults;
  const row_reader rows(buffers.a, problem.entries);
  const row_cuts cuts(problem, rows, decision.parts);
  for_each_task(decision.parts, decision.threads, [&](std::uint64_t part) {
    row_faults found;
    kernels.rows(product, cuts.begin(part), cuts.begin(part + 1), &left, found);
    faults.add(found);
  });
  multiply_long_rows(product, kernels, left, decision.threads, scratch + decision.sums_at, faults);
  return faults.all();
}

double step_seconds(const spmv_problem& p, const machine& machine, std::uint64_t threads) noexcept {
  constexpr double digits_per_entry = 0.35;
  constexpr double digits_per_row = 2;
  const double digits =
      static_cast<double>(p.entries) * digits_per_entry + static_cast<double>(p.rows) * digits_per_row;
  return digits * digit_seconds(machine) / static_cast<double>(threads);
}

void run_rows(const context& ctx, spmv_problem p, std::string_view variant, const spmv_buffers& b) {
  p.reads_y = b.beta != 0;
  const plan::planned plan = spmv_rows.plan(p, plan::scope_of(ctx));
  const core::scratch scratch = plan::take_scratch(ctx, prepared_spmv_call, variant, plan.scratch_bytes);
  spmv_rows.run(ctx, p, plan, b, scratch.data());
}

std::shared_ptr<prepared_product> keep_rows(const spmv_problem& p, const csr_view& a, std::string_view variant) {
  return std::make_shared<kept_rows>(p, a, variant);
}

}  // namespace sheaf::cpu
