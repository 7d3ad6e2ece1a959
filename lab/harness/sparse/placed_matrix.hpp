#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/csr.hpp>

#include "apps/sheaf/files/sparse/csr_matrix.hpp"
#include "core/backends.hpp"
#include "lab/harness/placed_array.hpp"

namespace sheaf::bench {

/// A matrix in the context's memory. A device's has offsets of 4 bytes where these do, as its peers have.
template <class Value>
struct placed_matrix {
  placed_matrix(const context& ctx, const io::csr_matrix<Value>& m)
      : is_narrow(ctx.backend() != backend_kind::cpu && m.entries() >> 31 == 0),
        narrow(is_narrow ? std::vector<std::uint32_t>(m.row_offsets.begin(), m.row_offsets.end())
                         : std::vector<std::uint32_t>{}),
        narrow_offsets(ctx, narrow.data(), narrow.size()),
        wide_offsets(ctx, m.row_offsets.data(), is_narrow ? 0 : m.row_offsets.size()),
        columns(ctx, static_cast<const std::byte*>(m.columns_of_entries().data),
                m.entries() * bytes(m.columns_of_entries().type)),
        numbers(ctx, m.values.data(), m.values.size()),
        view(m.rows, m.columns,
             is_narrow ? index_span(narrow_offsets.data(), m.rows + 1, index_type::u32)
                       : index_span(wide_offsets.data(), m.rows + 1, index_type::u64),
             index_span(columns.data(), m.entries(), m.columns_of_entries().type),
             const_values(numbers.data(), m.entries(), const_values(m.values).type)) {}

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
