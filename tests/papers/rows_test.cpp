#include "papers/rows.hpp"

#include <gtest/gtest.h>

#include "primitives/backends.hpp"
#include "project/planted_tree.hpp"
#include "support/run_program.hpp"

// Each part of the four papers' systems, with the variants, figures, calls, commands and examples that hold it, so that
// none is lost where code moves or is rewritten. docs/papers.md has the same table.
namespace sheaf::tests::papers_rows_test {
namespace {

using list = std::vector<std::string>;

constexpr paper_row rows[] = {
    {"A1", "gather and scatter in one pass", "gather, scatter: cpu.direct, cuda.direct, cuda.thread_per_record",
     "1, 6, 7, 8", ""},
    {"A2", "gather and scatter in several passes, each over one region of the table or of the output",
     "gather, scatter: cpu.multipass, cuda.multipass", "9, 11, 12, 13, 18, 19, 20",
     "multipass_decision in src/primitives/movement/multipass.hpp"},
    {"A3", "the input cut into segments, each of which has all passes", "scatter: cpu.multipass, cuda.multipass", "10",
     ""},
    {"A4", "the model of a memory with a cache, equations 1 to 11, and the number of passes that it chooses", "",
     "6, 7, 8, 9, 11",
     "sequential_bandwidth, access_seconds, random_bandwidth, expected_distinct, miss_rate, random_hit_rate, "
     "partitions_per_warp, warp_hit_rate, partitioned_hit_rate, scatter_seconds, gather_seconds, best_passes in "
     "src/plan/he2007.hpp"},
    {"A5", "how well the model and our plans predict", "", "6, 7, 8, 9",
     "predict_scatter, predict_gather in src/plan/he2007.hpp"},
    {"A6", "radix sort from the highest bits, by scatters in several passes, and bitonic sorts of the partitions",
     "sort: cuda.msd_bitonic, cuda.sample_bitonic", "15, 16", ""},
    {"A7", "radix sort of the CPU by radix clustering", "sort: cpu.msd, cpu.radix_clustering", "15, 16", ""},
    {"A8", "hash search in four steps, in a table of load factor 99 %",
     "hash_build: cpu.partitioned, cuda.sorted; hash_search: cpu.direct, cuda.direct", "18",
     "hash_search, build_hash_index in include/sheaf/hash_search.hpp"},
    {"A9", "product of a sparse matrix and a vector in two steps, by a gather in one pass or several",
     "spmv: cpu.two_step, cuda.two_step; gather: cpu.multipass, cuda.multipass", "19, 20",
     "csr_view in include/sheaf/csr.hpp"},
    {"A10", "conjugate gradient: the benchmark of NAS, and real matrices",
     "conjugate_gradient: cpu.fused, cpu.separate, cuda.persistent, cuda.streamed, cuda.sliced, cuda.separate",
     "19, 20", "command npb-cg; command solve"},
    {"A11", "tuples of 2 to 16 bytes, growing data, and the GPU beside the CPU, applications with transfers",
     "scatter: cpu.direct, cpu.multipass, cuda.direct, cuda.multipass", "6, 7, 12, 13, 15, 16, 18, 19, 20", ""},
    {"A12", "locations in order against random ones, effective bandwidth, and scatters by the number of partitions",
     "scatter: cpu.direct, cpu.multipass, cuda.direct, cuda.multipass; gather: cpu.direct, cuda.direct", "1, 8, 11",
     ""},
    {"A13", "hash search with the gather in several passes, and that of the CPU by parts that a cache holds",
     "gather: cpu.multipass, cuda.multipass; hash_search: cuda.multipass, cpu.cache_chunks, cpu.partitioned", "18", ""},
    {"A14", "bitonic sort of a whole array, and the bandwidth of each application as the model estimates it",
     "sort: cuda.bitonic", "16, 18, 19, 20", "moved_bytes in src/plan/he2007.hpp"},

    {"B1", "scan of a linked list in an array by any associative operator",
     "list: cpu.sublist, cuda.log, cuda.sublist, cuda.pointer_jumping", "4, 7, table2",
     "list_scan, list_rank, list_node in include/sheaf/list_scan.hpp; command scan; command rank"},
    {"B2", "the head found by the sum of the successors, and faults of what is no list",
     "list: cpu.sublist, cuda.log, cuda.sublist", "table2", "find_joined_lists in src/cpu/linked_list/phases.hpp"},
    {"B3", "random splitters, walks along sublists, a scan of the sublists on the device or the host, a second pass",
     "list: cpu.sublist, cuda.sublist, cuda.sublist_host_scan", "table2",
     "run_list_sums, sublist_scan in papers/wei2010/list_sums.hpp"},
    {"B4",
     "the numbers of blocks, threads and sublists by the paper's analysis and by a model, times and loads by each of "
     "them",
     "list: cpu.sublist, cuda.log, cuda.sublist", "5, 6, table2",
     "cheapest_cut in src/cuda/linked_list/plan.hpp; most_balanced_walkers, least_balanced_sublists, shape_by_lemma, "
     "shape_of_table_2 in papers/wei2010/analysis.hpp; list_sums_form, run_list_sums in papers/wei2010/list_sums.hpp; "
     "load_of, over_mean in papers/wei2010/loads.hpp"},
    {"B5", "ordered, random and strided lists of 1 M to 256 M nodes", "list: cpu.sublist, cuda.log, cuda.sublist",
     "4, 7, table2", ""},
    {"B6", "the memory test beside the time of a node", "", "table3, table4",
     "memory_test, queue_memory_test in papers/wei2010/memory_test.hpp; points_of_paper, points_of_cuda in "
     "papers/wei2010/points.hpp"},
    {"B7", "lists beside the scan of an array, on a GPU and on a CPU, and the walk of one thread",
     "list: cpu.sublist, cuda.log, cuda.sublist", "11, 12",
     "array_scans, tbb_array_scans, list_walks in lab/peers/contenders.hpp"},

    {"C1", "indirections resolved by the stages of a graphics pipeline, up to four deep",
     "gather: opengl.texture, opengl.vertex; scatter: opengl.points", "table1",
     "gather_nested, kept_gather_nested, lookup_scheme in papers/ujaldon2005/opengl/forms.hpp"},
    {"C2", "product of a sparse matrix and a vector by points that blend, x by each of three schemes",
     "spmv, prepare_spmv: opengl.texture, opengl.lookup, opengl.vertex, opengl.packed", "table3, table5", ""},
    {"C3",
     "forces along edges, added at one end and subtracted at the other, in two passes; four components beside one",
     "edge_sum, prepare_edge_sum: opengl.points; edge_sum: cpu.owner, cpu.binned, cuda.atomic, cuda.two_pass",
     "table4, table6",
     "edge_sum, inverse_square in include/sheaf/edge_sum.hpp; vector_processing in papers/ujaldon2005/figures.hpp"},
    {"C4", "loading time, runs that make up for it, runs a second",
     "prepare_spmv: opengl.texture, opengl.lookup, opengl.vertex, opengl.packed, opengl.fragments; "
     "prepare_edge_sum: opengl.points, opengl.fragments, cpu.tiles, cuda.tiles",
     "table5, table6", "preparation_seconds, pays_after_runs, run_seconds in include/sheaf/plan.hpp"},
    {"C5", "blending as sum, difference, minimum and maximum, in one pass beside as many as the logarithm",
     "scatter_reduce: opengl.blended", "table1, table7",
     "kept_reduction, reduction_form in papers/ujaldon2005/opengl/reduction.hpp"},
    {"C6", "time and error by the bits of textures and frame buffers, each sum held to a bound of its error", "", "3",
     "spmv_at_precision, edge_sum_at_precision in papers/ujaldon2005/opengl/precision.hpp; "
     "texel_error, bound_contribution, blended_sum in papers/ujaldon2005/opengl/error_bounds.hpp"},
    {"C7", "three matrices and three meshes beside the CPU of one thread, their sizes, and the averages of the text",
     "", "table3, table4, table5, table6", "matrices_in, meshes_in, uploads_of in papers/ujaldon2005/figures.hpp"},
    {"C8", "conditions by clipping, window and mask; textures of 1 to 3 dimensions; the host's memory; shared work", "",
     "table1, table5, table6",
     "gather_where, gather_from_dimensions in papers/ujaldon2005/opengl/forms.hpp; product_from_host, "
     "edge_sum_from_host in papers/ujaldon2005/opengl/memory.hpp; shared_work in papers/ujaldon2005/figures.hpp"},

    {"D1", "the basic split, its scatter in one step or in two",
     "split: cpu.one_step, cpu.two_step, cuda.one_step, cuda.two_step", "4",
     "steps_by_segment in papers/patidar2009/figures.hpp"},
    {"D2", "ordered increments in shared memory, beside hardware atomics and the other rivals",
     "split: cuda.two_step, cuda.stable, cuda.hardware_atomics, cuda.global_atomics, cuda.thread_histograms, "
     "cuda.one_bit",
     "4", ""},
    {"D3", "splits of records of any width by any bits, stable or not, and gather and scatter indexes of splits",
     "split: cpu.buffered, cpu.by_sort, cuda.stable, cuda.unordered, cuda.by_index, cuda.by_sort", "6, 9, 10",
     "split, split_unstable, split_gather_index, split_scatter_index in include/sheaf/split.hpp; command split"},
    {"D4", "splits to many categories by 8 bits at a time, and scatter indexes by a second sort",
     "split: cpu.iterated_split, cuda.iterated_split, cpu.second_sort, cuda.second_sort", "2, 4, 5, 6, 8, 9, 10", ""},
    {"D5", "gather and scatter of records by lanes that cooperate", "gather, scatter: cuda.lane_rule, cuda.collective",
     "11, 12", "lanes_of_record in papers/patidar2009/lane_rule.hpp"},
    {"D6", "SplitSort of keys and of pairs, and by the number of multiprocessors",
     "sort: cpu.split_sort, cuda.split_sort, cuda.lsd", "13, 14, 15",
     "sort_keys, sort_pairs in include/sheaf/sort.hpp"},
    {"D7", "sorts of large records by their row numbers and a gather", "sort: cpu.split_sort, cuda.split_sort",
     "table1", "sort_records in include/sheaf/sort.hpp"},
    {"D8", "records in several categories", "", "",
     "multi_split, multi_split_index in include/sheaf/split.hpp; command multi-split"},
    {"D9", "grids of triangles and of particles, octrees and spanning trees by splits", "", "",
     "example voxel_grid; example particle_grid; example octree; example spanning_tree"},
    {"D10", "an index from the device for records that stay on the host", "", "table2",
     "example host_gather; split_gather_index in include/sheaf/split.hpp"},
};

template <class Variant>
void add_names(std::string_view primitive, std::set<std::string>& names) {
  for (const Variant& v : primitives::list_of<Variant>()) names.insert(fmt::format("{} {}", primitive, v.name));
}

/// All variants that this program can run, named as the sources name their types: "sort cpu.msd".
std::set<std::string> joined_variants() {
  using namespace primitives;
  std::set<std::string> names;
  add_names<gather_variant>("gather", names);
  add_names<scatter_variant>("scatter", names);
  add_names<prepare_variant>("prepare", names);
  add_names<scatter_reduce_variant>("scatter_reduce", names);
  add_names<split_variant>("split", names);
  add_names<row_of_entry_variant>("row_of_entry", names);
  add_names<sort_variant>("sort", names);
  add_names<list_variant>("list", names);
  add_names<hash_build_variant>("hash_build", names);
  add_names<hash_search_variant>("hash_search", names);
  add_names<spmv_variant>("spmv", names);
  add_names<prepare_spmv_variant>("prepare_spmv", names);
  add_names<conjugate_gradient_variant>("conjugate_gradient", names);
  add_names<edge_sum_variant>("edge_sum", names);
  add_names<prepare_edge_sum_variant>("prepare_edge_sum", names);
  return names;
}

class RowsOfPapers : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(SHEAF_SOURCE_DIR "/src/core")) {
      GTEST_SKIP() << "the sources are not at " SHEAF_SOURCE_DIR;
    }
  }

  const paper_rows& here() const { return here_; }

 private:
  paper_rows here_{SHEAF_SOURCE_DIR, joined_variants()};
};

