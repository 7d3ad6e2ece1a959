#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <sheaf/interop/cuda.hpp>
#include <sheaf/sheaf.hpp>

#include "support/captured_graph.hpp"

namespace sheaf::tests::cuda_index_errors_test {
namespace {

using sheaf::error_code;
using sheaf::tests::captured_graph;

bool has_device() {
  int count = 0;
  const bool asked = cudaGetDeviceCount(&count) == cudaSuccess;
  return asked && count > 0;
}

std::string what_wait_throws(const sheaf::context& ctx) {
  try {
    ctx.wait();
  } catch (const sheaf::error& e) {
    EXPECT_EQ(e.code(), error_code::bad_index);
    return e.what();
  }
  return "nothing";
}

// A table of `records` u32 that hold their own number, an index list and an output, all on the device.
struct device_gather {
  device_gather(const sheaf::context& context, std::uint32_t records, std::vector<std::uint32_t> list)
      : ctx(context),
        table(ctx, records * 4),
        index(ctx, list.size() * 4),
        out(ctx, list.size() * 4),
        table_count(records),
        count(list.size()) {
    std::vector<std::uint32_t> numbers(records);
    std::iota(numbers.begin(), numbers.end(), 0U);
    sheaf::copy_bytes(ctx, table.data(), numbers.data(), table.size());
    sheaf::copy_bytes(ctx, index.data(), list.data(), index.size());
  }

  void run(const sheaf::context& on) const {
    sheaf::gather(on, {table.data(), table_count, 4}, {index.data(), count, sheaf::index_type::u32},
                  {out.data(), count, 4});
  }
  void run() const { run(ctx); }

  std::vector<std::uint32_t> answer() const {
    std::vector<std::uint32_t> values(count);
    sheaf::copy_bytes(ctx, values.data(), out.data(), out.size());
    return values;
  }

  sheaf::context ctx;
  sheaf::buffer table;
  sheaf::buffer index;
  sheaf::buffer out;
  std::uint64_t table_count;
  std::uint64_t count;
};

class CudaIndexErrors : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no CUDA device";
  }
};

std::vector<std::uint32_t> good_list(std::size_t count, std::uint32_t records) {
  std::vector<std::uint32_t> list(count);
  for (std::size_t i = 0; i < count; ++i) list[i] = static_cast<std::uint32_t>(i * 7919 % records);
  return list;
}

TEST_F(CudaIndexErrors, FirstCallWinsWhenSeveralAreInFlight) {
  const sheaf::context ctx = sheaf::context::cuda();
  auto early = good_list(100000, 1000);
  early[99999] = 5000;
  auto late = good_list(100000, 1000);
  late[0] = 6000;
  const device_gather good(ctx, 1000, good_list(1000, 1000));
  const device_gather first(ctx, 1000, early);
  const device_gather second(ctx, 1000, late);
  good.run();
  first.run();
  second.run();
  good.run();
  EXPECT_EQ(what_wait_throws(ctx), "gather: index[99999] is 5000, past the table's 1000 records");
  EXPECT_NO_THROW(ctx.wait());
  second.run();
  EXPECT_EQ(what_wait_throws(ctx), "gather: index[0] is 6000, past the table's 1000 records");
}

TEST_F(CudaIndexErrors, ValueIsKeptThoughTheIndexChangesBeforeTheWait) {
  const sheaf::context ctx = sheaf::context::cuda();
  const device_gather call(ctx, 10, {1, 77, 2});
  call.run();
  ASSERT_EQ(cudaMemsetAsync(call.index.data(), 0, call.index.size(), sheaf::cuda_stream(ctx)), cudaSuccess);
  EXPECT_EQ(what_wait_throws(ctx), "gather: index[1] is 77, past the table's 10 records");
}

