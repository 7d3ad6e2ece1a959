#include "cpu/reduce/owned_rows.hpp"

#include <array>
#include <atomic>
#include <bit>

#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/record_copy.hpp"
#include "cpu/reduce/numbers_in_order.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/core_speed.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sheaf::cpu {
namespace {

using namespace primitives;

constexpr std::uint64_t block_entries = 2048;  ///< of the list, that are looked at before their rows are combined
constexpr std::uint64_t lanes = 8;
constexpr std::uint64_t most_samples = 1024;
constexpr std::uint64_t entries_per_sample = 64;
constexpr std::uint64_t most_buckets = 1 << 17;
/// About so many entries a bucket has, of which counting then says that no slot has more than a piece, if they are
/// evenly spread.
constexpr std::uint64_t entries_of_bucket = 256;

constexpr std::uint64_t least_prefetched_out = 1 << 18;  ///< bytes of out that a thread owns
constexpr std::uint64_t most_prefetched_in = 512;        ///< bytes of a row

/// A piece that is complete while more rows of its slot come.
struct owned_piece {
  std::uint32_t slot;
  std::uint32_t place;  ///< of its row; those of a slot ascend
};

struct owned_arrays {
  owned_arrays(const owned_shape& shape, const owned_decision& d, core::scratch_arrays& arrays)
      : row_bytes((shape.out_row_bytes + line_bytes - 1) / line_bytes * line_bytes),
        counts_of_buckets(arrays.take<std::uint32_t>(d.threads * d.buckets)),
        rows_of_slots(arrays.take<std::uint16_t>(d.pieces == 0 ? 0 : shape.slots)),
        pieces(arrays.take<owned_piece>(d.pieces)),
        rows_of_pieces(arrays.take<std::byte>(d.pieces * row_bytes)) {}

  std::uint64_t row_bytes;
  std::uint32_t* counts_of_buckets;
  std::uint16_t* rows_of_slots;  ///< in the piece that is being combined
  owned_piece* pieces;
  std::byte* rows_of_pieces;
};

/// Entries of a block whose slots are a thread's own, side by side, in order.
struct owned_block {
  std::uint32_t slots[block_entries + lanes];   ///< counted from the first of the range
  std::uint32_t places[block_entries + lanes];  ///< in the block
};

/// Notes the entries that lie in [begin, begin + slots) and returns their number; `highest` is the highest entry.
template <class Index>
std::uint64_t take_owned_plain(const Index* list, std::uint64_t first, std::uint64_t count, std::uint64_t begin,
                               std::uint64_t slots, owned_block& block, Index& highest, std::uint64_t taken) {
  for (std::uint64_t i = first; i < count; ++i) {
    const std::uint64_t slot = static_cast<std::uint64_t>(list[i]) - begin;
    highest = std::max(highest, list[i]);
    block.slots[taken] = static_cast<std::uint32_t>(slot);
    block.places[taken] = static_cast<std::uint32_t>(i);
    taken += slot < slots ? 1 : 0;
  }
  return taken;
}

#if defined(__x86_64__)
/// For each set of lanes their numbers, side by side.
constexpr std::array<std::array<std::uint8_t, lanes>, 256> lanes_of_sets = [] {
  std::array<std::array<std::uint8_t, lanes>, 256> all{};
  for (std::size_t set = 0; set < all.size(); ++set) {
    std::size_t taken = 0;
    for (std::uint8_t lane = 0; lane < lanes; ++lane) {
      if ((set >> lane & 1) != 0) all[set][taken++] = lane;
    }
  }
  return all;
}();

[[gnu::target("avx2,popcnt")]] std::uint64_t take_owned_by_avx2(const std::uint32_t* list, std::uint64_t count,
                                                                std::uint32_t begin, std::uint32_t last_slot,
                                                                owned_block& block, std::uint32_t& highest,
                                                                std::uint64_t& looked_at) {
  const __m256i from = _mm256_set1_epi32(static_cast<int>(begin));
  const __m256i last = _mm256_set1_epi32(static_cast<int>(last_slot));
  __m256i most = _mm256_setzero_si256();
  std::uint64_t taken = 0;
  std::uint64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const __m256i entries = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(list + i));
    const __m256i slots = _mm256_sub_epi32(entries, from);
    most = _mm256_max_epu32(most, entries);
    const __m256i is_own = _mm256_cmpeq_epi32(_mm256_min_epu32(slots, last), slots);
    const auto set = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(is_own)));
    const __m256i order =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(lanes_of_sets[set].data())));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(block.slots + taken), _mm256_permutevar8x32_epi32(slots, order));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(block.places + taken),
                        _mm256_add_epi32(order, _mm256_set1_epi32(static_cast<int>(i))));
    taken += static_cast<std::uint64_t>(_mm_popcnt_u32(set));
  }
  std::uint32_t highest_of[lanes];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(highest_of), most);
  highest = *std::max_element(highest_of, highest_of + lanes);
  looked_at = i;
  return taken;
}