TEST_F(RowsOfPapers, AreHeldByWhatIsThere) {
  for (const std::string& fault : here().faults_of(rows)) ADD_FAILURE() << fault;
}

TEST_F(RowsOfPapers, StandInTheDocument) {
  const std::string text = text_of(SHEAF_SOURCE_DIR "/docs/papers.md");
  for (const std::string& fault : here().faults_of_document(rows, text)) ADD_FAILURE() << "docs/papers.md: " << fault;
}

// What is not compiled here is looked for in the sources, which must be read well: all that is compiled is found there.
TEST_F(RowsOfPapers, SourcesNameEveryVariantOfTheLists) {
  std::set<std::string> joined = joined_variants();
  std::erase_if(joined, [](const std::string& name) {  // of src/primitives
    return name.find(" reference.") != std::string::npos || name.ends_with(" kept");
  });
  EXPECT_GE(joined.size(), 25U);
  for (const std::string& name : joined) EXPECT_TRUE(here().sourced().contains(name)) << name;
  EXPECT_GE(here().sourced().size(), 100U) << "too few to be those of all backends";
}

TEST_F(RowsOfPapers, FiguresAreThoseThatSheafBenchLists) {
#ifndef SHEAF_BENCH_PROGRAM
  GTEST_SKIP() << "built without sheaf-bench";
#else
  if (!std::filesystem::exists(SHEAF_BENCH_PROGRAM)) GTEST_SKIP() << "sheaf-bench is not built";
  const temporary_folder folder;
  const program_result listed = run_program(SHEAF_BENCH_PROGRAM, folder, "papers --list");
  ASSERT_EQ(listed.code, 0) << listed.err;
  const list lines = items_of(listed.out, '\n');
  EXPECT_EQ(lines.size(), std::size(numbered_papers)) << listed.out;
  for (const numbered_paper& paper : numbered_papers) {
    const auto line = std::ranges::find_if(lines, [&](const std::string& l) { return l.starts_with(paper.folder); });
    ASSERT_NE(line, lines.end()) << paper.folder;
    const list numbers = items_of(line->substr(line->find(':') + 1), ',');
    EXPECT_EQ(std::set<std::string>(numbers.begin(), numbers.end()), here().figures_of(paper.folder)) << *line;
  }
#endif
}

