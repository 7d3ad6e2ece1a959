#pragma once

#include <vector>

#include <sheaf/context.hpp>

#include "core/host_device.hpp"
#include "core/scratch_offsets.hpp"
#include "lab/inputs/pattern_function.hpp"

// The five steps of Wei and JaJa 2010 (section 3.2) with all of their parameters, which the library's variants leave to
// a model: blocks, threads of a block, sublists, and where the list of sublists is scanned. Sums of packed nodes, as in
// section 4. What a step does to one sublist stands here, for a thread of either backend; tests run it on the host.
namespace sheaf::papers::wei2010 {

/// How threads get sublists.
enum class sublist_supply : std::uint8_t {
  dealt,  ///< thread t walks sublists t, t + walkers, ...: as many for each, as in the paper
  drawn,  ///< a thread that has walked one takes the next that is left, from a counter
};

/// Where step 4 scans the list of sublists (section 4.2). On a CPU both are one thread.
enum class sublist_scan : std::uint8_t {
  on_host,        ///< copied to the host, scanned there by one thread, and copied back
  by_one_thread,  ///< one thread of the device
};

struct list_sums_form {
  std::uint64_t blocks = 30;   ///< on a CPU threads; its context may have fewer, which then take several blocks
  std::uint64_t threads = 64;  ///< of a block; on a CPU walkers, which take turns in its thread
  std::uint64_t sublists = 30 * 64 * 32;
  sublist_supply supply = sublist_supply::dealt;
  sublist_scan scan = sublist_scan::on_host;

  std::uint64_t walkers() const noexcept { return blocks * threads; }
};

/// The steps of section 3.2; of the fourth the copies apart, which only a device has.
enum class sums_step : std::uint8_t { head, splitters, walks, copy_to_host, sublists, copy_back, results };
constexpr std::size_t sums_steps = 7;

/// Is told of each step once it has been queued, or, where the host works, done.
struct sums_listener {
  void* state = nullptr;
  void (*step_done)(void* state, sums_step step) = nullptr;
};

/// Arrays of a call, all in the context's memory.
struct list_sums_buffers {
  const void* nodes = nullptr;  ///< `count` nodes of list_node<std::uint32_t>, aligned to 8 bytes
  std::uint64_t count = 0;
  std::uint32_t* sums = nullptr;  ///< of each node; does not overlap the nodes
  std::byte* scratch = nullptr;   ///< list_sums_scratch() bytes, aligned to core::scratch_alignment
  const sums_listener* listener = nullptr;

