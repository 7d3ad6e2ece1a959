#include "primitives/sort.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/cuda_state.hpp"
#include "cuda/launch.cuh"
#include "cuda/sort_form.hpp"
#include "cuda/sort_msd.hpp"

// Sorts from the highest digit down. Rows that are words, or that fit one with their values, are sorted themselves;
// others as words of keys and numbers, by which they are gathered.
namespace sheaf::cuda {
namespace {

using primitives::sort_buffers;
using primitives::sort_problem;
using primitives::sort_product;

constexpr std::uint64_t most_words = (std::uint64_t{1} << 32) - 1;

std::uint64_t aligned(std::uint64_t bytes) { return ceil_div(bytes, 256) * 256; }

// ---- what it takes

/// Keys that are turned into numbers in the place where rows go in the end.
bool works_in_out(const sort_problem& p, const word_form& form) {
  const bool has_rows_alone = form.payload == word_payload::nothing || form.payload == word_payload::apart;
  return has_rows_alone && p.rows.out_stride_bytes == form.word_bytes() &&
         p.rows.word_bytes >= (form.parts == 3 ? 4 : form.word_bytes());
}

msd_sort sort_of(const sort_problem& p, const word_form& form, std::uint32_t key_bits) {
  msd_sort s;
  s.parts = form.parts;
  s.key_low = form.key_low();
  s.key_high = form.payload == word_payload::number ? 32 + (key_bits + 7) / 8 * 8 : form.parts * 32;
  s.ordered = form.ordered();
  s.count = p.count;
  if (form.payload == word_payload::apart) s.value_bytes = static_cast<std::uint32_t>(p.columns[0].record_bytes);
  return s;
}

/// Where the parts of the scratch begin.
struct sort_room {
  std::uint64_t words[2] = {};  ///< that passes write to; the second is also where words are made
  std::uint64_t order[2] = {};  ///< numbers of rows; the second in rounds alone, with the places that one gives
  std::uint64_t places = 0;
  std::uint64_t values = 0;  ///< that passes write to; the other ones are the caller's
  std::uint64_t tables = 0;
  std::uint64_t bytes = 0;

