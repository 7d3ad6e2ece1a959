#include "primitives/executor.hpp"

#include <algorithm>

#include "primitives/views.hpp"

namespace sheaf::primitives {

void throw_moved_from(std::string_view call) {
  refuse("{}: it was moved from; another object holds its contents now", call);
}

buffer memory_of_preparation(const context& ctx, std::string_view call, std::string_view what, std::uint64_t bytes) {
  try {
    return {ctx, std::max<std::uint64_t>(1, bytes)};
  } catch (const error& e) {
    if (e.code() != error_code::out_of_memory) throw;
  }
  throw error(error_code::out_of_memory, fmt::format("{}: {} take {} bytes of {} memory, which are not available", call,
                                                     what, bytes, name(ctx.backend())));
}

}  // namespace sheaf::primitives
