#include "core/backends.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "papers/variants.hpp"
#include "plan/microbenchmarks.hpp"
#include "primitives/backends.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::core_backends_test {
namespace {

TEST(Backends, HaveNamesThatAreReadBack) {
  std::set<std::string_view> names;
  for (const core::backend& b : core::backends()) {
    EXPECT_TRUE(names.insert(b.name).second) << b.name;
    EXPECT_EQ(core::backend_named(b.name), b.kind);
    EXPECT_EQ(core::backend_of(b.kind).name, b.name);
    EXPECT_EQ(name(b.kind), b.name);
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"cpu", "cuda", "opengl"}));
  EXPECT_EQ(core::backend_named("tpu"), std::nullopt);
  EXPECT_EQ(core::backend_named(""), std::nullopt);
}

TEST(Backends, OfThisBuildMakeContextsAndMeasureThemselves) {
  for (const core::backend& b : core::backends()) {
    SCOPED_TRACE(b.name);
    EXPECT_EQ(b.is_built(), b.device_count != nullptr);
    EXPECT_EQ(b.is_built(), b.make_microbenchmarks != nullptr);
    EXPECT_EQ(b.is_built(), b.kind == backend_kind::cpu || (b.kind == backend_kind::cuda && SHEAF_HAS_CUDA) ||
                                (b.kind == backend_kind::opengl && SHEAF_HAS_OPENGL));
  }
  const core::backend& cpu = core::backend_of(backend_kind::cpu);
  EXPECT_EQ(cpu.device_count(), 1);
  EXPECT_TRUE(cpu.uses_host_memory);
  EXPECT_EQ(cpu.make_microbenchmarks(context::cpu(1))->describe().backend, backend_kind::cpu);
}

// OpenGL uploads what every call takes, and may be a renderer in software.
TEST(Backends, BestIsTheLastWithADeviceThatIsTakenByItself) {
  backend_kind best = backend_kind::cpu;
  for (const core::backend& b : core::backends()) {
    EXPECT_EQ(b.is_taken_by_itself, b.kind != backend_kind::opengl) << b.name;
    if (b.is_taken_by_itself && b.has_device()) best = b.kind;
  }
  EXPECT_EQ(core::best_backend(), best);
  EXPECT_EQ(context::best().backend(), best);
}

TEST(Backends, MakeAContextByKindOrSayThatTheBuildHasNone) {
  EXPECT_EQ(context::on(backend_kind::cpu, 3).threads(), 3);
  EXPECT_THAT(message_of(error_code::bad_argument, [] { context::on(backend_kind::cpu, -1); }),
              testing::HasSubstr("threads"));
  for (const core::backend& b : core::backends()) {
    SCOPED_TRACE(b.name);
    if (b.has_device()) {
      EXPECT_EQ(context::on(b.kind).backend(), b.kind);
    } else {
      EXPECT_NE(message_of(error_code::backend_unavailable, [&] { context::on(b.kind); }), "");
    }
  }
}

// Forms of the papers are joined to the library's variants before the first list is asked for (joined_papers.cpp).
TEST(Backends, HaveNoFormsOfThePapersUntilAProgramAddsThem) {
  const auto expect_added = []<class Variant>(std::span<const Variant> all) {
    const auto of = [](const primitives::variant_tables& tables) {
      std::vector<std::string_view> names;
      for (const primitives::variant_table& t : tables) {
        for (const Variant* const v : t.of<Variant>()) names.push_back(v->name);
      }
      return names;
    };
    for (const std::string_view form : of(papers::variants)) {
      EXPECT_EQ(std::ranges::count(all, form, &Variant::name), 1) << form;
      for (const primitives::variant_tables* const backend : primitives::variants_of_backends()) {
        EXPECT_THAT(of(*backend), testing::Not(testing::Contains(form)));
      }
    }
  };
  expect_added(primitives::gather_variants());
  expect_added(primitives::scatter_variants());
  expect_added(primitives::split_variants());
  expect_added(primitives::sort_variants());
  EXPECT_THROW(primitives::add_variants(papers::variants), std::logic_error) << "lists are made once";
}

}  // namespace
}  // namespace sheaf::tests::core_backends_test
