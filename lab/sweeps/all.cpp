#include "lab/sweeps/sweep.hpp"

namespace sheaf::bench {

// Each is defined in the file of its family.
extern const family_sweeps movement_sweeps;
extern const family_sweeps split_sweeps;
extern const family_sweeps reduce_sweeps;
extern const family_sweeps sort_sweeps;
extern const family_sweeps list_sweeps;
extern const family_sweeps hash_sweeps;
extern const family_sweeps sparse_sweeps;
extern const family_sweeps edge_sweeps;

std::span<const family_sweeps* const> sweeps_of_families() {
  static const family_sweeps* const all[] = {&movement_sweeps, &split_sweeps, &reduce_sweeps, &sort_sweeps,
                                             &list_sweeps,     &hash_sweeps,  &sparse_sweeps, &edge_sweeps};
  return all;
}

}  // namespace sheaf::bench