/// A row of each number, which one variant of the CPU holds.
class NumberedRows : public RowsOfPapers {
 protected:
  NumberedRows() {
    for (const std::string& id : ids_) planted.push_back({id, "", "gather: cpu.direct", "", ""});
  }

  list faults() const { return here().faults_of(planted); }
  paper_row& row(std::string_view id) { return *std::ranges::find(planted, id, &paper_row::id); }

  std::vector<paper_row> planted;

 private:
  list ids_ = ids_of_rows();
};

TEST_F(NumberedRows, ThatAreHeldPass) {
  EXPECT_EQ(planted.size(), 39U);
  row("A2") = {"A2", "", "gather, scatter: cpu.direct, cuda.direct; sort: cpu.msd", "1, 20", "command npb-cg"};
  row("B6") = {"B6", "", "", "4, table2", "example octree; split, multi_split in include/sheaf/split.hpp"};
  EXPECT_EQ(faults(), list{});
}

TEST_F(NumberedRows, ThatAreMissingOrTwiceAreNamed) {
  std::erase_if(planted, [](const paper_row& r) { return r.id == "D10"; });
  planted.push_back({"A6", "", "sort: cpu.msd", "", ""});
  planted.push_back({"E1", "", "sort: cpu.msd", "", ""});
  EXPECT_EQ(faults(), (list{"A6: stands 2 times", "D10: stands 0 times", "E1: no paper has it"}));
}

