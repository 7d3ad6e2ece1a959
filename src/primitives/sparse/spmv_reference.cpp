#include <cmath>
#include <cstring>

#include "core/cpu_state.hpp"
#include "core/scratch_offsets.hpp"
#include "primitives/index_reader.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::reference {

using namespace primitives;

namespace {

/// A sum of products in twice the precision of double (Dekker 1971). Where it overflows or has a NaN it is what double
/// makes of it.
class double_double {
 public:
  void add_product(double a, double b) {
    const double product = a * b;
    plain_ += product;
    add(product, std::fma(a, b, -product));
  }
  double value() const { return std::isfinite(plain_) ? high_ + low_ : plain_; }

 private:
  void add(double term, double term_error) {
    const double sum = high_ + term;
    const double part = sum - high_;
    const double error = (high_ - (sum - part)) + (term - part);
    const double rest = low_ + error + term_error;
    high_ = sum + rest;
    low_ = rest - (high_ - sum);
  }

  double plain_ = 0;
  double high_ = 0;
  double low_ = 0;
};

/// The arrays of a matrix of any types. Simple rather than fast.
class csr_reader {
 public:
  explicit csr_reader(const csr_view& a) : a_(a), columns_(a.column_indices, a.columns) {}

  std::uint64_t begin(std::uint64_t row) const { return index_reader(a_.row_begins, 0).bits(row); }
  std::uint64_t end(std::uint64_t row) const {
    return a_.has_row_ends ? index_reader(a_.row_ends, 0).bits(row) : begin(row + 1);
  }
  bool is_row(std::uint64_t row) const { return begin(row) <= end(row) && end(row) <= a_.values.count; }
  bool has_column(std::uint64_t place) const { return columns_.in_range(place); }
  std::uint64_t column(std::uint64_t place) const { return columns_.bits(place); }
  double value(std::uint64_t place) const { return number(a_.values.data, a_.values.type, place); }

  static double number(const void* data, value_type type, std::uint64_t i) {
    return type == value_type::f32 ? static_cast<double>(static_cast<const float*>(data)[i])
                                   : static_cast<const double*>(data)[i];
  }

  /// Notes what is wrong with a row or an entry, if it is worse than what was found before.
  void note_row(std::uint64_t row, std::uint64_t call, core::index_report& worst) const {
    const bool is_first = !worst.found() || worst.words == &words(csr_fault::column);
    if (!is_first) return;
    worst = {.call = call, .position = row, .value = begin(row), .limit = a_.values.count};
    worst.is_signed = is_signed(a_.row_begins.type) ? 1 : 0;
    if (begin(row) > a_.values.count) {
      worst.words = &words(csr_fault::row_begin);
    } else if (end(row) > a_.values.count) {
      worst.words = &words(csr_fault::row_end);
      worst.value = end(row);
    } else {
      worst.words = &words(csr_fault::backwards);
      worst.limit = end(row);
    }
  }
  void note_column(std::uint64_t row, std::uint64_t place, std::uint64_t call, core::index_report& worst) const {
    if (worst.found() && (worst.words != &words(csr_fault::column) || worst.position <= place)) return;
    worst = columns_.report(call, place, words(csr_fault::column));
    worst.row = row;
  }

 private:
  static const core::index_words& words(csr_fault fault) { return words_of(csr_call::spmv, fault); }

  const csr_view& a_;
  index_reader columns_;
};

// Row after row, entry after entry, with one sum for each value of y.
plan::planned plan_serial(const spmv_problem& p, const plan::scope& scope) {
  plan::planned plan = plan::serial(static_cast<double>(p.entries + p.rows), scope);
  plan.scratch_bytes = p.transposed ? core::scratch_aligned(p.columns * sizeof(double_double)) : 0;
  return plan;
}

/// alpha sum + beta y, rounded once to the type of the values.
void write(const spmv_problem& p, const spmv_buffers& b, std::uint64_t i, const double_double& sum) {
  double_double whole;
  whole.add_product(b.alpha, sum.value());
  if (p.reads_y) whole.add_product(b.beta, csr_reader::number(b.y, p.value, i));
  if (p.value == value_type::f32) {
    static_cast<float*>(b.y)[i] = static_cast<float>(whole.value());
  } else {
    static_cast<double*>(b.y)[i] = whole.value();
  }
}

void run_serial(const context& ctx, const spmv_problem& p, const plan::planned&, const spmv_buffers& b,
                std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const csr_reader a(b.a);
  core::index_report worst;
  auto* const sums = reinterpret_cast<double_double*>(scratch);
  if (p.transposed) {
    for (std::uint64_t c = 0; c < p.columns; ++c) new (sums + c) double_double;
  }
  for (std::uint64_t row = 0; row < p.rows; ++row) {
    double_double sum;
    if (!a.is_row(row)) a.note_row(row, call, worst);
    const std::uint64_t end = a.is_row(row) ? a.end(row) : 0;
    for (std::uint64_t place = a.is_row(row) ? a.begin(row) : 0; place < end; ++place) {
      if (!a.has_column(place)) {
        a.note_column(row, place, call, worst);
      } else if (p.transposed) {
        sums[a.column(place)].add_product(a.value(place), csr_reader::number(b.x, p.value, row));
      } else {
        sum.add_product(a.value(place), csr_reader::number(b.x, p.value, a.column(place)));
      }
    }
    if (!p.transposed) write(p, b, row, sum);
  }
  if (p.transposed) {
    for (std::uint64_t c = 0; c < p.columns; ++c) write(p, b, c, sums[c]);
  }
  state.keep_first(worst);
}

}  // namespace

extern constinit const spmv_variant spmv_serial{"reference.serial", backend_kind::cpu, plan_serial, run_serial};

}  // namespace sheaf::reference
