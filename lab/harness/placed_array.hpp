#pragma once

#include <cstdint>

#include <sheaf/context.hpp>
#include <sheaf/memory.hpp>

#include "core/backends.hpp"

namespace sheaf::bench {

/// An array in the memory of a context: the caller's own where that is host memory, else a copy.
template <class T>
class placed_array {
 public:
  placed_array(const context& ctx, const T* host, std::uint64_t count) : data_(host) {
    if (core::backend_of(ctx.backend()).uses_host_memory || count == 0) return;
    copy_ = buffer(ctx, count * sizeof(T));
    copy_bytes(ctx, copy_.data(), host, count * sizeof(T));
    data_ = copy_.as<T>();
  }
  const T* data() const { return data_; }

 private:
  const T* data_;
  buffer copy_;
};

}  // namespace sheaf::bench
