#include "lab/description/reduce/problem.hpp"
#include "lab/sweeps/sweep.hpp"
#include "primitives/words.hpp"

// Reductions by an index list: every type by every number of slots.
namespace sheaf::bench {
namespace {

constexpr std::string_view family = "reduce";

sweep reductions() {
  sweep s{
      primitives::entries_of(family), patterns({"uniform", "zipf"}), {4}, {index_type::u32}, powers_of_two(20, 28, 4)};
  s.values = {value_type::f32, value_type::u32, value_type::f64, value_type::u64};
  s.slots = {std::uint64_t{1} << 20, std::uint64_t{1} << 28};
  s.orders = {reduction_order::deterministic, reduction_order::unordered};
  return s;
}

// The order of additions shows in floats alone.
void add_orders(const sweep& s, problem p, std::vector<problem>& problems) {
  const bool order_shows = p.value == value_type::f32 || p.value == value_type::f64;
  for (const reduction_order order : s.orders) {
    if (!order_shows && order != s.orders.front()) continue;
    p.part<primitives::reduce_part>().order = order;
    problems.push_back(p);
  }
}

void add(const sweep& s, std::span<const primitives::entry* const> entries, std::vector<problem>& problems) {
  for (const std::uint64_t count : s.counts) {
    for (const value_type value : s.values) {
      for (const std::uint64_t slots : s.slots) {
        for (const index_type index : s.indices) {
          for (const primitives::input_pattern& pattern : s.patterns) {
            for (const primitives::entry* const e : entries) {
              add_orders(s,
                         {.primitive = e->name,
                          .pattern = pattern,
                          .record_bytes = bytes(value),
                          .index = index,
                          .count = count,
                          .value = value,
                          .table = slots},
                         problems);
            }
          }
        }
      }
    }
  }
}

constexpr named_sweep sets[] = {{"reduce", reductions}};

constexpr list_option lists[] = {
    {"--values", "of reductions: f32, u32, f64, u64",
     [](sweep& s, std::span<const std::string> texts) { s.values = parsed_list(texts, primitives::parse_value_type); }},
    {"--slots", "of reductions: values that are added to",
     [](sweep& s, std::span<const std::string> texts) {
       s.slots = numbers_in("--slots", texts, 1, ~std::uint64_t{0});
     }},
    {"--orders", "of reductions: deterministic, unordered",
     [](sweep& s, std::span<const std::string> texts) {
       s.orders = parsed_list(texts, primitives::parse_reduction_order);
     }},
};

}  // namespace

extern const family_sweeps reduce_sweeps{family, sets, lists, add};

}  // namespace sheaf::bench
