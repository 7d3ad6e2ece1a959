#include "papers/he2007/radix_sort.hpp"

#include "papers/cuda/table_scan.hpp"

namespace sheaf::papers::he2007 {

using primitives::sort_problem;

bool rows_are_tuples(const sort_problem& p) {
  const key_field& key = p.key.fields[0];
  const bool are_rows_alone = p.product == primitives::sort_product::records && p.column_count == 0 && p.writes_rows;
  const bool are_words = p.rows.record_bytes == tuple_bytes && p.rows.in_stride_bytes == tuple_bytes &&
                         p.rows.out_stride_bytes == tuple_bytes && p.rows.access_bytes >= tuple_bytes;
  return are_rows_alone && are_words && p.key.field_count == 1 && key.type == key_type::unsigned_integer &&
         !key.descending && key.bytes == tuple_bytes && p.key.bits == tuple_bits;
}

const char* tuple_rejection(const sort_problem& p) {
  const key_field& key = p.key.fields[0];
  const bool is_packed = p.key.field_count == 1 && !key.descending && p.key.bits <= 32 &&
                         (key.type == key_type::unsigned_integer || key.type == key_type::bytes);
  if (!is_packed && !rows_are_tuples(p)) {
    return "sorts rows that are unsigned numbers of 8 bytes, and by one ascending unsigned field of up to 32 bits";
  }
  if (p.count >> 32 != 0) return "sorts fewer than 2^32 rows";
  return nullptr;
}

bit_field packed_key(const sort_problem& p) {
  const key_field& key = p.key.fields[0];
  if (key.type == key_type::bytes) {
    return {(key.offset + key.bytes) * 8 - key.first_bit - p.key.bits, p.key.bits, bit_order::from_left};
  }
  return {key.offset * 8 + key.first_bit, p.key.bits, bit_order::little_endian};
}

std::uint32_t phases_of(std::uint64_t count, std::uint32_t bits) {
  if (count <= most_shared_tuples) return 0;
  std::uint32_t phases = 1;
  while (count > std::uint64_t{most_average_tuples} << (bits * phases)) ++phases;
  return phases;
}

namespace {

plan::he2007::sizes sizes_of_scatter(std::uint64_t count) {
  return {count, count, tuple_bytes, count * sizeof(std::uint32_t)};
}

}  // namespace

double scatters_seconds(std::uint64_t count, const radix_parameters& chosen, const plan::he2007::parameters& machine) {
  return chosen.phases * plan::he2007::scatter_seconds(sizes_of_scatter(count),
                                                       access_pattern::partitioned(chosen.phase_partitions()),
                                                       chosen.passes, machine);
}

double moved_bytes(std::uint64_t count, const radix_parameters& form, const plan::he2007::parameters& machine) {
  const auto tuples = static_cast<double>(count);
  const double ids = tuples * (tuple_bytes + 1);
  const double histograms = tuples;
  const double locations = tuples * (1 + sizeof(std::uint32_t));
  const double entries = tuples / form.portion * form.phase_partitions();
  // Counts are written, and read twice for their prefix sums, which are written and read.
  const double table = entries * (3 * sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t));
  const double scatter =
      plan::he2007::moved_bytes(plan::he2007::operation::scatter, sizes_of_scatter(count),
                                access_pattern::partitioned(form.phase_partitions()), form.passes, machine);
  return form.phases * (ids + histograms + locations + table + scatter) + 2 * tuples * tuple_bytes;
}

double moved_bytes_of_clustering(std::uint64_t count, std::uint64_t parts, std::uint64_t cache_bytes) {
  constexpr std::uint64_t copy = 2;
  constexpr std::uint64_t pass = 3;  // tuples are read once to be counted and once to be moved
  std::uint64_t times = copy;
  for (std::uint64_t bytes = count * tuple_bytes; bytes > cache_bytes; bytes >>= clustering_bits) times += pass;
  times += copy;  // passes over clusters that the cache holds
  for (std::uint64_t merged = 1; merged < parts; merged *= 2) times += copy;
  return static_cast<double>(times) * static_cast<double>(count * tuple_bytes);
}

radix_parameters choose_parameters(std::uint64_t count, const plan::he2007::parameters& machine) {
  radix_parameters best;
  double least = 0;
  for (std::uint32_t bits = 1; bits <= most_phase_bits; ++bits) {
    radix_parameters form{.bits = bits, .phases = phases_of(count, bits)};
    form.passes = static_cast<std::uint32_t>(
        plan::he2007::best_passes(plan::he2007::operation::scatter, sizes_of_scatter(count),
                                  access_pattern::partitioned(form.phase_partitions()), machine));
    const double seconds = scatters_seconds(count, form, machine);
    if (bits > 1 && seconds >= least) continue;
    best = form;
    least = seconds;
  }
  return best;
}

msd_layout::msd_layout(const sort_problem& p, const radix_parameters& parameters) : form(parameters) {
  core::scratch_offsets arrays;
  const bool is_packed = !rows_are_tuples(p);
  if (is_packed && p.product == primitives::sort_product::records) order = arrays.take(p.count * sizeof(std::uint32_t));
  tuples[0] = arrays.take(is_packed || form.phases > 1 ? p.count * tuple_bytes : 0);
  if (is_packed) tuples[1] = arrays.take(p.count * tuple_bytes);
  const std::uint32_t last = form.phases == 0 ? 0 : form.phases - 1;
  const std::uint64_t entries = form.most_portions(p.count, last) * form.phase_partitions();
  const std::uint64_t partitions = form.partitions(form.phases) + 1;
  if (form.phases > 0) {
    partition_ids = arrays.take(p.count);
    locations = arrays.take(p.count * sizeof(std::uint32_t));
    table = arrays.take(entries * sizeof(std::uint32_t));
    run_begins = arrays.take(entries * sizeof(std::uint64_t));
  }
  tile_sums = arrays.take((std::max(entries, partitions) / scan_tile_entries + 1) * sizeof(std::uint64_t));
  for (int i = 0; i < 2; ++i) {
    begins[i] = arrays.take(partitions * sizeof(std::uint64_t));
    first_portions[i] = arrays.take(partitions * sizeof(std::uint64_t));
  }
  longest = arrays.take(sizeof(std::uint64_t));
  bytes = arrays.bytes();
}

}  // namespace sheaf::papers::he2007
