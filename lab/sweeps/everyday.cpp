#include "lab/sweeps/sweep.hpp"

// The rows that users try first, of every family that has them, and quickly: a whole set takes minutes on a GPU.
namespace sheaf::bench {
namespace {

using primitives::key_distribution;

std::vector<sort_layout> usual_keys_in_every_form() {
  std::vector<sort_layout> layouts;
  for (const std::string key : {"u32", "i32", "u64", "i64", "f32", "f64"}) {
    for (const char* form : {"", "+4", "+8", "/index"}) layouts.push_back(parse_sort_layout(key + form));
  }
  return layouts;
}

}  // namespace

sweep everyday() {
  sweep s;
  for (const char* name :
       {"scatter", "split", "split_scatter_index", "scatter_reduce", "sort_keys", "sort_pairs", "sort_gather_index"}) {
    s.entries.push_back(&primitives::entry_named(name));
  }
  s.patterns = patterns({"identity", "uniform", "zipf"});
  s.record_bytes = {4, 8};
  s.indices = {index_type::u32};
  s.counts = {1 << 10, 1 << 14, 300000, 1 << 20, 1 << 24, 100000000};
  s.duplicate_rules = {duplicates::any, duplicates::last};
  s.keys = {key_distribution::uniform,     key_distribution::unit,          key_distribution::normal,
            key_distribution::lognormal,   key_distribution::pareto,        key_distribution::exponential,
            key_distribution::timestamps,  key_distribution::sorted,        key_distribution::reverse,
            key_distribution::distinct100, key_distribution::distinct10007, key_distribution::nested,
            key_distribution::narrowed,    key_distribution::equal};
  s.key_bytes = {0, 4};
  s.bits = {8, 11, 16};
  s.values = {value_type::f32, value_type::f64, value_type::u32};
  s.slots = {1000, std::uint64_t{1} << 24};
  s.orders = {reduction_order::deterministic, reduction_order::unordered};
  s.sorts = usual_keys_in_every_form();
  // Copies of the arrays are no more than calls, so that small rows are not filled for longer than they run.
  s.limits = {.seconds = 0, .least_rounds = 11, .least_slow_rounds = 3, .most_calls = 64, .long_seconds = 1};
  s.prints_factors = true;
  return s;
}

}  // namespace sheaf::bench
