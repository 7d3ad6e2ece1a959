#pragma once

#include <cstdint>

namespace sheaf::cpu {

/// Asks for huge pages under the whole ones among these bytes, where the system gives them to who asks. Fresh scratch
/// of some hundred MB otherwise spends as long on page faults as on work.
void ask_for_huge_pages(void* first, std::uint64_t bytes) noexcept;

}  // namespace sheaf::cpu
