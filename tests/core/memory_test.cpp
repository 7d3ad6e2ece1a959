#include <sheaf/memory.hpp>

#include <array>
#include <optional>
#include <utility>

#include <gtest/gtest.h>
#include <sheaf/context.hpp>
#include <sheaf/gather.hpp>

#include "core/context_state.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::core_memory_test {
namespace {

// A memory resource that counts, on top of another one, and can run dry.
struct counting_resource {
  memory_resource under;
  std::uint64_t taken = 0;
  std::uint64_t given_back = 0;
  std::uint64_t bytes_out = 0;
  bool dry = false;

  memory_resource resource() {
    return {[](void* state, std::uint64_t bytes, CUstream_st* stream) -> void* {
              auto& self = *static_cast<counting_resource*>(state);
              if (self.dry) return nullptr;
              ++self.taken;
              self.bytes_out += bytes;
              return self.under.allocate(self.under.state, bytes, stream);
            },
            [](void* state, void* block, std::uint64_t bytes, CUstream_st* stream) {
              auto& self = *static_cast<counting_resource*>(state);
              ++self.given_back;
              self.bytes_out -= bytes;
              self.under.deallocate(self.under.state, block, bytes, stream);
            },
            this};
  }
};

TEST(Buffer, MovesAndIsEmptyAfterwards) {
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    buffer first(where.ctx, 100);
    std::byte* const block = first.data();
    EXPECT_EQ(first.size(), 100U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 256, 0U);
    buffer second(std::move(first));
    EXPECT_EQ(second.data(), block);
    EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move): what is left is promised
    EXPECT_EQ(first.size(), 0U);
    buffer third;
    third = std::move(second);
    EXPECT_EQ(third.data(), block);
    EXPECT_EQ(third.size(), 100U);
    EXPECT_EQ(third.as<char>(), reinterpret_cast<char*>(block));
    third = buffer();
    EXPECT_EQ(third.data(), nullptr);
  }
}

TEST(Buffer, OfNoBytesTakesNothing) {
  context ctx = context::cpu(1);
  counting_resource counter{ctx.state().memory};
  ctx.use(counter.resource());
  const buffer nothing(ctx, 0);
  EXPECT_EQ(nothing.data(), nullptr);
  EXPECT_EQ(counter.taken, 0U);
}

TEST(Buffer, OutlivesItsContext) {
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    std::optional<buffer> kept;
    {
      const context ctx = where.ctx.backend() == backend_kind::cpu ? context::cpu(1) : context::cuda(0);
      kept.emplace(ctx, 4096);
    }
    EXPECT_NE(kept->data(), nullptr);
    kept.reset();
  }
}

TEST(Buffer, SaysHowMuchIsNotToBeHad) {
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    constexpr std::uint64_t too_much = std::uint64_t{1} << 60;
    expect_error(error_code::out_of_memory,
                 fmt::format("buffer: {} bytes of {} memory are not available", too_much, name(where.ctx.backend())),
                 [&] { buffer(where.ctx, too_much); });
    EXPECT_NO_THROW(where.ctx.wait());
    EXPECT_NO_THROW(buffer(where.ctx, 1 << 20));
  }
}

TEST(Buffer, ComesFromTheContextsResourceAndGoesBackToTheOneItCameFrom) {
  for (named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    const memory_resource original = where.ctx.state().memory;
    counting_resource first{original};
    counting_resource second{original};
    where.ctx.use(first.resource());
    std::optional<buffer> block(std::in_place, where.ctx, 1000);
    where.ctx.use(second.resource());
    const buffer other(where.ctx, 500);
    EXPECT_EQ(first.taken, 1U);
    EXPECT_GE(first.bytes_out, 1000U);
    EXPECT_EQ(second.taken, 1U);
    block.reset();
    EXPECT_EQ(first.given_back, 1U);
    EXPECT_EQ(first.bytes_out, 0U);
    EXPECT_EQ(second.given_back, 0U);
    where.ctx.use(original);
  }
}

TEST(Buffer, FailsWhereTheResourceIsDry) {
  context ctx = context::cpu(1);
  counting_resource counter{ctx.state().memory};
  counter.dry = true;
  ctx.use(counter.resource());
  expect_error(error_code::out_of_memory, "buffer: 64 bytes of cpu memory are not available", [&] { buffer(ctx, 64); });
  const core::scratch scratch(ctx.state(), 32);
  EXPECT_FALSE(scratch.is_taken());
  expect_error(error_code::out_of_memory, "gather: 32 bytes of cpu memory are not available",
               [&] { scratch.throw_not_taken("gather"); });
  EXPECT_TRUE(core::scratch(ctx.state(), 0).is_taken()) << "nothing is always to be had";
}

TEST(Scratch, IsGivenBackAtTheEndOfItsScope) {
  context ctx = context::cpu(1);
  counting_resource counter{ctx.state().memory};
  ctx.use(counter.resource());
  {
    const core::scratch block(ctx.state(), 100);
    EXPECT_NE(block.data(), nullptr);
    EXPECT_EQ(counter.bytes_out, 100U);
  }
  EXPECT_EQ(counter.bytes_out, 0U);
  EXPECT_EQ(counter.given_back, 1U);
}

TEST(MemoryResource, NeedsBothFunctions) {
  context ctx = context::cpu(1);
  memory_resource half = ctx.state().memory;
  half.deallocate = nullptr;
  expect_error(error_code::bad_argument, "context::use: a memory resource needs both of its functions",
               [&] { ctx.use(half); });
  expect_error(error_code::bad_argument, "context::use: a memory resource needs both of its functions",
               [&] { ctx.use(memory_resource{}); });
}

TEST(CopyBytes, GoesThereAndBack) {
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    std::array<unsigned char, 333> out{}, in{};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<unsigned char>(i * 7);
    const buffer a(where.ctx, 333), b(where.ctx, 333);
    copy_bytes(where.ctx, a.data(), out.data(), 333);
    copy_bytes(where.ctx, b.data(), a.data(), 333);
    copy_bytes(where.ctx, in.data(), b.data(), 333);
    EXPECT_EQ(in, out);
    copy_bytes(where.ctx, nullptr, nullptr, 0);
    expect_error(error_code::bad_argument, "copy_bytes: null memory",
                 [&] { copy_bytes(where.ctx, in.data(), nullptr, 1); });
  }
}

}  // namespace
}  // namespace sheaf::tests::core_memory_test
