#pragma once

#include <cstdint>

#include "core/index_report.hpp"

namespace sheaf::cuda {

/// Where the kernels of a context leave the first bad index by (call, position): in device memory, behind a lock that
/// only bad indices take. Sound whatever calls, graphs and streams are in flight at once.
struct report_slot {
  core::index_report first;
  std::uint32_t lock = 0;
};

/// One call's share of it, handed to its kernels by value.
struct index_guard {
  report_slot* slot = nullptr;  ///< null: skip bad indices and say nothing
  std::uint32_t* flag = nullptr;
  std::uint64_t call = 0;
  std::uint64_t records = 0;
  core::index_role role = core::index_role::gather_index;
  std::uint32_t is_signed = 0;
};

}  // namespace sheaf::cuda