TEST_F(NumberedRows, OfVariantsThatAreGoneAreNamed) {
  row("A6").variants = "sort: cpu.lost, cuda.lost";
  row("A7").variants = "gather, sort: cpu.msd, cpu.direct";  // each is one of the other primitive
  row("C5").variants = "scatter_reduce: opengl.lost, opengl.blended";
  row("D6").variants = "";
  EXPECT_EQ(faults(),
            (list{"A6: no list of sort has the variant cpu.lost", "A6: no list of sort has the variant cuda.lost",
                  "A7: no list of gather has the variant cpu.msd", "A7: no list of sort has the variant cpu.direct",
                  "C5: no list of scatter_reduce has the variant opengl.lost", "D6: nothing holds it"}));
}

TEST_F(NumberedRows, OfFiguresAndNamesThatAreGoneAreNamed) {
  row("A1").figures = "1, 99, table1";  // the paper of row A1 has no tables
  row("B7").figures = "table4, 13";
  row("C1").others = "command npb; command lost";
  row("D8").others = "example lost; example example";  // the latter is a header
  row("D9").others = "split, spilt in include/sheaf/split.hpp; something";
  EXPECT_EQ(faults(),
            (list{"A1: he2007 has no figure 99", "A1: he2007 has no figure table1", "B7: wei2010 has no figure 13",
                  "C1: there is no command npb", "C1: there is no command lost", "D8: there is no example lost",
                  "D8: there is no example example", "D9: include/sheaf/split.hpp has no spilt",
                  "D9: 'something' is neither a command nor an example nor names in a file"}));
}

