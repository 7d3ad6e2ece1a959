#pragma once

#include "primitives/movement/problem.hpp"

namespace sheaf::primitives {

/// Whether a call of so many entries looks at its list where the caller does not tell the order: calls on the host's
/// threads do, whose memory the list is in.
bool looks_at_order(backend_kind backend, std::uint64_t list_entries) noexcept;

/// The order of a call's list: what the caller told, else what a glance at the list shows (plan/list_glance.hpp has
/// its time). Call it with a list that has been checked.
access_pattern order_of_call(const context& ctx, index_span index, std::uint64_t records, access_pattern told);

}  // namespace sheaf::primitives
