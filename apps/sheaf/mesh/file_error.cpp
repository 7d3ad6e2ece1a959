#include "apps/sheaf/mesh/file_error.hpp"

#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "apps/sheaf/files/mesh/su2.hpp"
#include "apps/sheaf/mesh/repeated.hpp"

namespace sheaf::mesh {

error file_error(const error& thrown, const std::string& path, std::uint64_t zone, const context& cpu,
                 const io::unstructured_mesh& mesh) {
  if (thrown.code() != error_code::bad_argument) return thrown;
  if (const auto repeated = find_repeated_element(cpu, mesh)) {
    const std::string marker = repeated->marker ? mesh.markers[*repeated->marker].name : "";
    const auto line_of = [&](std::uint64_t element) {
      return io::line_of_su2_element(path, {repeated->type, element, marker}, {.threads = cpu.threads(), .zone = zone});
    };
    return {error_code::bad_input, fmt::format("{}: line {}: {}, in line {}", path, line_of(repeated->second),
                                               words_of(mesh, *repeated), line_of(repeated->first))};
  }
  const std::string_view words = thrown.what();
  constexpr std::string_view any_mesh = "mesh: ";
  return {error_code::bad_input,
          fmt::format("{}: {}", path, words.starts_with(any_mesh) ? words.substr(any_mesh.size()) : words)};
}

}  // namespace sheaf::mesh
