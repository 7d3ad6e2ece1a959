#pragma once

#include <algorithm>
#include <limits>

#include "apps/sheaf/command.hpp"
#include "apps/sheaf/mesh/dual.hpp"

// What `sheaf edges` says of its sums: what they took, and what the mesh was like.
namespace sheaf::cli {

/// What the sums took.
struct edges_timing {
  double seconds = std::numeric_limits<double>::infinity();     ///< the least of all prepared runs
  double mean_seconds = 0;                                      ///< of all prepared runs
  double median_seconds = 0;                                    ///< of all prepared runs
  double unprepared = std::numeric_limits<double>::infinity();  ///< the least of the calls without preparation
  double copy_seconds = 0;                                      ///< of edges, values, weights and positions to a device
  edge_sum_preparation preparation;
  explanation plan;                         ///< of a call without preparation
  double predicted_seconds = 0;             ///< of a run
  double predicted_unprepared_seconds = 0;  ///< of a call without preparation

  double runs_per_second() const { return 1 / std::max(seconds, 1e-9); }
  double loading_seconds() const { return copy_seconds + preparation.preparation_seconds; }
};

/// What there is to say of the median dual.
struct dual_report {
  mesh::dual_check check;
  std::uint64_t flat_elements = 0;
  std::uint64_t reoriented_elements = 0;
  std::vector<std::string> outputs;
};

struct edges_report {
  std::string mesh;    ///< the file
  std::string output;  ///< the file, or empty
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::uint32_t components = 0;
  std::uint64_t runs = 0;
  bool is_f32 = false;
  edge_function function = edge_function::inverse_square;
  edges_timing timing;
  std::optional<dual_report> dual;
  std::vector<std::string> warnings;
};

/// Prints text or JSON to standard output, and nothing with --quiet.
void print_edges(const common_options& common, const context& ctx, const edges_report& report);

/// To standard error, and none with --quiet.
void print_edge_warnings(const common_options& common, const std::vector<std::string>& warnings);

}  // namespace sheaf::cli
