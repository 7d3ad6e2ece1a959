#pragma once

#include "distributed/movement/device_routing.hpp"
#include "primitives/views.hpp"

namespace sheaf::distributed {

/// A list that was inspected once, whole.
class routed_list {
 public:
  /// @param headers        of the call that inspects it
  /// @param keeps_entries  a copy stays where gathers may read peers' memory
  routed_list(group_state& state, const layout& of_rows, index_span index, std::span<const call_header> headers,
              std::uint64_t call, const core::index_wording& wording, bool keeps_entries);

  /// What a group's calls share of this rank before they inspect a list.
  static std::array<std::uint64_t, 3> shared_of(const group_state& state, index_span index);

  std::uint64_t entries() const noexcept { return entries_; }
  /// Calls use(way) with the inspected list: a `routing`, or where calls go by primitives a `device_routing`.
  template <class Use>
  auto with_way(Use use) const {
    return on_device_ ? use(*on_device_) : use(*on_host_);
  }
  /// Whether gathers may read peers' memory: the same on all ranks.
  bool may_read_peers() const noexcept { return owners_.has_value(); }
  const device_owners& owners() const noexcept { return *owners_; }
  /// The list itself, where it was kept.
  list_part kept() const noexcept { return {{kept_.data(), entries_, type_}, first_}; }

  const layout rows;
  const std::uint64_t prepared_by;  ///< number of the call, which ranks have alike

 private:
  std::uint64_t entries_;
  std::uint64_t first_;
  index_type type_;
  buffer kept_;
  std::optional<device_owners> owners_;
  std::optional<routing> on_host_;
  std::optional<device_routing> on_device_;
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
                                              const layout& rows, const core::index_wording& wording,
                                              bool keeps_entries);

/// Throws what group::wait() would throw of the reports of all ranks, or what `check` throws on the first of them.
void throw_first_report(group_state& state, const std::function<void()>& check);

}  // namespace sheaf::distributed
