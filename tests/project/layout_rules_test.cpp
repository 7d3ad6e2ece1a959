#include "project/layout_rules.hpp"

#include <gtest/gtest.h>

#include "project/planted_tree.hpp"

namespace sheaf::tests::project_layout_rules_test {
namespace {

using list = std::vector<std::string>;

TEST(LayoutRules, AreKeptByTheSources) {
  layout_rules rules(SHEAF_SOURCE_DIR);
  if (!std::filesystem::exists(SHEAF_SOURCE_DIR "/src/core"))
    GTEST_SKIP() << "the sources are not at " SHEAF_SOURCE_DIR;
  for (const std::string& broken : rules.broken()) ADD_FAILURE() << broken;
  EXPECT_GE(rules.variants_found(), 40U) << "too few to be all variants";
}

class PlantedLayout : public planted_tree {
 protected:
  list broken() { return layout_rules(root()).broken(); }
  void plant_files(const std::string& folder, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) plant(fmt::format("{}/a{}.hpp", folder, i), "");
  }
};

constexpr const char* direct =
    "constinit const primitives::gather_variant gather_direct{\"cuda.direct\", plan, run};\n";

TEST_F(PlantedLayout, WithVariantsInFilesOfTheirNamePasses) {
  plant("src/cuda/movement/README.md", "");
  plant("src/cuda/movement/gather_direct.cu", direct);
  plant("src/cuda/movement/scatter_by_page.cu",
        "const scatter_variant scatter_by_page{\n    \"cpu.by_page\", plan};\n");
  plant("papers/he2007/cuda/bitonic.cu", "const primitives::sort_variant sort_bitonic{\"cuda.bitonic\", plan, run};\n");
  plant("src/primitives/movement/gather.hpp", "extern const primitives::gather_variant gather_direct;\n");
  plant("src/primitives/movement/prepare.cpp", "constexpr prepare_variant kept{\"kept\", plan_kept, run_kept};\n");
  EXPECT_EQ(broken(), list{});
}

TEST_F(PlantedLayout, WithVariantsElsewhereIsNamed) {
  plant("src/cuda/movement/README.md", "");
  plant("src/cuda/movement/gather.cu", direct);
  plant("src/cpu/sort/README.md", "");
  plant("src/cpu/sort/run.cpp",
        "const sort_variant sort_lsd{\"cpu.lsd\", plan_lsd, run_lsd};\n"
        "const sort_variant sort_msd{\n    \"cpu.msd\", plan_msd, run_msd};\n");
  plant("papers/he2007/cuda/network.cu", "const sort_variant sort_bitonic{\"cuda.bitonic\", plan, run};\n");
  EXPECT_EQ(broken(), (list{
                          "papers/he2007/cuda/network.cu: defines cuda.bitonic, but is not named for it",
                          "src/cpu/sort/run.cpp: defines cpu.lsd, but is not named for it",
                          "src/cpu/sort/run.cpp: defines cpu.msd, but is not named for it",
                          "src/cuda/movement/gather.cu: defines cuda.direct, but is not named for it",
                      }));
}

// A program with such declarations links.
TEST_F(PlantedLayout, WithVariantsThatAreDeclaredAsOthersIsNamed) {
  plant("src/cpu/sort/README.md", "");
  plant("src/cpu/sort/lsd.cpp",
        "namespace sheaf::cpu {\nnamespace {\n}  // namespace\n\n"
        "extern constinit const primitives::sort_variant sort_lsd{\"cpu.lsd\", plan_lsd, run_lsd};\n");
  plant("src/cpu/sort/msd.cpp",
        "namespace sheaf {\nnamespace cpu {\n"
        "extern constinit const sort_variant sort_msd{\"cpu.msd\", plan_msd, run_msd};\n");
  plant("src/cpu/variants.cpp", "namespace sheaf::cpu {\nextern const sort_variant sort_lsd,\n    sort_msd;\n");
  plant("src/cpu/calibrate/README.md", "");
  plant("src/cpu/calibrate/microbenchmarks.cpp",
        "namespace sheaf::cpu {\nextern const primitives::split_variant sort_lsd, sort_msd;\n");
  plant("papers/variants.cpp", "namespace sheaf::cuda {\nextern const primitives::sort_variant sort_msd;\n");
  EXPECT_EQ(broken(), (list{
                          "papers/variants.cpp: declares cuda::sort_msd, which no file defines",
                          "src/cpu/calibrate/microbenchmarks.cpp: declares cpu::sort_lsd as a split_variant, "
                          "src/cpu/sort/lsd.cpp defines "
                          "it as a sort_variant",
                          "src/cpu/calibrate/microbenchmarks.cpp: declares cpu::sort_msd as a split_variant, "
                          "src/cpu/sort/msd.cpp defines "
                          "it as a sort_variant",
                      }));
}

TEST_F(PlantedLayout, WithFamiliesThatSayNothingOfThemselvesIsNamed) {
  plant("src/cuda/block/scan.cuh", "");
  plant("src/cpu/threads/parallel.hpp", "");
  plant("src/cpu/threads/README.md", "");
  plant("src/core/context.cpp", "");
  EXPECT_EQ(broken(), list{"src/cuda/block: has no README.md"});
}

TEST_F(PlantedLayout, WithNamesThatRepeatTheirFolderIsNamed) {
  plant("src/cuda/split/README.md", "");
  plant("src/cuda/split/split_pass.cuh", "");
  plant("src/cuda/split/splits.cuh", "");
  plant("lab/harness/harness.hpp", "");
  plant("tests/plan/store_plan_test.cpp", "namespace sheaf::tests::plan_store_plan_test {\n");
  plant("src/plan/shipped_plan.cpp.in", "");
  EXPECT_EQ(broken(), (list{
                          "lab/harness/harness.hpp: repeats its folder's name, harness",
                          "src/cuda/split/split_pass.cuh: repeats its folder's name, split",
                          "src/plan/shipped_plan.cpp.in: repeats its folder's name, plan",
                          "tests/plan/store_plan_test.cpp: repeats its folder's name, plan",
                      }));
}

TEST_F(PlantedLayout, WithTestsInNamespacesOfOthersIsNamed) {
  plant("tests/cpu/sort_test.cpp", "namespace sheaf::tests::cpu_sort_test {\n");
  plant("tests/cuda/list_function_test.cu", "namespace sheaf::tests {\n");
  plant("tests/support/contexts.hpp", "namespace sheaf::tests {\n");
  EXPECT_EQ(broken(),
            list{"tests/cuda/list_function_test.cu: has no 'namespace sheaf::tests::cuda_list_function_test {'"});
}

TEST_F(PlantedLayout, WithRegionsOfThreadsThatMayNotStartIsNamed) {
  plant("apps/sheaf/mesh/edges.cpp", "// #pragma omp parallel for\n  #pragma omp parallel for num_threads(threads)\n");
  plant("apps/sheaf/mesh/box.cpp",
        "#pragma omp parallel num_threads(core::startable(2)) if (x)\n#pragma omp barrier\n");
  plant("lab/peers/cpu.cpp", "void f();\n#pragma omp parallel\n");
  EXPECT_EQ(broken(), (list{
                          "apps/sheaf/mesh/edges.cpp: has a parallel region whose num_threads is not core::startable",
                          "lab/peers/cpu.cpp: has a parallel region whose num_threads is not core::startable",
                      }));
}

TEST_F(PlantedLayout, WithFoldersOfMoreThanThirtyFilesIsNamed) {
  plant_files("apps/sheaf", 30);
  plant("apps/sheaf/CMakeLists.txt", "");
  plant("apps/sheaf/merge/loser_tree.hpp", "");
  plant_files("tests/support", 31);
  plant_files("lab/peers", 32);
  plant_files("examples", 33);
  EXPECT_EQ(broken(), (list{
                          "lab/peers: has 32 source files, more than 30",
                          "tests/support: has 31 source files, more than 30",
                      }));
}

}  // namespace
}  // namespace sheaf::tests::project_layout_rules_test