TEST_F(CudaIndexErrors, FirstPositionWinsWhenEveryIndexIsBad) {
  const sheaf::context ctx = sheaf::context::cuda();
  std::vector<std::uint32_t> list(1 << 20);
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = static_cast<std::uint32_t>(1000 + i);
  const device_gather call(ctx, 100, list);
  for (int repeat = 0; repeat < 5; ++repeat) {
    call.run();
    EXPECT_EQ(what_wait_throws(ctx), "gather: index[0] is 1000, past the table's 100 records");
  }
  EXPECT_THAT(call.answer(), testing::Each(0U));
}

TEST_F(CudaIndexErrors, StatusTellsOfAFailureWithoutTakingIt) {
  const sheaf::context ctx = sheaf::context::cuda();
  const device_gather call(ctx, 10, {10});
  EXPECT_EQ(ctx.status(), sheaf::work_status::done);
  call.run();
  while (ctx.status() == sheaf::work_status::running) {
  }
  EXPECT_EQ(ctx.status(), sheaf::work_status::failed);
  EXPECT_EQ(what_wait_throws(ctx), "gather: index[0] is 10, past the table's 10 records");
  EXPECT_EQ(ctx.status(), sheaf::work_status::done);
}

TEST_F(CudaIndexErrors, EachStreamKeepsItsOwn) {
  const sheaf::context one = sheaf::context::cuda();
  const sheaf::context two = sheaf::context::cuda();
  const device_gather a(one, 10, {3, 11});
  const device_gather b(two, 10, {12, 3});
  a.run();
  b.run();
  EXPECT_EQ(what_wait_throws(two), "gather: index[0] is 12, past the table's 10 records");
  EXPECT_EQ(what_wait_throws(one), "gather: index[1] is 11, past the table's 10 records");
}

class CudaGraphs : public CudaIndexErrors {};

TEST_F(CudaGraphs, CallsAreCapturedAndReplayed) {
  const sheaf::context ctx = sheaf::context::cuda();
  const device_gather call(ctx, 1000, good_list(5000, 1000));
  const sheaf::buffer back(ctx, 1000 * 4);
  ASSERT_EQ(cudaMemset(back.data(), 0, back.size()), cudaSuccess);
  ctx.wait();
  const captured_graph graph(ctx, [&] {
    call.run();
    sheaf::scatter(ctx, {call.out.data(), 5000, 4}, {call.index.data(), 5000, sheaf::index_type::u32},
                   {back.data(), 1000, 4}, {.duplicates = sheaf::duplicates::last});
  });
  graph.launch();
  graph.launch();
  ctx.wait();
  std::vector<std::uint32_t> values(1000);
  sheaf::copy_bytes(ctx, values.data(), back.data(), back.size());
  for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(values[i], i);
}

TEST_F(CudaGraphs, WaitingInsideACaptureIsRefused) {
  const sheaf::context ctx = sheaf::context::cuda();
  const cudaStream_t stream = sheaf::cuda_stream(ctx);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  try {
    ctx.wait();
    ADD_FAILURE() << "a capture cannot be waited for";
  } catch (const sheaf::error& e) {
    EXPECT_EQ(e.code(), error_code::bad_argument);
    EXPECT_STREQ(e.what(), "context::wait: the stream is being captured into a graph");
  }
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();  // what was provoked here is not the next test's failure
  EXPECT_NO_THROW(ctx.wait());
}

TEST_F(CudaGraphs, BadIndicesOfAReplaySurfaceAtTheWait) {
  const sheaf::context ctx = sheaf::context::cuda();
  const device_gather call(ctx, 1000, good_list(5000, 1000));
  ctx.wait();
  const captured_graph graph(ctx, [&] { call.run(); });
  graph.launch();
  EXPECT_NO_THROW(ctx.wait());

  const std::uint32_t bad = 4000000000;
  sheaf::copy_bytes(ctx, call.index.data() + 4 * 1234, &bad, sizeof bad);
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreate(&other), cudaSuccess);
  graph.launch(other);  // on a stream that the context does not know
  ASSERT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(what_wait_throws(ctx), "gather: index[1234] is 4000000000, past the table's 1000 records");
  EXPECT_NO_THROW(ctx.wait());
  cudaStreamDestroy(other);
}

}  // namespace
}  // namespace sheaf::tests::cuda_index_errors_test
