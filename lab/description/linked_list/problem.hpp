#pragma once

#include <sheaf/list_scan.hpp>

#include "lab/description/problem_spec.hpp"

namespace sheaf::primitives {

/// Linked lists, whose nodes lie in the order of the problem's pattern.
struct list_part {
  scan_operator op = scan_operator::add;
  bool is_exclusive = false;
  bool is_packed = false;  ///< values lie beside successors, in nodes of 8 bytes
  list_count lists = list_count::one;
};

}  // namespace sheaf::primitives
