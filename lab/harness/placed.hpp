#pragma once

#include <algorithm>
#include <limits>

#include <sheaf/csr.hpp>

#include "apps/sheaf/files/sparse/csr_matrix.hpp"
#include "core/backends.hpp"

// Inputs of a program's own in the memory of a context.
namespace sheaf::bench {

/// An array: the caller's own where that is host memory, else a copy.
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

/// What calls write, and what host memory has of it.
template <class Value>
class placed_result {
 public:
  placed_result(const context& ctx, std::uint64_t count) : ctx_(ctx), host_(count), placed_(ctx, host_.data(), count) {}
  placed_result(const placed_result&) = delete;  // the array names its member
  placed_result& operator=(const placed_result&) = delete;

  values view() const { return {const_cast<Value*>(placed_.data()), host_.size(), const_values(host_).type}; }
  /// As it was read last.
  std::vector<Value>& on_host() { return host_; }

  /// Writes what no answer has.
  void wipe() {
    std::fill(host_.begin(), host_.end(), std::numeric_limits<Value>::quiet_NaN());
    if (is_copied()) copy_bytes(ctx_, view().data, host_.data(), bytes());
  }
  std::vector<Value>& read() {
    ctx_.wait();
    if (is_copied()) copy_bytes(ctx_, host_.data(), placed_.data(), bytes());
    return host_;
  }

 private:
  bool is_copied() const { return placed_.data() != host_.data(); }
  std::uint64_t bytes() const { return host_.size() * sizeof(Value); }

  context ctx_;
  std::vector<Value> host_;
  placed_array<Value> placed_;
};

/// A matrix in the context's memory. A device's has offsets of 4 bytes where these do, as its peers have.
template <class Value>
struct placed_matrix {
  placed_matrix(const context& ctx, const io::csr_matrix<Value>& matrix)
      : is_narrow(ctx.backend() != backend_kind::cpu && matrix.entries() >> 31 == 0),
        narrow(is_narrow ? std::vector<std::uint32_t>(matrix.row_offsets.begin(), matrix.row_offsets.end())
                         : std::vector<std::uint32_t>{}),
        narrow_offsets(ctx, narrow.data(), narrow.size()),
        wide_offsets(ctx, matrix.row_offsets.data(), is_narrow ? 0 : matrix.row_offsets.size()),
        columns(ctx, static_cast<const std::byte*>(matrix.columns_of_entries().data),
                matrix.entries() * bytes(matrix.columns_of_entries().type)),
        numbers(ctx, matrix.values.data(), matrix.values.size()),
        view(matrix.rows, matrix.columns,
             is_narrow ? index_span(narrow_offsets.data(), matrix.rows + 1, index_type::u32)
                       : index_span(wide_offsets.data(), matrix.rows + 1, index_type::u64),
             index_span(columns.data(), matrix.entries(), matrix.columns_of_entries().type),
             const_values(numbers.data(), matrix.entries(), const_values(matrix.values).type)) {}

  placed_matrix(const placed_matrix&) = delete;  // the view names its members
  placed_matrix& operator=(const placed_matrix&) = delete;

  bool is_narrow;
  std::vector<std::uint32_t> narrow;
  placed_array<std::uint32_t> narrow_offsets;
  placed_array<std::uint64_t> wide_offsets;
  placed_array<std::byte> columns;
  placed_array<Value> numbers;
  csr_view view;
};

}  // namespace sheaf::bench
