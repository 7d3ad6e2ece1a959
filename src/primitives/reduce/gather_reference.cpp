#include "core/cpu_state.hpp"
#include "core/scratch_offsets.hpp"
#include "primitives/index_reader.hpp"
#include "primitives/reduce/gather.hpp"

namespace sheaf::reference {

using namespace primitives;

namespace {

// Segment after segment, entry after entry, into the sums of one row.
plan::planned plan_gather_serial(const gather_reduce_problem& p, const plan::scope& scope) {
  const double values = static_cast<double>(p.count + p.segments) * static_cast<double>(p.values_per_row);
  plan::planned plan = plan::serial(values, scope);
  plan.scratch_bytes = core::scratch_aligned(p.sum_row_bytes());
  return plan;
}

template <class Sum>
Sum weight_of(const gather_reduce_buffers& b, std::uint64_t entry) {
  Sum weight{};
  with_any_value(b.weights.type, [&](auto type) {
    using Weight = std::remove_cvref_t<decltype(type)>;
    if constexpr (is_any_float<Weight>) weight = converted<Sum>(static_cast<const Weight*>(b.weights.data)[entry]);
  });
  return weight;
}

template <reduction Op, class In, class Sum>
void take_entry(const gather_reduce_problem& p, const gather_reduce_buffers& b, std::uint64_t entry, Sum* sums) {
  const auto* const row = reinterpret_cast<const In*>(static_cast<const std::byte*>(b.table.data) +
                                                      bits_at(b.index, entry) * b.table.stride_bytes);
  for (std::uint64_t k = 0; k < p.values_per_row; ++k) {
    Sum value = converted<Sum>(row[k]);
    if constexpr (std::is_floating_point_v<Sum>) {
      if (p.has_weights) value = weight_of<Sum>(b, entry) * value;
    }
    sums[k] = combined<Op>(sums[k], operand<Op>(value));
  }
}

template <reduction Op, class In, class Out, class Sum>
bool reduce_segment(const gather_reduce_problem& p, const gather_reduce_buffers& b, std::uint64_t s, Sum* sums) {
  auto* const out = reinterpret_cast<Out*>(static_cast<std::byte*>(b.out.data) + s * b.out.stride_bytes);
  const index_reader index(b.index, p.indexed_count);
  const std::uint64_t begin = bits_at(b.offsets, s);
  const std::uint64_t end = bits_at(b.offsets, s + 1);
  const bool is_segment = begin <= end && end <= p.count;
  bool is_good = is_segment;
  std::uint64_t rows = 0;
  for (std::uint64_t k = 0; k < p.values_per_row; ++k) {
    sums[k] = p.reads_out() ? converted<Sum>(out[k]) : identity_of<Sum>(Op);
  }
  for (std::uint64_t entry = begin; is_segment && entry < end; ++entry) {
    const bool is_row = index.in_range(entry);
    is_good = is_good && is_row;
    if (!is_row) continue;
    if constexpr (Op != reduction::count) take_entry<Op, In>(p, b, entry, sums);
    ++rows;
  }
  for (std::uint64_t k = 0; k < p.values_per_row && !(rows == 0 && p.reads_out()); ++k) {
    if constexpr (Op == reduction::count) sums[k] = combined<reduction::add>(sums[k], converted<Sum>(rows));
    if constexpr (Op == reduction::mean)
      sums[k] = mean_of<Sum>(sums[k], std::max<std::uint64_t>(1, rows + p.reads_out()));
    out[k] = rows == 0 ? identity_of<Out>(Op) : converted<Out>(sums[k]);
  }
  return is_good;
}

void run_gather_serial(const context& ctx, const gather_reduce_problem& p, const plan::planned&,
                       const gather_reduce_buffers& b, std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  bool is_good = true;
  with_combined_types(p.reads_in() ? p.in : p.out, p.out, [&](auto from, auto to) {
    with_reduction(p.op, [&](auto op) {
      with_value(p.sum(), [&](auto sum) {
        using In = std::remove_cvref_t<decltype(from)>;
        using Out = std::remove_cvref_t<decltype(to)>;
        using Sum = std::remove_cvref_t<decltype(sum)>;
        constexpr reduction operation = std::remove_cvref_t<decltype(op)>::value;
        if constexpr (sum_type(value_type_of<Out>(), operation) == value_type_of<Sum>()) {
          for (std::uint64_t s = 0; s < p.segments; ++s) {
            is_good = reduce_segment<operation, In, Out>(p, b, s, reinterpret_cast<Sum*>(scratch)) && is_good;
          }
        }
      });
    });
  });
  if (!is_good) state.keep_first(find_segment_fault(p, b, call));
}

}  // namespace

extern constinit const gather_reduce_variant gather_reduce_serial{"reference.serial", backend_kind::cpu,
                                                                  plan_gather_serial, run_gather_serial};

}  // namespace sheaf::reference