  sort_room(const sort_problem& p, const word_form& form) {
    const auto take = [&](std::uint64_t needed) {
      const std::uint64_t begin = bytes;
      bytes += aligned(needed);
      return begin;
    };
    words[0] = take(p.count * form.word_bytes());
    if (!works_in_out(p, form)) words[1] = take(p.count * form.word_bytes());
    if (form.payload == word_payload::number && (p.product == sort_product::records || form.rounds > 1)) {
      order[0] = take(p.count * sizeof(std::uint32_t));
    }
    if (form.rounds > 1) {
      order[1] = take(p.count * sizeof(std::uint32_t));
      places = take(p.count * sizeof(std::uint32_t));
    }
    if (form.payload == word_payload::apart) values = take(p.count * p.columns[0].record_bytes);
    tables = take(msd_scratch_bytes(sort_of(p, form, form.key_bits)));
  }
};

// ---- plans: measured on an H200, as seconds a word and its bytes that a profile's bandwidth scales

double level_seconds(double count, double word, double slower) {
  const double counted = 0.75e-12 + 0.18e-12 * word * slower;
  const double moved = 2.3e-12 + 0.46e-12 * word * slower;
  return count * (counted + moved);
}

plan::planned plan_msd(const sort_problem& p, const machine& m, bool bitonic) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  if (p.count > most_words) return plan::rejected("counts in 32 bits");
  const word_form form = form_of(p);
  plan::planned plan;
  const auto count = static_cast<double>(p.count);
  const auto word = static_cast<double>(form.word_bytes());
  constexpr double measured_bandwidth = 4.26e12;
  constexpr double group = 4608;
  const double slower = measured_bandwidth / m.copy_bytes_per_second;
  const double key_levels = std::ceil(form.key_bits / 8.0);
  const double levels = count <= group ? 0 : std::min(key_levels, std::ceil(std::log2(count / group) / 8));
  const double rounds = form.rounds;
  const double share = std::max(1.0, m.parallelism / (count / group + 1));  // blocks that have nothing to do
  plan.add("latency", m.launch_seconds + rounds * (3 * m.step_seconds + levels * 30e-6));
  if (!form.is_plain) {
    const double read = static_cast<double>(std::min<std::uint64_t>(p.rows.in_stride_bytes, 64));
    plan.add("words made", rounds * count * (read + 2 * word) / m.copy_bytes_per_second);
  }
  plan.add("levels", rounds * levels * level_seconds(count, word, slower));
  const double finished = count * (5e-12 + 0.45e-12 * word * slower) * std::min(share, 132.0);
  plan.add("finished", rounds * finished * (bitonic ? 8 : 1));
  if (form.payload == word_payload::number && p.product == sort_product::records) {
    double gathered =
        p.writes_rows ? m.random_reads(p.count, p.rows.record_bytes, p.count * p.rows.in_stride_bytes) : 0;
    for (std::uint32_t c = 0; c < p.column_count; ++c) {
      const auto& column = p.columns[c];
      gathered += m.random_reads(p.count, column.record_bytes, p.count * column.in_stride_bytes);
    }
    plan.add("gathered", gathered);
  }
  plan.scratch_bytes = sort_room(p, form).bytes;
  return plan;
}

plan::planned plan_bins(const sort_problem& p, const machine& m) { return plan_msd(p, m, false); }
plan::planned plan_bitonic(const sort_problem& p, const machine& m) { return plan_msd(p, m, true); }

// ---- runs

// Words of rows: the sort's first pass makes them, if they are many.
void give_rows(const context& ctx, const char* what, const sort_problem& p, const word_form& form,
               const word_route& route, msd_sort& s) {
  s.from_rows = p.count >= least_from_rows;
  s.rows = route.from;
  if (!s.from_rows) make_words(ctx, what, p, form, route, const_cast<void*>(s.in));
}

// Words that hold all there is to say: rows, or keys and values.
void sort_words(const context& ctx, const char* what, const sort_problem& p, const word_form& form,
                const sort_buffers& b, bool bitonic, std::byte* scratch) {
  const sort_room room(p, form);
  msd_sort s = sort_of(p, form, form.key_bits);
  s.bitonic = bitonic;
  s.buffers[0] = scratch + room.words[0];
  s.buffers[1] = works_in_out(p, form) ? b.out.data : scratch + room.words[1];
  if (form.payload == word_payload::apart) {
    s.values = b.columns[0].in.data;
    s.value_buffers[0] = scratch + room.values;
    s.value_buffers[1] = s.values_to = b.columns[0].out.data;
  }
  if (form.is_plain) {
    s.in = b.in.data;
    if (p.writes_rows) s.target.words = b.out.data;
  } else {
    const word_route route = route_of(p, form, b);
    s.in = s.buffers[1];
    s.target = route.to;
    give_rows(ctx, what, p, form, route, s);
  }
  run_msd_sort(ctx, what, s, scratch + room.tables);
}

// Where the numbers of rows in order go: an index of the caller's, whose entries may be wide.
void write_numbers_to(const context& ctx, const char* what, word_target& to, index_output index) {
  to.words = nullptr;
  for (auto& part : to.parts) part.data = nullptr;
  to.parts[0] = {static_cast<std::byte*>(index.data), bytes(index.type)};
  if (bytes(index.type) == 8) require(cudaMemsetAsync(index.data, 0, index.count * 8, ctx.stream()), what);
}

// The order of rows by words of keys and numbers.
void sort_numbers(const context& ctx, const char* what, const sort_problem& p, const word_form& form,
                  const sort_buffers& b, bool bitonic, index_output order, std::byte* scratch) {
  const sort_room room(p, form);
  void* const words = scratch + room.words[1];
  const auto numbers = [&](std::uint64_t at) { return reinterpret_cast<std::uint32_t*>(scratch + at); };
  const std::uint32_t* before = nullptr;
  for (std::uint32_t round = 0; round < form.rounds; ++round) {
    const std::uint32_t low = round * form.key_bits;
    const std::uint32_t bits = std::min(form.key_bits, p.key.bits - low);
    msd_sort s = sort_of(p, form, bits);
    s.bitonic = bitonic;
    s.in = s.buffers[1] = words;
    if (form.rounds == 1 && has_simple_key(p)) {
      const word_route route = route_of(p, form, b);
      s.target = route.to;
      give_rows(ctx, what, p, form, route, s);
    } else {
      make_round_words(ctx, what, p, b, low, bits, form.parts, before, words);
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
         bool bitonic) {
  const device_scope here(ctx.device());
  const core::scratch memory(ctx.state(), plan.scratch_bytes);
  auto* const scratch = memory.as<std::byte>();
  const word_form form = form_of(p);
  if (form.payload != word_payload::number) return sort_words(ctx, what, p, form, b, bitonic, scratch);
  if (p.product == sort_product::gather_index) {
    return sort_numbers(ctx, what, p, form, b, bitonic, b.index, scratch);
  }
  const sort_room room(p, form);
  const index_output order(scratch + room.order[(form.rounds - 1) % 2], p.count, index_type::u32);
  sort_numbers(ctx, what, p, form, b, bitonic, order, scratch);
  gather_by_order(ctx, p, b, order);
}

void run_bins(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b) {
  run(ctx, "cuda.msd", p, plan, b, false);
}
void run_bitonic(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b) {
  run(ctx, "cuda.msd_bitonic", p, plan, b, true);
}

}  // namespace

constinit const primitives::sort_variant sort_msd{"cuda.msd", plan_bins, run_bins};
constinit const primitives::sort_variant sort_msd_bitonic{"cuda.msd_bitonic", plan_bitonic, run_bitonic};

}  // namespace sheaf::cuda
