#include "apps/sheaf/nas/run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include <sheaf/conjugate_gradient.hpp>
#include <sheaf/memory.hpp>

namespace sheaf::jobs {
namespace {

constexpr std::uint64_t steps_of_a_system = 25;

/// Host arrays where a context reaches them: the arrays themselves on the CPU, else a copy.
class reachable {
 public:
  reachable(const context& ctx, const void* host, std::uint64_t bytes)
      : ctx_(ctx), host_(const_cast<void*>(host)), bytes_(bytes) {
    if (ctx.backend() == backend_kind::cpu) return;
    copy_ = buffer(ctx, bytes);
    send();
  }
  void* data() const { return copy_.size() > 0 ? copy_.data() : host_; }
  void send() const {
    if (copy_.size() > 0) copy_bytes(ctx_, copy_.data(), host_, bytes_);
  }
  void fetch() const {
    if (copy_.size() > 0) copy_bytes(ctx_, host_, copy_.data(), bytes_);
  }

 private:
  context ctx_;
  void* host_;
  std::uint64_t bytes_;
  buffer copy_;
};

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

class power_method {
 public:
  power_method(const context& ctx, const nas_class& of, const io::csr_matrix<double>& m, const nas_options& options)
      : ctx_(ctx),
        of_(of),
        options_(options),
        x_(of.rows),
        z_(of.rows),
        offsets_(ctx, m.row_offsets.data(), m.row_offsets.size() * 8),
        columns_(ctx, m.columns_of_entries().data, m.entries() * bytes(m.columns_of_entries().type)),
        numbers_(ctx, m.values.data(), m.entries() * 8),
        x_there_(ctx, x_.data(), of.rows * 8),
        z_there_(ctx, z_.data(), of.rows * 8) {
    a_ = csr_view(m.rows, m.columns, index_span(offsets_.data(), m.row_offsets.size(), index_type::u64),
                  index_span(columns_.data(), m.entries(), m.columns_of_entries().type),
                  const_values(numbers_.data(), m.entries(), value_type::f64));
  }

  void begin() { std::fill(x_.begin(), x_.end(), 1.0); }

  /// Solves A z = x, estimates the eigenvalue by x.z, and goes on with z of length 1.
  void iterate(nas_answer& answer) {
    std::fill(z_.begin(), z_.end(), 0.0);
    x_there_.send();
    z_there_.send();
    const conjugate_gradient_result solved =
        conjugate_gradient(ctx_, a_, const_values(x_there_.data(), of_.rows, value_type::f64),
                           values(z_there_.data(), of_.rows, value_type::f64),
                           {.tolerance = 0,
                            .iteration_limit = steps_of_a_system,
                            .pattern = access_pattern::random(),
                            .keeps_last = true,
                            .variant = options_.variant});
    z_there_.fetch();
    if (answer.reason == stop_reason::limit) answer.reason = solved.reason;
    answer.residual = solved.residual;
    answer.variant = solved.variant;
    answer.zeta = of_.shift - 1 / dot(x_, z_);                         // z has the other sign, as the matrix has
    if (std::isnan(answer.zeta)) answer.zeta = std::abs(answer.zeta);  // NaN has no sign
    const double scale = 1 / std::sqrt(dot(z_, z_));
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = scale * z_[i];
  }

 private:
  const context& ctx_;
  const nas_class& of_;
  const nas_options& options_;
  std::vector<double> x_;
  std::vector<double> z_;
  reachable offsets_;
  reachable columns_;
  reachable numbers_;
  reachable x_there_;
  reachable z_there_;
  csr_view a_;
};

/// As the benchmark counts them.
double operations_of(const nas_class& of) {
  const auto n = static_cast<double>(of.rows);
  const auto products = static_cast<double>(of.vector_entries * (of.vector_entries + 1));
  return 2 * static_cast<double>(of.iterations) * n *
         (3 + products + static_cast<double>(steps_of_a_system) * (5 + products) + 3);
}

}  // namespace

nas_answer run_nas(const context& ctx, const nas_class& of, const io::csr_matrix<double>& matrix,
                   const nas_options& options) {
  constexpr double precision = 1e-10;
  power_method method(ctx, of, matrix, options);
  nas_answer answer;
  method.begin();
  method.iterate(answer);
  method.begin();
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 1; i <= of.iterations; ++i) {
    method.iterate(answer);
    if (options.progress) options.progress(i, answer.residual, answer.zeta);
  }
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  answer.mop_per_second = operations_of(of) / answer.seconds / 1e6;
  answer.is_right = std::abs(answer.zeta - of.zeta) <= precision * of.zeta;
  return answer;
}

}  // namespace sheaf::jobs
