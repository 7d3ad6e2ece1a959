#include "cpu/split/plan.hpp"

#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

// Most bits of a digit where records move: the write-combining buffers must fit the second-level cache. One thread of a
// Xeon of family 6 model 207 with 2 MB, 2^24 records of 8 bytes: 58 ms with 8 bits, 74 with 11, 82 with 12, 94 with 13,
// but 150 in two passes of 7 or 8 bits.
constexpr std::uint32_t most_digit_bits = 12;
// Most bits of a digit where ranks are written (scatter index): these need cursors but no buffers.
constexpr std::uint32_t most_rank_bits = 16;

// Time to count and move a record beside streaming it, in digits. On the Xeon of family 6 model 207: some 30
// instructions, and a write-combining buffer that is full once in 16 records of 8 bytes.
constexpr double digits_per_record = 0.769;
// Time that buckets take however few the records, in digits: to scan one count of a part, which one thread does for all
// parts, from lines that others have written; and to write out what is left in one write-combining buffer, which each
// part does for its own. 16 threads of a Xeon, 2^16 records of 4 bytes by 11 bits: 220 us, of which 20 are for records.
constexpr double digits_per_count = 1.2;
constexpr double digits_per_buffer = 8;

std::uint32_t most_bits(const split_problem& p) noexcept {
  return p.product == split_product::scatter_index ? most_rank_bits : most_digit_bits;
}

// Number of buckets of a single pass: categories that the key's bits can express.
std::uint64_t split_buckets_of(const split_problem& p) noexcept {
  return std::min(p.categories, std::uint64_t{1} << p.bits.count);
}

// Buckets whose output lines the hardware fetches ahead, as it does those of streams.
constexpr std::uint64_t most_fetched_ahead = 32;

// Seconds to write the output, which is in no cache yet. Streaming stores alone do not fetch its lines first, and where
// there are many buckets nothing fetches them ahead.
double output_seconds(const split_problem& p, const machine& m, std::uint64_t buckets, bool streams) {
  const std::uint64_t bytes = p.count * p.record_bytes;
  if (streams && combines_writes(p)) return static_cast<double>(bytes) / m.copy_bytes_per_second;
  const double fetched_ahead = static_cast<double>(2 * bytes) / m.copy_bytes_per_second;
  if (p.product == split_product::scatter_index || buckets <= most_fetched_ahead) return fetched_ahead;
  return std::max(fetched_ahead, m.random_writes(bytes / line_bytes, line_bytes, 4 * m.cache_bytes));
}

// Seconds that buckets take in all passes.
double bucket_seconds(const split_problem& p, const machine& m, const split_decision& d) {
  const auto buckets = static_cast<double>(d.layout.buckets);
  const auto parts = static_cast<double>(d.parts);
  const bool has_buffers = d.layout.bad_positions > d.layout.buffers;
  const double written = has_buffers ? std::min(buckets, static_cast<double>(p.count) / parts) : 0;
  return static_cast<double>(d.passes) * digit_seconds(m) *
         (buckets * parts * digits_per_count + written * digits_per_buffer);
}

std::uint64_t key_bytes_read(const split_problem& p) noexcept {
  return p.count * std::min(p.key_stride_bytes, std::max(p.key_bytes, line_bytes));
}

split_scratch layout_of(const split_problem& problem, std::uint64_t passes, std::uint32_t digit_bits,
                        std::uint64_t parts) noexcept {
  split_scratch scratch;
  scratch.buckets = passes == 1 ? split_buckets_of(problem) : std::uint64_t{1} << digit_bits;
  const bool has_buffers = passes > 1 || (problem.product != split_product::scatter_index && combines_writes(problem));
  const std::uint64_t table = whole_write_buffers(bucket_table::bytes(parts, scratch.buckets));
  scratch.starts = 0;
  scratch.cursors = table;
  scratch.buffers = 2 * table;
  scratch.bad_positions = scratch.buffers + (has_buffers ? parts * scratch.buckets * write_buffer_bytes : 0);
  scratch.entries[0] = scratch.bad_positions + whole_write_buffers(parts * sizeof(std::uint64_t));
  const std::uint64_t array = whole_write_buffers(problem.count * pass_entry_bytes(problem));
  // Passes over records use the output as one of the two arrays.
  const bool out_holds_entries = pass_entry_of(problem) == pass_entry::record;
  scratch.entries[1] = scratch.entries[0] + (passes > 1 ? array : 0);
  scratch.bytes = scratch.entries[1] + (passes > 2 && !out_holds_entries ? array : 0);
  return scratch;
}

}  // namespace

