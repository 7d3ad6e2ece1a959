#pragma once

#include "cpu/linked_list/node_bits.hpp"
#include "cpu/threads/parts.hpp"
#include "primitives/linked_list/contract.hpp"

namespace sheaf::cpu {

/// The splitter of a block: nodes are cut into `splitters` blocks of equal size, and a hash of the block's number and
/// the seed picks one node of each (Wei and JaJa 2010, step 2). Lists with a stride would meet splitters at equal
/// places of their blocks too often or never.
inline std::uint64_t splitter_of(std::uint64_t block, std::uint64_t count, std::uint64_t splitters,
                                 std::uint64_t seed) noexcept {
  const std::uint64_t block_nodes = count / splitters;
  std::uint64_t hash = (block + 1) * 0x9e3779b97f4a7c15U + seed * 0xd1b54a32d192ed03U;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
  return block * block_nodes + (hash ^ (hash >> 31)) % block_nodes;
}

/// A hash of all successors, by any number of threads the same. Whoever makes a list in which splitters of this seed
/// stand badly changes the seed.
std::uint64_t hash_of_list(const primitives::list_problem& problem, const primitives::list_buffers& buffers,
                           std::uint64_t parts);

/// Counts the nodes of each part whose bits are not set; returns their sum.
std::uint64_t count_unvisited(const node_bits& visited, std::uint64_t count, std::uint64_t parts,
                              std::uint64_t* unvisited);

/// Splitters of a later round.
struct later_splitters {
  std::uint64_t splitters;
  std::uint64_t unvisited;  ///< nodes from which they are drawn, no fewer than there are splitters
  std::uint64_t seed;
};

/// Draws splitters from the nodes whose bits are not set, as splitter_of() does from nodes in a row, and calls
/// place(splitter, node) for each, in parallel. `unvisited` is what count_unvisited() has found.
template <class Place>
void draw_unvisited(const node_bits& visited, std::uint64_t count, std::uint64_t parts, const std::uint64_t* unvisited,
                    const later_splitters& drawn, Place place) {
  for_each_range(visited.word_count(), parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
    std::uint64_t before = 0;  // unvisited nodes before the word that is looked at
    for (std::uint64_t earlier = 0; earlier < part; ++earlier) before += unvisited[earlier];
    std::uint64_t splitter = before / (drawn.unvisited / drawn.splitters);
    const auto place_of = [&] { return splitter_of(splitter, drawn.unvisited, drawn.splitters, drawn.seed); };
    if (splitter < drawn.splitters && place_of() < before) ++splitter;
    for (std::uint64_t word = begin; word < end; ++word) {
      std::uint64_t left = nodes_of_word(word, count) & ~visited.word(word);
      std::uint64_t passed = before;
      before += static_cast<std::uint64_t>(std::popcount(left));
      for (; splitter < drawn.splitters && place_of() < before; ++splitter) {
        for (; passed < place_of(); ++passed) left &= left - 1;
        place(splitter, word * 64 + static_cast<std::uint64_t>(std::countr_zero(left)));
      }
    }
  });
}

}  // namespace sheaf::cpu
