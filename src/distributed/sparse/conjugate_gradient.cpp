#include <sheaf/distributed/conjugate_gradient.hpp>

#include <cmath>

#include "distributed/collectives.hpp"
#include "distributed/sparse/checks.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"
#include "primitives/sparse/rank_steps.hpp"

namespace sheaf::distributed {
namespace {

using primitives::conjugate_gradient_goals;
using primitives::conjugate_gradient_watch;
using primitives::rank_state;
using primitives::rank_sums;

constexpr std::string_view distributed_variant = "distributed";

static_assert(system_block_rows == primitives::rank_block_rows);

std::uint64_t blocks_of(std::uint64_t rows) noexcept { return (rows + system_block_rows - 1) / system_block_rows; }

constexpr std::uint64_t never = ~std::uint64_t{0};

/// What all ranks know of who is told of the iteration.
struct told_ranks {
  bool any = false;                      ///< some rank has a history or a progress function
  std::vector<std::uint64_t> intervals;  ///< of ranks that have a progress function

  /// Iterations until the next after which a progress function is called.
  std::uint64_t until_next(std::uint64_t done) const noexcept {
    std::uint64_t least = never;
    for (const std::uint64_t interval : intervals) least = std::min(least, interval - done % interval);
    return least;
  }
};

/// One rank's part of the iteration. The scalars lie where the vectors do, and what is decided by them is the same on
/// all ranks, because they add the same sums. On a device the host looks at them after a batch of iterations, which all
/// ranks cut alike.
class distributed_solver {
 public:
  distributed_solver(group_state& state, const matrix_part& matrix, const csr_view& a, const_values b, values x,
                     const conjugate_gradient_options& options, const told_ranks& told)
      : state_(state),
        matrix_(matrix),
        a_(a),
        told_(told),
        watch_(options),
        steps_(primitives::rank_steps_of(state.ctx.backend())),
        vector_bytes_(b.count * bytes(b.type)),
        x_(x.data),
        r_(state.ctx, vector_bytes_),
        p_(state.ctx, vector_bytes_),
        q_(state.ctx, vector_bytes_),
        x_own_(state.ctx, vector_bytes_),
        x_other_(state.ctx, options.keeps_last ? 0 : vector_bytes_),
        inverse_(state.ctx, options.preconditioner == preconditioner::jacobi ? vector_bytes_ : 0),
        sums_(state, blocks_of(matrix.rows().count()) * primitives::most_rank_sums * sizeof(double), state.ctx),
        scalars_(state.ctx, sizeof(rank_state)) {
    copy(x.data, x_own_.data());
    system_.product = matrix.problem();
    system_.product.column = a.column_indices.type;
    system_.product.offset = a.row_begins.type;
    system_.product.entries = a.column_indices.count;
    system_.product.has_row_ends = a.has_row_ends;
    system_.has_jacobi = options.preconditioner == preconditioner::jacobi;
    system_.b = b.data;
    system_.x[0] = x_own_.data();
    system_.x[1] = x_other_.data();
    system_.r = r_.data();
    system_.p = p_.data();
    system_.q = q_.data();
    system_.inverse = inverse_.data();
    system_.first_block = blocks_of(matrix.rows().begin(state.rank));
    system_.blocks = blocks_of(b.count);
    system_.all_blocks = blocks_of(matrix.rows().count());
    system_.sums = reinterpret_cast<double*>(sums_.data());
    system_.state = scalars_.as<rank_state>();
    for (int r = 0; r < state.size; ++r) blocks_of_rank_.push_back(blocks_of(matrix.rows().count(r)));
  }

