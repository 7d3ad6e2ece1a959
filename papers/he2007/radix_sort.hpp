#pragma once

#include "core/host_device.hpp"
#include "core/scratch_offsets.hpp"
#include "papers/he2007/bitonic_network.hpp"
#include "plan/he2007.hpp"
#include "primitives/movement/gathers_by_order.hpp"
#include "primitives/sort/contract.hpp"
#include "primitives/split/category.hpp"

// The radix sort of He et al. 2007 (section 4.1): what its forms on the GPU and on the CPU share, and the steps of a
// phase, which tests run on the host. The paper sorts tuples of 8 bytes, a key of 4 bytes and a record identifier. Here
// a tuple is one number with the key in its highest bits and the identifier below. Whole tuples are compared, so that
// those of equal keys are in the order of their identifiers.
namespace sheaf::papers::he2007 {

constexpr std::uint32_t tuple_bits = 64;
constexpr std::uint64_t tuple_bytes = 8;

/// The rows of a sort are tuples as they lie: unsigned numbers of 8 bytes, sorted alone by all of their bits.
bool rows_are_tuples(const primitives::sort_problem& problem);
/// Why the rows of a sort can neither be taken as tuples nor be packed into tuples of key and row number; null if they
/// can.
const char* tuple_rejection(const primitives::sort_problem& problem);
/// Where the key of a sort lies in a row, for keys that are packed.
bit_field packed_key(const primitives::sort_problem& problem);
/// The tuple of a packed key and a row number.
SHEAF_HOST_DEVICE inline std::uint64_t pack_tuple(std::uint32_t key, std::uint32_t key_bits, std::uint64_t row) {
  return std::uint64_t{key} << (tuple_bits - key_bits) | row;
}
SHEAF_HOST_DEVICE inline std::uint32_t row_of_tuple(std::uint64_t tuple) { return static_cast<std::uint32_t>(tuple); }

// The GPU's form: P phases that partition by Bits bits each, from the highest on, and a bitonic sort of each partition.

/// S, the bytes of shared memory that a block of threads takes: few enough for several blocks on a multiprocessor.
constexpr std::uint32_t shared_bytes = 32 * 1024;
/// T, the threads that share it where each has a histogram.
constexpr std::uint32_t histogram_threads = 256;
/// Most bits of a phase: a histogram has a byte for each partition, and T histograms fit S.
constexpr std::uint32_t most_phase_bits = 7;
static_assert(histogram_threads << most_phase_bits <= shared_bytes &&
              histogram_threads << (most_phase_bits + 1) > shared_bytes);
/// Most tuples of a thread's portion, which a byte of its histogram can count.
constexpr std::uint32_t most_portion_tuples = 255;
/// Most tuples of a partition that is sorted in shared memory.
constexpr std::uint32_t most_shared_tuples = shared_bytes / tuple_bytes;

struct radix_parameters {
  std::uint32_t bits = 1;                       ///< Bits: partitions of a phase are 2^bits
  std::uint32_t phases = 0;                     ///< P
  std::uint32_t passes = 1;                     ///< nChunk of each phase's scatter
  std::uint32_t portion = most_portion_tuples;  ///< tuples of a thread, from which it makes its histogram