bool takes_by_avx2() {
  static const bool takes = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("popcnt") != 0;
  return takes;
}
#endif

template <class Index>
std::uint64_t take_owned(const Index* list, std::uint64_t count, std::uint64_t begin, std::uint64_t slots,
                         owned_block& block, Index& highest) {
  std::uint64_t looked_at = 0;
  std::uint64_t taken = 0;
  highest = 0;
#if defined(__x86_64__)
  if constexpr (sizeof(Index) == 4) {
    if (takes_by_avx2() && slots > 0 && begin <= ~std::uint32_t{0}) {
      taken = take_owned_by_avx2(list, count, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(slots - 1),
                                 block, highest, looked_at);
    }
  }
#endif
  return take_owned_plain(list, looked_at, count, begin, slots, block, highest, taken);
}

template <class Index>
class owners {
 public:
  owners(const owned_reduction& r, const Index* list, const owned_shape& shape, const owned_decision& d,
         std::byte* scratch)
      : r_(r), list_(list), shape_(shape), d_(d), arrays_(core::arrays_in<owned_arrays>(scratch, shape, d)) {}

  first_bad run() {
    const std::vector<std::uint64_t> sampled =
        d_.threads > 1 || d_.pieces > 0 ? sample() : std::vector<std::uint64_t>{};
    // Counting the rows of each slot is right in any case, but slower where none has several pieces.
    counts_pieces_ = d_.pieces > 0 && (has_long_slot(sampled) || may_have_pieces());
    cut(sampled);
    std::atomic<std::uint64_t> lowest = first_bad{}.position;
    for_each_part(d_.threads, [&](std::uint64_t part) {
      const first_bad found = combine(cuts_[part], cuts_[part + 1]);
      std::uint64_t seen = lowest.load();
      while (found.position < seen && !lowest.compare_exchange_weak(seen, found.position)) {
      }
    });
    merge_pieces();
    return {lowest.load()};
  }