  void done(sums_step step) const {
    if (listener != nullptr) listener->step_done(listener->state, step);
  }
};

/// Sublists have numbers below 2^31, whose complements mark nodes.
constexpr std::uint64_t most_list_nodes = (std::uint64_t{1} << 31) - 1;

/// sums[i] is the sum of the values from the head up to node i, modulo 2^32. Done when it returns. The last node of the
/// list has a negative successor or itself.
/// @param loads  not null: gets the nodes that each multiprocessor, or each thread of a CPU, has walked over
/// @throws error(bad_argument) for a form that has no walkers, more threads than a block may have, or more sublists
/// than the list has nodes; error(bad_index) where the nodes are not one list
void run_list_sums(const context& ctx, const list_sums_form& form, const list_sums_buffers& buffers,
                   std::vector<std::uint64_t>* loads = nullptr);
/// @throws what run_list_sums() throws for the form
std::uint64_t list_sums_scratch(const context& ctx, const list_sums_form& form, std::uint64_t count);

[[noreturn]] void throw_no_list();

// A node is a word of 64 bits: the value in the low half, the successor in the high half.

/// The successor of the last node. Marks of sublists are above it.
constexpr std::int32_t end_of_list = -0x7fffffff - 1;
/// The first node of a sublist that has none.
constexpr std::uint32_t no_node = 0xffffffffU;

SHEAF_HOST_DEVICE constexpr std::uint32_t value_of(std::uint64_t node) { return static_cast<std::uint32_t>(node); }
SHEAF_HOST_DEVICE constexpr std::int32_t successor_of(std::uint64_t node) {
  return static_cast<std::int32_t>(node >> 32);
}
SHEAF_HOST_DEVICE constexpr std::uint64_t node_of(std::uint32_t value, std::int32_t successor) {
  return std::uint64_t{static_cast<std::uint32_t>(successor)} << 32 | value;
}
/// The paper has -i; its sublist 0 would then have no mark.
SHEAF_HOST_DEVICE constexpr std::int32_t mark_of(std::uint32_t sublist) { return ~static_cast<std::int32_t>(sublist); }
SHEAF_HOST_DEVICE constexpr std::uint32_t sublist_of(std::int32_t mark) { return static_cast<std::uint32_t>(~mark); }

/// Walks of several threads meet where the nodes are not a list, so the host reads and writes whole words.
SHEAF_HOST_DEVICE inline std::uint64_t load_node(const std::uint64_t* node) {
#if defined(__CUDA_ARCH__)
  return *node;
#else
  return __atomic_load_n(node, __ATOMIC_RELAXED);
#endif
}
SHEAF_HOST_DEVICE inline void store_node(std::uint64_t* node, std::uint64_t word) {
#if defined(__CUDA_ARCH__)
  *node = word;
#else
  __atomic_store_n(node, word, __ATOMIC_RELAXED);
#endif
}

/// A node with one mark for all ends; what is no successor becomes an end, too, and is counted.
struct seen_node {
  std::uint64_t node;
  bool is_end;
  bool is_bad;
};
SHEAF_HOST_DEVICE inline seen_node see_node(std::uint64_t node, std::uint64_t number, std::uint64_t count) {
  const std::int32_t next = successor_of(node);
  const bool is_end = next < 0 || static_cast<std::uint64_t>(next) == number;
  const bool is_bad = !is_end && static_cast<std::uint64_t>(next) >= count;
  return {is_end || is_bad ? node_of(value_of(node), end_of_list) : node, is_end, is_bad};
}

/// Step 1: n(n-1)/2 minus the sum of all successors is the head; `count` if there is none.
SHEAF_HOST_DEVICE constexpr std::uint64_t head_of(std::uint64_t successor_sum, std::uint64_t ends,
                                                  std::uint64_t count) {
  const std::uint64_t head = count * (count - 1) / 2 - successor_sum;
  return ends == 1 && head < count ? head : count;
}

/// Step 2: any node of the block of n/s nodes. Sublist 0 begins at the head instead.
SHEAF_HOST_DEVICE inline std::uint64_t splitter_node(std::uint64_t sublist, std::uint64_t sublists,
                                                     std::uint64_t count) {
  const std::uint64_t first = sublist * count / sublists;
  const std::uint64_t end = (sublist + 1) * count / sublists;
  return first + inputs::mix(sublist) % (end - first);
}

/// A sublist, which the paper keeps in three arrays: Sublist_head, Sublist_scratch and Sublist_prefix.
struct sublist_of_sums {
  std::uint32_t first;  ///< its first node, or no_node
  std::int32_t next;    ///< successor of the first node; after step 3 the mark of the next sublist, or end_of_list
  std::uint32_t sum;    ///< value of the first node; after step 3 of all nodes
  std::uint32_t nodes;
};

/// Step 2 for one sublist: marks its first node as its own.
SHEAF_HOST_DEVICE inline sublist_of_sums begin_sublist(std::uint64_t* nodes, std::uint64_t count, std::uint32_t sublist,
                                                       std::uint64_t sublists, std::uint64_t head) {
  const std::uint64_t first = sublist == 0 ? head : splitter_node(sublist, sublists, count);
  if (sublist != 0 && first == head) return {no_node, end_of_list, 0, 0};
  const std::uint64_t node = nodes[first];
  nodes[first] = node_of(value_of(node), mark_of(sublist));
  return {static_cast<std::uint32_t>(first), successor_of(node), value_of(node), 0};
}

/// Step 3: a walk along one sublist. Each node that it comes to gets the sum up to it, and the sublist's mark, at which
/// any other walk ends. So a walk has as many steps as there are nodes at most, whatever the nodes are.
struct sublist_walk {
  std::uint32_t sublist = 0;
  std::uint32_t sum = 0;
  std::uint32_t nodes = 0;
  std::int32_t next = end_of_list;

