#pragma once

#include <cstdint>

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

}  // namespace sheaf::cpu