 private:
  // Whether a bucket of slots has more rows than a piece, so that one of its slots may.
  bool may_have_pieces() {
    if (d_.buckets == 0) return true;
    for_each_range(shape_.entries, d_.threads, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
      std::uint32_t* const counts = arrays_.counts_of_buckets + part * d_.buckets;
      std::fill_n(counts, d_.buckets, 0);
      const std::uint64_t slots = shape_.slots;
      const std::uint64_t shift = d_.shift;
      const auto count = [&](std::uint64_t slot) {
        if (slot < slots) ++counts[slot >> shift];
      };
      // Entries in two places, so that those of a list in order do not wait for one count.
      const std::uint64_t half = (end - begin) / 2;
      for (std::uint64_t i = begin; i < begin + half; ++i) {
        count(list_[i]);
        count(list_[i + half]);
      }
      if (begin + 2 * half < end) count(list_[end - 1]);
    });
    for (std::uint64_t b = 0; b < d_.buckets; ++b) {
      std::uint64_t rows = 0;
      for (std::uint64_t part = 0; part < d_.threads; ++part) rows += arrays_.counts_of_buckets[part * d_.buckets + b];
      if (rows > shape_.piece_rows) return true;
    }
    return false;
  }

  // The slots of entries from all over the list, in order.
  std::vector<std::uint64_t> sample() const {
    const std::uint64_t samples = std::min(most_samples, shape_.entries / entries_per_sample);
    const std::uint64_t step = shape_.entries / std::max<std::uint64_t>(1, samples);
    std::vector<std::uint64_t> taken;
    std::uint64_t random = 1;
    for (std::uint64_t i = 0; i < samples; ++i) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      const std::uint64_t slot = list_[i * step + (random >> 33) % step];
      if (slot < shape_.slots) taken.push_back(slot);
    }
    std::ranges::sort(taken);
    return taken;
  }

  // Whether some slot has so many entries of a sample that it hardly has fewer rows than a piece.
  bool has_long_slot(const std::vector<std::uint64_t>& sample) const {
    std::uint64_t most = 0;
    for (std::uint64_t i = 0, run = 0; i < sample.size(); ++i) {
      run = i > 0 && sample[i] == sample[i - 1] ? run + 1 : 1;
      most = std::max(most, run);
    }
    constexpr std::uint64_t least_sure = 8;
    return most >= least_sure && most * (shape_.entries / sample.size()) > 4 * shape_.piece_rows;
  }

  // Cuts the slots where threads get about equal numbers of entries.
  void cut(const std::vector<std::uint64_t>& sample) {
    cuts_.assign(d_.threads + 1, 0);
    cuts_[d_.threads] = shape_.slots;
    for (std::uint64_t part = 1; part < d_.threads; ++part) {
      std::uint64_t at = part_begin(shape_.slots, d_.threads, part);
      if (!sample.empty()) {
        // A slot goes to the side that is then nearer to its share.
        const std::uint64_t share = sample.size() * part / d_.threads;  // there may be fewer samples than threads
        at = sample[share];
        const auto below = static_cast<std::uint64_t>(std::ranges::lower_bound(sample, at) - sample.begin());
        const auto up_to = static_cast<std::uint64_t>(std::ranges::upper_bound(sample, at) - sample.begin());
        if (up_to - share < share - below) ++at;
      }
      cuts_[part] = std::max(cuts_[part - 1], at);
    }
  }

  // The rows of slots [begin, end), in the order of the list.
  first_bad combine(std::uint64_t begin, std::uint64_t end) {
    first_bad bad;
    if (counts_pieces_) std::fill(arrays_.rows_of_slots + begin, arrays_.rows_of_slots + end, std::uint16_t{0});
    scattered_rows rows{};
    rows.out = r_.out + begin * r_.out_stride;
    rows.out_stride = r_.out_stride;
    rows.in_stride = r_.in_stride;
    rows.width = r_.width;
    rows.prefetches_out = (end - begin) * r_.out_stride > least_prefetched_out;
    rows.prefetches_in =
        d_.threads > 1 && shape_.in_row_bytes >= line_bytes && shape_.in_row_bytes <= most_prefetched_in;
    owned_block block;
    for (std::uint64_t first = 0; first < shape_.entries; first += block_entries) {
      const std::uint64_t count = std::min(block_entries, shape_.entries - first);
      const Index* const list = list_ + first;
      Index highest = 0;
      const std::uint64_t taken = take_owned(list, count, begin, end - begin, block, highest);
      if (highest >= shape_.slots && !bad.found()) {
        for (std::uint64_t i = 0; i < count; ++i) {
          if (list[i] >= shape_.slots) bad.note(first + i);
        }
      }
      rows.in = r_.in + first * r_.in_stride;
      if (counts_pieces_) {
        combine_pieces(rows, begin, block, taken);
      } else {
        combine_some(rows, block, 0, taken);
      }
    }
    return bad;
  }

  void combine_some(scattered_rows& rows, const owned_block& block, std::uint64_t from, std::uint64_t to) {
    if (from == to) return;
    rows.slots = block.slots + from;
    rows.places = block.places + from;
    rows.rows = to - from;
    r_.kernels.scatter(rows);
  }

  // The same where rows are counted, and a row that would come to a full piece begins another.
  void combine_pieces(scattered_rows& rows, std::uint64_t begin, const owned_block& block, std::uint64_t taken) {
    std::uint16_t* const rows_of_slots = arrays_.rows_of_slots + begin;
    std::uint64_t done = 0;
    for (std::uint64_t i = 0; i < taken; ++i) {
      std::uint16_t& of_slot = rows_of_slots[block.slots[i]];
      if (of_slot == shape_.piece_rows) {
        combine_some(rows, block, done, i);
        done = i;
        keep_piece(begin + block.slots[i]);
        of_slot = 0;
      }
      ++of_slot;
    }
    combine_some(rows, block, done, taken);
  }

  // Keeps what rows were combined to as a piece; out begins another from the identity element. One thread has all rows
  // of a slot, so that its places ascend.
  void keep_piece(std::uint64_t slot) {
    const std::uint64_t place = kept_.fetch_add(1, std::memory_order_relaxed);
    arrays_.pieces[place] = {static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(place)};
    std::byte* const row = r_.out + slot * r_.out_stride;
    std::memcpy(row_of_piece(place), row, shape_.out_row_bytes);
    r_.kernels.clear(row, r_.width);
  }

  std::byte* row_of_piece(std::uint64_t place) const { return arrays_.rows_of_pieces + place * arrays_.row_bytes; }

  // The pieces of each slot in their order, and what out has as the last of them.
  void merge_pieces() {
    owned_piece* const all = arrays_.pieces;
    const std::uint64_t count = kept_.load();
    std::sort(all, all + count, [](const owned_piece& a, const owned_piece& b) {
      return a.slot != b.slot ? a.slot < b.slot : a.place < b.place;
    });
    for (std::uint64_t i = 0; i < count;) {
      std::byte* const sums = row_of_piece(all[i].place);
      std::byte* const row = r_.out + all[i].slot * r_.out_stride;
      const std::uint32_t slot = all[i].slot;
      for (++i; i < count && all[i].slot == slot; ++i) r_.kernels.merge(sums, row_of_piece(all[i].place), r_.width);
      r_.kernels.merge(sums, row, r_.width);
      std::memcpy(row, sums, shape_.out_row_bytes);
    }
  }

  const owned_reduction& r_;
  const Index* list_;
  const owned_shape& shape_;
  const owned_decision& d_;
  owned_arrays arrays_;
  bool counts_pieces_ = false;
  std::vector<std::uint64_t> cuts_;
  std::atomic<std::uint64_t> kept_ = 0;
};

}  // namespace

