#pragma once

#include <sheaf/context.hpp>

namespace sheaf::bench::papers::he2007 {

/// Queues the sequential scan of section 3.3.1: a copy in order, by all threads, as a profile's copy rate is measured.
/// Arrays begin at multiples of 64 bytes, and `bytes` is a multiple, too. They do not overlap.
void queue_scan(const context& ctx, const std::byte* from, std::byte* to, std::uint64_t bytes);

/// The CUDA half, linked only where the CUDA backend is built. `bytes` is not 0.
namespace device {
void queue_scan(const context& ctx, const std::byte* from, std::byte* to, std::uint64_t bytes);
}  // namespace device

}  // namespace sheaf::bench::papers::he2007
