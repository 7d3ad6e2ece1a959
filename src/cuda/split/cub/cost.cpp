#include "cuda/device/speeds.hpp"
#include "cuda/split/cub/radix_sort.hpp"

// What CUB's radix sort costs, in multiples of profile values: one block sorts a short list, by digits of 6 bits; else
// one kernel counts all digits of 8 bits, one adds the counts up, and one for each digit moves the list.
namespace sheaf::cuda {
namespace {

/// What one block takes for a short list, in steps of the profile.
struct tile_cost {
  double load_and_store;
  double digit;
  double seconds(double digits, const machine& m) const { return (load_and_store + digits * digit) * m.step_seconds; }
};

/// Fitted to 2^12 to 2^28 uniform keys on an H200 (the peer "cub" in lab/results/h200/sort.json, split.json and
/// split-words.json): costs of a word to 2^24 and more, steps to fewer. Values of 16 bytes are fitted to cuda.cub
/// itself (sort-model.json), because the peer moves them as structures.
struct cub_tuning {
  word_cost count{0, 0.705};
  word_cost pass_of_4{25.4, 2.03};      ///< by keys of 4 bytes and less
  word_cost pass_of_8{29.6, 2.14};      ///< by keys of 8 bytes
  double encoding_cached_bytes = 1;     ///< what encoding adds to word_cost::cached_bytes of a pass
  double wide_value_cached_bytes = 10;  ///< what values of 16 bytes add to it: tiles are short
  double count_steps = 6.27;            ///< latency of the counts
  double pass_of_4_steps = 8.41;        ///< latency of a pass
  double pass_of_8_steps = 6.85;
  tile_cost tile{0.39, 1.01};  ///< keys alone
  tile_cost pair_tile{0.9, 0.93};
  tile_cost wide_pair_tile{1.17, 1.30};  ///< by keys of 8 bytes
  std::uint64_t tile_bytes = 19456;  ///< longest list that one block sorts: of keys, or of values if these are wider
  double tile_digit_bits = 6;
};
constexpr cub_tuning tuning;

}  // namespace

bool is_one_block(const cub_sort_shape& s) {
  return s.count * std::max({s.key_bytes, s.value_bytes, 4U}) <= tuning.tile_bytes;
}

void add_cub_cost(plan::planned& plan, const cub_sort_shape& shape, const machine& machine) {
  const bool is_narrow = shape.key_bytes <= 4;
  if (is_one_block(shape)) {
    const double digits = std::ceil(shape.bits() / tuning.tile_digit_bits);
    const tile_cost& tile = shape.value_bytes == 0 ? tuning.tile : is_narrow ? tuning.pair_tile : tuning.wide_pair_tile;
    plan.add("one block", tile.seconds(digits, machine));
    return;
  }
  const auto count = static_cast<double>(shape.count);
  const double passes = std::ceil(shape.bits() / 8.0);
  const double pass_steps = is_narrow ? tuning.pass_of_4_steps : tuning.pass_of_8_steps;
  word_cost pass = is_narrow ? tuning.pass_of_4 : tuning.pass_of_8;
  if (shape.encodes_keys) pass.cached_bytes += tuning.encoding_cached_bytes;
  if (shape.value_bytes == 16) pass.cached_bytes += tuning.wide_value_cached_bytes;
  plan.add("kernels", (tuning.count_steps + passes * pass_steps) * machine.step_seconds);
  plan.add("digits counted", count * tuning.count.seconds(shape.key_bytes, machine));
  plan.add("passes", passes * count * pass.seconds(shape.key_bytes + shape.value_bytes, machine));
}

}  // namespace sheaf::cuda
