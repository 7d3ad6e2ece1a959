#include <future>

#include <fmt/format.h>
#include <sheaf/spmv.hpp>

#include "apps/sheaf/checks/edges.hpp"
#include "apps/sheaf/checks/spmv.hpp"
#include "apps/sheaf/context_array.hpp"
#include "apps/sheaf/sort/background.hpp"
#include "core/startable.hpp"
#include "lab/harness/placed.hpp"
#include "lab/harness/sparse/calls.hpp"
#include "papers/ujaldon2005/figures.hpp"

// Table 1, and sections 2 and 5.1: work shared with the CPU, and loading that overlaps computation.
namespace sheaf::bench::papers::ujaldon2005 {
namespace {

constexpr std::uint64_t expected_runs = 1000;

/// Rows `begin` to `end` of a matrix.
io::csr_matrix<float> rows_of(const io::csr_matrix<float>& matrix, std::uint64_t begin, std::uint64_t end) {
  io::csr_matrix<float> part;
  part.rows = end - begin;
  part.columns = matrix.columns;
  const auto first = static_cast<std::ptrdiff_t>(matrix.row_offsets[begin]);
  const auto last = static_cast<std::ptrdiff_t>(matrix.row_offsets[end]);
  for (std::uint64_t row = begin; row < end; ++row) {
    part.row_offsets.push_back(matrix.row_offsets[row + 1] - matrix.row_offsets[begin]);
  }
  part.values.assign(matrix.values.begin() + first, matrix.values.begin() + last);
  std::visit(
      [&](const auto& columns) {
        part.column_indices = std::decay_t<decltype(columns)>(columns.begin() + first, columns.begin() + last);
      },
      matrix.column_indices);
  return part;
}

/// The row at which this share of the entries ends.
std::uint64_t row_at(const io::csr_matrix<float>& m, double share) {
  if (share >= 1) return m.rows;
  const auto entries = static_cast<std::uint64_t>(share * static_cast<double>(m.entries()));
  const auto at = std::ranges::lower_bound(m.row_offsets, entries);
  return std::min<std::uint64_t>(m.rows, static_cast<std::uint64_t>(at - m.row_offsets.begin()));
}

/// What a part of the work reads or writes, in host memory and in that of a context.
template <class Value>
struct part_array {
  part_array(const context& on, std::vector<Value> list)
      : ctx(on), host(std::move(list)), placed(on, host.data(), host.size()) {}
  part_array(const part_array&) = delete;
  part_array& operator=(const part_array&) = delete;

  const_values in() const { return {placed.data(), host.size(), value_type_of<Value>()}; }
  values out() const { return {const_cast<Value*>(placed.data()), host.size(), value_type_of<Value>()}; }
  void clear() {
    std::ranges::fill(host, std::numeric_limits<Value>::quiet_NaN());
    if (is_copied()) copy_bytes(ctx, out().data, host.data(), host.size() * sizeof(Value));
  }
  void fetch() {
    if (is_copied()) copy_bytes(ctx, host.data(), placed.data(), host.size() * sizeof(Value));
  }

  context ctx;
  std::vector<Value> host;
  placed_array<Value> placed;

 private:
  bool is_copied() const { return placed.data() != host.data() && !host.empty(); }
};

/// The product by the rows that have a share of a matrix's entries.
class product_part {
 public:
  static constexpr const char* work = "a prepared product by";
  static constexpr const char* halves = "multiplied";

  product_part(const context& ctx, const matrix_input& in, double begin, double end)
      : ctx_(ctx),
        rows_(rows_of(*in.matrix, row_at(*in.matrix, begin), row_at(*in.matrix, end))),
        x_(ctx, vector_for<float>(rows_.columns)),
        y_(ctx, std::vector<float>(rows_.rows)),
        placed_(ctx_, rows_) {}

  bool is_empty() const { return rows_.rows == 0; }
  void load() {
    if (!is_empty()) prepared_.emplace(prepare_spmv(ctx_, placed_.view, expected_runs));
  }
  void run() {
    if (is_empty()) return;
    prepared_->run(x_.in(), y_.out());
    ctx_.wait();
  }
  /// Each part has rows of its own.
  void join(product_part&) {}
  void clear_answer() { y_.clear(); }
  /// Of the part's own answer.
  std::optional<std::string> mistake() {
    y_.fetch();
    return jobs::product_mistake(jobs::view_of(rows_), const_values(x_.host), const_values(y_.host), {});
  }
  std::optional<std::string> mistake_with(product_part& second) {
    if (auto wrong = mistake()) return wrong;
    return second.mistake();
  }

