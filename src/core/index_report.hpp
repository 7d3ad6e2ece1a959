#pragma once

#include <cstdint>
#include <string>

namespace sheaf::core {

/// How a bad index is reported. A primitive defines them once; they live as long as the program.
struct index_wording {
  const char* call;   ///< "gather"
  const char* list;   ///< "index"
  const char* whose;  ///< "the table's"
  const char* named;  ///< what the list's entries name, "records"
  /// Another message than "gather: index[123456] is 999, past the table's 100 records"; null for that one.
  std::string (*text)(const index_wording& wording, const struct index_report& report) = nullptr;
};

/// The first bad index of the calls since the last wait, ordered by (call, position). A plain struct, because it lies
/// in memory that the backend's workers write.
struct index_report {
  std::uint64_t call = ~std::uint64_t{0};  ///< the initial value means none: later than every call
  std::uint64_t position = ~std::uint64_t{0};
  std::uint64_t value = 0;  ///< the bits of the index, sign-extended if is_signed
  std::uint64_t limit = 0;  ///< records that the index may name, or categories
  const index_wording* wording = nullptr;
  std::uint32_t is_signed = 0;
  std::uint64_t row = 0;  ///< of a matrix, where position is a place of its entries

  bool found() const noexcept { return call != ~std::uint64_t{0}; }
  bool before(const index_report& other) const noexcept {
    return call < other.call || (call == other.call && position < other.position);
  }
};

/// The report as a message, in its wording.
std::string message(const index_report& report);

}  // namespace sheaf::core
