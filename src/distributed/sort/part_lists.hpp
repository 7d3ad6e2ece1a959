#pragma once

#include "distributed/sort/part_edges.hpp"
#include "distributed/sort/part_table.hpp"
#include "primitives/ranks/steps.hpp"

namespace sheaf::distributed {

/// The parts of a rank's groups, and the runs in which their rows came, in the memory of its context.
class part_lists {
 public:
  part_lists(group_state& state, const part_edges& edges, const part_table& table, const rank_groups& mine);

  /// Names the lists of a group. @return  whether they can be told in 32 bits
  bool set(std::size_t g, primitives::rows_in_parts& to) const;

 private:
  struct list {
    std::size_t parts = 0;
    std::size_t part_count = 0;
    std::size_t runs = 0;
    std::size_t run_count = 0;
    bool have_one_key = false;
    bool is_short = false;
  };
  std::vector<list> lists_;
  buffer parts_;
  buffer runs_;
};

}  // namespace sheaf::distributed
