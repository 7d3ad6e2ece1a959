#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>
#include <sheaf/spmv.hpp>

#include "bench/papers/ujaldon2005.hpp"
#include "bench/sparse/calls.hpp"
#include "bench/sparse/placed_matrix.hpp"
#include "jobs/checks/spmv.hpp"

// Table 1, and sections 2 and 5.1: work shared with the CPU, and loading that overlaps computation.
namespace sheaf::bench::papers::ujaldon2005 {
namespace {

constexpr std::uint64_t expected_runs = 1000;

/// A thread that does one piece of work at a time.
class partner_thread {
 public:
  partner_thread() : thread_([this] { work(); }) {}
  ~partner_thread() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  partner_thread(const partner_thread&) = delete;
  partner_thread& operator=(const partner_thread&) = delete;

  void start(std::function<void()> piece) {
    {
      const std::lock_guard lock(mutex_);
      piece_ = std::move(piece);
    }
    changed_.notify_all();
  }

  /// Waits for the piece that was started, and throws what it threw.
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !piece_; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ends_ || piece_; });
      if (ends_) return;
      const std::function<void()> piece = piece_;
      lock.unlock();
      std::exception_ptr failure;
      try {
        piece();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      failure_ = failure;
      piece_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> piece_;
  std::exception_ptr failure_;
  bool ends_ = false;
  std::thread thread_;
};

/// Rows `begin` to `end` of a matrix.
io::csr_matrix<float> rows_of(const io::csr_matrix<float>& m, std::uint64_t begin, std::uint64_t end) {
  io::csr_matrix<float> part;
  part.rows = end - begin;
  part.columns = m.columns;
  const auto first = static_cast<std::ptrdiff_t>(m.row_offsets[begin]);
  const auto last = static_cast<std::ptrdiff_t>(m.row_offsets[end]);
  for (std::uint64_t row = begin; row < end; ++row) {
    part.row_offsets.push_back(m.row_offsets[row + 1] - m.row_offsets[begin]);
  }
  part.values.assign(m.values.begin() + first, m.values.begin() + last);
  std::visit(
      [&](const auto& columns) {
        part.column_indices = std::decay_t<decltype(columns)>(columns.begin() + first, columns.begin() + last);
      },
      m.column_indices);
  return part;
}

/// The row at which this share of the entries ends.
std::uint64_t row_at(const io::csr_matrix<float>& m, double share) {
  const auto entries = static_cast<std::uint64_t>(share * static_cast<double>(m.entries()));
  const auto at = std::lower_bound(m.row_offsets.begin(), m.row_offsets.end(), entries);
  return std::min<std::uint64_t>(m.rows, static_cast<std::uint64_t>(at - m.row_offsets.begin()));
}

/// The product by some rows of a matrix, in the memory of a context.
class partial_product {
 public:
  partial_product(const context& ctx, io::csr_matrix<float> rows)
      : ctx_(ctx),
        rows_(std::move(rows)),
        x_(vector_for<float>(rows_.columns)),
        y_(rows_.rows),
        placed_(ctx_, rows_),
        placed_x_(ctx_, x_.data(), x_.size()),
        placed_y_(ctx_, y_.data(), y_.size()) {}
  partial_product(const partial_product&) = delete;
  partial_product& operator=(const partial_product&) = delete;

  void load() {
    if (rows_.rows > 0) prepared_.emplace(prepare_spmv(ctx_, placed_.view, expected_runs));
  }
  void run() {
    if (rows_.rows == 0) return;
    prepared_->run({placed_x_.data(), x_.size(), value_type::f32},
                   {const_cast<float*>(placed_y_.data()), y_.size(), value_type::f32});
    ctx_.wait();
  }
  bool is_empty() const { return rows_.rows == 0; }
  void clear_answer() {
    std::fill(y_.begin(), y_.end(), std::numeric_limits<float>::quiet_NaN());
    if (is_copied()) copy_bytes(ctx_, const_cast<float*>(placed_y_.data()), y_.data(), y_.size() * sizeof(float));
  }
  std::optional<std::string> mistake() {
    if (is_copied()) copy_bytes(ctx_, y_.data(), placed_y_.data(), y_.size() * sizeof(float));
    const csr_view in_host(rows_.rows, rows_.columns, rows_.row_offsets, rows_.columns_of_entries(), rows_.values);
    return jobs::product_mistake(in_host, const_values(x_), const_values(y_), {});
  }

 private:
  bool is_copied() const { return placed_y_.data() != y_.data() && !y_.empty(); }

