#include "primitives/movement/found_order.hpp"

#include "core/backends.hpp"
#include "plan/list_glance.hpp"
#include "primitives/index_reader.hpp"

namespace sheaf::primitives {

bool looks_at_order(backend_kind backend, std::uint64_t list_entries) noexcept {
  return list_entries >= plan::least_glanced &&
         core::backend_of(backend).processor == core::processor_kind::host_threads;
}

access_pattern order_of_call(const context& ctx, index_span index, std::uint64_t records, access_pattern told) {
  if (told != access_pattern::unknown() || !looks_at_order(ctx.backend(), index.count)) return told;
  return with_entries(index, [&](const auto* list) {
    return plan::order_at_a_glance(index.count, records,
                                   [list](std::uint64_t first, std::uint64_t count, std::uint64_t* to) {
                                     for (std::uint64_t i = 0; i < count; ++i)
                                       to[i] = static_cast<std::uint64_t>(list[first + i]);
                                   });
  });
}

}  // namespace sheaf::primitives
