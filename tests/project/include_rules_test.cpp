#include "project/include_rules.hpp"

#include <gtest/gtest.h>

#include "project/planted_tree.hpp"

namespace sheaf::tests::project_include_rules_test {
namespace {

using list = std::vector<std::string>;

TEST(IncludeRules, AreKeptByTheSources) {
  include_rules rules(SHEAF_SOURCE_DIR);
  if (!std::filesystem::exists(SHEAF_SOURCE_DIR "/src/core"))
    GTEST_SKIP() << "the sources are not at " SHEAF_SOURCE_DIR;
  for (const std::string& broken : rules.broken()) ADD_FAILURE() << broken;
  EXPECT_GT(rules.files_read(), 40U) << "too few to be the sources";
}

class PlantedIncludes : public planted_tree {
 protected:
  list broken() { return include_rules(root()).broken(); }
};

TEST_F(PlantedIncludes, ThatAreCleanPass) {
  plant("src/core/a.cpp",
        "#include <sheaf/error.hpp>\n#include \"core/a.hpp\"\n#include <fmt/format.h>\n#include <vector>\n");
  plant("src/cuda/movement/gather_direct.cu",
        "#include <cub/cub.cuh>\n#include \"cuda/device/launch.cuh\"\n#include \"primitives/movement/gather.hpp\"\n");
  plant("src/primitives/movement/gather.hpp", "#include <sheaf/gather.hpp>\n#include \"plan/variant.hpp\"\n");
  plant("lab/inputs/pattern.cu", "#include <cuda_runtime.h>\n");
  plant("apps/sheaf/subcommands/gather.cpp",
        "#include \"apps/sheaf/files/npy.hpp\"\n#include \"lab/inputs/pattern.hpp\"\n");
  plant("apps/sheaf/mesh/edges.cpp", "#include <sheaf/sort.hpp>\n#include \"apps/sheaf/files/mesh/arrays.hpp\"\n");
  plant("include/sheaf/interop/cuda.hpp", "#include <cuda_runtime_api.h>\n#include <sheaf/context.hpp>\n");
  plant("include/sheaf/gather.hpp", "#include <span>\n#include <sheaf/context.hpp>\n");
  plant("examples/gather.cpp", "#include <sheaf/sheaf.hpp>\n#include \"example.hpp\"\n");
  plant("examples/example.hpp", "#include <sheaf/memory.hpp>\n");
  EXPECT_EQ(broken(), list{});
}

TEST_F(PlantedIncludes, OfLayersAboveAreNamed) {
  plant("src/core/a.cpp", "\n\n  #  include \"plan/choose.hpp\"\n");
  plant("src/cpu/sort/b.cpp", "#include \"cuda/device/launch.cuh\"\n");
  plant("src/primitives/c.hpp", "#include \"cpu/threads/parallel.hpp\"\n");
  plant("src/plan/g.cpp", "#include \"lab/description/entry.hpp\"\n");
  plant("apps/sheaf/d.cpp", "#include \"cpu/threads/parallel.hpp\"\n");
  plant("apps/sheaf/files/mesh/f.cpp", "#include \"apps/sheaf/mesh/edges.hpp\"\n");
  plant("lab/description/h.cpp", "#include \"lab/peers/sort.hpp\"\n");
  plant("lab/shiny/i.cpp", "#include <vector>\n");
  plant("src/shiny/e.cpp", "#include <vector>\n");
  EXPECT_EQ(broken(),
            (list{
                "apps/sheaf/d.cpp:1: cpu/threads/parallel.hpp: apps/sheaf may include apps/sheaf, apps/sheaf/files, "
                "apps/sheaf/mesh, apps/sheaf/ranks, core, lab/description, lab/inputs, plan, primitives",
                "apps/sheaf/files/mesh/f.cpp:1: apps/sheaf/mesh/edges.hpp: apps/sheaf/files may include "
                "apps/sheaf/files, core, plan",
                "lab/description/h.cpp:1: lab/peers/sort.hpp: lab/description may include core, lab/description, "
                "lab/inputs, plan, primitives",
                "lab/shiny/i.cpp:1: vector: lab/shiny has no rule of its own",
                "src/core/a.cpp:3: plan/choose.hpp: core may include core",
                "src/cpu/sort/b.cpp:1: cuda/device/launch.cuh: cpu may include core, cpu, plan, primitives",
                "src/plan/g.cpp:1: lab/description/entry.hpp: plan may include core, plan",
                "src/primitives/c.hpp:1: cpu/threads/parallel.hpp: primitives may include core, plan, primitives",
                "src/shiny/e.cpp:1: vector: src/shiny has no rule of its own",
            }));
}

TEST_F(PlantedIncludes, OfFamiliesBelowPass) {
  plant("src/cuda/device/state.cu", "#include \"cuda/device/launch.cuh\"\n");
  plant("src/cuda/block/rank.cuh", "#include \"cuda/block/scan.cuh\"\n#include \"cuda/device/launch.cuh\"\n");
  plant("src/cuda/movement/a.cu", "#include \"cuda/block/scan.cuh\"\n#include \"cuda/movement/a.cuh\"\n");
  plant("src/cuda/split/a.cu", "#include \"cuda/movement/a.cuh\"\n#include \"cuda/split/a.cuh\"\n");
  plant("src/cuda/reduce/a.cu", "#include \"cuda/split/a.cuh\"\n#include \"cuda/reduce/a.cuh\"\n");
  plant("src/cuda/hash/a.cu", "#include \"cuda/sort/a.cuh\"\n#include \"cuda/reduce/a.cuh\"\n");
  plant("src/cuda/edges/a.cu", "#include \"cuda/linked_list/a.cuh\"\n#include \"cuda/hash/a.cuh\"\n");
  plant("papers/he2007/cuda/a.cu", "#include \"cuda/sparse/a.cuh\"\n#include \"cuda/sort/words/a.cuh\"\n");
  plant("src/cuda/calibrate/a.cu", "#include \"cuda/edges/a.cuh\"\n#include \"cuda/calibrate/a.cuh\"\n");
  plant("src/cpu/threads/a.cpp", "#include \"cpu/threads/parallel.hpp\"\n");
  plant("src/cpu/movement/a.cpp", "#include \"cpu/threads/parallel.hpp\"\n");
  plant("src/cpu/sparse/a.cpp", "#include \"cpu/linked_list/a.hpp\"\n#include \"cpu/sort/a.hpp\"\n");
  EXPECT_EQ(broken(), list{});
}

TEST_F(PlantedIncludes, OfFamiliesAboveOrBesideAreNamed) {
  plant("src/cuda/device/a.cu", "#include \"cuda/block/scan.cuh\"\n");
  plant("src/cuda/block/a.cuh", "#include \"cuda/movement/a.cuh\"\n");
  plant("src/cuda/movement/a.cu", "#include \"cuda/split/a.cuh\"\n#include \"papers/he2007/cuda/a.cuh\"\n");
  plant("src/cuda/reduce/a.cu", "#include \"cuda/sort/a.cuh\"\n");
  plant("src/cuda/hash/a.cu", "#include \"cuda/linked_list/a.cuh\"\n");
  plant("src/cpu/sparse/a.cpp", "#include \"cpu/edges/a.hpp\"\n");
  plant("src/cpu/threads/a.hpp", "#include \"cpu/movement/a.hpp\"\n");
  EXPECT_EQ(
      broken(),
      (list{
          "src/cpu/sparse/a.cpp:1: cpu/edges/a.hpp: cpu/sparse may include hash, linked_list, movement, reduce, sort, "
          "sparse, "
          "split, threads",
          "src/cpu/threads/a.hpp:1: cpu/movement/a.hpp: cpu/threads may include threads",
          "src/cuda/block/a.cuh:1: cuda/movement/a.cuh: cuda/block may include block, device",
          "src/cuda/device/a.cu:1: cuda/block/scan.cuh: cuda/device may include device",
          "src/cuda/hash/a.cu:1: cuda/linked_list/a.cuh: cuda/hash may include block, device, hash, movement, reduce, "
          "sort, "
          "split",
          "src/cuda/movement/a.cu:1: cuda/split/a.cuh: cuda/movement may include block, device, movement",
          "src/cuda/movement/a.cu:2: papers/he2007/cuda/a.cuh: cuda may include core, cuda, plan, primitives",
          "src/cuda/reduce/a.cu:1: cuda/sort/a.cuh: cuda/reduce may include block, device, movement, reduce, split",
      }));
}

TEST_F(PlantedIncludes, OutsideFamiliesAreNamed) {
  plant("src/cuda/a.cu", "#include \"cuda/device/launch.cuh\"\n");
  plant("src/cuda/variants.cpp", "#include \"primitives/backends.hpp\"\n");
  plant("src/cuda/movement/b.cu", "#include \"cuda/launch.cuh\"\n");
  plant("src/cuda/shiny/c.cu", "#include \"cuda/device/launch.cuh\"\n#include \"cuda/sort/a.cuh\"\n");
  EXPECT_EQ(broken(),
            (list{
                "src/cuda/a.cu:1: cuda/device/launch.cuh: files of src/cuda lie in a family's folder",
                "src/cuda/movement/b.cu:1: cuda/launch.cuh: cuda/movement may include block, device, movement",
                "src/cuda/shiny/c.cu:2: cuda/sort/a.cuh: cuda/shiny may include block, device, shiny",
            }));
}

TEST_F(PlantedIncludes, InsideSortPassFromMsdDown) {
  plant("src/cuda/sort/sample.cu", "#include \"cuda/sort/radix/launch.cuh\"\n#include \"cuda/sort/words/rows.cuh\"\n");
  plant("src/cuda/sort/radix/launch.cuh", "#include \"cuda/sort/words/a.hpp\"\n#include \"cuda/sort/radix/a.cuh\"\n");
  plant("src/cuda/sort/radix/a.cu", "#include \"cuda/sort/words/rows.cuh\"\n#include \"cuda/split/passes.hpp\"\n");
  plant("src/cuda/sort/words/rows.cuh", "#include \"cuda/sort/words/limbs.cuh\"\n");
  EXPECT_EQ(broken(), list{});
}

TEST_F(PlantedIncludes, InsideSortAreNamedUpwards) {
  plant("src/cuda/sort/words/a.cuh", "#include \"cuda/sort/sample.hpp\"\n#include \"cuda/sort/lsd.hpp\"\n");
  plant("src/cuda/sort/radix/a.cuh", "#include \"cuda/sort/sample.hpp\"\n");
  plant("src/cuda/sort/shiny/a.cuh", "#include \"cuda/sort/words/a.cuh\"\n");
  plant("src/cpu/sort/words/a.hpp", "#include \"cpu/sort/words/b.hpp\"\n");
  EXPECT_EQ(broken(),
            (list{
                "src/cpu/sort/words/a.hpp:1: cpu/sort/words/b.hpp: src/cpu/sort/words has no rule of its own",
                "src/cuda/sort/radix/a.cuh:1: cuda/sort/sample.hpp: cuda/sort/radix may include radix, words",
                "src/cuda/sort/shiny/a.cuh:1: cuda/sort/words/a.cuh: src/cuda/sort/shiny has no rule of its own",
                "src/cuda/sort/words/a.cuh:1: cuda/sort/sample.hpp: cuda/sort/words may include words",
                "src/cuda/sort/words/a.cuh:2: cuda/sort/lsd.hpp: cuda/sort/words may include words",
            }));
}

TEST_F(PlantedIncludes, OfPublicHeadersPassWhereTheyAreDefinedOrAbove) {
  plant("src/core/a.cpp", "#include <sheaf/machine_profile.hpp>\n#include <sheaf/context.hpp>\n");
  plant("src/plan/a.cpp", "#include <sheaf/machine.hpp>\n#include <sheaf/plan.hpp>\n");
  plant("src/plan/store/a.cpp", "#include <sheaf/machine.hpp>\n#include <sheaf/records.hpp>\n");
  plant("apps/sheaf/files/a.cpp", "#include <sheaf/records.hpp>\n");
  plant("src/primitives/a.cpp", "#include <sheaf/sort.hpp>\n#include <sheaf/prepared.hpp>\n");
  plant("src/cpu/sort/a.cpp", "#include <sheaf/machine_profile.hpp>\n#include <sheaf/memory.hpp>\n");
  plant("apps/sheaf/a.cpp", "#include <sheaf/sheaf.hpp>\n#include <sheaf/machine.hpp>\n");
  plant("lab/description/sort/a.cpp", "#include <sheaf/scatter_reduce.hpp>\n");
  plant("include/sheaf/plan.hpp", "#include <sheaf/export.hpp>\n");
  plant("include/sheaf/prepared.hpp", "#include <sheaf/scatter.hpp>\n");
  EXPECT_EQ(broken(), list{});
}

TEST_F(PlantedIncludes, OfPublicHeadersThatHigherLayersDefineAreNamed) {
  plant("src/core/a.cpp", "#include <sheaf/machine.hpp>\n");
  plant("src/plan/a.cpp", "#include <sheaf/gather.hpp>\n");
  plant("apps/sheaf/files/a.cpp", "#include <sheaf/split.hpp>\n");
  plant("src/primitives/a.cpp", "#include <sheaf/machine.hpp>\n#include <sheaf/sheaf.hpp>\n");
  plant("src/cpu/sort/a.cpp", "#include <sheaf/sort.hpp>\n#include <sheaf/machine.hpp>\n");
  plant("src/cuda/sort/a.cu", "#include <sheaf/prepared.hpp>\n#include \"sheaf/gather.hpp\"\n");
  plant("lab/inputs/a.cpp", "#include <sheaf/shiny.hpp>\n");
  plant("include/sheaf/records.hpp", "#include <sheaf/sort.hpp>\n");
  EXPECT_EQ(broken(),
            (list{
                "apps/sheaf/files/a.cpp:1: sheaf/split.hpp: apps/sheaf/files may not call what primitives defines",
                "include/sheaf/records.hpp:1: sheaf/sort.hpp: headers that every layer includes reach no header that "
                "some may not",
                "lab/inputs/a.cpp:1: sheaf/shiny.hpp: lab/inputs may not call what primitives defines",
                "src/core/a.cpp:1: sheaf/machine.hpp: core may not call what plan defines",
                "src/cpu/sort/a.cpp:1: sheaf/sort.hpp: cpu may not call what primitives defines",
                "src/cpu/sort/a.cpp:2: sheaf/machine.hpp: cpu may not call what plan defines",
                "src/cuda/sort/a.cu:1: sheaf/prepared.hpp: cuda may not call what primitives defines",
                "src/cuda/sort/a.cu:2: sheaf/gather.hpp: cuda may include core, cuda, plan, primitives",
                "src/plan/a.cpp:1: sheaf/gather.hpp: plan may not call what primitives defines",
                "src/primitives/a.cpp:1: sheaf/machine.hpp: primitives may not call what plan defines",
                "src/primitives/a.cpp:2: sheaf/sheaf.hpp: primitives includes what it needs and no more",
            }));
}

TEST_F(PlantedIncludes, OfDeviceHeadersAreNamedWhereThereIsNoDevice) {
  plant("src/plan/a.cpp", "#include <cuda_runtime.h>\n");
  plant("apps/sheaf/files/b.cpp", "#include <sheaf/interop/cuda.hpp>\n");
  plant("include/sheaf/c.hpp", "#include <epoxy/gl.h>\n#include <sheaf/cuda/operators.cuh>\n");
  EXPECT_EQ(broken(),
            (list{
                "apps/sheaf/files/b.cpp:1: sheaf/interop/cuda.hpp: device headers are for the backends and .cu files",
                "include/sheaf/c.hpp:1: epoxy/gl.h: no CUDA or GL header is reachable from a public one outside "
                "interop/ and cuda/",
                "include/sheaf/c.hpp:2: sheaf/cuda/operators.cuh: no CUDA or GL header is reachable from a public one "
                "outside "
                "interop/ and cuda/",
                "src/plan/a.cpp:1: cuda_runtime.h: device headers are for the backends and .cu files",
            }));
}

TEST_F(PlantedIncludes, OfMoreThanThePublicAreNamed) {
  plant("include/sheaf/a.hpp", "#include <fmt/format.h>\n#include \"core/context_state.hpp\"\n");
  plant("examples/b.cpp", "#include \"core/context_state.hpp\"\n");
  EXPECT_EQ(broken(),
            (list{
                "examples/b.cpp:1: core/context_state.hpp: examples include public headers and each other's only",
                "include/sheaf/a.hpp:1: fmt/format.h: public headers ask for nothing but the standard library",
                "include/sheaf/a.hpp:2: core/context_state.hpp: public headers include no header of src/",
            }));
}

TEST_F(PlantedIncludes, OfFmtThatDeviceCodeReachesAreNamed) {
  plant("src/cuda/movement/gather.cu", "#include \"primitives/movement/gather.hpp\"\n");
  plant("src/primitives/movement/gather.hpp",
        "#include \"core/words.hpp\"\n#include \"primitives/movement/gather.hpp\"\n");
  plant("src/core/words.hpp", "#include <string>\n#include <fmt/ranges.h>\n");
  plant("papers/he2007/run.hpp", "#include <fmt/format.h>\n");
  plant("papers/he2007/cuda/a.cu", "#include \"papers/he2007/run.hpp\"\n");
  plant("tests/cuda/b_test.cu", "#include \"cuda/support.hpp\"\n");
  plant("tests/cuda/support.hpp", "#include <fmt/core.h>\n");
  EXPECT_EQ(broken(), (list{
                          "papers/he2007/run.hpp:1: fmt/format.h: fmt is reachable from papers/he2007/cuda/a.cu",
                          "src/core/words.hpp:2: fmt/ranges.h: fmt is reachable from src/cuda/movement/gather.cu",
                          "tests/cuda/support.hpp:1: fmt/core.h: fmt is reachable from tests/cuda/b_test.cu",
                      }));
}

}  // namespace
}  // namespace sheaf::tests::project_include_rules_test
