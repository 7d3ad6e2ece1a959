#include <sheaf/machine.hpp>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sheaf/context.hpp>

#include "core/context_state.hpp"
#include "support/expect_error.hpp"
#include "support/scoped_environment.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::plan_store_profile_files_test {
namespace {

/// Profiles are stored in a folder of the test's own, and none comes from elsewhere.
class MachineStore : public testing::Test {
 protected:
  machine profile_of_this_processor() const {
    machine m = nearest_machine(backend_kind::cpu, "");
    m.name = context::cpu(1).state().device_name;
    m.parallelism = 4;
    return m;
  }
  std::string path() const { return default_machine_path(backend_kind::cpu, profile_of_this_processor().name); }

  temporary_folder folder;
  scoped_environment cache{"XDG_CACHE_HOME", folder / "cache"};
  scoped_environment none{"SHEAF_PROFILE", ""};
};

TEST_F(MachineStore, NamesFilesAfterBackendAndDevice) {
  EXPECT_EQ(default_machine_path(backend_kind::cuda, "NVIDIA H200"), folder / "cache/sheaf/cuda-NVIDIA-H200.json");
  EXPECT_EQ(default_machine_path(backend_kind::cpu, "Intel(R) Xeon(R) CPU @ 2.00GHz"),
            folder / "cache/sheaf/cpu-Intel-R-Xeon-R-CPU-2-00GHz.json");
  EXPECT_EQ(default_machine_path(backend_kind::cpu, "../../../etc/passwd"), folder / "cache/sheaf/cpu-etc-passwd.json");
  EXPECT_EQ(default_machine_path(backend_kind::cpu, ""), folder / "cache/sheaf/cpu-device.json");
  EXPECT_EQ(default_machine_path(backend_kind::cpu, std::string(1000, 'x')).size(),
            (folder / "cache/sheaf/cpu-.json").size() + 100);
}

TEST_F(MachineStore, LiesInTheHomeFolderWhereNoCacheIsNamed) {
  const scoped_environment home("HOME", folder / "home");
  for (const char* named : {"", "relative/folder"}) {
    const scoped_environment unnamed("XDG_CACHE_HOME", named);
    EXPECT_EQ(default_machine_path(backend_kind::cpu, "x"), folder / "home/.cache/sheaf/cpu-x.json");
  }
}

TEST_F(MachineStore, SaysSoWhereThereIsNoPlace) {
  const scoped_environment no_cache("XDG_CACHE_HOME", "");
  const scoped_environment no_home("HOME", "");
  const std::string message =
      "there is no place for machine profiles: XDG_CACHE_HOME and HOME name no folder; save with --save FILE, and use "
      "the file with SHEAF_PROFILE=FILE";
  expect_error(error_code::bad_argument, message, [] { default_machine_path(backend_kind::cpu, "x"); });
  EXPECT_EQ(context::cpu(1).profile().source, "shipped") << "which stops no program";
}

TEST_F(MachineStore, KeepsWhatContextsUse) {
  EXPECT_EQ(context::cpu(1).profile().source, "shipped");
  const machine mine = profile_of_this_processor();
  EXPECT_EQ(store_machine(mine), path());
  const context ctx = context::cpu(2);
  EXPECT_EQ(ctx.profile().source, path());
  EXPECT_EQ(ctx.profile().parallelism, 2U) << "scaled by the context's threads, as any profile";
  EXPECT_DOUBLE_EQ(ctx.profile().copy_bytes_per_second, mine.copy_bytes_per_second / 2);
  machine newer = mine;
  newer.launch_seconds *= 2;
  store_machine(newer);
  EXPECT_DOUBLE_EQ(context::cpu(4).profile().launch_seconds, newer.launch_seconds);
}

TEST_F(MachineStore, ComesAfterTheProfileThatTheEnvironmentNames) {
  machine mine = profile_of_this_processor();
  store_machine(mine);
  mine.name = "named";
  save_machine(mine, folder / "named.json");
  const scoped_environment profile("SHEAF_PROFILE", folder / "named.json");
  EXPECT_EQ(context::cpu(1).profile().name, "named");
}

TEST_F(MachineStore, ComesBeforeAProfileOfAnotherBackendWhichTheContextSays) {
  const machine cuda = nearest_machine(backend_kind::cuda, "");
  save_machine(cuda, folder / "cuda.json");
  store_machine(profile_of_this_processor());
  const scoped_environment profile("SHEAF_PROFILE", folder / "cuda.json");
  const context stored = context::cpu(1);
  EXPECT_EQ(stored.profile().source, path());
  const std::string words = "SHEAF_PROFILE: " + (folder / "cuda.json") + ": is for cuda '" + cuda.name +
                            "', but this is cpu '" + profile_of_this_processor().name + "'";
  EXPECT_EQ(stored.ignored_profile(), words);
  folder.write(path().substr(folder.path().size() + 1), "{}");
  EXPECT_EQ(context::cpu(1).profile().source, "shipped");
  EXPECT_EQ(context::cpu(1).ignored_profile(), words + "; " + path() + ": schema_version is missing");
}

TEST_F(MachineStore, DamagedFilesBreakNoProgram) {
  const machine mine = profile_of_this_processor();
  store_machine(mine);
  const std::string file = path().substr(folder.path().size() + 1);
  for (const std::string text : {"", "{}", "{\"schema_version\": 1}"}) {
    folder.write(file, text);
    EXPECT_EQ(context::cpu(1).profile().source, "shipped");
    const stored_machine stored = load_stored_machine(backend_kind::cpu, mine.name);
    EXPECT_FALSE(stored.profile);
    EXPECT_TRUE(stored.ignored.starts_with(path() + ": ")) << stored.ignored;
    EXPECT_EQ(context::cpu(1).ignored_profile(), stored.ignored);
  }
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  EXPECT_EQ(load_stored_machine(backend_kind::cpu, mine.name).ignored, path() + ": not a regular file");
  std::filesystem::remove(path());
  EXPECT_EQ(load_stored_machine(backend_kind::cpu, mine.name).ignored, "");
}

TEST_F(MachineStore, ProfilesOfAnOlderSchemaAreLeftAsideWithAWord) {
  const machine mine = profile_of_this_processor();
  store_machine(mine);
  std::string text = format_machine(mine);
  const std::string schema = "\"schema_version\": ";
  text[text.find(schema) + schema.size()] = '2';
  folder.write(path().substr(folder.path().size() + 1), text);
  const context ctx = context::cpu(1);
  EXPECT_EQ(ctx.profile().source, "shipped");
  EXPECT_EQ(ctx.ignored_profile(),
            path() + ": has schema 2, but this sheaf reads 3; sheaf machine --calibrate measures a new profile");
}

TEST_F(MachineStore, ProfilesOfOtherDevicesAreLeftAside) {
  store_machine(profile_of_this_processor());
  machine other = nearest_machine(backend_kind::cuda, "");
  other.name = "another";
  save_machine(other, path());
  EXPECT_EQ(context::cpu(1).profile().source, "shipped");
  const std::string name = profile_of_this_processor().name;
  EXPECT_EQ(load_stored_machine(backend_kind::cpu, name).ignored,
            path() + ": is for cuda 'another', but this is cpu '" + name + "'");
}

TEST_F(MachineStore, FoldersThatCannotBeMadeAreNamed) {
  folder.write("cache", "a file");
  expect_error(error_code::io_failure, (folder / "cache/sheaf") + ": cannot be created: Not a directory",
               [&] { store_machine(profile_of_this_processor()); });
}

}  // namespace
}  // namespace sheaf::tests::plan_store_profile_files_test