 private:
  context ctx_;
  io::csr_matrix<float> rows_;
  part_array<float> x_;
  part_array<float> y_;
  placed_matrix<float> placed_;
  std::optional<prepared_spmv> prepared_;
};

/// The forces along a share of a mesh's edges. Both ends of an edge may have edges in other parts, so the sums of two
/// parts are added up, in host memory.
class edges_part {
 public:
  static constexpr const char* work = "prepared forces along the edges of";
  static constexpr const char* halves = "summed";

  edges_part(const context& ctx, const mesh_input& in, double begin, double end)
      : ctx_(ctx),
        whole_(in.edges),
        edges_(in.edges->edges.begin() + place_of(begin), in.edges->edges.begin() + place_of(end)),
        ends_(ctx, edges_.data(), edges_.size()),
        places_(ctx, std::vector<float>(whole_->coordinates.begin(), whole_->coordinates.end())),
        sums_(ctx, std::vector<float>(places_.host.size())) {}

  bool is_empty() const { return edges_.empty(); }
  void load() {
    if (is_empty()) return;
    const edge_view edges(index_span{ends_.data(), 2 * edges_.size(), index_type::u32});
    prepared_.emplace(
        prepare_edge_sum(ctx_, edges, whole_->nodes, whole_->dimensions, expected_runs, {.value = value_type::f32}));
  }
  void run() {
    if (is_empty()) return;
    prepared_->run(places_.in(), no_weights(), sums_.out(), edge_function::inverse_square);
    ctx_.wait();
    sums_.fetch();
  }
  /// Adds up what both parts have summed. A part without edges has summed nothing.
  void join(edges_part& second) {
    if (second.is_empty()) return;
    if (is_empty()) {
      sums_.host = second.sums_.host;
    } else {
      for (std::size_t i = 0; i < sums_.host.size(); ++i) sums_.host[i] += second.sums_.host[i];
    }
  }
  void clear_answer() { sums_.clear(); }
  /// Of the answer that join() made.
  std::optional<std::string> mistake_with(edges_part&) {
    const edge_view all(index_span{whole_->edges.data(), 2 * whole_->edges.size(), index_type::u32});
    return jobs::edge_sum_mistake(all, const_values(places_.host), no_weights(), const_values(sums_.host),
                                  whole_->dimensions, edge_function::inverse_square);
  }

 private:
  static const_values no_weights() { return {nullptr, 0, value_type::f32}; }
  std::ptrdiff_t place_of(double share) const {
    return static_cast<std::ptrdiff_t>(share * static_cast<double>(whole_->edges.size()));
  }

  context ctx_;
  std::shared_ptr<const edge_input> whole_;
  std::vector<mesh::edge> edges_;
  placed_array<mesh::edge> ends_;
  part_array<float> places_;
  part_array<float> sums_;
  std::optional<prepared_edge_sum> prepared_;
};

/// Two parts of some work, and a thread for the second.
template <class Part>
struct shared_parts {
  /// @param share  of the work that the first context does
  template <class Input>
  shared_parts(const context& first_context, const context& second_context, const Input& in, double share)
      : first(first_context, in, 0, share), second(second_context, in, share, 1) {}

  void load() {
    first.load();
    second.load();
  }
  /// At once.
  void run() {
    std::future<void> done;
    if (!second.is_empty()) done = thread.run([this] { second.run(); });
    first.run();
    if (done.valid()) done.get();
    first.join(second);
  }
  /// Loads and runs the first part, then the second.
  void load_and_run_in_turn() {
    first.load();
    first.run();
    second.load();
    second.run();
    first.join(second);
  }
  /// The first part runs while the second loads.
  void load_while_running() {
    first.load();
    std::future<void> done = thread.run([this] { first.run(); });
    second.load();
    done.get();
    second.run();
    first.join(second);
  }
  std::optional<std::string> mistake(const std::function<void()>& make) {
    first.clear_answer();
    second.clear_answer();
    make();
    return first.mistake_with(second);
  }