bool combines_writes(const split_problem& p) noexcept {
  return std::has_single_bit(p.record_bytes) && p.record_bytes <= 16 && p.out_stride_bytes == p.record_bytes &&
         p.word_bytes >= p.record_bytes;
}

pass_entry pass_entry_of(const split_problem& p) noexcept {
  if (p.product != split_product::records || !combines_writes(p)) return pass_entry::category_and_index;
  if (!p.has_separate_key()) return pass_entry::record;
  return p.record_bytes == 4 || p.record_bytes == 8 ? pass_entry::category_and_record : pass_entry::category_and_index;
}

std::uint64_t pass_entry_bytes(const split_problem& p) noexcept {
  switch (pass_entry_of(p)) {
    case pass_entry::record: return p.record_bytes;
    case pass_entry::category_and_record: return 2 * p.record_bytes;
    default: return p.count > std::uint64_t{1} << 32 ? 16 : 8;
  }
}

plan::planned plan_split(const split_problem& problem, const plan::scope& scope) {
  if (problem.has_wide_category()) return plan::rejected("splits by up to 32 bits");
  const machine& machine = scope.machine;
  plan::planned plan;
  const std::uint32_t bits = std::max(1U, category_bits(split_buckets_of(problem)));
  const std::uint32_t passes = (bits + most_bits(problem) - 1) / most_bits(problem);
  const std::uint32_t digit_bits = (bits + passes - 1) / passes;
  const std::uint64_t moved = problem.count * problem.record_bytes;
  const std::uint64_t all_bytes = 2 * moved + (problem.has_separate_key() ? key_bytes_read(problem) : 0);
  // A part must have more records than buckets, or the scan of its counts would cost more than its records.
  const std::uint64_t most_parts = std::max<std::uint64_t>(1, problem.count >> digit_bits);
  const std::uint64_t parts = std::min(parts_worth(all_bytes, machine.parallelism), most_parts);
  const split_decision decided{.passes = passes,
                               .digit_bits = digit_bits,
                               .streams = moved > machine.cache_bytes,
                               .parts = parts,
                               .layout = layout_of(problem, passes, digit_bits, parts)};
  plan.decided.set(decided);
  plan.scratch_bytes = decided.layout.bytes;

  plan.add("latency", machine.launch_seconds + 2 * passes * machine.step_seconds);
  const std::uint64_t entry_bytes = problem.count * pass_entry_bytes(problem);
  // Keys are read by the histogram, from memory, because a caller's arrays are taken to be cold, and again by the
  // scatter, with the records.
  std::uint64_t cold = key_bytes_read(problem);
  if (problem.product == split_product::records && problem.has_separate_key()) cold += moved;
  std::uint64_t streamed = key_bytes_read(problem);
  // Records that the passes do not move are fetched by the last pass, at random.
  const bool fetches = passes > 1 && problem.product == split_product::records &&
                       pass_entry_of(problem) == pass_entry::category_and_index;
  if (fetches)
    plan.add("random read",
             machine.random_reads(problem.count, problem.record_bytes, problem.count * problem.in_stride_bytes));
  if (passes > 1) streamed += (passes - 1) * 3 * entry_bytes;
  plan.add("streamed",
           static_cast<double>(cold) / machine.copy_bytes_per_second + machine.streamed(streamed, all_bytes));
  plan.add("output", output_seconds(problem, machine, decided.layout.buckets, decided.streams));
  plan.add("moving records", shared_digit_seconds(problem.count, passes * digits_per_record, machine, parts));
  plan.add("buckets", bucket_seconds(problem, machine, decided));
  return plan;
}

}  // namespace sheaf::cpu