  /// What the caller's functions threw, after run(), which ended on all ranks alike.
  std::exception_ptr thrown() const noexcept {
    try {
      watch_.rethrow();
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  conjugate_gradient_result run(const conjugate_gradient_goals& goals) {
    system_.goals = goals;
    copy_bytes(state_.ctx, system_.state, &now_, sizeof now_);
    if (system_.has_jacobi) steps_.read_diagonal(state_.ctx, system_, a_, matrix_.rows().begin(state_.rank));
    add(rank_sums::start_values);
    look();
    if (now_.b_is_zero != 0) {
      if (vector_bytes_ > 0) state_.ctx.state().fill(x_, 0, vector_bytes_);
      look();
      watch_.report(0, 0, now_.steps.target());
      return named(now_.steps.summary(0));
    }
    if (now_.x_is_zero != 0) {
      copy(system_.b, system_.r);
    } else {
      make_residual(system_.x[0], system_.r);
    }
    add(rank_sums::start_residual);
    look();
    report();
    if (!now_.steps.is_done() && asks_to_stop()) now_.steps.end(stop_reason::stopped);
    while (!now_.steps.is_done()) iterate();
    const primitives::conjugate_gradient_steps steps = now_.steps;  // which a progress function may have ended
    double residual = steps.norm();
    if (!steps.is_confirmed()) {
      make_residual(system_.x[steps.result()], system_.q);
      add(rank_sums::result);
      look();
      residual = now_.residual;
    }
    copy(system_.x[steps.result()], x_);
    return named(steps.summary(residual));
  }

 private:
  /// Sums of this rank's blocks, those of all ranks, and what follows from them.
  void add(rank_sums what) {
    steps_.sum(state_.ctx, system_, what);
    gather_sums(system_.count_of(what));
    steps_.take(state_.ctx, system_, what);
  }

  /// Brings the sums of all blocks to all ranks.
  void gather_sums(std::uint64_t count) {
    const std::uint64_t block_bytes = count * sizeof(double);
    std::vector<std::uint64_t> lengths;
    for (const std::uint64_t blocks : blocks_of_rank_) lengths.push_back(blocks * block_bytes);
    const std::vector<std::uint64_t> begins = begins_of(lengths);
    const auto rank = static_cast<std::size_t>(state_.rank);
    if (!state_.goes_by_primitives) {
      return gather_parts(state_, {sums_.data() + begins[rank], lengths[rank]}, lengths, sums_.data());
    }
    std::vector<const_bytes> to(lengths.size(), const_bytes{sums_.data() + begins[rank], lengths[rank]});
    to[rank] = {};
    array_exchange(state_, to, parts_from(sums_.data(), begins, 1, state_.rank)).finish();
  }

  /// Iterations that are queued before the host looks at the scalars: work of 100 us at some 3 TB/s, after which a look
  /// costs little. Of what is queued behind the end only products do anything.
  std::uint64_t batch() const noexcept {
    constexpr std::uint64_t batch_bytes = 300'000'000;
    constexpr std::uint64_t bytes_of_entry = 12;
    constexpr std::uint64_t bytes_of_row = 80;
    constexpr std::uint64_t most = 16;
    static_assert(most < rank_state::history_entries);
    if (!state_.is_on_device() && !state_.goes_by_primitives) return 1;
    const std::uint64_t whole = matrix_.entries() * bytes_of_entry + matrix_.rows().count() * bytes_of_row;
    const std::uint64_t of_rank = whole / static_cast<std::uint64_t>(state_.size) + 1;
    return std::clamp<std::uint64_t>(batch_bytes / of_rank, 1, most);
  }

  void iterate() {
    const std::uint64_t done = now_.steps.iterations();
    const std::uint64_t left = system_.goals.limit - done;
    for (std::uint64_t n = std::min({batch(), told_.until_next(done), left}); n > 0; --n) {
      matrix_.multiply(state_, system_.p, system_.q, 1, 0);
      add(rank_sums::curvature);
      add(rank_sums::residual);
      steps_.step_vectors(state_.ctx, system_);
    }
    look();
    report();
    const bool has_step = now_.steps.iterations() > done;
    if (now_.steps.wants_confirmation()) {
      make_residual(system_.x[now_.steps.next()], system_.r);
      add(rank_sums::confirmation);
      steps_.step_vectors(state_.ctx, system_);
      look();
    }
    // A limit that is reached in the step after which a function asks counts for nothing.
    const bool may_stop = !now_.steps.is_done() || now_.steps.reason() == stop_reason::limit;
    if (has_step && may_stop && asks_to_stop()) now_.steps.end(stop_reason::stopped);
  }

  /// to = b - A x
  void make_residual(const void* x, void* to) {
    copy(system_.b, to);
    matrix_.multiply(state_, x, to, -1, 1);
  }

  /// Waits for the scalars of now.
  void look() { copy_bytes(state_.ctx, &now_, system_.state, sizeof now_); }

  /// Reports the start value, and iterations that are new.
  void report() {
    if (!watch_.wants_reports()) return;
    for (; reported_ <= now_.steps.iterations(); ++reported_)
      watch_.report(reported_, now_.history[reported_ % rank_state::history_entries], now_.steps.target());
  }
  /// Whether the progress function of any rank ends the iteration.
  bool asks_to_stop() {
    if (!told_.any) return false;
    const std::vector<std::uint64_t> asks = all_gather(state_, watch_.asks_to_stop() ? 1 : 0);
    return *std::max_element(asks.begin(), asks.end()) > 0;
  }

  void copy(const void* from, void* to) const { copy_bytes(state_.ctx, to, from, vector_bytes_); }
  static conjugate_gradient_result named(conjugate_gradient_result result) {
    result.variant = distributed_variant;
    return result;
  }

  group_state& state_;
  const matrix_part& matrix_;
  const csr_view& a_;
  const told_ranks& told_;
  conjugate_gradient_watch watch_;
  const primitives::rank_steps& steps_;
  std::uint64_t vector_bytes_;
  void* x_;
  buffer r_, p_, q_, x_own_, x_other_, inverse_;
  message_buffer sums_;
  buffer scalars_;
  primitives::rank_system system_;
  rank_state now_;  ///< the scalars, as the host has seen them
  std::uint64_t reported_ = 0;
  std::vector<std::uint64_t> blocks_of_rank_;
};

void require_system(const group_state& state, const csr_view& a, const layout& rows, const_values b, values x,
                    const conjugate_gradient_options& options) {
  primitives::require_enumerator(primitives::conjugate_gradient_call, "sums", options.sums, spmv_sums::f64);
  primitives::require_enumerator(primitives::conjugate_gradient_call, "preconditioner", options.preconditioner,
                                 preconditioner::jacobi);
  if (!(options.tolerance >= 0))
    primitives::refuse("{}: the tolerance is {}, not 0 or more", primitives::conjugate_gradient_call,
                       options.tolerance);
  if (!(options.absolute_tolerance >= 0)) {
    primitives::refuse("{}: the absolute tolerance is {}, not 0 or more", primitives::conjugate_gradient_call,
                       options.absolute_tolerance);
  }
  if (options.progress_interval == 0)
    primitives::refuse("{}: the progress interval is 0, not 1 or more", primitives::conjugate_gradient_call);
  if (options.diagonal.count != 0)
    primitives::refuse("{}: a diagonal is given, but the matrix has its own", primitives::conjugate_gradient_call);
  require_matrix(primitives::conjugate_gradient_call, state, a, rows, rows);
  for (int r = 0; r < state.size; ++r) {
    if (rows.count(r) == 0 || rows.begin(r) % system_block_rows == 0) continue;
    primitives::refuse("{}: part {} of the rows begins at row {}, not at a multiple of {}",
                       primitives::conjugate_gradient_call, r, rows.begin(r), system_block_rows);
  }
  require_vector(primitives::conjugate_gradient_call, state, "b", b, a.rows, a.values.type);
  require_vector(primitives::conjugate_gradient_call, state, "x", x, a.rows, a.values.type);
  const std::uint64_t vector_bytes = a.rows * bytes(a.values.type);
  primitives::require_no_overlap(primitives::conjugate_gradient_call, x.data, vector_bytes, "x", b.data, vector_bytes,
                                 "b");
  primitives::require_apart(primitives::conjugate_gradient_call, x, "x", a);
}

conjugate_gradient_goals goals_of(const conjugate_gradient_options& options, value_type value, std::uint64_t rows) {
  conjugate_gradient_goals goals{options.tolerance, options.absolute_tolerance, options.iteration_limit,
                                 options.keeps_last};
  if (value == value_type::f32) {
    goals.precision = std::numeric_limits<float>::epsilon();
    goals.least = std::numeric_limits<float>::min();
  }
  goals.vanishing = goals.least * std::sqrt(static_cast<double>(rows));
  if (options.iteration_limit == conjugate_gradient_options::automatic_limit)
    goals.limit = std::max<std::uint64_t>(100, 10 * rows);
  return goals;
}

}  // namespace

conjugate_gradient_result conjugate_gradient(const group& ranks, const csr_view& a, const layout& rows, const_values b,
                                             values x, const conjugate_gradient_options& options) {
  std::exception_ptr thrown;
  auto result = collective(ranks, [&](group_state& state, std::uint64_t call) {
    const agreed_value agreed[] = {agreed_digest("the layout of rows", fingerprint(rows)),
                                   {"the type of values", static_cast<std::uint64_t>(a.values.type)},
                                   {"sums", static_cast<std::uint64_t>(options.sums)},
                                   {"the preconditioner", static_cast<std::uint64_t>(options.preconditioner)},
                                   agreed_real("the tolerance", options.tolerance),
                                   agreed_real("the absolute tolerance", options.absolute_tolerance),
                                   {"the iteration limit", options.iteration_limit},
                                   {"keeps_last", options.keeps_last ? 1U : 0U}};
    const std::uint64_t shared[] = {options.history != nullptr || options.progress ? 1U : 0U,
                                    options.progress ? options.progress_interval : never};
    const auto headers = state.agree(primitives::conjugate_gradient_call, agreed, shared,
                                     [&] { require_system(state, a, rows, b, x, options); });
    told_ranks told;
    for (const call_header& header : headers) {
      told.any = told.any || header.shared[0] != 0;
      if (header.shared[1] != never) told.intervals.push_back(header.shared[1]);
    }
    if (options.history != nullptr) options.history->clear();
    if (rows.count() == 0) return conjugate_gradient_result{};
    const reports_aside aside(state);  // errors of earlier calls are not this one's
    matrix_part matrix(state, a, rows, rows, options.sums, primitives::csr_call::conjugate_gradient, call);
    matrix.prepare_runs(state);
    distributed_solver solver(state, matrix, a, b, x, options, told);
    auto found = solver.run(goals_of(options, a.values.type, rows.count()));
    thrown = solver.thrown();
    return found;
  });
  if (thrown != nullptr) std::rethrow_exception(thrown);
  return result;
}

}  // namespace sheaf::distributed