  Part first;
  Part second;
  jobs::background thread;  // destroyed first, because it works on the parts
};

template <class Part>
timed_call call_of(const call_place& place, std::string_view who, const std::shared_ptr<shared_parts<Part>>& of,
                   void (shared_parts<Part>::*make)()) {
  const auto run = [of, make] { (*of.*make)(); };
  return {.where = place.name,
          .who = std::string(who),
          .backend = place.ctx.backend(),
          .run = run,
          .wait = [] {},
          .mistake = [of, run] { return of->mistake(run); }};
}

/// Each call's time, and its gain over the first.
void print_gains(const std::vector<column>& columns, const std::vector<timed_call>& calls) {
  const table rows(columns);
  for (const timed_call& c : calls) {
    rows.row({c.who, time_text(c.time.median_seconds),
              gain_text(calls.front().time.median_seconds / c.time.median_seconds)});
  }
}

template <class Part, class Input>
void print_shares(paper_run& run, const call_place& cpu, const machine_place& device, const Input& in) {
  std::vector<timed_call> calls;
  for (const int percent : {0, 25, 50, 75, 100}) {
    const auto of = std::make_shared<shared_parts<Part>>(cpu.ctx, device.place.ctx, in, percent * 0.01);
    of->load();
    const call_place& place = percent == 100 ? cpu : device.place;  // of all the work nothing is left for the device
    calls.push_back(call_of<Part>(place, fmt::format("{} % on the CPU", percent), of, &shared_parts<Part>::run));
  }
  run.measure(table_number(1), in.name, calls);
  fmt::print("\n  # {} beside {}: shares of {} {}\n", device.place.name, cpu.name, Part::work, in.name);
  print_gains({"share         ", "run", "gain"}, calls);
}

/// @param other  a context of the device's own, because each thread takes one. Returns the share of the time that
/// overlapping saves.
template <class Part, class Input>
double print_overlap(paper_run& run, const machine_place& device, const context& other, const Input& in) {
  std::vector<timed_call> calls;
  for (const auto& [who, make] : {std::pair{"loading, then drawing", &shared_parts<Part>::load_and_run_in_turn},
                                  std::pair{"loading while drawing", &shared_parts<Part>::load_while_running}}) {
    const auto of = std::make_shared<shared_parts<Part>>(device.place.ctx, other, in, 0.5);
    calls.push_back(call_of<Part>(device.place, who, of, make));
  }
  run.measure(table_number(1), in.name, calls);
  fmt::print("\n  # {}: {} in two halves, each loaded and {} once (the paper: a fifth less from 2003 to 2004)\n",
             device.place.name, in.name, Part::halves);
  print_gains({"order                 ", "time", "gain"}, calls);
  return 1 - calls[1].time.median_seconds / calls[0].time.median_seconds;
}

}  // namespace

void shared_work(paper_run& run) {
  const call_place* cpu = nullptr;  // the last: all threads where there are several
  for (const machine_place& p : run.places) {
    if (p.place.ctx.backend() == backend_kind::cpu) cpu = &p.place;
  }
  for (const machine_place& device : run.places) {
    if (device.place.ctx.backend() == backend_kind::cpu) continue;
    const context other = context::on(device.place.ctx.backend());
    try {
      for (const matrix_input& in : run.matrices()) print_shares<product_part>(run, *cpu, device, in);
      for (const mesh_input& in : run.meshes()) print_shares<edges_part>(run, *cpu, device, in);
      spread saved;
      for (const matrix_input& in : run.matrices()) saved.add(print_overlap<product_part>(run, device, other, in));
      for (const mesh_input& in : run.meshes()) saved.add(print_overlap<edges_part>(run, device, other, in));
      // With a faster bus beside it; by its tables 0.34 from 2003 to 2005.
      run.conclusions.push_back({"loading saved by overlapping, " + device.place.name, "0.4 to 0.5",
                                 fmt::format("{:.2f} ({:.2f} to {:.2f})", saved.mean(), saved.least(), saved.most())});
    } catch (const error& e) {
      if (e.code() != error_code::no_variant) throw;
      fmt::print("\n  # {}: no products or sums over edges are prepared, so that no work is shared\n",
                 device.place.name);
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
    reductions(run, device);
  }
#endif
  shared_work(run);
}

void table_7([[maybe_unused]] paper_run& run) {
  print_caption(
      "Table 7. Related work (section 7)",
      "reductions by textures take log N rendering passes, blending takes one; a banded product takes as long as "
      "one by BCSSTK15, which has half as many nonzeros again.");
#if SHEAF_HAS_OPENGL
  for (const machine_place& device : run.places) {
    if (device.place.ctx.backend() == backend_kind::opengl) related_work(run, device);
  }
#endif
}

}  // namespace sheaf::bench::papers::ujaldon2005
