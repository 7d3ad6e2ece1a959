#include "papers/wei2010/list_sums.hpp"

#include <atomic>
#include <cstring>
#include <vector>

#include "cpu/threads/parts.hpp"
#include "papers/wei2010/analysis.hpp"
#include "primitives/views.hpp"

// The paper's steps on a CPU: a block is a thread, and its walkers take turns, so that their accesses to memory
// overlap.
namespace sheaf::papers::wei2010 {
namespace {

void require_form(const context& ctx, const list_sums_form& form, std::uint64_t count) {
  if (count > most_list_nodes) primitives::refuse("list sums: {} nodes; successors have 31 bits", count);
  constexpr std::uint64_t most_blocks = (std::uint64_t{1} << 31) - 1;
  if (form.blocks == 0 || form.blocks > most_blocks) primitives::refuse("list sums: {} blocks", form.blocks);
  const std::uint64_t most_threads = ctx.backend() == backend_kind::cuda ? most_block_threads : most_blocks;
  if (form.threads == 0 || form.threads > most_threads) {
    primitives::refuse("list sums: {} threads of a block; it has 1 to {}", form.threads, most_threads);
  }
  if (count > 0 && (form.sublists == 0 || form.sublists > count)) {
    primitives::refuse("list sums: {} sublists of {} nodes", form.sublists, count);
  }
}

/// Steps 1 and 2. Returns whether the nodes may be a list.
bool begin(const list_sums_form& form, const list_sums_buffers& b, const list_sums_arrays& at, std::uint64_t parts) {
  const auto* const from = static_cast<const std::byte*>(b.nodes);
  std::atomic<std::uint64_t> sum = 0;
  std::atomic<std::uint64_t> ends = 0;
  std::atomic<bool> is_bad = false;
  cpu::for_each_range(b.count, parts, [&](std::uint64_t first, std::uint64_t end, std::uint64_t) {
    std::uint64_t own_sum = 0;
    std::uint64_t own_ends = 0;
    for (std::uint64_t i = first; i < end; ++i) {
      std::uint64_t node = 0;
      std::memcpy(&node, from + i * sizeof node, sizeof node);
      const seen_node seen = see_node(node, i, b.count);
      at.nodes[i] = seen.node;
      if (seen.is_bad) is_bad = true;
      if (seen.is_end) ++own_ends;
      if (!seen.is_end && !seen.is_bad) own_sum += static_cast<std::uint64_t>(successor_of(node));
    }
    sum += own_sum;
    ends += own_ends;
  });
  b.done(sums_step::head);
  const std::uint64_t head = head_of(sum, ends, b.count);
  if (is_bad || head == b.count) return false;
  const std::uint64_t parts_of_sublists = std::min(parts, form.sublists);
  cpu::for_each_range(form.sublists, parts_of_sublists, [&](std::uint64_t first, std::uint64_t end, std::uint64_t) {
    for (std::uint64_t s = first; s < end; ++s) {
      at.sublists[s] = begin_sublist(at.nodes, b.count, static_cast<std::uint32_t>(s), form.sublists, head);
    }
  });
  b.done(sums_step::splitters);
  return true;
}

/// Step 3 of one block, whose walkers take turns.
class block_of_walkers {
 public:
  block_of_walkers(const list_sums_form& form, const list_sums_arrays& at, std::atomic<std::uint64_t>& drawn,
                   std::uint64_t block)
      : form_(form), at_(at), drawn_(drawn), walkers_(form.threads) {
    for (std::uint64_t t = 0; t < form.threads; ++t) walkers_[t].following = block * form.threads + t;
  }

