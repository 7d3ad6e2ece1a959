#include "core/cpu_state.hpp"
#include "cpu/linked_list/layout.hpp"
#include "cpu/linked_list/nodes.hpp"
#include "cpu/linked_list/phases.hpp"
#include "cpu/linked_list/splitters.hpp"
#include "cpu/linked_list/walk.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/huge_pages.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

// Seconds in which walks read and write all nodes at random. A line has nodes of several walks, so that what one thread
// writes another one reads, as in the rates of random writes.
double walk_seconds(std::uint64_t nodes, std::uint64_t node_bytes, const sublist_decision& decided, const machine& m) {
  const double reads = m.random_reads(nodes, node_bytes, nodes * node_bytes);
  return decided.parts > 1 ? std::max(reads, m.random_writes(nodes, node_bytes, nodes * node_bytes)) : reads;
}

// Sublists between splitters (Wei and JaJa 2010). Nodes are streamed to the scratch and from there to the output;
// between that each is read and written once at a random place. Threads have so many walks in flight that these
// accesses cost what independent ones cost, and lines are written back while others are read.
plan::planned plan_sublist(const list_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  constexpr sublist_tuning tuning = sublist_defaults;
  sublist_decision decided{};
  plan::planned plan;
  plan.scratch_bytes = decide_sublists(problem, machine.parallelism, tuning, decided);
  plan.decided.set(decided);
  const std::uint64_t copied = problem.count * decided.node_bytes;
  const std::uint64_t read = problem.count * (problem.is_packed ? 8 : bytes(problem.successor) + problem.value_bytes);
  const std::uint64_t written = problem.count * problem.out_bytes;
  const bool in_order = problem.pattern.shape == access_pattern::kind::sequential;
  const std::uint64_t node_bytes = std::max<std::uint64_t>(decided.node_bytes, problem.value_bytes);
  plan.add("latency", machine.launch_seconds + 3 * machine.step_seconds);
  plan.add("copies", machine.streamed(read + 2 * copied + 2 * written, read + copied + written));
  plan.add_overlapped(overlap_exponent,
                      {{"random read", in_order ? machine.streamed(2 * copied, copied)
                                                : walk_seconds(problem.count, node_bytes, decided, machine)},
                       {"steps", shared_digit_seconds(problem.count, tuning.digits_per_node, machine, decided.parts)}});
  // One thread goes from sublist to sublist, and waits for each that another thread has walked.
  plan.add("sublists",
           static_cast<double>(decided.splitters) *
               (decided.parts > 1 ? machine.access_seconds : tuning.digits_per_sublist * digit_seconds(machine)));
  if (problem.lists == list_count::many) plan.add("heads", machine.streamed(copied, copied));
  return plan;
}

/// One call on nodes of one kind.
template <class Nodes>
class sublist_call {
 public:
  using word = typename Nodes::word;

  sublist_call(const list_problem& problem, const list_buffers& b, const sublist_decision& decided, const Nodes& nodes,
               std::byte* scratch)
      : problem_(problem),
        buffers_(b),
        decided_(decided),
        nodes_(nodes),
        memory_(scratch + decided.nodes_at),
        led_(scratch + decided.led_at, problem.count),
        twice_(scratch + decided.twice_at, problem.count),
        table_{decided,
               problem.count,
               reinterpret_cast<sublist*>(scratch + decided.sublists_at),
               scratch + decided.bases_at,
               scratch + decided.totals_at,
               problem.value_bytes},
        has_base_(reinterpret_cast<unsigned char*>(scratch + decided.has_base_at)),
        unvisited_(reinterpret_cast<std::uint64_t*>(scratch + decided.unvisited_at)),
        later_splitters_left_(decided.later_splitters),
        next_added_(table_.first_added()) {}

