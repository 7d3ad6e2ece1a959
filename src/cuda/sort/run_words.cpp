#include "primitives/sort.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/device/launch.cuh"
#include "cuda/device/state.hpp"
#include "cuda/sort/msd/run.hpp"
#include "cuda/sort/onesweep/run.hpp"
#include "cuda/sort/words/encoding.hpp"

// Sorts of words, from the highest digit down or, by keys of 4 bytes, from the lowest up. Rows that are words, or that
// fit one with their values, are sorted themselves; others as words of keys and numbers, by which they are gathered.
namespace sheaf::cuda {
namespace {

using primitives::sort_buffers;
using primitives::sort_problem;
using primitives::sort_product;

constexpr std::uint64_t most_words = (std::uint64_t{1} << 32) - 1;

/// How words are sorted: from the highest digit down, where groups are finished by bins or by the 2007 network, or from
/// the lowest up.
enum class word_sort { by_bins, bitonic, onesweep };

std::uint64_t aligned(std::uint64_t bytes) { return ceil_div(bytes, 256) * 256; }

// ---- what it takes

/// Keys that are turned into numbers in the place where rows go in the end.
bool works_in_out(const sort_problem& p, const word_encoding& form) {
  const bool has_rows_alone = form.payload == word_payload::none || form.payload == word_payload::separate;
  return has_rows_alone && !form.sorts_numbers && p.rows.out_stride_bytes == form.word_bytes() &&
         p.rows.word_bytes >= (form.limbs == 3 ? 4 : form.word_bytes());
}

/// Of values apart: the caller's, or numbers of rows.
std::uint32_t value_bytes(const sort_problem& p, const word_encoding& form) {
  if (!form.sorts_numbers) return static_cast<std::uint32_t>(p.columns[0].record_bytes);
  return p.product == sort_product::gather_index ? static_cast<std::uint32_t>(bytes(p.index)) : 4;
}

msd_sort sort_of(const sort_problem& p, const word_encoding& form, std::uint32_t key_bits) {
  msd_sort s;
  s.limbs = form.limbs;
  s.key_low = form.key_low();
  switch (form.payload) {
    case word_payload::row_number: s.key_high = 32 + (key_bits + 7) / 8 * 8; break;
    case word_payload::separate: s.key_high = form.first_bit + key_bits; break;
    default: s.key_high = form.key_low() + form.key_bits;
  }
  s.ordered = form.ordered();
  s.count = p.count;
  if (form.payload == word_payload::separate) s.value_bytes = value_bytes(p, form);
  return s;
}

/// Where the limbs of the scratch begin.
struct sort_scratch_layout {
  std::uint64_t words[2] = {};  ///< that passes write to; the second is also where words are made
  std::uint64_t order[2] = {};  ///< numbers of rows; the second in rounds alone, with the places that one gives
  std::uint64_t places = 0;
  std::uint64_t values = 0;  ///< that passes write to; the other ones are the caller's
  std::uint64_t tables = 0;
  std::uint64_t bytes = 0;

