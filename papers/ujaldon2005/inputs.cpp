#include <filesystem>

#include <fmt/format.h>

#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/files/text/gzip.hpp"
#include "apps/sheaf/mesh/box_function.hpp"
#include "lab/harness/edges/calls.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "papers/ujaldon2005/figures.hpp"
#include "plan/store/input_file.hpp"

// The inputs of tables 3 and 4, and stand-ins for them.
namespace sheaf::bench::papers::ujaldon2005 {
namespace {

constexpr recorded_times bcsstk15[] = {
    {2003, 0.71, 0.67, 1.05, 1480, 16.47, 499},
    {2004, 0.79, 0.56, 1.41, 1785, 12.32, 53},
    {2005, 0.92, 0.58, 1.58, 1724, 11.10, 32},
};
constexpr recorded_times bcsstk29[] = {
    {2003, 4.07, 3.20, 1.27, 314, 68.70, 78},
    {2004, 4.28, 2.70, 1.58, 370, 59.10, 37},
    {2005, 3.54, 2.77, 1.27, 361, 43.02, 55},
};
constexpr recorded_times bcsstk30[] = {
    {2003, 13.12, 10.38, 1.26, 96, 233.77, 85},
    {2004, 13.81, 8.78, 1.57, 113, 212.88, 42},
    {2005, 14.24, 8.90, 1.60, 112, 139.29, 26},
};
constexpr recorded_times mesh_2k[] = {
    {2003, 1.99, 0.79, 2.51, 1308, 18.13, 15},
    {2004, 1.37, 0.62, 2.20, 1612, 17.53, 23},
    {2005, 1.70, 0.63, 2.69, 1587, 13.10, 12},
};
constexpr recorded_times mesh_10k[] = {
    {2003, 7.11, 2.40, 3.00, 415, 56.96, 12},
    {2004, 4.76, 2.04, 2.33, 490, 55.54, 20},
    {2005, 5.76, 2.08, 2.76, 480, 38.28, 10},
};
constexpr recorded_times mesh_50k[] = {
    {2003, 59.70, 14.14, 4.25, 71, 323.86, 7},
    {2004, 43.86, 11.96, 3.66, 83, 315.25, 9},
    {2005, 32.44, 12.12, 2.67, 82, 215.19, 10},
};

}  // namespace

const std::array<paper_input, 3> paper_matrices{{
    {"BCSSTK15", "matrices/bcsstk15.mtx", 3948, 60882, 1568, 1894, 32, bcsstk15},
    {"BCSSTK29", "matrices/bcsstk29.mtx", 13992, 316740, 2680, 9892, 128, bcsstk29},
    {"BCSSTK30", "matrices/bcsstk30.mtx", 28924, 1036208, 8628, 32378, 128, bcsstk30},
}};

const std::array<paper_input, 3> paper_meshes{{
    {"2k", "meshes/aneurysm-2k.su2", 2800, 17367, 576, 1085, 32, mesh_2k},
    {"10k", "meshes/cylinder-11k.su2", 9428, 59863, 1810, 3922, 128, mesh_10k},
    {"50k", "meshes/aneurysm-53k.su2", 53961, 353476, 11524, 23163, 512, mesh_50k},
}};

namespace {

// The only other matrix of its kind that folders may have.
constexpr const char* more_file = "matrices/bcsstk16.mtx";

// A tiny run's inputs are so many times smaller.
std::uint64_t share_at(run_size size) { return size == run_size::tiny ? 32 : 1; }

// The entries or edges of the inputs past the paper's.
struct large_count {
  std::uint64_t count;
  std::string text;  ///< "10^7", "2 x 10^7"
};

// @param fits  whether the places hold an input of so many; asked only at the size of the device
large_count large_count_at(run_size size, const fits_function& fits) {
  constexpr std::uint64_t usual = 10'000'000;
  if (size == run_size::tiny) return {usual / 1000, "10^4"};
  if (size == run_size::small) return {usual / 10, "10^6"};
  const std::uint64_t count = size == run_size::device ? doubled_while(usual, fits) : usual;
  return {count, count == usual ? "10^7" : fmt::format("{} x 10^7", count / usual)};
}

/// The file, plain or gzip, or an empty path where the folder has neither.
std::string found_file(const std::string& data, std::string_view file) {
  if (data.empty()) return {};
  for (const char* const ending : {"", ".gz"}) {
    const std::filesystem::path path = std::filesystem::path(data) / (std::string(file) + ending);
    if (std::filesystem::exists(path)) return path.string();
  }
  return {};
}

/// Of the file's text: of a gzip file, what it inflates to.
std::uint64_t text_bytes(const std::string& file) {
  const io::input_file contents(file);
  return io::with_text(
      {contents.data(), contents.size()}, file, 0, "file", [](const io::named_text&) {},
      [](const io::named_text& text) { return std::uint64_t{text.text.size()}; });
}

/// The entries on the diagonal and below. Columns ascend within a row.
io::csr_matrix<float> lower_triangle(const io::csr_matrix<float>& matrix) {
  io::csr_matrix<float> out;
  out.rows = matrix.rows;
  out.columns = matrix.columns;
  std::visit(
      [&](const auto& columns) {
        auto kept = columns;
        kept.clear();
        for (std::uint64_t row = 0; row < matrix.rows; ++row) {
          for (std::uint64_t p = matrix.row_offsets[row]; p < matrix.row_offsets[row + 1] && columns[p] <= row; ++p) {
            kept.push_back(columns[p]);
            out.values.push_back(matrix.values[p]);
          }
          out.row_offsets.push_back(kept.size());
        }
        out.column_indices = std::move(kept);
      },
      matrix.column_indices);
  return out;
}

/// Rows with as many entries each as the paper's matrix has in the mean, in runs of three columns, as displacements of
/// one node have. The runs lie a little at random, and evenly, over an eighth of the matrix around the diagonal.
io::csr_matrix<float> made_matrix(std::uint64_t rows, std::uint64_t entries) {
  constexpr std::uint64_t run = 3;
  io::csr_matrix<float> matrix;
  matrix.rows = matrix.columns = rows;
  std::vector<std::uint32_t> columns;
  columns.reserve(entries);
  const std::uint64_t most_runs = (entries / rows + 1 + run - 1) / run;
  const std::uint64_t band = std::min(rows, std::max(rows / 8, 2 * run * most_runs));
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t end = (row + 1) * entries / rows;
    const std::uint64_t runs = (end - columns.size() + run - 1) / run;
    const std::uint64_t first = std::min(row < band / 2 ? 0 : row - band / 2, rows - band);
    for (std::uint64_t r = 0; r < runs; ++r) {
      const std::uint64_t begin = r * band / runs;
      const std::uint64_t slack = (r + 1) * band / runs - begin - run + 1;
      const std::uint64_t column = first + begin + inputs::mix(row * most_runs + r) % slack;
      for (std::uint64_t k = 0; k < run && columns.size() < end; ++k) {
        columns.push_back(static_cast<std::uint32_t>(column + k));
      }
    }
    matrix.row_offsets.push_back(columns.size());
  }
  matrix.values.resize(columns.size());
  for (std::uint64_t i = 0; i < matrix.values.size(); ++i) {
    matrix.values[i] = static_cast<float>(static_cast<double>(inputs::mix(i) >> 40) / (1 << 24) - 0.5);
  }
  matrix.column_indices = std::move(columns);
  return matrix;
}

}  // namespace

