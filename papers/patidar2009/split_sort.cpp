#include "papers/patidar2009/split_sort.hpp"

#include "primitives/movement/gathers_by_order.hpp"
#include "primitives/split/by_sort.hpp"
#include "primitives/views.hpp"

namespace sheaf::papers::patidar2009 {
namespace {

using namespace primitives;

constexpr std::uint32_t pass_bits = 8;
/// Widest rows, and values, that move with every pass.
constexpr std::uint64_t most_moved_bytes = 16;

/// What the passes split.
enum class split_content : std::uint8_t { rows, keys_and_values, keys_and_numbers };

constexpr std::uint64_t whole_words(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

/// The parts of a sort: what passes split, and where it lies in scratch.
struct split_sort_layout {
  split_content content = split_content::rows;
  packed_records packed;
  index_type number = index_type::u32;  ///< of row numbers
  std::uint64_t order = 0;              ///< row numbers in order, by which rows are gathered
  std::uint64_t records[2] = {};        ///< arrays between which passes move records; of rows one, beside the output
  std::uint64_t tables = 0;             ///< scratch of a basic split
  std::uint64_t bytes = 0;
  basic_split_form form;

  split_sort_layout(const sort_problem& p, const basic_split_form& split_form) : form(split_form) {
    const key_field& key = p.key.fields[0];
    const bool is_index = p.product == sort_product::gather_index;
    if (!is_index && p.column_count == 0 && p.writes_rows && p.rows.record_bytes <= most_moved_bytes) {
      packed.record_bytes = p.rows.record_bytes;
    } else if (!is_index && p.column_count == 1 && key.bytes == p.rows.record_bytes &&
               p.columns[0].record_bytes <= most_moved_bytes) {
      content = split_content::keys_and_values;
      packed.payload_bytes = p.columns[0].record_bytes;
    } else {
      content = split_content::keys_and_numbers;
      number = is_index ? p.index : p.count >> 32 == 0 ? index_type::u32 : index_type::u64;
      packed.payload_bytes = sheaf::bytes(number);
    }
    if (content != split_content::rows) {
      packed.key_bytes = key.bytes;
      packed.payload_offset = whole_words(key.bytes);
      packed.record_bytes = packed.payload_offset + whole_words(packed.payload_bytes);
    }
    core::scratch_offsets arrays;
    if (content == split_content::keys_and_numbers && !is_index) order = arrays.take(p.count * packed.payload_bytes);
    records[0] = arrays.take(p.count * packed.record_bytes);
    if (content != split_content::rows) records[1] = arrays.take(p.count * packed.record_bytes);
    tables = arrays.take(basic_split_scratch(pass_problem(p, 0), form).bytes);
    bytes = arrays.bytes();
  }

  /// The pass from bit `low` of the key on, between arrays of packed records.
  split_problem pass_problem(const sort_problem& p, std::uint32_t low) const {
    const key_field& key = p.key.fields[0];
    const std::uint32_t count = std::min(pass_bits, p.key.bits - low);
    const std::uint64_t offset = content == split_content::rows ? key.offset : 0;
    const std::uint64_t first_bit = key.first_bit + low;
    split_problem pass;
    pass.backend = p.backend;
    pass.count = p.count;
    pass.categories = std::uint64_t{1} << count;
    pass.record_bytes = pass.in_stride_bytes = pass.out_stride_bytes = packed.record_bytes;
    pass.word_bytes = content == split_content::rows ? p.rows.access_bytes : widest_word(packed.record_bytes);
    pass.bits = key.type == key_type::bytes
                    ? bit_field{(offset + key.bytes) * 8 - first_bit - count, count, bit_order::from_left}
                    : bit_field{offset * 8 + first_bit, count, bit_order::little_endian};
    return pass;
  }
};

std::uint32_t passes_of(const sort_problem& p) { return (p.key.bits + pass_bits - 1) / pass_bits; }

/// The bytes that packing reads and writes, and unpacking as many.
std::uint64_t packed_bytes(const sort_problem& p, const packed_records& packed) {
  return p.count * (p.rows.in_stride_bytes + packed.record_bytes + packed.payload_bytes);
}

packed_side side_of(const_records view) { return {const_cast<std::byte*>(view.data), view.stride_bytes}; }

/// Splits the caller's rows: the last pass writes the output, and every second one before it.
void split_rows(const context& ctx, const sort_problem& problem, const split_sort_layout& layout,
                const sort_buffers& buffers, std::byte* scratch, const split_sort_steps& steps) {
  const_records from = buffers.in;
  const records spare(scratch + layout.records[0], problem.count, layout.packed.record_bytes);
  for (std::uint32_t passes = passes_of(problem), i = 0; i < passes; ++i) {
    split_problem pass = layout.pass_problem(problem, pass_bits * i);
    const records to = (passes - i) % 2 == 1 ? buffers.out : spare;
    pass.in_stride_bytes = from.stride_bytes;
    pass.out_stride_bytes = to.stride_bytes;
    steps.split(ctx, pass, layout.form, {.in = from, .keys = from, .out = to, .index = {}}, scratch + layout.tables,
                nullptr);
    from = to;
  }
}

/// Packs, splits and unpacks keys with values or row numbers.
void split_packed(const context& ctx, const sort_problem& problem, const split_sort_layout& layout,
                  const sort_buffers& buffers, std::byte* scratch, const split_sort_steps& steps) {
  const packed_side keys{const_cast<std::byte*>(buffers.in.data) + problem.key.fields[0].offset,
                         buffers.in.stride_bytes};
  const bool has_values = layout.content == split_content::keys_and_values;
  records at[2] = {{scratch + layout.records[0], problem.count, layout.packed.record_bytes},
                   {scratch + layout.records[1], problem.count, layout.packed.record_bytes}};
  steps.pack(ctx, layout.packed, problem.count, keys, has_values ? side_of(buffers.columns[0].in) : packed_side{},
             at[0].data);
  for (std::uint32_t i = 0; i < passes_of(problem); ++i) {
    steps.split(ctx, layout.pass_problem(problem, pass_bits * i), layout.form,
                {.in = at[0], .keys = at[0], .out = at[1], .index = {}}, scratch + layout.tables, nullptr);
    std::swap(at[0], at[1]);
  }
  packed_side sorted_keys;
  packed_side sorted{scratch + layout.order, layout.packed.payload_bytes};
  if (has_values) {
    if (problem.writes_rows) sorted_keys = side_of(buffers.out);
    sorted = side_of(buffers.columns[0].out);
  } else if (problem.product == sort_product::gather_index) {
    sorted.data = static_cast<std::byte*>(buffers.index.data);
  }
  steps.unpack(ctx, layout.packed, problem.count, at[0].data, sorted_keys, sorted);
}

}  // namespace

plan::planned plan_split_sort(const sort_problem& problem, const plan::scope& scope, const split_sort_steps& steps,
                              const basic_split_form& form) {
  const key_field& key = problem.key.fields[0];
  if (problem.key.field_count != 1 || key.descending ||
      (key.type != key_type::unsigned_integer && key.type != key_type::bytes)) {
    return plan::rejected("sorts by one ascending unsigned field");
  }
  const split_sort_layout layout(problem, form);
  split_problem first_pass = layout.pass_problem(problem, 0);
  if (layout.content == split_content::rows) {
    first_pass.in_stride_bytes = problem.rows.in_stride_bytes;
    first_pass.out_stride_bytes = problem.rows.out_stride_bytes;
  }
  const plan::planned pass = steps.plan_split(first_pass, form, scope.machine);
  if (!pass.applicable()) return plan::rejected(pass.rejection);
  plan::planned plan;
  plan.add("passes", passes_of(problem) * pass.seconds);
  plan.scratch_bytes = layout.bytes;
  plan.decided.set(layout);
  if (layout.content != split_content::rows) {
    plan.add("packing", 2 * steps.streaming_seconds(packed_bytes(problem, layout.packed), scope.machine));
  }
  if (layout.content == split_content::keys_and_numbers && problem.product == sort_product::records) {
    gathers_by_order::end_plan(plan, problem, layout.number, scope, layout.records[0]);
  }
  plan.by_name_only = true;
  return plan;
}

void run_split_sort(const context& ctx, const sort_problem& problem, const plan::planned& plan,
                    const sort_buffers& buffers, std::byte* scratch, const split_sort_steps& steps) {
  if (problem.count == 0) return;
  const auto layout = plan.decided.get<split_sort_layout>();
  if (layout.content == split_content::rows) return split_rows(ctx, problem, layout, buffers, scratch, steps);
  split_packed(ctx, problem, layout, buffers, scratch, steps);
  if (layout.content != split_content::keys_and_numbers || problem.product != sort_product::records) return;
  plan.inner<gathers_by_order>().run(ctx, problem, buffers, {scratch + layout.order, problem.count, layout.number},
                                     scratch + layout.records[0]);
}

std::uint64_t offset_scratch_bytes(const split_problem& p) {
  return core::scratch_aligned((p.categories / scan_tile_entries + 1) * sizeof(std::uint64_t));
}

plan::planned plan_iterated_split(const split_problem& problem, const plan::scope& scope,
                                  const split_sort_steps& steps) {
  if (problem.product == split_product::scatter_index) return plan::rejected("makes no scatter index");
  if (problem.checks_category()) return plan::rejected("does not look for bad categories");
  plan::planned plan = plan_split_sort(sort_of(problem), scope, steps);
  if (!plan.applicable()) return plan;
  plan.add("offsets", steps.streaming_seconds(problem.count * problem.key_stride_bytes, scope.machine));
  plan.scratch_bytes = core::scratch_aligned(plan.scratch_bytes) + offset_scratch_bytes(problem);
  return plan;
}

void run_iterated_split(const context& ctx, const split_problem& problem, const plan::planned& plan,
                        const split_buffers& buffers, std::byte* scratch, const split_sort_steps& steps) {
  if (buffers.offsets != nullptr) {
    steps.find_offsets(ctx, problem, buffers, scratch + plan.scratch_bytes - offset_scratch_bytes(problem));
  }
  run_split_sort(ctx, sort_of(problem), plan, sort_buffers_of(problem, buffers, buffers.index), scratch, steps);
}

}  // namespace sheaf::papers::patidar2009