  /// False: the sublist has no nodes.
  SHEAF_HOST_DEVICE bool begin(const sublist_of_sums* sublists, std::uint64_t number) {
    const sublist_of_sums from = sublists[number];
    sublist = static_cast<std::uint32_t>(number);
    sum = from.sum;
    nodes = 1;
    next = from.next;
    return from.first != no_node;
  }
  /// Goes to the next node; false where there is none, so that `next` says what follows the sublist. Where that is a
  /// node that another walk has come to, lists join, and the sublist follows itself: step 4 finds a cycle.
  SHEAF_HOST_DEVICE bool step(std::uint64_t* all, const sublist_of_sums* sublists) {
    if (next < 0) return false;
    const std::uint64_t node = load_node(all + next);
    const std::int32_t successor = successor_of(node);
    if (successor < 0 && successor != end_of_list) {
      const bool is_first = sublists[sublist_of(successor)].first == static_cast<std::uint32_t>(next);
      next = is_first ? successor : mark_of(sublist);
      return false;
    }
    sum += value_of(node);
    store_node(all + next, node_of(sum, mark_of(sublist)));
    ++nodes;
    next = successor;
    return true;
  }
  SHEAF_HOST_DEVICE void end(sublist_of_sums* sublists) const {
    sublists[sublist].next = next;
    sublists[sublist].sum = sum;
    sublists[sublist].nodes = nodes;
  }
};

/// Step 4 by one thread, from the head's sublist on: before[s] is the sum of all values before sublist s. Returns
/// whether these sublists have all nodes.
SHEAF_HOST_DEVICE inline bool scan_sublists(const sublist_of_sums* sublists, std::uint64_t sublist_count,
                                            std::uint64_t nodes, std::uint32_t* before) {
  std::uint64_t reached = 0;
  std::uint32_t sum = 0;
  std::uint32_t at = 0;
  for (std::uint64_t passed = 0; passed < sublist_count; ++passed) {
    const sublist_of_sums own = sublists[at];
    before[at] = sum;
    sum += own.sum;
    reached += own.nodes;
    if (own.next == end_of_list) return reached == nodes;
    at = sublist_of(own.next);
  }
  return false;  // they are a cycle
}

/// Step 5 for one node.
SHEAF_HOST_DEVICE inline std::uint32_t result_of(std::uint64_t node, const std::uint32_t* before) {
  return value_of(node) + before[sublist_of(successor_of(node))];
}

/// What a call knows of its list so far.
struct list_sums_state {
  unsigned long long successor_sum;
  std::uint32_t ends;
  std::uint32_t is_bad;
  unsigned long long drawn;  ///< sublists that were drawn
};

/// Multiprocessors are numbered by the device, perhaps with gaps.
constexpr std::uint32_t most_multiprocessors = 1024;

/// The scratch of a call. Walks are in a copy of the nodes, where the paper overwrites its list.
struct list_sums_arrays {
  list_sums_state* state;
  unsigned long long* loads;  ///< nodes walked over, by multiprocessor
  std::uint64_t* nodes;
  sublist_of_sums* sublists;
  std::uint32_t* before;

  list_sums_arrays(std::uint64_t count, std::uint64_t sublist_count, core::scratch_arrays& arrays)
      : state(arrays.take<list_sums_state>(1)),
        loads(arrays.take<unsigned long long>(most_multiprocessors)),
        nodes(arrays.take<std::uint64_t>(count)),
        sublists(arrays.take<sublist_of_sums>(sublist_count)),
        before(arrays.take<std::uint32_t>(sublist_count)) {}
};

/// The CUDA half, linked only where the CUDA backend is built.
namespace device {
void run_list_sums(const context& ctx, const list_sums_form& form, const list_sums_buffers& buffers,
                   std::vector<std::uint64_t>* loads);
}  // namespace device

}  // namespace sheaf::papers::wei2010
