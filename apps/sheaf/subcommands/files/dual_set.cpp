#include "apps/sheaf/subcommands/files/dual_set.hpp"

#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "apps/sheaf/files/output_check.hpp"
#include "apps/sheaf/subcommands/movement.hpp"

namespace sheaf::cli {
namespace {

enum file_number : std::size_t { volumes_file, normals_file, edges_file };

template <class Number>
void write_array(output_set& files, file_number number, const std::string& header, const std::vector<Number>& numbers) {
  const std::uint64_t bytes = numbers.size() * sizeof(Number);
  files.reserve(number, header.size() + bytes);
  files.write(number, header, numbers.data(), bytes);
}

}  // namespace

output_set open_dual(const std::string& prefix, std::vector<std::string> inputs, const std::string& output) {
  output_set files(prefix, std::move(inputs), "--dual");
  for (const char* const ending : {"volumes.npy", "normals.npy", "edges.npy"}) files.open(ending, 0);
  for (const std::string& path : files.paths()) {
    if (!output.empty() && io::name_one_file(path, output)) {
      throw error(error_code::bad_argument, fmt::format("-o {} and {} of --dual are one file", output, path));
    }
  }
  return files;
}

void write_dual(output_set& files, const io::unstructured_mesh& mesh, const mesh::dual_mesh& dual) {
  const std::uint64_t edges = dual.edges.size();
  const std::uint64_t shape_of_normals[] = {edges, static_cast<std::uint64_t>(mesh.dimension)};
  const std::uint64_t shape_of_edges[] = {edges, 2};
  write_array(files, volumes_file, numbers_header("'<f8'", dual.volumes.size()), dual.volumes);
  write_array(files, normals_file, rows_header("'<f8'", shape_of_normals), dual.edge_normals);
  write_array(files, edges_file, rows_header("'<u4'", shape_of_edges), dual.edges);
}

}  // namespace sheaf::cli
