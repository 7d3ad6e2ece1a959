#include "apps/sheaf/ranks/systems.hpp"

#include <sheaf/distributed/conjugate_gradient.hpp>

#include "apps/sheaf/checks/solution.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/ranks/host_memory.hpp"
#include "apps/sheaf/ranks/input_part.hpp"
#include "apps/sheaf/ranks/part_file.hpp"
#include "apps/sheaf/subcommands/files/vector_file.hpp"
#include "apps/sheaf/subcommands/movement.hpp"
#include "distributed/collectives.hpp"

namespace sheaf::cli {
namespace {

using distributed::group;
using distributed::layout;
using distributed::system_block_rows;

/// This rank's rows of a matrix, in host memory.
template <class Value>
struct matrix_of_rank {
  io::matrix_market_shape whole;
  layout rows;
  io::csr_matrix<Value> mine;
};

/// @param multiple  of rows, at which parts begin. @param require  throws for a shape that is not wanted
template <class Value>
matrix_of_rank<Value> read_matrix_of_rank(const group& ranks, const std::string& path, std::uint64_t multiple,
                                          const std::function<void(const io::matrix_market_shape&)>& require) {
  matrix_of_rank<Value> read;
  const auto kept = [&](const io::matrix_market_shape& shape) -> io::matrix_market_rows {
    require(shape);
    read.whole = shape;
    read.rows = layout::even(shape.rows, ranks.size(), multiple);
    return {read.rows.begin(ranks.rank()), read.rows.end(ranks.rank())};
  };
  read.mine = io::read_matrix_market<Value>(path, {.threads = host_threads(ranks), .kept = kept});
  return read;
}

/// Of a square matrix whose file does not say that it is symmetric. Reads the file again, for columns.
template <class Value>
void require_symmetric(const group& ranks, const std::string& path, const matrix_of_rank<Value>& a) {
  const std::uint64_t first = a.rows.begin(ranks.rank());
  const auto mistake = [&] {
    const csr_view rows = jobs::view_of(a.mine);
    if (a.whole.is_symmetric) return jobs::asymmetry_of(rows, rows, first);  // finds what is not finite
    const auto kept = [&](const io::matrix_market_shape&) -> io::matrix_market_rows {
      return {first, a.rows.end(ranks.rank()), true};
    };
    const auto columns = io::read_matrix_market<Value>(path, {.threads = host_threads(ranks), .kept = kept});
    return jobs::asymmetry_of(rows, jobs::view_of(columns), first);
  }();
  if (mistake) io::fail(path, "{}", *mistake);
}

/// This rank's numbers of a vector, all of which it reads.
template <class Value>
std::vector<Value> read_vector_of_rank(const group& ranks, const std::string& path, const layout& parts, const char* of,
                                       const std::string& matrix) {
  const std::uint64_t count = parts.count(ranks.rank());
  if (path.empty()) return std::vector<Value>(count, 1);
  const auto all = read_matrix_vector<Value>(path, parts.count(), of, matrix, host_threads(ranks));
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(parts.begin(ranks.rank()));
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

/// Numbers of the host, in the memory where a rank's calls reach them.
template <class Value>
struct sent_values : context_array {
  sent_values(const group& ranks, std::span<Value> numbers)
      : context_array(ranks.local(), numbers.data(), numbers.size() * sizeof(Value)), count(numbers.size()) {
    send();
  }
  values view() const { return {data(), count, value_type_of<Value>()}; }

  std::uint64_t count;
};

/// Entries of all ranks. Throws where these saw different matrices.
template <class Value>
std::uint64_t entries_of_all(const group& ranks, const matrix_of_rank<Value>& a) {
  ranks.require_same("the number of rows that a rank sees", a.whole.rows);
  ranks.require_same("the number of columns that a rank sees", a.whole.columns);
  return layout::of(ranks, a.mine.entries()).count();
}

template <class Value>
void write_part(const group& ranks, part_file& out, const layout& parts, const std::vector<Value>& numbers) {
  out.write(parts.begin(ranks.rank()) * sizeof(Value), numbers.data(), numbers.size() * sizeof(Value));
}

template <class Value>
std::string header_of_vector(std::uint64_t count) {
  return numbers_header(float_descr(sizeof(Value)), count);
}

using explained =
    std::function<distributed::device_estimate(const context&, const distributed::matrix_size&, int most)>;

/// A product, or an iteration of a solver.
sized_call call_by(const io::matrix_market_shape& shape, const explained& explain) {
  sized_call call;
  call.explain = [=](const context& ctx, int most) {
    return explain(ctx, {.rows = shape.rows, .entries = shape.entries}, most);
  };
  call.bytes_on_each = [=](int devices) {
    // The matrix, columns as products read them and again as a preparation keeps them, a dozen vectors, and sets of
    // bits.
    constexpr std::uint64_t of_an_entry = 12 + 8 + 4;
    constexpr std::uint64_t of_a_row = 12 * 8;
    return (shape.entries * of_an_entry + shape.rows * of_a_row) / static_cast<std::uint64_t>(devices) +
           shape.columns / 2;
  };
  return call;
}

std::optional<sized_call> size_of_matrix(const std::string& path, const explained& explain) {
  if (!says_its_sizes(path)) return std::nullopt;
  return call_by(io::read_matrix_market_shape(path), explain);
}

template <class Value>
void multiply_on_ranks(const spmv_on_ranks_options& options, const group& ranks) {
  const auto start = std::chrono::steady_clock::now();
  matrix_of_rank<Value> a;
  layout columns;
  std::vector<Value> x;
  std::vector<Value> y;
  std::optional<context_matrix> sent_matrix;
  std::optional<sent_values<Value>> sent_x;
  std::optional<sent_values<Value>> sent_y;
  agree_on_ranks(ranks, [&] {
    refuse_on_ranks(options.common);
    refuse_streams({options.matrix, options.x, options.y, options.output});
    require_output(options.output, {options.matrix, options.x, options.y});
    a = read_matrix_of_rank<Value>(ranks, options.matrix, 1, [](const io::matrix_market_shape&) {});
    columns = layout::even(a.whole.columns, ranks.size());
    x = read_vector_of_rank<Value>(ranks, options.x, columns, "columns", options.matrix);
    if (options.beta != 0) {
      y = read_vector_of_rank<Value>(ranks, options.y, a.rows, "rows", options.matrix);
    } else {
      y.resize(a.mine.rows);
    }
    sent_matrix.emplace(ranks.local(), a.mine);
    sent_x.emplace(ranks, x);
    sent_y.emplace(ranks, y);
  });
  const std::uint64_t nonzeros = entries_of_all(ranks, a);
  const auto begin = std::chrono::steady_clock::now();
  distributed::spmv(ranks, sent_matrix->view, a.rows, columns, sent_x->view(), sent_y->view(),
                    {.alpha = options.alpha, .beta = options.beta});
  ranks.wait();
  const double seconds = seconds_since(begin);
  fetch_on_ranks(ranks, *sent_y);
  part_file out(ranks, options.output, header_of_vector<Value>(a.whole.rows), bytes_of(a.whole.rows, sizeof(Value)));
  write_part(ranks, out, a.rows, y);
  out.commit();
  const workers all = workers_of(ranks);
  if (ranks.rank() != 0 || options.common.quiet) return;
  const double per_second = 2 * static_cast<double>(nonzeros) / std::max(seconds, 1e-12);
  if (options.common.json) {
    nlohmann::json report = report_of_ranks("spmv", all);
    report.update({{"matrix", options.matrix},
                   {"rows", a.whole.rows},
                   {"columns", a.whole.columns},
                   {"nonzeros", nonzeros},
                   {"value_type", options.narrow ? "f32" : "f64"},
                   {"seconds", seconds},
                   {"seconds_with_files", seconds_since(start)},
                   {"output", options.output}});
    return print_json(std::move(report));
  }
  fmt::print("spmv: {} x {} with {} nonzeros on {}, {}, {:.3g} GFLOP/s, {} with files\n", a.whole.rows, a.whole.columns,
             nonzeros, text_of_ranks(all), seconds_text(seconds), per_second / 1e9, seconds_text(seconds_since(start)));
}

/// The text of the first rank that has one, on all.
std::string first_text(const group& ranks, const std::string& mine) {
  return distributed::collective(ranks, [&](distributed::group_state& state, std::uint64_t) -> std::string {
    const auto all = distributed::all_gather_parts(state, std::as_bytes(std::span(mine)));
    for (std::size_t r = 0; r + 1 < all.begins.size(); ++r) {
      const std::uint64_t length = all.begins[r + 1] - all.begins[r];
      if (length > 0) return {reinterpret_cast<const char*>(all.data.data()) + all.begins[r], length};
    }
    return {};
  });
}

template <class Value>
solved_on_ranks solve_typed(const solve_on_ranks_options& options, const group& ranks) {
  matrix_of_rank<Value> a;
  std::vector<Value> b;
  std::vector<Value> x;
  std::optional<context_matrix> sent_matrix;
  std::optional<sent_values<Value>> sent_b;
  std::optional<sent_values<Value>> sent_x;
  agree_on_ranks(ranks, [&] {
    refuse_on_ranks(options.common);
    refuse_streams({options.matrix, options.b, options.output, options.history});
    options.require_outputs();
    a = read_matrix_of_rank<Value>(ranks, options.matrix, system_block_rows, [&](const io::matrix_market_shape& shape) {
      if (shape.rows == shape.columns) return;
      io::fail(options.matrix, "the matrix is {} x {}, not square", shape.rows, shape.columns);
    });
    require_symmetric(ranks, options.matrix, a);
    b = read_vector_of_rank<Value>(ranks, options.b, a.rows, "rows", options.matrix);
    x.resize(a.mine.rows);
    sent_matrix.emplace(ranks.local(), a.mine);
    sent_b.emplace(ranks, b);
    sent_x.emplace(ranks, x);
  });
  solved_on_ranks found;
  found.is_first = ranks.rank() == 0;
  found.rows = a.whole.rows;
  found.nonzeros = entries_of_all(ranks, a);
  found.all = workers_of(ranks);
  std::vector<double> history;
  conjugate_gradient_options method = options.method;
  if (!options.history.empty()) method.history = &history;
  const auto begin = std::chrono::steady_clock::now();
  found.result =
      distributed::conjugate_gradient(ranks, sent_matrix->view, a.rows, sent_b->view(), sent_x->view(), method);
  ranks.wait();
  found.seconds = seconds_since(begin);
  fetch_on_ranks(ranks, *sent_x);
  part_file out(ranks, options.output, header_of_vector<Value>(found.rows), bytes_of(found.rows, sizeof(Value)));
  write_part(ranks, out, a.rows, x);
  std::vector<part_file*> files{&out};
  std::optional<part_file> history_file;
  if (!options.history.empty()) {
    history_file.emplace(ranks, options.history, options.csv_of(history, found.result.b_norm), 0);
    files.push_back(&*history_file);
  }
  part_file::commit_all(ranks, files);
  if (found.result.reason == stop_reason::not_positive_definite && method.preconditioner == preconditioner::jacobi) {
    const auto mistake = jobs::diagonal_mistake(jobs::view_of(a.mine), a.rows.begin(ranks.rank()));
    found.diagonal_mistake = first_text(ranks, mistake.value_or(""));
  }
  return found;
}

/// The matrix that is solved with: the negative of the benchmark's.
matrix_of_rank<double> nas_matrix_of_rank(const group& ranks, const npb_on_ranks_options& options) {
  const jobs::nas_class& of = options.of;
  if (options.matrix.empty()) {
    matrix_of_rank<double> made{{of.rows, of.rows}, layout::even(of.rows, ranks.size(), system_block_rows), {}};
    made.mine = jobs::nas_rows(of, made.rows.begin(ranks.rank()), made.rows.end(ranks.rank()), host_threads(ranks));
    return made;
  }
  auto read =
      read_matrix_of_rank<double>(ranks, options.matrix, system_block_rows, [&](const io::matrix_market_shape& shape) {
        if (shape.rows == of.rows && shape.columns == of.rows) return;
        io::fail(options.matrix, "{} rows and {} columns, but class {} has {} of both", shape.rows, shape.columns,
                 of.name, of.rows);
      });
  for (double& value : read.mine.values) value = -value;
  return read;
}

/// Every rank has whole vectors in host memory, which are short, so that their sums have the order of one process.
template <class Value>
jobs::nas_answer run_nas_on_ranks(const group& ranks, const jobs::nas_class& of, const layout& rows,
                                  const io::csr_matrix<Value>& mine) {
  std::vector<Value> z(of.rows);
  std::optional<jobs::host_values<Value>> whole_x;
  std::optional<jobs::host_values<Value>> part_of_z;
  std::optional<context_matrix> sent_matrix;
  std::optional<context_array> sent_x;
  std::optional<sent_values<Value>> sent_part;
  agree_on_ranks(ranks, [&] {
    whole_x.emplace(ranks.local(), of.rows);
    part_of_z.emplace(ranks.local(), mine.rows);
    sent_matrix.emplace(ranks.local(), mine);
    sent_x.emplace(ranks.local(), whole_x->all().data() + rows.begin(ranks.rank()), mine.rows * sizeof(Value));
    sent_part.emplace(ranks, part_of_z->all());
  });
  const std::span<Value> part = part_of_z->all();
  std::vector<std::uint64_t> lengths;
  lengths.reserve(static_cast<std::size_t>(ranks.size()));
  for (int r = 0; r < ranks.size(); ++r) lengths.push_back(rows.count(r) * sizeof(Value));
  const auto solve = [&] {
    std::ranges::fill(part, Value{0});
    agree_on_ranks(ranks, [&] {
      sent_x->send();
      sent_part->send();
    });
    const const_values b(sent_x->data(), part.size(), value_type_of<Value>());
    conjugate_gradient_result solved = distributed::conjugate_gradient(ranks, sent_matrix->view, rows, b,
                                                                       sent_part->view(), jobs::nas_system_options());
    fetch_on_ranks(ranks, *sent_part);
    distributed::collective(ranks, [&](distributed::group_state& state, std::uint64_t) {
      distributed::gather_parts(state, std::as_bytes(part), lengths, reinterpret_cast<std::byte*>(z.data()));
    });
    return solved;
  };
  return jobs::run_nas<Value>(of, whole_x->all(), z, solve);
}

}  // namespace

void spmv_on_ranks(const spmv_on_ranks_options& options, const rank_threads& threads) {
  const auto sizes = [&] {
    return size_of_matrix(options.matrix, [](const context& ctx, distributed::matrix_size of, int most) {
      of.is_prepared = false;
      return distributed::explain_spmv_on_devices(ctx, of, most);
    });
  };
  work_on_ranks(options.common, threads, sizes, [&](const group& ranks) {
    options.narrow ? multiply_on_ranks<float>(options, ranks) : multiply_on_ranks<double>(options, ranks);
  });
}

solved_on_ranks solve_on_ranks(const solve_on_ranks_options& options, const rank_threads& threads) {
  solved_on_ranks found;
  const auto sizes = [&] { return size_of_matrix(options.matrix, distributed::explain_conjugate_gradient_on_devices); };
  work_on_ranks(options.common, threads, sizes, [&](const group& ranks) {
    solved_on_ranks here = options.narrow ? solve_typed<float>(options, ranks) : solve_typed<double>(options, ranks);
    if (here.is_first) found = std::move(here);
  });
  return found;
}

npb_on_ranks run_npb_on_ranks(const npb_on_ranks_options& options, const rank_threads& threads) {
  npb_on_ranks found;
  const auto sizes = [&]() -> std::optional<sized_call> {
    const std::uint64_t n = options.of.rows;
    return call_by({n, n, true, options.of.nonzeros}, distributed::explain_conjugate_gradient_on_devices);
  };
  work_on_ranks(options.common, threads, sizes, [&](const group& ranks) {
    matrix_of_rank<double> a;
    io::csr_matrix<float> narrow;
    agree_on_ranks(ranks, [&] {
      refuse_on_ranks(options.common);
      refuse_streams({options.matrix});
      a = nas_matrix_of_rank(ranks, options);
      if (options.narrow) narrow = io::with_values<float>(a.mine);
    });
    npb_on_ranks here;
    here.is_first = ranks.rank() == 0;
    here.nonzeros = entries_of_all(ranks, a);
    here.all = workers_of(ranks);
    here.answer = options.narrow ? run_nas_on_ranks(ranks, options.of, a.rows, narrow)
                                 : run_nas_on_ranks(ranks, options.of, a.rows, a.mine);
    if (here.is_first) found = std::move(here);
  });
  return found;
}

}  // namespace sheaf::cli
