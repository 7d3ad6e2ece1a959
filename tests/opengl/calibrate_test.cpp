#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sheaf/machine.hpp>

#include "core/backends.hpp"
#include "core/host.hpp"
#include "plan/microbenchmarks.hpp"
#include "support/expect_error.hpp"
#include "support/opengl_test.hpp"

namespace sheaf::tests::opengl_calibrate_test {
namespace {

constexpr std::uint64_t footprint = 1 << 16;

machine shipped_profile() {
  for (const machine& m : shipped_machines()) {
    if (m.backend == backend_kind::opengl) return m;
  }
  throw std::logic_error("no profile of OpenGL is shipped");
}

// Plans would take transfers for free.
TEST(OpenglProfile, HasRatesOfUploadsAndReadbacks) {
  const std::string text = format_machine(shipped_profile());
  EXPECT_NO_THROW(parse_machine(text, "m.json"));
  for (const std::string rate : {"upload_bytes_per_second", "readback_bytes_per_second"}) {
    std::string renamed = text;
    renamed.replace(renamed.find(rate), rate.size(), "x" + rate.substr(1));
    expect_error(error_code::bad_input, "m.json: " + rate + " is missing", [&] { parse_machine(renamed, "m.json"); });
    std::string zero = text;
    const std::size_t begin = zero.find(':', zero.find(rate)) + 1;
    zero.replace(begin, zero.find_first_of(",}", begin) - begin, "0");
    EXPECT_THAT(message_of(error_code::bad_input, [&] { parse_machine(zero, "m.json"); }),
                testing::StartsWith("m.json: " + rate + " is 0"));
  }
}

class OpenglProbe : public opengl_test {
 protected:
  void SetUp() override {
    opengl_test::SetUp();
    if (!IsSkipped()) probe_ = core::backend_of(backend_kind::opengl).make_microbenchmarks(ctx());
  }
  plan::microbenchmarks& probe() const { return *probe_; }

  static void expect_work(const plan::timing& t, std::uint64_t least) {
    EXPECT_GT(t.seconds, 0);
    EXPECT_GE(t.count, least);
  }

 private:
  std::unique_ptr<plan::microbenchmarks> probe_;
};

TEST_F(OpenglProbe, MayEndWhileItsContextIsCurrentElsewhere) {
  auto ending = core::backend_of(backend_kind::opengl).make_microbenchmarks(ctx());
  expect_work(ending->stream(footprint, footprint), footprint);
  const opengl::current_scope current(state().handle(), "test");
  std::thread([&] { ending.reset(); }).join();
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
}

TEST_F(OpenglProbe, DescribesTheDevice) {
  const machine m = probe().describe();
  EXPECT_EQ(m.name, opengl::known_devices().devices.front().renderer);
  EXPECT_EQ(m.backend, backend_kind::opengl);
  EXPECT_GT(m.memory_bytes, m.cache_bytes);
  EXPECT_LT(m.memory_bytes, std::uint64_t{1} << 48);
  if (state().is_software()) {
    EXPECT_EQ(m.memory_bytes, core::host_memory_bytes());
    EXPECT_EQ(m.cache_levels, core::host_cache_levels());
  }
  EXPECT_EQ(m.cache_bytes, m.cache_levels.back());
  EXPECT_FALSE(m.versions.at("OpenGL").empty());
}

TEST_F(OpenglProbe, ReservesNoMoreThanATextureHolds) {
  EXPECT_EQ(probe().reserve(footprint), footprint);
  EXPECT_LT(probe().reserve(~std::uint64_t{0}), std::uint64_t{1} << 40);
}

TEST_F(OpenglProbe, DoesAtLeastWhatItIsAskedFor) {
  expect_work(probe().stream(footprint, 3 * footprint), 3 * footprint);
  expect_work(probe().chase(footprint, 1000), 1000);
  expect_work(probe().chase(2 * footprint, 1000), 1000);
  for (const std::uint64_t width : {4, 8, 16}) {
    expect_work(probe().access(plan::access_kind::read, width, footprint, 5000), 5000);
    expect_work(probe().access(plan::access_kind::write, width, footprint, 5000), 5000);
  }
  for (const std::uint64_t width : {4, 8}) {
    expect_work(probe().access(plan::access_kind::atomic_add, width, footprint, 5000), 5000);
  }
  expect_work(probe().calls(3), 3);
  expect_work(probe().steps(3), 3);
  expect_work(probe().barriers(3), 3);
  expect_work(probe().upload(1 << 20), 1 << 20);
  expect_work(probe().read_back(1 << 20), 1 << 20);
  EXPECT_EQ(unread_error(ctx()), GLenum{GL_NO_ERROR});
}

}  // namespace
}  // namespace sheaf::tests::opengl_calibrate_test
