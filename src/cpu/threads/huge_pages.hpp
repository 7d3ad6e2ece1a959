#pragma once

#include <cstdint>

namespace sheaf::cpu {

/// Advises the system to back the whole huge pages in this range with huge pages, where it gives them on request
/// (madvise). Fresh scratch of some hundred MB otherwise spends as long on page faults as on work.
void ask_for_huge_pages(void* first, std::uint64_t bytes) noexcept;

/// Whether the system backs large blocks of memory with huge pages unasked (Linux: transparent huge pages set to
/// always, not to madvise).
bool gives_huge_pages_unasked();

}  // namespace sheaf::cpu