  context ctx_;
  io::csr_matrix<float> rows_;
  std::vector<float> x_;
  std::vector<float> y_;
  placed_matrix<float> placed_;
  placed_array<float> placed_x_;
  placed_array<float> placed_y_;
  std::optional<prepared_spmv> prepared_;
};

/// Two parts of a product, and a thread for the second.
struct shared_product {
  shared_product(const context& first_context, const context& second_context, const io::csr_matrix<float>& m,
                 double share)
      : first(first_context, rows_of(m, 0, row_at(m, share))),
        second(second_context, rows_of(m, row_at(m, share), m.rows)) {}

  void load() {
    first.load();
    second.load();
  }
  /// At once.
  void run() {
    if (!second.is_empty()) thread.start([this] { second.run(); });
    first.run();
    if (!second.is_empty()) thread.finish();
  }
  /// Loads and runs the first part, then the second.
  void load_and_run_in_turn() {
    first.load();
    first.run();
    second.load();
    second.run();
  }
  /// The first part runs while the second loads.
  void load_while_running() {
    first.load();
    thread.start([this] { first.run(); });
    second.load();
    thread.finish();
    second.run();
  }
  std::optional<std::string> mistake(const std::function<void()>& make) {
    first.clear_answer();
    second.clear_answer();
    make();
    if (auto wrong = first.mistake()) return wrong;
    return second.mistake();
  }

  partial_product first;
  partial_product second;
  partner_thread thread;
};

timed_call call_of(const machine_place& device, std::string who, const std::shared_ptr<shared_product>& of,
                   void (shared_product::*make)()) {
  const auto run = [of, make] { (*of.*make)(); };
  return {.where = device.place.name,
          .who = std::move(who),
          .backend = device.place.ctx.backend(),
          .run = run,
          .wait = [] {},
          .mistake = [of, run] { return of->mistake(run); }};
}

void print_shares(paper_run& run, const call_place& cpu, const machine_place& device, const matrix_input& in) {
  std::vector<timed_call> calls;
  for (const int percent : {0, 25, 50, 75, 100}) {
    const auto of = std::make_shared<shared_product>(cpu.ctx, device.place.ctx, *in.matrix, percent * 0.01);
    of->load();
    calls.push_back(call_of(device, fmt::format("{} % on the CPU", percent), of, &shared_product::run));
  }
  run.measure(table_number(1), in.name, calls);
  fmt::print("\n  # {} beside {}: shares of a prepared product by {}\n", device.place.name, cpu.name, in.name);
  const table rows({"share         ", "run", "gain"});
  for (const timed_call& c : calls) {
    rows.row({c.who, time_text(c.time.median_seconds),
              gain_text(calls.front().time.median_seconds / c.time.median_seconds)});
  }
}

void print_overlap(paper_run& run, const machine_place& device, const matrix_input& in) {
  // A context of its own for each thread.
  const context other = context::on(device.place.ctx.backend());
  std::vector<timed_call> calls;
  for (const auto& [who, make] : {std::pair{"loading, then drawing", &shared_product::load_and_run_in_turn},
                                  std::pair{"loading while drawing", &shared_product::load_while_running}}) {
    const auto of = std::make_shared<shared_product>(device.place.ctx, other, *in.matrix, 0.5);
    calls.push_back(call_of(device, who, of, make));
  }
  run.measure(table_number(1), in.name, calls);
  fmt::print(
      "\n  # {}: {} in two halves, each loaded and multiplied once (the paper: a fifth less from 2003 to 2004)\n",
      device.place.name, in.name);
  const table rows({"order                 ", "time"});
  for (const timed_call& c : calls) rows.row({c.who, time_text(c.time.median_seconds)});
}

}  // namespace

void shared_work(paper_run& run) {
  const call_place* cpu = nullptr;  // the last: all threads where there are several
  for (const machine_place& p : run.places) {
    if (p.place.ctx.backend() == backend_kind::cpu) cpu = &p.place;
  }
  for (const machine_place& device : run.places) {
    if (device.place.ctx.backend() == backend_kind::cpu) continue;
    try {
      for (const matrix_input& in : run.matrices()) print_shares(run, *cpu, device, in);
      print_overlap(run, device, run.matrices().back());
    } catch (const error& e) {
      if (e.code() != error_code::no_variant) throw;
      fmt::print("\n  # {}: no products by sparse matrices, so that no work is shared\n", device.place.name);
    }
  }
}

void table_1(paper_run& run) {
  print_caption("Table 1. Parts of the pipeline as parts of a program",
                "one indirection takes 0.01 ms by the color table, 0.65 ms by a texture, 2.40 ms by vertex indices.");
#if SHEAF_HAS_OPENGL
  for (const machine_place& device : run.places) {
    if (device.place.ctx.backend() != backend_kind::opengl || run.matrices().front().matrix->entries() == 0) continue;
    indirections(run, device);
    conditions(run, device);
    dimensions(run, device);
  }
#endif
  shared_work(run);
}

}  // namespace sheaf::bench::papers::ujaldon2005
