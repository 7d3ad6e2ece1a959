#include "project/include_rules.hpp"

#include <unistd.h>

#include <gtest/gtest.h>

namespace sheaf::tests {
namespace {

using list = std::vector<std::string>;

TEST(IncludeRules, AreKeptByTheSources) {
  include_rules rules(SHEAF_SOURCE_DIR);
  if (!std::filesystem::exists(SHEAF_SOURCE_DIR "/src/core"))
    GTEST_SKIP() << "the sources are not at " SHEAF_SOURCE_DIR;
  for (const std::string& broken : rules.broken()) ADD_FAILURE() << broken;
  EXPECT_GT(rules.files_read(), 40U) << "too few to be the sources";
}

// A source tree of one's own, to plant violations in.
class PlantedTree : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(testing::TempDir()) / fmt::format("sheaf_include_rules_{}", getpid());
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void plant(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  list broken() { return include_rules(root_).broken(); }

 private:
  std::filesystem::path root_;
};

TEST_F(PlantedTree, ThatIsCleanPasses) {
  plant("src/core/a.cpp",
        "#include <sheaf/error.hpp>\n#include \"core/a.hpp\"\n#include <fmt/format.h>\n#include <vector>\n");
  plant("src/cuda/gather.cu",
        "#include <cub/cub.cuh>\n#include \"cuda/launch.cuh\"\n#include \"primitives/gather.hpp\"\n");
  plant("src/primitives/gather.hpp", "#include <sheaf/gather.hpp>\n#include \"plan/variant.hpp\"\n");
  plant("src/inputs/pattern.cu", "#include <cuda_runtime.h>\n");
  plant("src/cli/gather.cpp", "#include \"io/npy.hpp\"\n#include \"inputs/pattern.hpp\"\n");
  plant("include/sheaf/interop/cuda.hpp", "#include <cuda_runtime_api.h>\n#include <sheaf/context.hpp>\n");
  plant("include/sheaf/gather.hpp", "#include <span>\n#include <sheaf/context.hpp>\n");
  plant("examples/gather.cpp", "#include <sheaf/sheaf.hpp>\n#include \"example.hpp\"\n");
  plant("examples/example.hpp", "#include <sheaf/memory.hpp>\n");
  EXPECT_EQ(broken(), list{});
}

TEST_F(PlantedTree, NamesLayersThatLookUpwards) {
  plant("src/core/a.cpp", "\n\n  #  include \"plan/choose.hpp\"\n");
  plant("src/cpu/b.cpp", "#include \"cuda/launch.cuh\"\n");
  plant("src/primitives/c.hpp", "#include \"cpu/parallel.hpp\"\n");
  plant("src/cli/d.cpp", "#include \"cpu/parallel.hpp\"\n");
  plant("src/shiny/e.cpp", "#include <vector>\n");
  EXPECT_EQ(
      broken(),
      (list{
          "src/cli/d.cpp:1: cpu/parallel.hpp: cli may include cli, core, inputs, io, jobs, plan, primitives, reference",
          "src/core/a.cpp:3: plan/choose.hpp: core may include core",
          "src/cpu/b.cpp:1: cuda/launch.cuh: cpu may include core, cpu, plan, primitives",
          "src/primitives/c.hpp:1: cpu/parallel.hpp: primitives may include core, plan, primitives",
          "src/shiny/e.cpp:1: vector: src/shiny has no rule of its own",
      }));
}

TEST_F(PlantedTree, NamesDeviceHeadersWhereThereIsNoDevice) {
  plant("src/plan/a.cpp", "#include <cuda_runtime.h>\n");
  plant("src/io/b.cpp", "#include <sheaf/interop/cuda.hpp>\n");
  plant("include/sheaf/c.hpp", "#include <epoxy/gl.h>\n#include <sheaf/cuda/operators.cuh>\n");
  EXPECT_EQ(broken(),
            (list{
                "include/sheaf/c.hpp:1: epoxy/gl.h: no CUDA or GL header is reachable from a public one outside "
                "interop/ and cuda/",
                "include/sheaf/c.hpp:2: sheaf/cuda/operators.cuh: no CUDA or GL header is reachable from a public one "
                "outside "
                "interop/ and cuda/",
                "src/io/b.cpp:1: sheaf/interop/cuda.hpp: device-side public headers are for the backends and .cu files",
                "src/plan/a.cpp:1: cuda_runtime.h: device headers are for the backends and .cu files",
            }));
}

TEST_F(PlantedTree, NamesPublicHeadersThatAskForMore) {
  plant("include/sheaf/a.hpp", "#include <fmt/format.h>\n#include \"core/context_state.hpp\"\n");
  plant("examples/b.cpp", "#include \"core/context_state.hpp\"\n");
  EXPECT_EQ(broken(),
            (list{
                "examples/b.cpp:1: core/context_state.hpp: examples include public headers and each other's only",
                "include/sheaf/a.hpp:1: fmt/format.h: public headers ask for nothing but the standard library",
                "include/sheaf/a.hpp:2: core/context_state.hpp: public headers include no header of src/",
            }));
}

TEST_F(PlantedTree, NamesFmtThatDeviceCodeReaches) {
  plant("src/cuda/gather.cu", "#include \"primitives/gather.hpp\"\n");
  plant("src/primitives/gather.hpp", "#include \"core/words.hpp\"\n#include \"primitives/gather.hpp\"\n");
  plant("src/core/words.hpp", "#include <string>\n#include <fmt/ranges.h>\n");
  EXPECT_EQ(broken(), (list{"src/core/words.hpp:2: fmt/ranges.h: fmt is reachable from src/cuda/gather.cu"}));
}

}  // namespace
}  // namespace sheaf::tests