  /// Writes the output, or says what is wrong with the list.
  core::index_report run() {
    const successors_seen seen = copy_nodes(problem_, buffers_, decided_, memory_);
    buffers_.done(list_step::head);
    if (seen.out_of_range != no_node) return out_of_range(problem_, buffers_, seen.out_of_range);
    if (problem_.lists == list_count::one) {
      head_ = seen.head(problem_.count);
      if (seen.ends != 1 || head_ >= problem_.count) return find_fault();
    }
    walked found;
    walk_all(found);
    buffers_.done(list_step::walks);
    if (found.is_no_list) return find_fault();
    are_lists_followed_ = true;
    const std::uint64_t on_lists = follow_sublists(problem_, buffers_, table_, found, head_);
    buffers_.done(list_step::sublists);
    // Two walks that go on side by side from where two lists join do not notice, but both come to one end.
    if (found.ends != seen.ends || found.nodes != problem_.count || on_lists != problem_.count) return find_fault();
    write_output(table_.first_added() + found.added);
    buffers_.done(list_step::results);
    return {};
  }

 private:
  /// Walks over all nodes that splitters and heads lead to.
  void walk_all(walked& found) {
    place_splitters();
    buffers_.done(list_step::splitters);
    walk_supply supply;
    supply.last = decided_.splitters;
    if (problem_.lists == list_count::one && !is_visited(head_)) supply.head = head_;
    walk_in_rounds(supply, found);
    if (problem_.lists == list_count::many && !found.is_no_list && found.nodes < problem_.count) {
      find_heads();
      walk_supply heads;
      heads.led = &led_;
      walk_in_rounds(heads, found);
    }
  }

  bool is_visited(std::uint64_t node) const { return (load_link(nodes_.link(node)) & visited_bit<word>) != 0; }

  void place_splitters() {
    constexpr std::uint64_t seed = 0;
    for (std::uint64_t s = 0; s < decided_.splitters; ++s) {
      place_splitter(s, splitter_of(s, problem_.count, decided_.splitters, seed));
    }
    table_.entries[table_.of_heads()] = {};
    if (problem_.ranks()) table_.template rank_base<word>(table_.of_heads()) = 0;
  }

  /// A splitter that no walk has reached.
  void place_splitter(std::uint64_t splitter, std::uint64_t node) {
    word& link = nodes_.link(node);
    table_.entries[splitter] = {.splitter = node, .successor = link};
    link = visited_bit<word> | static_cast<word>(splitter << decided_.rank_bits);
    // Ranks have a base where nothing comes before, so that none has to be asked for it.
    if (problem_.ranks()) table_.template rank_base<word>(splitter) = 0;
  }

  /// Walks from all that the supply has. Where walks are cut, lists have long stretches without a splitter, in which
  /// the next round has some.
  void walk_in_rounds(walk_supply& supply, walked& found) {
    walk_from(supply, found);
    while (found.has_cut_walks.exchange(false) && !found.is_no_list) {
      place_later_splitters(found);
      // Sublists that the round before has cut off, and those of the new splitters.
      walk_supply next;
      next.first = next_added_;
      next.last = next_added_ = table_.first_added() + found.added;
      walk_from(next, found);
    }
  }

  void walk_from(walk_supply& supply, walked& found) {
    const std::uint64_t numbered = table_.first_added() + found.added;
    for_each_part(decided_.parts, [&](std::uint64_t part) {
      walk_starts starts(table_, supply);
      walker<Nodes>(nodes_, table_, found, part, numbered, starts).run();
    });
  }

