#pragma once

#include "cpu/hash/answers.hpp"

// The CPU's hash search of He et al. 2007, section 4.2, by chunks of the hash table: the variant cpu.cache_chunks.
namespace sheaf::cpu {

/// What its plan decides for its run.
struct cache_chunks_decision {
  answers_decision answers;  ///< its parts are the paper's partitions of the search keys, one for each thread
  std::uint64_t chunks;      ///< of the table, and passes of each thread over its partition; at least 1

  void tell(plan::told& to) const { to.add("chunks", chunks).add("parts", answers.parts); }
};

}  // namespace sheaf::cpu