owned_decision decide_owners(const owned_shape& shape, const machine& machine) {
  owned_decision d{};
  // All threads look at all entries, so that a second one saves less than elsewhere: from some 40 us of work on.
  constexpr std::uint64_t bytes_per_saved_byte = 16;
  const std::uint64_t bytes = shape.entries * (2 * shape.in_row_bytes + sizeof(std::uint32_t)) / bytes_per_saved_byte;
  d.threads = std::min(parts_worth(bytes, machine.parallelism), std::max<std::uint64_t>(1, shape.slots));
  if (shape.are_numbers && d.threads < least_owners && shape.slots * shape.out_row_bytes <= own_cache_bytes(machine)) {
    d.threads = 1;
  }
  if (shape.entries <= shape.piece_rows) return d;
  d.pieces = shape.entries / shape.piece_rows;
  const std::uint64_t wanted =
      std::bit_ceil(std::clamp<std::uint64_t>(shape.entries / entries_of_bucket, 1, most_buckets));
  // Where slots have more rows than that, some may well have several pieces.
  if (shape.slots < shape.entries / (2 * entries_of_bucket)) return d;
  while (shape.slots > 0 && (shape.slots - 1) >> d.shift >= wanted) ++d.shift;
  d.buckets = shape.slots == 0 ? 0 : ((shape.slots - 1) >> d.shift) + 1;
  // Buckets that have more than a piece on average would all say that a slot may.
  if (d.buckets > 0 && shape.entries / d.buckets >= shape.piece_rows) d.buckets = 0;
  return d;
}

std::uint64_t owned_scratch_bytes(const owned_shape& shape, const owned_decision& decided) {
  return core::bytes_of<owned_arrays>(shape, decided);
}

first_bad combine_by_owners(const owned_reduction& r, const owned_shape& shape, const owned_decision& decided,
                            std::byte* scratch) {
  first_bad bad;
  with_index(r.list, [&](const auto* list) {
    using Index = std::remove_cvref_t<decltype(*list)>;
    bad = owners<Index>(r, list, shape, decided, scratch).run();
  });
  return bad;
}

