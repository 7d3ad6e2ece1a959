#pragma once

#include "distributed/movement/routing.hpp"
#include "primitives/views.hpp"

namespace sheaf::distributed {

/// A list that was inspected once, whole.
class routed_list {
 public:
  routed_list(group_state& state, const layout& of_rows, index_span index, std::uint64_t first, std::uint64_t call,
              const core::index_wording& wording)
      : rows(of_rows), prepared_by(call), way(state, owner_finder(of_rows), {index, first}, call, wording) {
    way.finish_requests();
  }

  const layout rows;
  const std::uint64_t prepared_by;  ///< number of the call, which ranks have alike
  routing way;
};

/// What all ranks agree about where they run prepared work: that it is the same.
inline agreed_value agreed_preparation(std::uint64_t prepared_by) noexcept {
  return agreed_digest("what was prepared", prepared_by);
}

/// Throws unless this rank's part of an array has the rows that the layout says.
void require_layout(std::string_view call, const group_state& state, const layout& rows, std::uint64_t count,
                    std::string_view what);

/// Position of this rank's first entry in the whole list. The first `shared` number of a header is the length of its
/// rank's part.
std::uint64_t first_position(const group_state& state, std::span<const call_header> headers);

/// Inspects a list; throws its first bad entry on all ranks.
std::shared_ptr<const routed_list> route_list(const group& ranks, std::string_view call, index_span index,
                                              const layout& rows, const core::index_wording& wording);

/// Throws what group::wait() would throw of the reports of all ranks, or what `check` throws on the first of them.
void throw_first_report(group_state& state, const std::function<void()>& check);

}  // namespace sheaf::distributed
