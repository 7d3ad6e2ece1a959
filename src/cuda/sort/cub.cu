#include "core/scratch_offsets.hpp"
#include "cuda/device/state.hpp"
#include "cuda/sort/by_words.hpp"
#include "cuda/sort/words/encoding.hpp"
#include "cuda/split/cub/radix_sort.hpp"
#include "primitives/movement/gathers_by_order.hpp"

// cuda.cub: CUB's LSD radix sort, by as many passes as the bits of the key take, whatever the keys are. Rows that are
// numbers are sorted where they lie: passes encode them as they load them, unless they are ascending integers of 4 or 8
// bytes. Other keys, of up to 64 bits, are extracted beforehand and sorted with row numbers, by which rows and values
// are gathered. Row numbers also take the place of values that CUB does not move.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// What a plan decides for run. Arrays begin at these bytes of the scratch.
struct cub_sort {
  cub_sort_shape shape;
  bool extracts_keys = false;     ///< rows are not numbers that CUB sorts where they lie
  bool yields_order = false;      ///< row numbers are the values
  std::uint64_t keys = 0;         ///< extracted keys
  std::uint64_t sorted_keys = 0;  ///< keys in order, unless they are the rows that the caller wants
  std::uint64_t row_numbers = 0;
  std::uint64_t order = 0;  ///< row numbers in order, by which values, and rows if keys are extracted, are gathered
  std::uint64_t inner = 0;  ///< scratch of CUB, and then of the gathers
};

bool writes_sorted_rows(const sort_problem& p) { return p.product == sort_product::records && p.writes_rows; }

/// Rows are numbers that CUB sorts where they lie.
bool rows_are_numbers(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  return p.key.field_count == 1 && f.type != key_type::bytes && std::has_single_bit(f.bytes) && f.bytes <= 8 &&
         p.rows.record_bytes == f.bytes && p.rows.in_stride_bytes == f.bytes && p.rows.access_bytes >= f.bytes &&
         (p.rows.out_stride_bytes == f.bytes || !writes_sorted_rows(p));
}

cub_sort cub_sort_of(const sort_problem& problem) {
  const key_field& field = problem.key.fields[0];
  cub_sort sort;
  sort.shape.count = problem.count;
  sort.extracts_keys = !rows_are_numbers(problem);
  if (sort.extracts_keys) {
    sort.shape.key_bytes = problem.key.bits > 32 ? 8 : 4;
    sort.shape.first_bit = lowest_key_bit(sort.shape.key_bytes / 4, problem.key.bits);
    sort.shape.end_bit = 8 * sort.shape.key_bytes;
  } else {
    sort.shape.key_bytes = field.bytes;
    sort.shape.first_bit = field.first_bit;
    sort.shape.end_bit = field.first_bit + problem.key.bits;
    const bool is_integer = field.type == key_type::unsigned_integer || field.type == key_type::signed_integer;
    sort.shape.encodes_keys = !is_integer || field.descending || field.bytes < 4;
    sort.shape.are_signed = !sort.shape.encodes_keys && field.type == key_type::signed_integer;
  }
  const bool takes_16 = sort.shape.key_bytes == 8 && !sort.shape.encodes_keys && !sort.shape.are_signed;
  if (!sort.extracts_keys && has_one_value_array(problem, takes_16 ? 16 : 8)) {
    sort.shape.value_bytes = static_cast<std::uint32_t>(problem.columns[0].record_bytes);
  } else if (sort.extracts_keys || problem.product != sort_product::records || problem.column_count > 0) {
    sort.yields_order = true;
    sort.shape.value_bytes = row_number_bytes(problem);
  }
  core::scratch_offsets arrays;
  if (sort.extracts_keys) sort.keys = arrays.take(problem.count * sort.shape.key_bytes);
  if (sort.extracts_keys || !writes_sorted_rows(problem))
    sort.sorted_keys = arrays.take(problem.count * sort.shape.key_bytes);
  if (sort.yields_order) sort.row_numbers = arrays.take(problem.count * sort.shape.value_bytes);
  if (sort.yields_order && problem.product == sort_product::records)
    sort.order = arrays.take(problem.count * sort.shape.value_bytes);
  sort.inner = arrays.bytes();
  return sort;
}