  /// Splitters among the nodes that no walk has visited, in the mean as far from each other as those of the first round
  /// were, while there are numbers for them. A list cannot have them in a row, for its hash is their seed.
  void place_later_splitters(walked& found) {
    over_words([&](std::uint64_t w) { led_.set_word(w, visited_of(w)); });
    const std::uint64_t unvisited = count_unvisited(led_, problem_.count, decided_.parts, unvisited_);
    const std::uint64_t wanted = unvisited / (problem_.count / (decided_.splitters + 1) + 1);
    // Nodes that are not a list may have used up the numbers of others.
    const std::uint64_t numbers_left = decided_.sublists - table_.first_added() - found.added;
    const std::uint64_t splitters = std::min({wanted, later_splitters_left_, numbers_left});
    if (splitters == 0) return;
    later_splitters_left_ -= splitters;
    if (!list_hash_) list_hash_ = hash_of_list(problem_, buffers_, decided_.parts);
    const std::uint64_t first = table_.first_added() + found.added.fetch_add(splitters);
    draw_unvisited(led_, problem_.count, decided_.parts, unvisited_,
                   {splitters, unvisited, *list_hash_ + ++later_rounds_},
                   [&](std::uint64_t s, std::uint64_t node) { place_splitter(first + s, node); });
  }

  /// Clears led_, then calls body(w) for each of its words.
  template <class Body>
  void over_words(Body body) {
    led_.clear(decided_.parts);
    for_each_range(led_.word_count(), decided_.parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t w = begin; w < end; ++w) body(w);
    });
  }

  /// A bit for each of 64 nodes, or of as many as there are.
  std::uint64_t visited_of(std::uint64_t w) const {
    const std::uint64_t begin = w * 64;
    const std::uint64_t nodes = std::min<std::uint64_t>(64, problem_.count - begin);
    std::uint64_t visited = 0;
    for (std::uint64_t i = 0; i < nodes; ++i) {
      const word link = nodes_.link(begin + i);
      visited |= static_cast<std::uint64_t>(link / visited_bit<word>) << i;
    }
    return visited;
  }

  /// Marks visited nodes and those that unvisited nodes lead to, so that heads are left over. What comes before a
  /// list's first splitter is unvisited, and on cycles what no splitter leads to.
  void find_heads() {
    over_words([&](std::uint64_t w) {
      const std::uint64_t visited = visited_of(w);
      led_.set_word(w, visited);
      for (std::uint64_t left = nodes_of_word(w, problem_.count) & ~visited; left != 0; left &= left - 1) {
        const word link = nodes_.link(w * 64 + static_cast<std::uint64_t>(std::countr_zero(left)));
        if (link != problem_.count) led_.set(link);
      }
    });
  }

  /// The nodes are not lists.
  core::index_report find_fault() {
    const core::index_report joined = find_joined_lists(problem_, buffers_, led_, twice_, decided_.parts);
    if (joined.found()) return joined;
    // Each node has one predecessor or none, so walks have met nowhere, and nodes that no list has are on cycles. All
    // are where no walk was begun, for want of an end.
    std::uint64_t node = 0;
    while (are_lists_followed_ && node < problem_.count && is_on_list(node)) ++node;
    return on_a_cycle(problem_, node);
  }

  bool is_on_list(std::uint64_t node) const {
    const word link = nodes_.link(node);
    if ((link & visited_bit<word>) == 0) return false;
    const std::uint64_t s = sublist_of(link);
    return s == table_.of_heads() || table_.entries[s].is_rooted != 0;
  }

  std::uint64_t sublist_of(word link) const { return (link & ~visited_bit<word>) >> decided_.rank_bits; }

  void write_output(std::uint64_t sublists) {
    // Side by side, these flags stay in the first cache, which the table of all sublists does not.
    for (std::uint64_t s = 0; s < sublists; ++s) has_base_[s] = table_.entries[s].has_base != 0 ? 1 : 0;
    for_each_range(problem_.count, decided_.parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      if (!problem_.ranks()) return write_values(begin, end);
      if (problem_.out_bytes == 4) return write_ranks(static_cast<std::uint32_t*>(buffers_.out), begin, end);
      write_ranks(static_cast<std::uint64_t*>(buffers_.out), begin, end);
    });
    if (!problem_.is_exclusive) return;
    // The first node of a sublist has before it what the sublist has.
    for (std::uint64_t s = 0; s < sublists; ++s) {
      if (table_.entries[s].splitter == no_node) continue;
      std::memcpy(static_cast<std::byte*>(buffers_.out) + table_.entries[s].splitter * problem_.value_bytes,
                  table_.base(s), problem_.value_bytes);
    }
  }

  template <class Out>
  void write_ranks(Out* out, std::uint64_t begin, std::uint64_t end) const {
    const word* const bases = &table_.template rank_base<word>(0);
    const word rank_mask = static_cast<word>(decided_.most_ranks() - 1);
    for (std::uint64_t i = begin; i < end; ++i) {
      const word link = nodes_.link(i);
      const word rank = bases[sublist_of(link)] + (link & rank_mask);
      out[i] = static_cast<Out>(rank);
    }
  }

  void write_values(std::uint64_t begin, std::uint64_t end) const {
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t s = sublist_of(nodes_.link(i));
      nodes_.write(buffers_.out, i, has_base_[s] != 0 ? table_.base(s) : nullptr);
    }
  }

  const list_problem& problem_;
  const list_buffers& buffers_;
  const sublist_decision& decided_;
  const Nodes& nodes_;
  std::byte* memory_;
  node_bits led_;
  node_bits twice_;
  sublist_table table_;
  unsigned char* has_base_;
  std::uint64_t* unvisited_;
  std::uint64_t later_splitters_left_;
  std::uint64_t next_added_;  // the first sublist that waits for the next round
  std::uint64_t later_rounds_ = 0;
  std::optional<std::uint64_t> list_hash_;
  std::uint64_t head_ = no_node;
  bool are_lists_followed_ = false;
};

