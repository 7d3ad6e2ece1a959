#pragma once

#include <algorithm>
#include <memory>
#include <span>

#include <sheaf/csr.hpp>

#include "apps/sheaf/files/sparse/csr_matrix.hpp"
#include "core/backends.hpp"
#include "core/context_state.hpp"

// Arrays of the host where calls on a context reach them.
namespace sheaf::jobs {

/// Whether calls of a context take the host's own bytes.
inline bool works_in_place(const context& ctx) { return core::backend_of(ctx.backend()).uses_host_memory; }

/// Bytes of the host in memory that a context can reach: the host's own where it works in place, else as many on the
/// device, which send() copies there and fetch() back.
class context_array {
 public:
  context_array(const context& ctx, void* host, std::uint64_t bytes)
      : ctx_(ctx), host_(static_cast<std::byte*>(host)), bytes_(bytes), data_(host_) {
    if (works_in_place(ctx)) return;
    copy_ = buffer(ctx, bytes);
    data_ = copy_.data();
  }
  std::byte* data() const noexcept { return data_; }
  void send() const {
    if (data_ != host_) copy_bytes(ctx_, data_, host_, bytes_);
  }
  void fetch() const {
    if (data_ != host_) copy_bytes(ctx_, host_, data_, bytes_);
  }

 private:
  context ctx_;
  std::byte* host_;
  std::uint64_t bytes_;
  buffer copy_;
  std::byte* data_;
};

/// Numbers of the host, 0 at first, that travel to a context's memory and back at the speed of its link.
template <class Value>
class host_values {
 public:
  host_values(const context& ctx, std::uint64_t count)
      : memory_(ctx.state().staging_memory(count * sizeof(Value))),
        all_(reinterpret_cast<Value*>(memory_.get()), count) {
    std::ranges::fill(all_, Value{0});
  }
  std::span<Value> all() const noexcept { return all_; }

 private:
  std::shared_ptr<std::byte> memory_;
  std::span<Value> all_;
};

/// Input bytes, which are sent at once.
struct context_input : context_array {
  context_input(const context& ctx, const void* host, std::uint64_t bytes)
      : context_array(ctx, const_cast<void*>(host), bytes) {
    send();
  }
};

/// A matrix in host memory.
template <class Value>
csr_view view_of(const io::csr_matrix<Value>& m) {
  return {m.rows, m.columns, m.row_offsets, m.columns_of_entries(), m.values};
}

/// The shape of a matrix, for plans, which read none: its arrays are null.
template <class Value>
csr_view shape_of(const io::csr_matrix<Value>& m) {
  return {m.rows,
          m.columns,
          {nullptr, m.row_offsets.size(), index_type::u64},
          {nullptr, m.entries(), m.columns_of_entries().type},
          {nullptr, m.entries(), value_type_of<Value>()}};
}

/// A matrix where a context can reach it.
struct context_matrix {
  template <class Value>
  context_matrix(const context& ctx, const io::csr_matrix<Value>& matrix)
      : offsets(ctx, matrix.row_offsets.data(), matrix.row_offsets.size() * sizeof(std::uint64_t)),
        columns(ctx, matrix.columns_of_entries().data, matrix.entries() * bytes(matrix.columns_of_entries().type)),
        numbers(ctx, matrix.values.data(), matrix.entries() * sizeof(Value)),
        view(matrix.rows, matrix.columns, index_span(offsets.data(), matrix.row_offsets.size(), index_type::u64),
             index_span(columns.data(), matrix.entries(), matrix.columns_of_entries().type),
             const_values(numbers.data(), matrix.entries(), value_type_of<Value>())) {}
  context_matrix(const context_matrix&) = delete;  // the view names its members
  context_matrix& operator=(const context_matrix&) = delete;

  context_input offsets;
  context_input columns;
  context_input numbers;
  csr_view view;
};

}  // namespace sheaf::jobs
