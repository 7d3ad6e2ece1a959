// SU2 files are untrusted: whatever the bytes, the parser returns a mesh whose arrays fit together, or throws
// sheaf::error with a message that can be shown. Threads, small parts and gzip make no difference, what is written is
// read as the same, and the mesh has a median dual or an error that says why not.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>
#include <sheaf/context.hpp>
#include <sheaf/error.hpp>

#include "apps/sheaf/files/mesh/su2.hpp"
#include "apps/sheaf/files/text/gzip.hpp"
#include "apps/sheaf/mesh/dual.hpp"

namespace {

using sheaf::io::su2_options;
using sheaf::io::unstructured_mesh;

constexpr std::size_t most_message_bytes = 1024;
constexpr std::uint64_t most_text_bytes = std::uint64_t{1} << 22;

void require(bool kept) {
  if (!kept) std::abort();
}

// What became of a file: a mesh, or the message of the error, and warnings before.
struct outcome {
  std::optional<unstructured_mesh> read;
  std::string message;
  std::vector<std::string> warnings;
};

void require_shown(const std::string& message, std::string_view begin) {
  require(message.starts_with(begin) && message.size() <= most_message_bytes);
  require(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

outcome read(std::span<const std::byte> file, int threads, std::uint64_t part_bytes, std::uint64_t zone = 0) {
  outcome result;
  const su2_options options{.threads = threads,
                            .most_text_bytes = most_text_bytes,
                            .part_bytes = part_bytes,
                            .zone = zone,
                            .warnings = &result.warnings};
  try {
    result.read = sheaf::io::parse_su2(file, "input", options);
  } catch (const sheaf::error& e) {
    require(e.code() == sheaf::error_code::bad_input || (zone > 0 && e.code() == sheaf::error_code::bad_argument));
    result.message = e.what();
    require_shown(result.message, "input: ");
  }
  for (const std::string& warning : result.warnings) require_shown(warning, "input: ");
  return result;
}

// Bit by bit: coordinates are never NaN.
bool same(const outcome& left, const outcome& right) {
  if (left.message != right.message || left.read != right.read || left.warnings != right.warnings) return false;
  if (!left.read) return true;
  const auto& a = left.read->coordinates;
  const auto& b = right.read->coordinates;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

std::string gzipped(std::span<const std::byte> text) {
  z_stream stream{};
  require(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string file(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(file.data());
  stream.avail_out = static_cast<uInt>(file.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  deflateEnd(&stream);
  return file.substr(0, stream.total_out);
}

std::span<const std::byte> bytes_of(const std::string& file) {
  return std::as_bytes(std::span(file.data(), file.size()));
}

void write_and_read(const unstructured_mesh& mesh) {
  std::string copy;
  sheaf::io::format_su2(mesh, [&](std::string_view piece) { copy += piece; });
  require(same({sheaf::io::parse_su2(bytes_of(copy), "copy"), {}, {}}, {mesh, {}, {}}));
}

void make_dual(const unstructured_mesh& mesh) {
  static const sheaf::context ctx = sheaf::context::cpu(1);
  try {
    const auto dual = sheaf::mesh::median_dual(ctx, mesh);
    const auto dimension = static_cast<std::size_t>(mesh.dimension);
    require(dual.edge_normals.size() == dual.edges.size() * dimension && dual.volumes.size() == mesh.nodes());
    for (const auto& warning : dual.warnings) require_shown(warning, "marker '");
    require(dual.edges == sheaf::mesh::edges_of(ctx, mesh));
    for (const auto& edge : dual.edges) require(edge.first < edge.second && edge.second < mesh.nodes());
    for (const auto& part : dual.boundary) {
      require(part.normals.size() == part.nodes.size() * dimension);
      require(std::all_of(part.nodes.begin(), part.nodes.end(), [&](auto node) { return node < mesh.nodes(); }));
    }
  } catch (const sheaf::error& e) {
    require(e.code() == sheaf::error_code::bad_argument);
    require_shown(e.what(), "mesh: ");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  const outcome plain = read(file, 1, 0);
  require(same(read(file, 1, 7), plain));
  require(same(read(file, 2, 40), plain));
  if (!sheaf::io::starts_as_gzip(file)) require(same(read(bytes_of(gzipped(file)), 1, 0), plain));
  // A zone alone has no more nodes than all together.
  for (const std::uint64_t zone : {1, 2}) {
    const outcome alone = read(file, 1, 0, zone);
    require(same(read(file, 2, 7, zone), alone));
    if (plain.read && alone.read) require(alone.read->nodes() <= plain.read->nodes());
  }
  if (!plain.read) return 0;
  write_and_read(*plain.read);
  make_dual(*plain.read);
  return 0;
}
