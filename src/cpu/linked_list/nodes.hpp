#pragma once

#include "cpu/linked_list/layout.hpp"
#include "primitives/operators/scan_value.hpp"

// The nodes that walks go over: copies of the links, with the values beside them. A link holds the next node's number
// until a walk visits the node; then its highest bit is set and it says what the node's sublist is. Accesses are
// relaxed and atomic, because several walks meet if the nodes are not a list. On a list, each node has one visitor.
namespace sheaf::cpu {

template <class Word>
constexpr Word visited_bit = Word{1} << (8 * sizeof(Word) - 1);

template <class Word>
Word load_link(Word& link) noexcept {
  return std::atomic_ref(link).load(std::memory_order_relaxed);
}
template <class Word>
void store_link(Word& link, Word value) noexcept {
  std::atomic_ref(link).store(value, std::memory_order_relaxed);
}

/// Nodes to rank: links alone.
template <class Word>
struct rank_nodes {
  using word = Word;
  struct running {};
  static constexpr Word visits_per_mark = 1;  ///< a visited link counts the nodes before it

  explicit rank_nodes(Word* first) : links(first) {}

  Word& link(std::uint64_t i) const noexcept { return links[i]; }
  void prefetch(std::uint64_t i) const noexcept { __builtin_prefetch(links + i, 1); }
  bool claim(std::uint64_t i, Word, Word mark) const noexcept {
    store_link(links[i], mark);
    return true;
  }
  running running_of(std::uint64_t, std::uint64_t) const noexcept { return {}; }
  void begin(running&, std::uint64_t) const noexcept {}
  void begin_list(running&, std::uint64_t) const noexcept {}
  void visit(running&, std::uint64_t) const noexcept {}
  void keep(const running&, std::byte*) const noexcept {}
  void write(void*, std::uint64_t, const std::byte*) const noexcept {}

  Word* links;
};

template <class T>
struct value_and_link {
  T value;
  std::uint32_t link;
};

/// Nodes with values of a type and an operator that are known here.
template <class T, class Op>
struct typed_nodes {
  using word = std::uint32_t;
  using running = T;
  using alone = detail::first_result<Op, T>;
  static constexpr word visits_per_mark = 0;

  typed_nodes(std::byte* memory, bool scans_exclusively, const void* begin_with)
      : nodes(reinterpret_cast<value_and_link<T>*>(memory)), is_exclusive(scans_exclusively) {
    if (begin_with != nullptr) std::memcpy(&initial, begin_with, sizeof(T));
  }

  word& link(std::uint64_t i) const noexcept { return nodes[i].link; }
  void prefetch(std::uint64_t i) const noexcept { __builtin_prefetch(nodes + i, 1); }
  bool claim(std::uint64_t i, word, word mark) const noexcept {
    store_link(nodes[i].link, mark);
    return true;
  }
  running running_of(std::uint64_t, std::uint64_t) const noexcept { return T{}; }
  /// A sublist whose base is not known. The node that it begins at gets the base itself in an exclusive scan.
  void begin(running& sum, std::uint64_t i) const noexcept {
    sum = alone::of({}, load(i));
    // It is the result of a node that turns out to begin a list.
    if (!alone::is_value && !is_exclusive) store(i, sum);
  }
  void begin_list(running& sum, std::uint64_t i) const noexcept {
    if (!is_exclusive) return begin(sum, i);
    sum = Op{}(initial, load(i));
    store(i, initial);
  }
  void visit(running& sum, std::uint64_t i) const noexcept {
    const T before = sum;
    sum = Op{}(before, load(i));
    store(i, is_exclusive ? before : sum);
  }
  void keep(const running& sum, std::byte* to) const noexcept { std::memcpy(to, &sum, sizeof(T)); }
  /// out[i] = base op the node's result in its sublist, or that alone where nothing comes before the sublist
  void write(void* out, std::uint64_t i, const std::byte* base) const noexcept {
    T result = load(i);
    if (base != nullptr) {
      T before;
      std::memcpy(&before, base, sizeof(T));
      result = Op{}(before, result);
    }
    static_cast<T*>(out)[i] = result;
  }

  T load(std::uint64_t i) const noexcept { return std::atomic_ref(nodes[i].value).load(std::memory_order_relaxed); }
  void store(std::uint64_t i, T value) const noexcept {
    std::atomic_ref(nodes[i].value).store(value, std::memory_order_relaxed);
  }

  value_and_link<T>* nodes;
  bool is_exclusive;
  T initial{};
};

/// Nodes whose values only the operator's functions know. Their bytes cannot be read while another walk writes them, so
/// a walk first claims the node.
template <class Word>
struct opaque_nodes {
  using word = Word;
  using running = std::byte*;
  static constexpr Word visits_per_mark = 0;

  Word& link(std::uint64_t i) const noexcept { return *reinterpret_cast<Word*>(links + i * link_stride); }
  std::byte* value(std::uint64_t i) const noexcept { return values + i * value_stride; }
  void prefetch(std::uint64_t i) const noexcept {
    __builtin_prefetch(links + i * link_stride, 1);
    if (values_in_output) __builtin_prefetch(values + i * value_stride, 1);
  }
  bool claim(std::uint64_t i, Word expected, Word mark) const noexcept {
    return std::atomic_ref(link(i)).compare_exchange_strong(expected, mark, std::memory_order_relaxed);
  }
  running running_of(std::uint64_t part, std::uint64_t walk) const noexcept {
    return running_values + (part * walks_per_part + walk) * running_bytes;
  }
  void begin(running sum, std::uint64_t i) const { fold(sum, i, false); }
  void begin_list(running sum, std::uint64_t i) const {
    if (is_exclusive) std::memcpy(sum, initial, op->value_bytes);
    fold(sum, i, is_exclusive);
  }
  void visit(running sum, std::uint64_t i) const { fold(sum, i, true); }
  void keep(const std::byte* sum, std::byte* to) const noexcept { std::memcpy(to, sum, op->value_bytes); }
  /// out[i] = base op the node's result in its sublist, or that alone where nothing comes before the sublist
  void write(void* out, std::uint64_t i, const std::byte* base) const {
    std::byte* const to = static_cast<std::byte*>(out) + i * op->value_bytes;
    if (to != value(i)) std::memcpy(to, value(i), op->value_bytes);
    if (base != nullptr) op->prepend(op->op, base, to, 1);
  }

  void fold(std::byte* sum, std::uint64_t i, bool has_running) const {
    constexpr std::uint64_t here = 0;
    op->fold(op->op, value(i), &here, true, 1, is_exclusive, has_running, sum, value(i));
  }

  const detail::host_scan_operator* op = nullptr;
  std::byte* links = nullptr;
  std::uint64_t link_stride = 0;
  std::byte* values = nullptr;
  std::uint64_t value_stride = 0;
  bool values_in_output = false;
  bool is_exclusive = false;
  const void* initial = nullptr;
  std::byte* running_values = nullptr;
  std::uint64_t walks_per_part = 0;
  std::uint64_t running_bytes = 0;
};

}  // namespace sheaf::cpu
