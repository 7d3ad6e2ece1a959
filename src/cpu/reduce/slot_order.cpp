#include "cpu/reduce/slot_order.hpp"

#include "cpu/movement/record_copy.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

// The positions of a bucket, slot by slot. begins[s + 1] is the cursor of slot s, so that it ends as where s + 1
// begins.
template <class Position, class Buckets>
void order_bucket(const Buckets& buckets, std::uint64_t bucket, std::uint64_t slots, std::uint64_t bucket_slots,
                  std::uint64_t* begins, Position* positions) {
  const std::uint64_t first = buckets.first_record(bucket);
  const std::uint64_t count = std::min(bucket_slots, slots - first);
  const std::uint64_t begin = buckets.entries_begin(bucket);
  const std::uint64_t end = buckets.entries_begin(bucket + 1);
  const std::uint32_t* const local = buckets.local_indices();
  const Position* const from = buckets.template values<Position>();
  std::uint64_t* const cursors = begins + first + 1;
  std::fill_n(cursors, count, 0);
  for (std::uint64_t i = begin; i < end; ++i) ++cursors[local[i]];
  std::uint64_t place = begin;
  for (std::uint64_t s = 0; s < count; ++s) place += std::exchange(cursors[s], place);
  for (std::uint64_t i = begin; i < end; ++i) positions[cursors[local[i]]++] = from[i];
}

template <class Position>
first_bad order(const movement& m, const slot_order_decision& decided, index_span index, const slot_order_arrays& to,
                std::byte* scratch) {
  first_bad bad;
  with_index(index, [&](const auto* list) {
    index_buckets buckets(m, decided.buckets, list, scratch);
    bad = buckets.template reorder<Position>([](std::uint64_t i) { return static_cast<Position>(i); });
    to.begins[0] = 0;
    const std::uint64_t bucket_slots = std::uint64_t{1} << decided.buckets.shift;
    for_each_task(m.indexed_count == 0 ? 0 : buckets.bucket_count(), buckets.parts(), [&](std::uint64_t bucket) {
      order_bucket(buckets, bucket, m.indexed_count, bucket_slots, to.begins,
                   reinterpret_cast<Position*>(to.positions));
    });
  });
  return bad;
}

}  // namespace

first_bad order_by_slot(const movement& m, const slot_order_decision& decided, index_span index,
                        const slot_order_arrays& to, std::byte* scratch) {
  return decided.wide ? order<std::uint64_t>(m, decided, index, to, scratch)
                      : order<std::uint32_t>(m, decided, index, to, scratch);
}

// The list is read twice, pairs of a local index and a position are written once and read twice, positions written
// once.
double slot_order_seconds(const movement& m, const machine& machine) {
  constexpr double digits_per_entry = 5;
  constexpr double digits_per_slot = 1;
  const std::uint64_t pairs = m.count * 8;
  const std::uint64_t streamed = 2 * m.index_bytes() + 3 * pairs + m.count * 4 + m.indexed_count * 16;
  return static_cast<double>(streamed) / machine.copy_bytes_per_second +
         shared_digit_seconds(m.count, digits_per_entry, machine, machine.parallelism) +
         shared_digit_seconds(m.indexed_count, digits_per_slot, machine, machine.parallelism);
}

}  // namespace sheaf::cpu