  /// Returns how many nodes were walked over.
  std::uint64_t walk() {
    std::uint64_t active = walkers_.size();
    for (std::uint64_t w = 0; w < active;) leave(begin(walkers_[w]), w, active);
    std::uint64_t nodes = 0;
    while (active > 0) {
      for (std::uint64_t w = 0; w < active;) {
        walker& own = walkers_[w];
        const bool goes_on = own.walk.step(at_.nodes, at_.sublists);
        if (goes_on) prefetch(own.walk.next);
        if (!goes_on) {
          own.walk.end(at_.sublists);
          nodes += own.walk.nodes;
        }
        leave(goes_on || begin(own), w, active);
      }
    }
    return nodes;
  }

 private:
  struct walker {
    sublist_walk walk;
    std::uint64_t following = 0;  // the sublist that is next
  };

  /// On to the next walker; one that is done makes room for the last.
  void leave(bool stays, std::uint64_t& w, std::uint64_t& active) {
    if (stays) {
      ++w;
    } else {
      std::swap(walkers_[w], walkers_[--active]);
    }
  }

  /// Begins the walker's next sublist that has nodes; false if there is none.
  bool begin(walker& own) {
    while (own.following < form_.sublists) {
      const std::uint64_t number = own.following;
      own.following = form_.supply == sublist_supply::dealt
                          ? number + form_.walkers()
                          : form_.walkers() + drawn_.fetch_add(1, std::memory_order_relaxed);
      if (!own.walk.begin(at_.sublists, number)) continue;
      prefetch(own.walk.next);
      return true;
    }
    return false;
  }

  void prefetch(std::int32_t node) const {
    if (node >= 0) __builtin_prefetch(at_.nodes + node, 1);
  }

  const list_sums_form& form_;
  const list_sums_arrays& at_;
  std::atomic<std::uint64_t>& drawn_;
  std::vector<walker> walkers_;
};

void run_on_host(const context& ctx, const list_sums_form& form, const list_sums_buffers& b,
                 std::vector<std::uint64_t>* loads) {
  const auto threads = static_cast<std::uint64_t>(ctx.threads());
  const std::uint64_t parts = cpu::parts_worth(b.count * sizeof(std::uint64_t), threads);
  const auto at = core::arrays_in<list_sums_arrays>(b.scratch, b.count, form.sublists);
  if (!begin(form, b, at, parts)) throw_no_list();
  std::atomic<std::uint64_t> drawn = 0;
  const std::uint64_t walking = std::min(form.blocks, threads);
  std::vector<std::uint64_t> nodes(threads);
  cpu::for_each_range(form.blocks, walking, [&](std::uint64_t first, std::uint64_t end, std::uint64_t thread) {
    for (std::uint64_t block = first; block < end; ++block) {
      nodes[thread] += block_of_walkers(form, at, drawn, block).walk();
    }
  });
  b.done(sums_step::walks);
  if (loads != nullptr) *loads = nodes;
  if (!scan_sublists(at.sublists, form.sublists, b.count, at.before)) throw_no_list();
  b.done(sums_step::sublists);
  cpu::for_each_range(b.count, parts, [&](std::uint64_t first, std::uint64_t end, std::uint64_t) {
    for (std::uint64_t i = first; i < end; ++i) b.sums[i] = result_of(at.nodes[i], at.before);
  });
  b.done(sums_step::results);
}

}  // namespace

void throw_no_list() { throw error(error_code::bad_index, "list sums: the nodes are not one list"); }

std::uint64_t list_sums_scratch(const context& ctx, const list_sums_form& form, std::uint64_t count) {
  require_form(ctx, form, count);
  return core::bytes_of<list_sums_arrays>(count, form.sublists);
}

void run_list_sums(const context& ctx, const list_sums_form& form, const list_sums_buffers& buffers,
                   std::vector<std::uint64_t>* loads) {
  require_form(ctx, form, buffers.count);
  if (loads != nullptr) loads->clear();
  if (buffers.count == 0) return;
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::run_list_sums(ctx, form, buffers, loads);
#endif
  run_on_host(ctx, form, buffers, loads);
}

}  // namespace sheaf::papers::wei2010
