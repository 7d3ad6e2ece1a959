#pragma once

#include <string>
#include <vector>

#include <sheaf/context.hpp>

#include "lab/harness/sparse/matrices.hpp"
#include "papers/sizes.hpp"

// The matrices of figures 19 and 20, beside those that the laboratory makes in place of the paper's four.
namespace sheaf::bench::papers::he2007 {

/// The most nonzeros that a matrix of a file may have, and one that is made in its place.
std::uint64_t most_nonzeros_at(run_size size);

/// A matrix whose vector is larger than the last cache, so that passes over it may gain.
struct scaled_shape {
  std::string name;  ///< "11 a row, x 4.3 times the cache", of x of f32
  matrix_shape shape;
};

/// Matrices of the row lengths of the paper's four, 11, 98, 145 and 399; of the first two in small and tiny runs. Their
/// x has four times the bytes of the last cache in f32, rounded up to a power of two, but at most 2^22 values in a
/// small run and 2^12 in a tiny one, whose names may say that it is less than the cache. They have as many rows, and so
/// are square, where they then have no more nonzeros than the size allows; else fewer.
std::vector<scaled_shape> scaled_shapes(run_size size, backend_kind backend, std::uint64_t cache_bytes);

/// Bytes of a matrix in host memory, in f64 and in f32, while it is made and multiplied there.
std::uint64_t host_bytes_of(const matrix_shape& shape) noexcept;
/// Bytes of a matrix of f64 on a device, and of what a product in two steps takes there.
std::uint64_t device_bytes_of(const matrix_shape& shape) noexcept;

/// A MatrixMarket file of the folder of data.
struct matrix_file {
  std::string name;  ///< "pkustk08"
  std::string path;
};

/// The files matrices/*.mtx and *.mtx.gz of the folder, by name; of two with one name the one that is not compressed.
std::vector<matrix_file> matrix_files(const std::string& data);

}  // namespace sheaf::bench::papers::he2007