std::vector<matrix_input> matrices_in(const std::string& data, run_size size) {
  const auto read = [](const std::string& file) {
    return std::make_shared<io::csr_matrix<float>>(lower_triangle(io::read_matrix_market<float>(file)));
  };
  std::vector<matrix_input> all;
  for (const paper_input& input : paper_matrices) {
    const std::string file = found_file(data, input.file);
    matrix_input in{.of = &input, .name = input.name, .source = file};
    if (!file.empty()) {
      in.matrix = read(file);
      in.file_bytes = text_bytes(file);
    } else {
      const std::uint64_t share = share_at(size);
      in.source = "made by rule";
      in.name += ", stand-in";
      in.matrix = std::make_shared<io::csr_matrix<float>>(made_matrix(input.size / share, input.elements / share));
    }
    all.push_back(std::move(in));
    if (&input != paper_matrices.data()) continue;
    const std::string more = found_file(data, more_file);
    if (more.empty()) continue;
    all.push_back(
        {.of = nullptr, .name = "BCSSTK16", .source = more, .file_bytes = text_bytes(more), .matrix = read(more)});
  }
  return all;
}

std::vector<mesh_input> meshes_in(const context& cpu, const std::string& data, run_size size) {
  std::vector<mesh_input> all;
  for (const paper_input& input : paper_meshes) {
    const std::string file = found_file(data, input.file);
    mesh_input in{.of = &input, .name = std::string(input.name) + " mesh", .source = file};
    if (!file.empty()) {
      in.edges = std::make_shared<edge_input>(read_edges(cpu, file));
      in.file_bytes = text_bytes(file);
    } else {
      const std::uint64_t share = share_at(size);
      in.source = "a box of tetrahedra";
      in.name += ", stand-in";
      in.edges = std::make_shared<edge_input>(edges_of_box(cpu, box_of_nodes(input.size / share)));
    }
    all.push_back(std::move(in));
  }
  return all;
}

matrix_input large_matrix(const paper_run& run) {
  constexpr std::uint64_t entries_a_row = 40;
  // All calls keep their own: eight bytes of each array, and at most twice that of each preparation.
  constexpr std::uint64_t bytes_of_an_entry = 128;
  const auto fits = [&](std::uint64_t entries) { return run.holds(entries * bytes_of_an_entry); };
  const auto [entries, text] = large_count_at(run.size(), fits);
  return {.of = nullptr,
          .name = fmt::format("matrix of {} entries", text),
          .source = "made by rule",
          .matrix = std::make_shared<io::csr_matrix<float>>(made_matrix(entries / entries_a_row, entries))};
}

mesh_input large_mesh(const paper_run& run) {
  const edge_terms terms;
  const auto box_of_edges = [](std::uint64_t edges) { return box_of_nodes(edges * 146 / 1000); };
  const auto fits = [&](std::uint64_t edges) {
    const mesh::box box = box_of_edges(edges);
    return mesh::box_nodes(box) <= io::most_nodes && run.holds(bytes_of_sums(box, terms.components, sizeof(float)));
  };
  const auto [edges, text] = large_count_at(run.size(), fits);
  return {.of = nullptr,
          .name = fmt::format("mesh of {} edges", text),
          .source = "a box of tetrahedra",
          .edges = std::make_shared<edge_input>(edges_of_box(run.one_thread().ctx, box_of_edges(edges)))};
}

}  // namespace sheaf::bench::papers::ujaldon2005
