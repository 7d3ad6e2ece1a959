#include "core/backends.hpp"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "plan/probe.hpp"

namespace sheaf::tests {
namespace {

TEST(Backends, HaveNamesThatAreReadBack) {
  std::set<std::string_view> names;
  for (const core::backend& b : core::backends()) {
    EXPECT_TRUE(names.insert(b.name).second) << b.name;
    EXPECT_EQ(core::backend_named(b.name), b.kind);
    EXPECT_EQ(core::backend_of(b.kind).name, b.name);
    EXPECT_EQ(name(b.kind), b.name);
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"cpu", "cuda"}));
  EXPECT_EQ(core::backend_named("tpu"), std::nullopt);
  EXPECT_EQ(core::backend_named(""), std::nullopt);
}

TEST(Backends, OfThisBuildMakeContextsAndMeasureThemselves) {
  for (const core::backend& b : core::backends()) {
    SCOPED_TRACE(b.name);
    EXPECT_EQ(b.is_built(), b.device_count != nullptr);
    EXPECT_EQ(b.is_built(), b.make_probe != nullptr);
    EXPECT_EQ(b.is_built(), b.kind == backend_kind::cpu || SHEAF_HAS_CUDA);
  }
  const core::backend& cpu = core::backend_of(backend_kind::cpu);
  EXPECT_EQ(cpu.device_count(), 1);
  EXPECT_TRUE(cpu.uses_host_memory);
  EXPECT_EQ(cpu.make_probe(context::cpu(1))->describe().backend, backend_kind::cpu);
}

TEST(Backends, BestIsTheFirstWithADevice) {
  for (const core::backend& b : core::backends()) {
    if (!b.is_built() || b.device_count() == 0) continue;
    EXPECT_EQ(context::best().backend(), b.kind);
    break;
  }
}

}  // namespace
}  // namespace sheaf::tests
