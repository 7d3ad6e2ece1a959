#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include <cusparse.h>
#include <sheaf/csr.hpp>

#include "lab/peers/sparse/cusparse.hpp"

// Shared by the files that call cuSPARSE; included only where it was found.
namespace sheaf::bench::peers {

inline void require(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS) throw std::runtime_error(cusparseGetErrorString(status));
}

/// A descriptor that Destroy gives back.
template <class Descriptor, auto Destroy>
struct cusparse_destroyer {
  void operator()(Descriptor descriptor) const { Destroy(descriptor); }
};
template <class Descriptor, auto Destroy>
using cusparse_owned = std::unique_ptr<std::remove_pointer_t<Descriptor>, cusparse_destroyer<Descriptor, Destroy>>;

struct cusparse_context {
  cusparse_owned<cusparseHandle_t, cusparseDestroy> handle;
};

using cusparse_matrix = cusparse_owned<cusparseSpMatDescr_t, cusparseDestroySpMat>;

inline std::int64_t signed_size(std::uint64_t size) { return static_cast<std::int64_t>(size); }

inline cudaDataType cusparse_type(value_type type) { return type == value_type::f64 ? CUDA_R_64F : CUDA_R_32F; }

inline cusparse_matrix make_cusparse_matrix(const csr_view& a) {
  const auto width_of = [](index_type type) { return bytes(type) == 8 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I; };
  cusparseSpMatDescr_t matrix = nullptr;
  require(cusparseCreateCsr(&matrix, signed_size(a.rows), signed_size(a.columns), signed_size(a.values.count),
                            const_cast<void*>(a.row_begins.data), const_cast<void*>(a.column_indices.data),
                            const_cast<void*>(a.values.data), width_of(a.row_begins.type),
                            width_of(a.column_indices.type), CUSPARSE_INDEX_BASE_ZERO, cusparse_type(a.values.type)));
  return cusparse_matrix(matrix);
}

/// Its sizes are signed numbers of the width of its indices.
inline bool has_cusparse_sizes(const csr_view& a) {
  const auto fits = [](index_type type, std::uint64_t most) { return bytes(type) == 8 || most >> 31 == 0; };
  return fits(a.column_indices.type, std::max(a.rows, a.columns)) && fits(a.row_begins.type, a.values.count);
}

}  // namespace sheaf::bench::peers
