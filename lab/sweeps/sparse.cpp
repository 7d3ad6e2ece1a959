#include <fmt/format.h>

#include "lab/description/job.hpp"
#include "lab/description/row_name.hpp"
#include "lab/sweeps/sweep.hpp"

// Products by sparse matrices: every pattern of nonzeros by every layout.
namespace sheaf::bench {
namespace {

constexpr std::string_view family = "sparse";
/// Stands for the entries of a matrix in a name that is not complete. It is so large that rows are no number of columns
/// that one asks for, which a name would leave out.
constexpr std::uint64_t any_count = std::uint64_t{1} << 56;

// Matrices that stay in a GPU's cache, and those that no cache holds.
sweep products() {
  sweep s;
  s.entries = primitives::entries_of(family);
  s.counts = powers_of_two(20, 26, 3);
  return s;
}

problem parse_product(std::string_view matrix, std::string_view layout) {
  return primitives::parse_problem(fmt::format("spmv/{}/{}/n={}", matrix, layout, any_count));
}

void add(const sweep& s, std::span<const primitives::entry* const> entries, std::vector<problem>& problems) {
  if (entries.empty()) return;
  for (const std::uint64_t count : s.counts) {
    for (const std::string& layout : s.matrix_layouts) {
      for (const std::string& matrix : s.matrices) {
        problem p = parse_product(matrix, layout);
        p.count = count;
        if (jobs::job_of(p).unchecked(p).empty()) problems.push_back(p);
      }
    }
  }
}

constexpr named_sweep sets[] = {{"spmv", products}};

constexpr list_option lists[] = {
    {"--matrices", "of sparse products: banded:x16 (entries a row), grid:x7, uniform:xzipf, zipf:s1000:c900, ...",
     [](sweep& s, std::span<const std::string> texts) {
       for (const std::string& text : texts) parse_product(text, "r4/u32+f32");
       s.matrices.assign(texts.begin(), texts.end());
     }},
    {"--matrix-layouts", "of sparse products: r4/u32+f32 (columns u32), r8/u32+u64+f64+transposed (offsets u64), ...",
     [](sweep& s, std::span<const std::string> texts) {
       for (const std::string& text : texts) parse_product("banded:x1", text);
       s.matrix_layouts.assign(texts.begin(), texts.end());
     }},
};

}  // namespace

extern const family_sweeps sparse_sweeps{family, sets, lists, add};

}  // namespace sheaf::bench