namespace {

// Whether one thread adds all numbers in the order of the list, as cpu.owner does where it has nothing to share or
// finds that neighbours name neighbours.
bool adds_in_order(const owned_shape& shape, const movement& moved, const owned_decision& d) noexcept {
  constexpr std::uint64_t close_bytes = 64 << 10;  // as in is_close()
  if (!shape.are_numbers || d.threads >= least_owners) return false;
  if (d.threads == 1 || shape.slots * shape.out_row_bytes < close_bytes) return true;
  const access_pattern& p = moved.pattern;
  return p.shape == access_pattern::kind::sequential ||
         (p.shape == access_pattern::kind::clustered && p.parameter * shape.out_row_bytes < close_bytes);
}

constexpr double overlapped = 0.5;  ///< of the accesses to out: rows ahead are prefetched

// What that takes. No line of out is in another core's cache, so that accesses cost what reads cost. One thread does
// what rates say of all threads that would share it, but streams nearly as fast as two: EPYC of family 25, 7 * 10^5
// values of 4 bytes in order into as many slots, 0.32 ms, 35 of 67 GB/s.
void price_in_order(const owned_shape& shape, const movement& moved, const machine& machine, double digits_of_chain,
                    plan::planned& plan) {
  constexpr double alone = 1.7;  // times the seconds of all threads
  const memory_cost t = scatter_cost(moved, machine);
  const auto all_threads =
      static_cast<double>(parts_worth(2 * moved.sequential_bytes() + moved.index_bytes(), machine.parallelism));
  const double random = past_first_cache(gather_cost(moved, machine).indexed_random, moved, machine);
  plan.add_overlapped(overlap_exponent,
                      {{"streamed", (t.sequential + t.indexed_streamed) * std::min(all_threads, alone)},
                       {"random read", overlapped * random * all_threads},
                       {"steps", shared_digit_seconds(shape.entries, digits_of_number + digits_of_chain, machine, 1)}});
}

}  // namespace

plan::planned price_owners(const owned_shape& shape, const movement& moved, std::uint64_t values_per_row,
                           const machine& machine) {
  const owned_decision d = decide_owners(shape, machine);
  constexpr std::uint64_t one = 1;
  constexpr double digits_per_row = 0.6;
  constexpr double digits_per_value = 0.03;
  constexpr double digits_per_count = 0.3;
  // EPYC of family 25, two threads, 9 * 10^6 numbers of 8 bytes into 30,000 slots: 9 ms in order, 16 at random; a digit
  // is 1.3 ns there.
  const double digits_per_look = bytes(moved.index) == 4 ? 0.15 : 0.4;
  plan::planned plan;
  plan.decided.set(d);
  plan.scratch_bytes = owned_scratch_bytes(shape, d);
  plan.add("latency", machine.launch_seconds + machine.step_seconds * (d.threads > 1 ? 1 : 0));
  if (shape.entries == 0) return plan;
  // Rows of one slot come one after the other, and each waits until the one before is in out.
  const bool is_repeated = moved.pattern.shape == access_pattern::kind::repeated;
  const std::uint64_t slots = std::max(one, is_repeated ? std::min(moved.pattern.parameter, shape.slots) : shape.slots);
  const std::uint64_t threads = std::min(d.threads, slots);
  const double digits_of_chain = 2 * static_cast<double>(threads) / static_cast<double>(slots) + digits_of_skew(moved);
  if (adds_in_order(shape, moved, d)) {
    price_in_order(shape, moved, machine, digits_of_chain, plan);
    return plan;
  }
  memory_cost t = scatter_cost(moved, machine);
  // Every thread reads the list, and the lines of narrow rows.
  const bool shares_lines = shape.in_row_bytes < line_bytes;
  const std::uint64_t again = moved.index_bytes() + (shares_lines ? moved.sequential_bytes() : 0);
  t.sequential += machine.streamed(again * (d.threads - 1), again);
  const double all_threads = static_cast<double>(machine.parallelism) / static_cast<double>(threads);
  const double digits = digits_per_row + digits_per_value * static_cast<double>(values_per_row) +
                        (d.pieces > 0 ? digits_per_count : 0) + digits_of_chain;
  plan.add_overlapped(overlap_exponent,
                      {{"streamed", t.sequential + t.indexed_streamed},
                       {"random write", overlapped * t.indexed_random * all_threads},
                       {"steps", shared_digit_seconds(shape.entries, digits, machine, threads) +
                                     shared_digit_seconds(shape.entries, digits_per_look, machine, 1)}});
  return plan;
}

}  // namespace sheaf::cpu