/// What is gathered by the order: values, and rows unless they are the keys, which the sort itself writes in order.
sort_problem gathered_part_of(const sort_problem& p, const cub_sort& s) {
  sort_problem gathered = p;
  gathered.writes_rows = p.writes_rows && s.extracts_keys;
  return gathered;
}

// Steps of the profile that a call takes besides CUB's own latency: 5 us, where CUB's part is 95 us; 2 us where one
// block sorts the list.
constexpr double steps_besides_cub = 3;
constexpr double steps_besides_one_block = 1;

plan::planned plan_cub(const sort_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  const cub_sort sort = cub_sort_of(problem);
  if (problem.key.bits > 64) return plan::rejected("sorts by up to 64 bits");
  if (const char* reason = cub_rejection(sort.shape)) return plan::rejected(reason);
  plan::planned plan;
  plan.decided.set(sort);
  plan.add("latency",
           machine.launch_seconds +
               (is_one_block(sort.shape) ? steps_besides_one_block : steps_besides_cub) * machine.step_seconds);
  if (sort.extracts_keys) plan.add("rows read", extraction_seconds(problem, 1, sort.shape.key_bytes, machine));
  if (sort.yields_order) {
    const double written = static_cast<double>(problem.count) * sort.shape.value_bytes;
    plan.add("row numbers written", machine.step_seconds + written / machine.copy_bytes_per_second);
  }
  add_cub_cost(plan, sort.shape, machine);
  plan.scratch_bytes = sort.inner + cub_scratch_bytes(sort.shape);
  if (!sort.yields_order || problem.product != sort_product::records) return plan;
  gathers_by_order::end_plan(plan, gathered_part_of(problem, sort), index_type::u32, scope, sort.inner);
  return plan;
}

/// The bits that the library's encoding flips: those that change when it encodes 0, and the key of which only the
/// highest bit is set.
cub_key_encoding encoding_of_rows(const key_field& field) {
  cub_key_encoding encoding;
  for (const std::uint64_t highest_bit : {0, 1}) {
    const std::uint64_t key = highest_bit << (field.bytes * 8 - 1);
    const auto row = std::bit_cast<std::array<std::byte, sizeof key>>(key);
    encoding.flipped_bits[highest_bit] = number_of(row.data(), field).word[0] ^ key;
  }
  return encoding;
}

void run_cub(const context& ctx, const sort_problem& problem, const plan::planned& plan, const sort_buffers& buffers,
             std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto sort = plan.decided.get<cub_sort>();
  cub_sort_arrays arrays;
  arrays.keys = sort.extracts_keys ? scratch + sort.keys : buffers.in.data;
  arrays.sorted_keys =
      sort.extracts_keys || !writes_sorted_rows(problem) ? scratch + sort.sorted_keys : buffers.out.data;
  if (sort.extracts_keys) {
    extract_words(ctx, problem, buffers, sort.shape.key_bytes / 4, 0, problem.key.bits, nullptr, 4,
                  scratch + sort.keys);
  }
  if (sort.yields_order) {
    write_row_numbers(ctx, scratch + sort.row_numbers, sort.shape.value_bytes, problem.count);
    arrays.values = scratch + sort.row_numbers;
    arrays.sorted_values = problem.product == sort_product::gather_index ? buffers.index.data : scratch + sort.order;
  } else if (sort.shape.value_bytes != 0) {
    arrays.values = buffers.columns[0].in.data;
    arrays.sorted_values = buffers.columns[0].out.data;
  }
  const cub_key_encoding encoding =
      sort.shape.encodes_keys ? encoding_of_rows(problem.key.fields[0]) : cub_key_encoding{};
  run_cub_sort(ctx, sort.shape, encoding, arrays, scratch + sort.inner);
  if (!sort.yields_order || problem.product == sort_product::gather_index) return;
  plan.inner<gathers_by_order>().run(ctx, gathered_part_of(problem, sort), buffers,
                                     {scratch + sort.order, problem.count, index_type::u32}, scratch + sort.inner);
}

}  // namespace

extern constinit const sort_variant sort_cub{"cuda.cub", backend_kind::cuda, plan_cub, run_cub};

}  // namespace sheaf::cuda
