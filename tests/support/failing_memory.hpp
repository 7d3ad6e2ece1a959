#pragma once

#include <cstdint>

#include <sheaf/context.hpp>
#include <sheaf/memory.hpp>

#include "core/context_state.hpp"

namespace sheaf::tests {

/// The memory of a context, where one allocation fails, or all of one size, and what is taken is counted.
struct failing_memory {
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  memory_resource under;
  std::uint64_t fails_at = never;       ///< the number of the call that fails
  std::uint64_t refused_bytes = never;  ///< blocks of this size fail
  std::uint64_t calls = 0;
  std::uint64_t refused = 0;  ///< calls that failed by their size
  std::uint64_t last_bytes = 0;
  std::uint64_t bytes = 0;  ///< taken and not given back

  explicit failing_memory(const context& ctx) : under(ctx.state().memory) {}
  memory_resource resource() {
    return {[](void* state, std::uint64_t wanted, CUstream_st* stream) -> void* {
              auto& self = *static_cast<failing_memory*>(state);
              self.last_bytes = wanted;
              if (wanted == self.refused_bytes) ++self.refused;
              if (self.calls++ == self.fails_at || wanted == self.refused_bytes) return nullptr;
              self.bytes += wanted;
              return self.under.allocate(self.under.state, wanted, stream);
            },
            [](void* state, void* block, std::uint64_t given, CUstream_st* stream) {
              auto& self = *static_cast<failing_memory*>(state);
              self.bytes -= given;
              self.under.deallocate(self.under.state, block, given, stream);
            },
            this};
  }
};

}  // namespace sheaf::tests