  SHEAF_HOST_DEVICE std::uint32_t phase_partitions() const { return 1U << bits; }
  /// Partitions after so many phases.
  std::uint64_t partitions(std::uint32_t after_phases) const { return std::uint64_t{1} << (bits * after_phases); }
  /// Most portions of a phase, each of one partition of the phase before.
  std::uint64_t most_portions(std::uint64_t count, std::uint32_t phase) const {
    return count / portion + partitions(phase);
  }
};

/// Most tuples of a partition on average: four standard deviations below what fits shared memory, so that of uniform
/// keys nearly all partitions do.
constexpr std::uint32_t most_average_tuples = most_shared_tuples - 4 * 64;
static_assert(64 * 64 == most_shared_tuples, "the deviation of a count is the root of its average");

/// P = log_f(n / S) for f = 2^bits, rounded up: phases after which partitions of uniform keys fit shared memory.
std::uint32_t phases_of(std::uint64_t count, std::uint32_t bits);
/// Bits, P and the passes of the scatters with the least C = P T'_scatter, each scatter in case II with 2^Bits
/// partitions.
radix_parameters choose_parameters(std::uint64_t count, const plan::he2007::parameters& machine);
/// C, the seconds of the scatters of all phases.
double scatters_seconds(std::uint64_t count, const radix_parameters& chosen, const plan::he2007::parameters& machine);

/// The bytes that the sort moves to and from memory, from which the paper estimates its bandwidth: for each phase its
/// internal arrays and the scatter with the misses of the model; then the bitonic sorts, which read and write each
/// tuple once, as for uniform keys.
double moved_bytes(std::uint64_t count, const radix_parameters& form, const plan::he2007::parameters& machine);
/// The parts that the CPU's form cuts the tuples into: one for each thread, but few of few tuples.
std::uint64_t clustering_parts(std::uint64_t count, std::uint64_t threads);
/// The bytes that the CPU's form moves to and from memory: a copy of the tuples, every pass over clusters of which the
/// cache does not hold one for each part, the passes over smaller clusters as one copy, and every round of merges.
/// @param cache_bytes  of the cache that the threads share
double moved_bytes_of_clustering(std::uint64_t count, std::uint64_t parts, std::uint64_t cache_bytes);
/// Bits of a pass of radix clustering, as the paper's cost model of caches and TLB has it on both of its CPUs.
constexpr std::uint32_t clustering_bits = 6;

// The steps of a phase, for one thread. `begins` are where the partitions of the phase before begin, and
// `first_portions` the numbers of their first portions; both have an entry more, for the end.

/// The portion of a thread.
struct portion_place {
  std::uint64_t begin = 0;  ///< its tuples
  std::uint64_t end = 0;
  std::uint64_t first_entry = 0;  ///< of its partition's part of a table of counts
  std::uint64_t portions = 0;     ///< of its partition
  std::uint64_t number = 0;       ///< of the portion in its partition

  /// Where the table has the portion's count of a digit. Those of a partition and a digit lie side by side, so that the
  /// prefix sums of the table are where each run of a portion begins in the output.
  SHEAF_HOST_DEVICE std::uint64_t entry(std::uint32_t digit) const { return first_entry + digit * portions + number; }
};

/// The place of the last of `count` ascending numbers that is not above `value`; the first one is not. Where the
/// numbers are the first portions of partitions, this is the partition that has the portion: of several that begin with
/// it, all but the last have no portions.
SHEAF_HOST_DEVICE inline std::uint64_t last_not_above(const std::uint64_t* numbers, std::uint64_t count,
                                                      std::uint64_t value) {
  std::uint64_t low = 0;
  std::uint64_t high = count;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (numbers[middle] <= value ? low : high) = middle;
  }
  return low;
}

/// @param portion  its number among the portions of all partitions, less than first_portions[partitions]
SHEAF_HOST_DEVICE inline portion_place find_portion(const std::uint64_t* begins, const std::uint64_t* first_portions,
                                                    std::uint64_t partitions, const radix_parameters& form,
                                                    std::uint64_t portion) {
  const std::uint64_t partition = last_not_above(first_portions, partitions, portion);
  const std::uint64_t partition_end = begins[partition + 1];
  portion_place place;
  place.portions = first_portions[partition + 1] - first_portions[partition];
  place.number = portion - first_portions[partition];
  place.first_entry = first_portions[partition] << form.bits;
  place.begin = begins[partition] + place.number * form.portion;
  place.end = place.begin + form.portion < partition_end ? place.begin + form.portion : partition_end;
  return place;
}

/// Step 1: the entry of pidArray, which of the partitions of this phase the tuple belongs to.
SHEAF_HOST_DEVICE inline std::uint8_t partition_id(std::uint64_t tuple, std::uint32_t phase, std::uint32_t bits) {
  return static_cast<std::uint8_t>(tuple << (phase * bits) >> (tuple_bits - bits));
}

/// Step 2, first half: counts the partition ids of a portion in its histogram and stores the counts in the table.
/// @param histogram  a byte for each partition of the phase
template <class Histogram>
SHEAF_HOST_DEVICE void count_portion(const std::uint8_t* partition_ids, const portion_place& place, std::uint32_t bits,
                                     Histogram histogram, std::uint32_t* table) {
  for (std::uint32_t digit = 0; digit < 1U << bits; ++digit) histogram[digit] = 0;
  for (std::uint64_t i = place.begin; i < place.end; ++i) ++histogram[partition_ids[i]];
  for (std::uint32_t digit = 0; digit < 1U << bits; ++digit) table[place.entry(digit)] = histogram[digit];
}

