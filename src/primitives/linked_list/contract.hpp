#pragma once

#include <sheaf/list_scan.hpp>

#include "plan/correction.hpp"

namespace sheaf::primitives {

/// list_rank and list_scan share their variants: a rank is a scan that counts.
struct list_problem {
  backend_kind backend = backend_kind::cpu;
  std::uint64_t count = 0;  ///< nodes
  index_type successor = index_type::u32;
  std::uint64_t value_bytes = 0;  ///< of one value; 0: the ranks are asked for
  std::uint64_t out_bytes = 4;    ///< of one result
  std::uint32_t out_word = 4;     ///< widest power of two up to 16 that divides the output's address and out_bytes
  bool is_packed = false;         ///< the values lie beside the successors, in nodes of 8 bytes
  bool is_exclusive = false;
  bool has_own_operator = false;  ///< the caller's functions put values together
  list_count lists = list_count::one;
  access_pattern pattern;
  std::uint32_t log2_block = 0;  ///< CUDA: nodes of a sublist in the mean are 2^log2_block; 0: as the plan has it
  std::uint32_t walkers = 0;     ///< CUDA: threads that walk; 0: as the plan has it

  bool ranks() const noexcept { return value_bytes == 0; }
  friend bool operator==(const list_problem&, const list_problem&) = default;
};

inline plan::measured_place place_of(const list_problem& p) noexcept {
  return {p.ranks() ? "list_rank" : "list_scan", p.pattern.shape, p.out_bytes, p.count, 0};
}

/// What may be wrong with a list, the worst first.
enum class list_fault : std::uint8_t {
  out_of_range,      ///< node `position` has the successor `value`
  two_predecessors,  ///< nodes `value` and `limit`, the lowest two, lead to node `position`, the lowest such
  two_heads,         ///< nodes `position` and `value` are the lowest two heads, and one list is expected
  on_a_cycle,        ///< node `position`, the lowest such
};

/// How a fault of list_rank is reported; another array for list_scan.
extern const core::index_wording list_rank_wording[4];
extern const core::index_wording list_scan_wording[4];

inline const core::index_wording& wording_of(const list_problem& p, list_fault fault) noexcept {
  return (p.ranks() ? list_rank_wording : list_scan_wording)[static_cast<int>(fault)];
}

/// The steps of a call, as in Wei and JaJa 2010, section 3. A variant may do some of them inside others.
enum class list_step : std::uint8_t {
  head,       ///< the sum of successors, values packed beside successors, heads of a forest
  splitters,  ///< where sublists begin
  walks,      ///< along the sublists
  sublists,   ///< the scan of sublists in their list's order
  results,    ///< of each node
};

/// Is told of each step once it has been queued, or, on the CPU, done.
struct list_listener {
  void* state = nullptr;
  void (*step_done)(void* state, list_step step) = nullptr;
};

/// Views of a checked call.
struct list_buffers {
  index_span successor;                                 ///< of packed nodes: null data
  const void* nodes = nullptr;                          ///< packed nodes, or null
  const void* in = nullptr;                             ///< values in an array of their own, or null
  void* out = nullptr;                                  ///< ranks or results
  const void* initial = nullptr;                        ///< in host memory: what an exclusive scan begins with
  value_type type = value_type::f32;                    ///< of a built-in operator
  scan_operator op = scan_operator::add;                ///< unless one of the following is given
  const detail::host_scan_operator* on_host = nullptr;  ///< a built-in operator, or the caller's function on the CPU
  const detail::device_scan_operator* on_device = nullptr;
  const list_listener* listener = nullptr;  ///< of a benchmark

  void done(list_step step) const {
    if (listener != nullptr) listener->step_done(listener->state, step);
  }
};

using list_variant = plan::variant<list_problem, list_buffers>;

/// All variants of this build, in the order of composition/tables.cpp and of each backend's variants.cpp.
std::span<const list_variant> list_variants();

}  // namespace sheaf::primitives
