#pragma once

#include "core/index_report.hpp"

namespace sheaf::cuda {

/// The first bad index of a context, ordered by (call, position), in device memory. Only threads that hold a bad index
/// take the lock. Any number of calls, graphs and streams may report at the same time.
struct report_slot {
  core::index_report first;
  std::uint32_t lock = 0;
};

/// What the kernels of one call need to check indices and to report a bad one; passed by value.
struct index_guard {
  report_slot* slot = nullptr;    ///< null: bad indices are skipped without a report
  std::uint32_t* flag = nullptr;  ///< pinned host word that is set once a bad index is in the slot
  std::uint64_t call = 0;         ///< number of the call in its context
  std::uint64_t records = 0;      ///< records that an index may name, or categories; for the message
  const core::index_wording* wording = nullptr;
  std::uint32_t is_signed = 0;  ///< 1 if the caller's index type is signed; for the message
};

}  // namespace sheaf::cuda
