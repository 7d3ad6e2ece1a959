#include "cpu/linked_list/splitters.hpp"

#include "cpu/linked_list/successors.hpp"

namespace sheaf::cpu {

std::uint64_t hash_of_list(const primitives::list_problem& problem, const primitives::list_buffers& b,
                           std::uint64_t parts) {
  std::atomic<std::uint64_t> hash = problem.count;
  with_successors(problem, b, [&](const auto& next) {
    for_each_range(problem.count, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      std::uint64_t sum = 0;  // which does not mind the order of its parts
      for (std::uint64_t i = begin; i < end; ++i) {
        const std::uint64_t to = next.ends_list(i, next[i]) ? problem.count : next[i];
        std::uint64_t mixed = (i * 0x9e3779b97f4a7c15U ^ to) * 0xbf58476d1ce4e5b9U;
        mixed = (mixed ^ (mixed >> 31)) * 0x94d049bb133111ebU;
        sum += mixed ^ (mixed >> 29);
      }
      hash += sum;
    });
  });
  return hash;
}

std::uint64_t count_unvisited(const node_bits& visited, std::uint64_t count, std::uint64_t parts,
                              std::uint64_t* unvisited) {
  for_each_range(visited.word_count(), parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
    std::uint64_t nodes = 0;
    for (std::uint64_t w = begin; w < end; ++w) {
      nodes += static_cast<std::uint64_t>(std::popcount(nodes_of_word(w, count) & ~visited.word(w)));
    }
    unvisited[part] = nodes;
  });
  std::uint64_t all = 0;
  for (std::uint64_t part = 0; part < parts; ++part) all += unvisited[part];
  return all;
}

}  // namespace sheaf::cpu