TEST_F(NumberedRows, ThatADocumentDoesNotHaveAreNamed) {
  const paper_row some[] = {
      {"A6", "", "sort: cpu.msd, cpu.lsd", "15, 16", ""},
      {"A7", "", "gather: cpu.direct", "15", "command npb-cg; example octree; split in include/sheaf/split.hpp"},
      {"A8", "", "gather: cpu.direct", "", ""},
      {"A9", "", "gather: cpu.direct", "", ""}};
  EXPECT_EQ(here().faults_of_document(some,
                                      "| A6 | a sort | sort `cpu.msd`, `cpu.lsd` | 15, 16 |\n"
                                      "| A7 | a gather | gather `cpu.direct`, `sheaf npb-cg`, "
                                      "[octree](../examples/octree.cpp), `split` | 15 |\n"
                                      "| A8 | a gather | gather `cpu.direct` | |\n"
                                      "| A9 | a gather | gather `cpu.direct` | 1 |\n"),
            list{"A9: its last cell is not '| |'"});
  EXPECT_EQ(here().faults_of_document(
                std::span(some).first(3),
                "| A6 | in order | scatter `cpu.msd`, cpu.lsd | 15 |\n| A7 | `sheaf` | | |\n| A7 | again | | |\n"),
            (list{"A6: its last cell is not '| 15, 16 |'", "A6: says no 'sort'", "A6: says no '`cpu.lsd`'",
                  "A7: has 2 lines, not one", "A8: has 0 lines, not one"}));
}

/// Sources of which nothing is compiled here.
class PlantedPapers : public planted_tree {
 protected:
  list faults_of(const paper_row& row) const {
    list faults = paper_rows(root(), {"sort cpu.msd"}).faults_of(std::span(&row, 1));
    std::erase_if(faults, [](const std::string& fault) { return fault.ends_with(": stands 0 times"); });
    return faults;
  }
};

constexpr const char* listed = "extern constinit const sort_variant sort_listed{\"cuda.listed\", backend_kind::cuda,";

