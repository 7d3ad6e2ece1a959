#pragma once

namespace sheaf::cpu {

/// Whether the library was built with Highway, and this processor has vectors in which its sort is fast.
bool sorts_in_vectors() noexcept;

}  // namespace sheaf::cpu
