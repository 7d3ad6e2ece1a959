#pragma once

#include <limits>

#include "apps/sheaf/files/sparse/csr_matrix.hpp"
#include "lab/harness/edges/input.hpp"
#include "lab/harness/timed_call.hpp"
#include "papers/run.hpp"

// Sections 5 to 8 of Ujaldon, Saltz: Mapping Irregular Computation onto the Graphics Pipeline (2005), measured on
// GeForces of three years beside the CPUs of their time. Figure 3 is drawn without numbers.
namespace sheaf::bench::papers::ujaldon2005 {

/// What tables 5 and 6 have of one input in one year.
struct recorded_times {
  int year;
  double cpu_milliseconds;
  double gpu_milliseconds;
  double gain;  ///< of the GPU over the CPU
  int runs_per_second;
  double loading_milliseconds;
  int runs_to_amortise;
};

/// A row of tables 3 and 4, and what tables 5 and 6 say of it.
struct paper_input {
  const char* name;        ///< "BCSSTK15", "2k"
  const char* file;        ///< in the folder of data, without .gz
  std::uint64_t size;      ///< rows of a matrix, nodes of a mesh
  std::uint64_t elements;  ///< nonzeros, edges
  std::uint64_t file_kilobytes;
  std::uint64_t vertex_kilobytes;
  std::uint64_t texture_kilobytes;
  std::span<const recorded_times> times;
};
extern const std::array<paper_input, 3> paper_matrices;
extern const std::array<paper_input, 3> paper_meshes;

/// A matrix: the paper's, one in its place, or one more of its kind.
struct matrix_input {
  const paper_input* of;         ///< null of one more
  std::string name;              ///< "BCSSTK15", "BCSSTK29, stand-in"
  std::string source;            ///< the file, or "made by rule"
  std::uint64_t file_bytes = 0;  ///< of its text; 0 without a file
  std::shared_ptr<const io::csr_matrix<float>> matrix = nullptr;
};
struct mesh_input {
  const paper_input* of;  ///< null of one more
  std::string name;       ///< "2k mesh"
  std::string source;
  std::uint64_t file_bytes = 0;
  std::shared_ptr<const edge_input> edges = nullptr;
};

/// Where calls run, and on what machine.
struct machine_place {
  call_place place;
  platform hardware;
};

/// A figure that the paper's text claims, beside what the run has.
struct conclusion {
  std::string claim;
  std::string paper;
  std::string here;
};

/// State that the figures of a run share.
struct paper_run {
  const papers::request& request;
  /// One CPU thread first, with which the paper compares, then those of the run's backends, then OpenGL if it is there.
  std::vector<machine_place> places = {};
  std::vector<input_result> results = {};
  std::vector<matrix_input> kept_matrices = {};  ///< what matrices() returns, after its first call
  std::vector<mesh_input> kept_meshes = {};
  std::vector<conclusion> conclusions = {};  ///< of the tables and figures so far

  const std::vector<matrix_input>& matrices();
  const std::vector<mesh_input>& meshes();
  const call_place& one_thread() const { return places.front().place; }
  /// Of the inputs, which all places share.
  run_size size() const { return request.size_on(backend_kind::cpu); }
  timing_limits limits() const;
  std::string machine_of(const std::string& where) const;
  /// Whether all places have the memory for calls that take so many bytes in each; several may be in the host's.
  bool holds(std::uint64_t bytes) const;
  /// Times and checks the calls and appends to results.
  void measure(int figure, const std::string& input, std::vector<timed_call>& calls);
};

/// The matrices: files of the folder `data` where it has them, else made by rule, and much smaller in a tiny run.
/// BCSSTK16, of which the paper has no times, is there where the folder has it. As in the paper, the entries of a
/// symmetric matrix are those of its lower triangle.
std::vector<matrix_input> matrices_in(const std::string& data, run_size size);
/// The meshes, whose edges are found on a CPU context; else boxes of tetrahedra of as many nodes.
std::vector<mesh_input> meshes_in(const context& cpu, const std::string& data, run_size size);
/// Past the paper's: a matrix of 10^7 entries, made by rule, and a box of tetrahedra with 10^7 edges. Of 10^4 in a tiny
/// run and of 10^6 in a small one; at the size of the device 10^7 are doubled as long as the places hold all calls.
matrix_input large_matrix(const paper_run& run);
mesh_input large_mesh(const paper_run& run);

/// "1.58x", "0.00214x"
std::string gain_text(double gain);
/// Multiples of 1/64 over (least, most), none of them 0, whose sums are exact in any order.
std::vector<float> sixty_fourths(std::uint64_t count, std::int64_t least, std::int64_t most);

/// Indirections, conditions, dimensions of textures, and reductions by blending; work shared with the CPU; loading
/// beside drawing.
void table_1(paper_run& run);
void indirections(paper_run& run, const machine_place& place);
void conditions(paper_run& run, const machine_place& place);
void dimensions(paper_run& run, const machine_place& place);
void reductions(paper_run& run, const machine_place& place);
void shared_work(paper_run& run);
/// What outputs hold before a call, so that an answer that was not written is seen.
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// The calls of OpenGL that keep their vertices in host memory, and send them in every run.
constexpr const char* sent_vertices = ", vertices sent";  ///< behind the name of the form that keeps them
void add_sent_products(const call_place& place, const matrix_input& in, std::vector<timed_call>& calls);
void add_sent_edges(const call_place& place, const mesh_input& in, std::vector<timed_call>& calls);
/// What OpenGL's products by textures and edges by points upload: vertices once, a texture in every run.
struct uploaded_bytes {
  std::uint64_t vertices;
  std::uint64_t texture;
};
/// None where the input does not fit the device's textures.
std::optional<uploaded_bytes> uploads_of(const call_place& place, const matrix_input& in);
std::optional<uploaded_bytes> uploads_of(const call_place& place, const mesh_input& in);
/// Products by sparse matrices.
void table_3(paper_run& run);
void table_5(paper_run& run);
/// The Euler kernel.
void table_4(paper_run& run);
void table_6(paper_run& run);
void vector_processing(paper_run& run, const machine_place& place);
/// Related work, section 7, which has no table of its own: reductions in one rendering pass and in several, and a
/// banded product.
void table_7(paper_run& run);
void related_work(paper_run& run, const machine_place& place);
/// Precision.
void figure_3(paper_run& run);

}  // namespace sheaf::bench::papers::ujaldon2005