template <class Word>
opaque_nodes<Word> make_opaque_nodes(const list_problem& problem, const list_buffers& buffers,
                                     const sublist_decision& decided, std::byte* scratch) {
  std::byte* const memory = scratch + decided.nodes_at;
  opaque_nodes<Word> nodes;
  nodes.op = buffers.on_host;
  nodes.links = memory + decided.link_at;
  nodes.link_stride = decided.node_bytes;
  nodes.values = decided.values_in_output ? static_cast<std::byte*>(buffers.out) : memory;
  nodes.value_stride = decided.values_in_output ? problem.value_bytes : decided.node_bytes;
  nodes.values_in_output = decided.values_in_output;
  nodes.is_exclusive = problem.is_exclusive;
  nodes.initial = buffers.initial;
  nodes.running_values = scratch + decided.running_at;
  nodes.walks_per_part = walks_in_flight;
  nodes.running_bytes = decided.running_bytes;
  return nodes;
}

void run_sublist(const context& ctx, const list_problem& problem, const plan::planned& plan,
                 const list_buffers& buffers, std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const auto decided = plan.decided.get<sublist_decision>();
  const std::uint64_t call = state.begin_call();
  std::byte* const memory = scratch + decided.nodes_at;
  ask_for_huge_pages(memory, (problem.count + 1) * decided.node_bytes);
  core::index_report fault;
  const auto run = [&](const auto& nodes) { fault = sublist_call(problem, buffers, decided, nodes, scratch).run(); };
  if (problem.ranks()) {
    with_link(decided, [&](auto word) { run(rank_nodes(reinterpret_cast<decltype(word)*>(memory))); });
  } else if (decided.is_typed) {
    with_scan_function(buffers.type, buffers.op, [&](auto value, auto op) {
      run(typed_nodes<decltype(value), decltype(op)>(memory, problem.is_exclusive, buffers.initial));
    });
  } else {
    with_link(decided, [&](auto word) { run(make_opaque_nodes<decltype(word)>(problem, buffers, decided, scratch)); });
  }
  if (!fault.found()) return;
  fault.call = call;
  state.keep_first(fault);
}

}  // namespace

extern constinit const list_variant list_sublist{"cpu.sublist", backend_kind::cpu, plan_sublist, run_sublist};

}  // namespace sheaf::cpu