  sort_scratch_layout(const sort_problem& p, const word_encoding& form) {
    const auto take = [&](std::uint64_t needed) {
      const std::uint64_t begin = bytes;
      bytes += aligned(needed);
      return begin;
    };
    words[0] = take(p.count * form.word_bytes());
    if (!works_in_out(p, form)) words[1] = take(p.count * form.word_bytes());
    if (form.sorts_numbers && (p.product == sort_product::records || form.rounds > 1)) {
      order[0] = take(p.count * sizeof(std::uint32_t));
    }
    if (form.rounds > 1) {
      order[1] = take(p.count * sizeof(std::uint32_t));
      places = take(p.count * sizeof(std::uint32_t));
    }
    if (form.payload == word_payload::separate) values = take(p.count * value_bytes(p, form));
    const msd_sort s = sort_of(p, form, form.key_bits);
    tables = take(std::max(msd_scratch_bytes(s), onesweep_scratch_bytes(p.count, s.value_bytes)));
  }
};

// ---- plans: seconds a word as an H200 takes them, of 2^28 words at random

/// What a word and its value cost beside the bytes that are streamed, and for each of these.
struct word_cost {
  double word;
  double byte;
  double of(double bytes, double slower) const { return word + byte * bytes * slower; }
};
constexpr word_cost counted{0, 0.23e-12};
constexpr word_cost moved{2.0e-12, 0.5e-12};
constexpr word_cost moved_in_order{2.8e-12, 0.52e-12};
constexpr word_cost finished{2.6e-12, 0.7e-12};
constexpr word_cost finished_in_order{7.9e-12, 0.44e-12};
constexpr word_cost swept{3.2e-12, 0.55e-12};
constexpr word_cost digits_counted{0, 0.2e-12};
constexpr double measured_bandwidth = 4.26e12;
constexpr double uneven_words = 1.35;      ///< words of 12 bytes take so much longer
constexpr double lone_level = 1.2;         ///< that keeps the order, where no other follows
constexpr double bitonic_words = 12;       ///< the network's steps instead of bins
constexpr double crowded_seconds = 30e-6;  ///< one group of few different keys of 8 bytes and more

/// What kernels take however few words there are.
struct kernel_cost {
  double usual;
  double ordered;  ///< where the order is kept, or values come along
  double of(bool is_ordered) const { return is_ordered ? ordered : usual; }
};
constexpr kernel_cost one_group{5.5e-6, 9.5e-6};
constexpr double part_of_group = 1.3e-6;  ///< for each limb of a word but one
constexpr kernel_cost one_level{27e-6, 38e-6};
constexpr kernel_cost all_levels{58e-6, 70e-6};  ///< of a long list
constexpr double sweeps_begin = 6e-6;
constexpr kernel_cost one_sweep{11e-6, 12.5e-6};
constexpr double short_sweep = 9e-6;  ///< with values of 16 bytes, in shorter tiles

double gather_seconds(const machine& m, std::uint64_t count, std::uint64_t record_bytes, std::uint64_t stride_bytes) {
  const double written = static_cast<double>(count) * static_cast<double>(record_bytes);
  return 3 * m.step_seconds + m.random_reads(count, record_bytes, count * stride_bytes) +
         written / m.copy_bytes_per_second;
}

double gathers_seconds(const sort_problem& p, const machine& m) {
  double seconds = p.writes_rows ? gather_seconds(m, p.count, p.rows.record_bytes, p.rows.in_stride_bytes) : 0;
  for (std::uint32_t c = 0; c < p.column_count; ++c) {
    seconds += gather_seconds(m, p.count, p.columns[c].record_bytes, p.columns[c].in_stride_bytes);
  }
  return seconds;
}

plan::planned plan_msd(const sort_problem& p, const machine& m, bool bitonic) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  if (p.count > most_words) return plan::rejected("counts in 32 bits");
  const word_encoding form = encoding_of(p);
  const auto count = static_cast<double>(p.count);
  const double word = static_cast<double>(form.word_bytes());
  const double bytes = word + (form.payload == word_payload::separate ? value_bytes(p, form) : 0);
  const double slower = measured_bandwidth / m.copy_bytes_per_second;
  const double split_bits = std::max(0.0, std::log2(count / group_words));
  const double levels = std::min(std::ceil(form.key_bits / 8.0), std::ceil(split_bits / 8));
  const double rounds = form.rounds;
  const double uneven = form.limbs == 3 ? uneven_words : 1;
  plan::planned plan;
  const double latency = levels == 0 ? 0 : (levels > 1 ? all_levels : one_level).of(form.ordered());
  plan.add("latency", m.launch_seconds + rounds * (3 * m.step_seconds + latency));
  if (!form.is_plain) {
    const double read = static_cast<double>(std::min<std::uint64_t>(p.rows.in_stride_bytes, 64));
    const bool in_first_level = p.count > group_words && has_simple_key(p);
    const bool side_by_side = form.payload != word_payload::values && p.rows.in_stride_bytes == form.word_bytes();
    const double more = !in_first_level ? read + 2 * word : side_by_side ? read / 2 : 2 * read;
    const double kernels = in_first_level ? 0 : 5 * m.step_seconds;
    plan.add("rows read", rounds * (kernels + count * more / m.copy_bytes_per_second));
  }
  const word_cost& move = form.ordered() ? moved_in_order : moved;
  const word_cost& finish = form.ordered() ? finished_in_order : finished;
  const bool is_over = form.is_plain && form.key_bits <= 8 && levels > 0;  // after its level
  const double scattered = is_over && form.ordered() ? lone_level : 1;
  plan.add("levels",
           rounds * levels * count * uneven * (counted.of(word, slower) + scattered * move.of(bytes, slower)));
  const double words_finished = count * uneven * finish.of(bytes, slower);
  const bool is_crowded = form.key_bits <= 8 && form.limbs > 1;
  const double group = is_crowded ? crowded_seconds : one_group.of(form.ordered()) + (form.limbs - 1) * part_of_group;
  const double finishing = is_over ? 0 : std::max(words_finished, group);
  plan.add("finished", rounds * finishing * (bitonic ? bitonic_words : 1));
  if (form.sorts_numbers && p.product == sort_product::records) plan.add("gathered", gathers_seconds(p, m));
  plan.scratch_bytes = sort_scratch_layout(p, form).bytes;
  return plan;
}

plan::planned plan_bins(const sort_problem& p, const machine& m) { return plan_msd(p, m, false); }
plan::planned plan_bitonic(const sort_problem& p, const machine& m) { return plan_msd(p, m, true); }

plan::planned plan_sweeps(const sort_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  const word_encoding form = onesweep_encoding_of(p);
  if (form.limbs != 1) return plan::rejected("sorts by one key of 4 bytes, alone or with values of 4, 8 or 16 bytes");
  if (p.count >= most_onesweep_words) return plan::rejected("counts in 30 bits");
  const auto count = static_cast<double>(p.count);
  const double bytes = 4.0 + (form.payload == word_payload::separate ? value_bytes(p, form) : 0);
  const double slower = measured_bandwidth / m.copy_bytes_per_second;
  const double passes = std::ceil(form.key_bits / 8.0);
  plan::planned plan;
  plan.add("latency",
           m.launch_seconds + sweeps_begin + passes * (bytes > 12 ? short_sweep : one_sweep.of(form.ordered())));
  plan.add("digits counted",
           count * digits_counted.of(form.is_plain ? 4.0 : static_cast<double>(p.rows.in_stride_bytes), slower));
  plan.add("passes", passes * count * swept.of(bytes, slower));
  if (form.sorts_numbers && p.product == sort_product::records) plan.add("gathered", gathers_seconds(p, m));
  plan.scratch_bytes = sort_scratch_layout(p, form).bytes;
  return plan;
}

// ---- runs

// Words of rows: the first level or pass makes them, if there is one.
void give_rows(const context& ctx, const char* what, const sort_problem& p, const word_encoding& form,
               const word_route& route, word_sort how, msd_sort& s) {
  s.from_rows = p.count > group_words || how == word_sort::onesweep;
  s.rows = route.from;
  if (!s.from_rows) make_words(ctx, what, p, form, route, const_cast<void*>(s.in));
}

// Words that hold all there is to say, rows or keys and values; or keys, beside which values or the numbers of rows
// move to `order`.
void sort_words(const context& ctx, const char* what, const sort_problem& p, const word_encoding& form,
                const sort_buffers& b, word_sort how, index_output order, std::byte* scratch) {
  const sort_scratch_layout room(p, form);
  msd_sort s = sort_of(p, form, form.key_bits);
  s.bitonic = how == word_sort::bitonic;
  s.buffers[0] = scratch + room.words[0];
  s.buffers[1] = works_in_out(p, form) ? b.out.data : scratch + room.words[1];
  if (form.payload == word_payload::separate) {
    s.values = form.sorts_numbers ? nullptr : b.columns[0].in.data;
    s.value_buffers[0] = scratch + room.values;
    s.value_buffers[1] = s.values_to = form.sorts_numbers ? order.data : b.columns[0].out.data;
  }
  if (form.is_plain) {
    s.in = b.in.data;
    if (p.writes_rows && !form.sorts_numbers) s.target.words = b.out.data;
    if (form.key_bits <= 8 && works_in_out(p, form)) {  // one level, which ends where the words belong
      std::swap(s.buffers[0], s.buffers[1]);
      std::swap(s.value_buffers[0], s.value_buffers[1]);
    }
  } else {
    const word_route route = route_of(p, form, b);
    s.in = s.buffers[1];
    s.target = route.to;
    give_rows(ctx, what, p, form, route, how, s);
  }
  if (how == word_sort::onesweep) return run_onesweep(ctx, what, s, scratch + room.tables, nullptr);
  run_msd_sort(ctx, what, s, scratch + room.tables);
}

// Where the numbers of rows in order go: an index of the caller's, whose entries may be wide.
void write_numbers_to(const context& ctx, const char* what, word_target& to, index_output index) {
  to.words = nullptr;
  for (auto& limb : to.limbs) limb.data = nullptr;
  to.limbs[0] = {static_cast<std::byte*>(index.data), bytes(index.type)};
  if (bytes(index.type) == 8) require(cudaMemsetAsync(index.data, 0, index.count * 8, ctx.stream()), what);
}

// The order of rows by words of keys and numbers.
void sort_numbers(const context& ctx, const char* what, const sort_problem& p, const word_encoding& form,
                  const sort_buffers& b, word_sort how, index_output order, std::byte* scratch) {
  const sort_scratch_layout room(p, form);
  void* const words = scratch + room.words[1];
  const auto numbers = [&](std::uint64_t at) { return reinterpret_cast<std::uint32_t*>(scratch + at); };
  const std::uint32_t* before = nullptr;
  for (std::uint32_t round = 0; round < form.rounds; ++round) {
    const std::uint32_t low = round * form.key_bits;
    const std::uint32_t bits = std::min(form.key_bits, p.key.bits - low);
    msd_sort s = sort_of(p, form, bits);
    s.bitonic = how == word_sort::bitonic;
    s.in = s.buffers[1] = words;
    if (form.rounds == 1 && has_simple_key(p)) {
      const word_route route = route_of(p, form, b);
      s.target = route.to;
      give_rows(ctx, what, p, form, route, how, s);
    } else {
      make_round_words(ctx, what, p, b, low, bits, form.limbs, before, words);
    }
    s.buffers[0] = scratch + room.words[0];
    const bool is_last = round + 1 == form.rounds;
    const index_output places(numbers(room.places), p.count, index_type::u32);
    const index_output here(numbers(room.order[round % 2]), p.count, index_type::u32);
    write_numbers_to(ctx, what, s.target, before != nullptr ? places : is_last ? order : here);
    run_msd_sort(ctx, what, s, scratch + room.tables);
    if (before != nullptr) {
      const index_output& to = is_last ? order : here;
      follow_order(ctx, what, before, static_cast<const std::uint32_t*>(places.data), p.count, to.data, bytes(to.type));
    }
    before = static_cast<const std::uint32_t*>(here.data);
  }
}

void run(const context& ctx, const char* what, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
         word_sort how) {
  const device_scope here(ctx.device());
  const core::scratch memory(ctx.state(), plan.scratch_bytes);
  auto* const scratch = memory.as<std::byte>();
  const word_encoding form = how == word_sort::onesweep ? onesweep_encoding_of(p) : encoding_of(p);
  if (!form.sorts_numbers) return sort_words(ctx, what, p, form, b, how, {}, scratch);
  const sort_scratch_layout room(p, form);
  const bool is_index = p.product == sort_product::gather_index;
  const index_output order =
      is_index ? b.index : index_output(scratch + room.order[(form.rounds - 1) % 2], p.count, index_type::u32);
  if (form.payload == word_payload::separate) {
    sort_words(ctx, what, p, form, b, how, order, scratch);
  } else {
    sort_numbers(ctx, what, p, form, b, how, order, scratch);
  }
  if (!is_index) gather_by_order(ctx, p, b, order);
}

void run_bins(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b) {
  run(ctx, "cuda.msd", p, plan, b, word_sort::by_bins);
}
void run_bitonic(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b) {
  run(ctx, "cuda.msd_bitonic", p, plan, b, word_sort::bitonic);
}
void run_sweeps(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b) {
  run(ctx, "cuda.onesweep", p, plan, b, word_sort::onesweep);
}

}  // namespace

constinit const primitives::sort_variant sort_msd{"cuda.msd", plan_bins, run_bins};
constinit const primitives::sort_variant sort_msd_bitonic{"cuda.msd_bitonic", plan_bitonic, run_bitonic};
constinit const primitives::sort_variant sort_onesweep{"cuda.onesweep", plan_sweeps, run_sweeps};

}  // namespace sheaf::cuda