TEST_F(PlantedPapers, VariantsAreThoseThatAreDefinedAndListed) {
  const paper_row row{"A6", "", "sort: cuda.listed, cuda.of_paper", "", ""};
  const list both{"A6: no list of sort has the variant cuda.listed",
                  "A6: no list of sort has the variant cuda.of_paper"};
  EXPECT_EQ(faults_of(row), both);
  plant("src/cuda/sort/lsd.cu", listed);
  plant("papers/he2007/cuda/bitonic.cu",
        "constinit const primitives::sort_variant sort_of_paper{\n    \"cuda.of_paper\", backend_kind::cuda, plan};\n");
  EXPECT_EQ(faults_of(row), both) << "listed nowhere";
  plant("src/cuda/variants.cpp", "    table<sort_other>,\n    // table<sort_listed>,\n    table<sort_of_paper>,\n");
  plant("papers/variants.cpp", "    table<cpu::sort_of_paper>, table<cuda::sort_listed>,\n");
  EXPECT_EQ(faults_of(row), both) << "listed where they are not defined, or in a comment";
  plant("src/cuda/variants.cpp", "    table<sort_other,\n          sort_listed>,\n");
  plant("papers/variants.cpp", "    table<cuda::sort_other, cuda::sort_of_paper>,\n");
  EXPECT_EQ(faults_of(row), list{"A6: no figure measures sort cuda.of_paper"});
  plant("papers/wei2010/figures.cpp", "add(\"cuda.of_paper\");\n");
  plant("papers/he2007/sort.cpp", "add(\"cuda.of_paper_too\");  // \"cuda.of_paper\"\n");
  EXPECT_EQ(faults_of(row), list{"A6: no figure measures sort cuda.of_paper"}) << "another paper's, and a longer name";
  plant("papers/he2007/sort.cpp", "add(\"cuda.of_paper\");\n");
  EXPECT_EQ(faults_of(row), list{});
  plant("src/cuda/sort/lsd.cu", "// " + std::string(listed));
  EXPECT_EQ(faults_of(row), list{both[0]}) << "defined in a comment";
  EXPECT_EQ(faults_of({"A6", "", "gather: cuda.of_paper", "", ""}),
            list{"A6: no list of gather has the variant cuda.of_paper"});
}

TEST_F(PlantedPapers, FiguresAreThoseOfTheTable) {
  const paper_row row{"A6", "", "sort: cpu.msd", "15, table2", ""};
  const list both{"A6: he2007 has no figure 15", "A6: he2007 has no figure table2"};
  EXPECT_EQ(faults_of(row), both);
  plant("papers/he2007/figures.cpp", "void figure_15(run&);\nconstexpr figure<run> figures[] = {{1, figure_1}};\n");
  EXPECT_EQ(faults_of(row), both);
  plant("papers/he2007/figures.cpp",
        "constexpr figure<run> figures[] = {{1, figure_1},\n  // {table_number(2), table_2},\n  {15, figure_15}};\n");
  EXPECT_EQ(faults_of(row), list{both[1]});
  plant("papers/he2007/figures.cpp",
        "constexpr figure<run> figures[] = {{15, figure_15}, {table_number(2),\n    table_2}};\n");
  EXPECT_EQ(faults_of(row), list{});
}

TEST_F(PlantedPapers, CommandsAndExamplesAreThoseThatAreBuilt) {
  const paper_row row{"A10", "", "", "", "command npb-cg; example octree; split in include/sheaf/split.hpp"};
  const list all{"A10: there is no command npb-cg", "A10: there is no example octree",
                 "A10: include/sheaf/split.hpp has no split"};
  EXPECT_EQ(faults_of(row), all);
  plant("apps/sheaf/subcommands/npb_cg.cpp", "app.add_subcommand(\"npb-cg\", \"Run\");\n");
  plant("examples/octree.cpp", "int main() {}\n");
  plant("include/sheaf/split.hpp", "void split8();  // as split\n");
  EXPECT_EQ(faults_of(row), all) << "files that nothing adds, and a word in a comment";
  plant("apps/sheaf/main.cpp", "    {\"npb-cg\", add_npb_cg},\n");
  plant("examples/CMakeLists.txt", "foreach(example IN ITEMS gather octree)\n");
  plant("include/sheaf/split.hpp", "void split(context);\n");
  EXPECT_EQ(faults_of(row), list{});
}

}  // namespace
}  // namespace sheaf::tests::papers_rows_test
