#include "project/path_rules.hpp"

#include <gtest/gtest.h>

#include "project/planted_tree.hpp"

namespace sheaf::tests::project_path_rules_test {
namespace {

using list = std::vector<std::string>;

TEST(PathRules, AreKeptByCommentsDocumentsAndScripts) {
  path_rules rules(SHEAF_SOURCE_DIR);
  if (!std::filesystem::exists(SHEAF_SOURCE_DIR "/src/core"))
    GTEST_SKIP() << "the sources are not at " SHEAF_SOURCE_DIR;
  for (const std::string& broken : rules.broken()) ADD_FAILURE() << broken;
  EXPECT_GT(rules.names_read(), 200U) << "too few to be all names";
}

class PlantedPaths : public planted_tree {
 protected:
  list broken() { return path_rules(root()).broken(); }
};

TEST_F(PlantedPaths, ThatAreTherePass) {
  plant("src/core/a.cpp", "// src/core/a.cpp has it, as `src/core` and src/core/a say.\n");
  plant("docs/map.md",
        "`src/*/sort`, `src/core/<p>.cpp`, (src/core/{a,b}.hpp), ../src/nowhere.cpp, github.com/x/src/y.c\n");
  plant("docs/code.md", "```cpp\nrun([](int rank) {});\n```\n");
  plant("lab/CMakeLists.txt", "add_library(sheaf_lab a.cpp)\nsheaf_layer(core a.cpp)\n");
  plant("script/run", "cmake --build --target sheaf_lab\n");
  plant("README.md", "Build `sheaf_core`.\n");
  plant("docs/links.md",
        "[map](map.md) [core](../src/core) [here](#here) [there](https://a.b/c) [part](map.md#part)\n");
  EXPECT_EQ(broken(), list{});
}

TEST_F(PlantedPaths, ThatAreNotThereAreNamed) {
  plant("src/core/a.cpp", "// See src/core/b.cpp.\nint a;  // lab/gone\n");
  plant("docs/map.md", "`src/nowhere/*.hpp`\n\n`sheaf_nothing`\n[core](src/core)\n");
  plant("script/run", "cmake --build build --target sheaf_cli\n");
  EXPECT_EQ(broken(), (list{
                          "docs/map.md:1: src/nowhere/: there is no such file",
                          "docs/map.md:3: sheaf_nothing: there is no such target",
                          "docs/map.md:4: src/core: there is no such file",
                          "script/run:1: sheaf_cli: there is no such target",
                          "src/core/a.cpp:1: src/core/b.cpp: there is no such file",
                          "src/core/a.cpp:2: lab/gone: there is no such file",
                      }));
}

}  // namespace
}  // namespace sheaf::tests::project_path_rules_test
