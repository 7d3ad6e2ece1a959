#pragma once

#include "opengl/sparse/point_matrix.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

// Products by points, called or prepared; forms differ in what looks x up.
namespace sheaf::opengl {

/// Bytes of the points of all entries.
std::uint64_t point_bytes(const primitives::spmv_problem& p, point_form form) noexcept;
/// Points of all entries, as far as a plan can know.
std::uint64_t point_count(const primitives::spmv_problem& p, point_form form) noexcept;

/// Draws piece after piece as the matrix is read, so that the device holds one of them.
void run_points(const context& ctx, const primitives::spmv_problem& p, const primitives::spmv_buffers& b,
                point_form form);
/// Keeps all pieces on the device.
void prepare_points(const context& ctx, const primitives::prepare_spmv_problem& p,
                    const primitives::prepare_spmv_buffers& b, point_form form);

}  // namespace sheaf::opengl