/// Step 2, second half: the entries of locArray, where the tuples of a portion go.
/// @param run_begins  prefix sums of the table
template <class Histogram>
SHEAF_HOST_DEVICE void locate_portion(const std::uint8_t* partition_ids, const portion_place& place, std::uint32_t bits,
                                      Histogram histogram, const std::uint64_t* run_begins, std::uint32_t* locations) {
  for (std::uint32_t digit = 0; digit < 1U << bits; ++digit) histogram[digit] = 0;
  for (std::uint64_t i = place.begin; i < place.end; ++i) {
    const std::uint8_t digit = partition_ids[i];
    locations[i] = static_cast<std::uint32_t>(run_begins[place.entry(digit)] + histogram[digit]++);
  }
}

/// Where partition `next` of the phase begins, which is one of 2^bits in a partition of the phase before.
SHEAF_HOST_DEVICE inline std::uint64_t begin_of_partition(const std::uint64_t* begins,
                                                          const std::uint64_t* first_portions,
                                                          const std::uint64_t* run_begins, std::uint32_t bits,
                                                          std::uint64_t next) {
  const std::uint64_t partition = next >> bits;
  const std::uint64_t portions = first_portions[partition + 1] - first_portions[partition];
  if (portions == 0) return begins[partition];
  const std::uint64_t digit = next & ((std::uint64_t{1} << bits) - 1);
  return run_begins[(first_portions[partition] << bits) + digit * portions];
}

/// A tile of the partitions that shared memory does not hold.
/// @param first_tiles  the number of each partition's first tile, with an entry more; other partitions have no tiles
/// @param number       of the tile, less than first_tiles[partitions]
SHEAF_HOST_DEVICE inline tile_place find_tile(const std::uint64_t* begins, const std::uint64_t* first_tiles,
                                              std::uint64_t partitions, std::uint64_t tile_tuples,
                                              std::uint64_t number) {
  const std::uint64_t partition = last_not_above(first_tiles, partitions, number);
  tile_place tile;
  tile.partition_begin = begins[partition];
  tile.partition_size = begins[partition + 1] - begins[partition];
  tile.first = (number - first_tiles[partition]) * tile_tuples;
  tile.size = tile.partition_size - tile.first < tile_tuples ? tile.partition_size - tile.first : tile_tuples;
  return tile;
}

/// What a plan decides for the GPU's form, and where its arrays begin in scratch.
struct msd_layout {
  radix_parameters form;
  std::uint64_t order = 0;          ///< row numbers in order, by which rows are gathered
  std::uint64_t tuples[2] = {};     ///< arrays between which phases move tuples; of rows one, beside the output
  std::uint64_t partition_ids = 0;  ///< pidArray
  std::uint64_t locations = 0;      ///< locArray
  std::uint64_t table = 0;          ///< of counts
  std::uint64_t run_begins = 0;     ///< its prefix sums
  std::uint64_t tile_sums = 0;      ///< for prefix sums
  std::uint64_t begins[2] = {};     ///< of the partitions of a phase and of the next
  std::uint64_t first_portions[2] = {};
  std::uint64_t longest = 0;  ///< tuples of the longest partition
  std::uint64_t bytes = 0;    ///< of all

  msd_layout(const primitives::sort_problem& problem, const radix_parameters& parameters);
};

/// Ends a sort of packed tuples: stores the row numbers in order as the gather index that is wanted, or in scratch and
/// gathers the rows by them.
/// @param order   where they begin in scratch, unless an index is wanted
/// @param unused  where the scratch begins that the gathers may take
/// @param store   store(order) stores the row numbers of the sorted tuples, to entries of 4 or 8 bytes
template <class Store>
void end_with_order(const context& ctx, const primitives::sort_problem& problem, const plan::planned& plan,
                    const primitives::sort_buffers& buffers, std::byte* scratch, std::uint64_t order,
                    std::uint64_t unused, Store store) {
  if (problem.product == primitives::sort_product::gather_index) {
    if (bytes(problem.index) == 4) return store(static_cast<std::uint32_t*>(buffers.index.data));
    return store(static_cast<std::uint64_t*>(buffers.index.data));
  }
  auto* const rows = reinterpret_cast<std::uint32_t*>(scratch + order);
  store(rows);
  plan.inner<primitives::gathers_by_order>().run(ctx, problem, buffers, {rows, problem.count, index_type::u32},
                                                 scratch + unused);
}

}  // namespace sheaf::papers::he2007
