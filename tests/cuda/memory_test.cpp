#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <sheaf/interop/cuda.hpp>
#include <sheaf/sheaf.hpp>

namespace sheaf::tests::cuda_memory_test {
namespace {

using sheaf::error_code;

class CudaMemory : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    const bool asked = cudaGetDeviceCount(&count) == cudaSuccess;
    if (!asked || count == 0) GTEST_SKIP() << "no CUDA device";
  }
};

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const sheaf::error& e) {
    EXPECT_EQ(e.code(), error_code::bad_argument);
    return e.what();
  }
  return "no refusal";
}

TEST_F(CudaMemory, HostMemoryIsRefusedByName) {
  const sheaf::context ctx = sheaf::context::cuda();
  std::vector<std::uint32_t> host(16);
  const sheaf::buffer device(ctx, 64);
  const sheaf::buffer list(ctx, 64);
  const sheaf::index_span index{list.data(), 16, sheaf::index_type::u32};
  const sheaf::records on_device{device.data(), 16, 4};
  EXPECT_EQ(refusal([&] { sheaf::gather(ctx, host, index, on_device); }),
            "gather: table is in host memory, but the context works on CUDA device 0");
  EXPECT_EQ(refusal([&] {
              sheaf::gather(ctx, on_device, host, {list.data(), 16, 4});
            }),
            "gather: index is in host memory, but the context works on CUDA device 0");
  EXPECT_EQ(refusal([&] { sheaf::scatter(ctx, on_device, index, host); }),
            "scatter: out is in host memory, but the context works on CUDA device 0");
}

TEST_F(CudaMemory, PinnedMemoryIsRefused) {
  const sheaf::context ctx = sheaf::context::cuda();
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 64), cudaSuccess);
  const sheaf::buffer list(ctx, 64);
  const sheaf::buffer out(ctx, 64);
  EXPECT_EQ(refusal([&] {
              sheaf::gather(ctx, {pinned, 16, 4}, {list.data(), 16, sheaf::index_type::u32}, {out.data(), 16, 4});
            }),
            "gather: table is in host memory, but the context works on CUDA device 0");
  cudaFreeHost(pinned);
}

TEST_F(CudaMemory, DeviceMemoryIsRefusedOnTheCpu) {
  const sheaf::context device_context = sheaf::context::cuda();
  const sheaf::context ctx = sheaf::context::cpu();
  const sheaf::buffer table(device_context, 64);
  std::vector<std::uint32_t> index(16);
  std::vector<std::uint32_t> out(16);
  EXPECT_EQ(refusal([&] {
              sheaf::gather(ctx, {table.data(), 16, 4}, index, out);
            }),
            "gather: table is in the memory of CUDA device 0, but the context works on the CPU");
}

TEST_F(CudaMemory, TheBlockThatCameBackLastIsTakenAgain) {
  const sheaf::context ctx = sheaf::context::cuda();
  constexpr std::uint64_t bytes = 5000;
  const auto address_of_another = [&](std::uint64_t size) { return sheaf::buffer(ctx, size).data(); };
  const void* const first = address_of_another(bytes);
  EXPECT_EQ(address_of_another(bytes), first);
  const sheaf::buffer held(ctx, bytes);
  EXPECT_EQ(held.data(), first);
  EXPECT_NE(address_of_another(bytes), first) << "a block that is not free";
  EXPECT_NE(address_of_another(2 * bytes), first);
}

// A graph runs when it likes, so what it works in is its own.
TEST_F(CudaMemory, GraphsDoNotTakeTheBlockThatCameBackLast) {
  const sheaf::context ctx = sheaf::context::cuda();
  constexpr std::uint64_t bytes = 5000;
  const void* const kept = sheaf::buffer(ctx, bytes).data();
  ASSERT_EQ(cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  const void* const in_graph = sheaf::buffer(ctx, bytes).data();
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(ctx.stream(), &graph), cudaSuccess);
  cudaGraphDestroy(graph);
  EXPECT_NE(in_graph, kept);
  EXPECT_EQ(sheaf::buffer(ctx, bytes).data(), kept);
}

TEST_F(CudaMemory, ManagedMemoryServesBothBackends) {
  void* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 3 * 64), cudaSuccess);
  auto* const table = static_cast<std::uint32_t*>(managed);
  auto* const index = table + 16;
  auto* const out = table + 32;
  for (std::uint32_t i = 0; i < 16; ++i) {
    table[i] = 100 + i;
    index[i] = 15 - i;
  }
  for (const sheaf::context& ctx : {sheaf::context::cuda(), sheaf::context::cpu(1)}) {
    sheaf::gather(ctx, {table, 16, 4}, {index, 16, sheaf::index_type::u32}, {out, 16, 4});
    ctx.wait();
    for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(out[i], 115 - i);
  }
  cudaFree(managed);
}

TEST_F(CudaMemory, WorkRunsInOrderOnTheCallersStream) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  {
    const sheaf::context ctx = sheaf::cuda_context(stream);
    EXPECT_EQ(sheaf::cuda_stream(ctx), stream);
    const std::uint64_t n = 1 << 22;
    const sheaf::buffer table(ctx, n * 4);
    const sheaf::buffer index(ctx, n * 4);
    const sheaf::buffer out(ctx, n * 4);
    ASSERT_EQ(cudaMemsetAsync(index.data(), 0, index.size(), stream), cudaSuccess);
    for (int round = 1; round <= 20; ++round) {  // each gather must see the fill before it
      ASSERT_EQ(cudaMemsetAsync(table.data(), round, table.size(), stream), cudaSuccess);
      sheaf::gather(ctx, {table.data(), n, 4}, {index.data(), n, sheaf::index_type::u32}, {out.data(), n, 4});
    }
    std::vector<std::uint8_t> bytes(n * 4);
    ASSERT_EQ(cudaMemcpyAsync(bytes.data(), out.data(), n * 4, cudaMemcpyDeviceToHost, stream), cudaSuccess);
    ctx.wait();
    for (const std::uint8_t byte : bytes) ASSERT_EQ(byte, 20);
  }
  cudaStreamDestroy(stream);
}

TEST_F(CudaMemory, DeviceThatIsNotThereIsNamed) {
  try {
    sheaf::context::cuda(99);
    FAIL() << "there are not a hundred devices";
  } catch (const sheaf::error& e) {
    EXPECT_EQ(e.code(), error_code::backend_unavailable);
    EXPECT_NE(std::string(e.what()).find("no CUDA device 99; this machine has "), std::string::npos) << e.what();
  }
}

struct counting_pool {
  int taken = 0;
  int given_back = 0;
  bool empty = false;
};

TEST_F(CudaMemory, ScratchComesFromTheCallersResource) {
  counting_pool pool;
  sheaf::context ctx = sheaf::context::cuda();
  ctx.use(sheaf::memory_resource{[](void* state, std::uint64_t bytes, CUstream_st* stream) -> void* {
                                   auto* const counted = static_cast<counting_pool*>(state);
                                   void* block = nullptr;
                                   if (counted->empty || cudaMallocAsync(&block, bytes, stream) != cudaSuccess)
                                     return nullptr;
                                   ++counted->taken;
                                   return block;
                                 },
                                 [](void* state, void* block, std::uint64_t, CUstream_st* stream) {
                                   ++static_cast<counting_pool*>(state)->given_back;
                                   cudaFreeAsync(block, stream);
                                 },
                                 &pool});
  {
    const sheaf::buffer in(ctx, 64);
    const sheaf::buffer list(ctx, 64);
    const sheaf::buffer out(ctx, 64);
    ASSERT_EQ(cudaMemsetAsync(list.data(), 0, 64, ctx.stream()), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(in.data(), 0, 64, ctx.stream()), cudaSuccess);
    const sheaf::scatter_options last{.duplicates = sheaf::duplicates::last};
    const auto run = [&] {
      sheaf::scatter(ctx, {in.data(), 16, 4}, {list.data(), 16, sheaf::index_type::u32}, {out.data(), 16, 4}, last);
    };
    run();
    EXPECT_EQ(pool.taken, 4);
    EXPECT_EQ(pool.given_back, 1);
    pool.empty = true;
    try {
      run();
      ADD_FAILURE() << "scratch from an empty pool";
    } catch (const sheaf::error& e) {
      EXPECT_EQ(e.code(), error_code::out_of_memory);
      EXPECT_STREQ(e.what(), "scatter: 64 bytes of cuda memory are not available");
    }
    ctx.wait();
  }
  EXPECT_EQ(pool.given_back, 4);
}

TEST_F(CudaMemory, MoreThanTheDeviceHasIsOutOfMemory) {
  const sheaf::context ctx = sheaf::context::cuda();
  try {
    const sheaf::buffer block(ctx, std::uint64_t{1} << 50);
    FAIL() << "a petabyte";
  } catch (const sheaf::error& e) {
    EXPECT_EQ(e.code(), error_code::out_of_memory);
  }
  EXPECT_NO_THROW(ctx.wait());
}

}  // namespace
}  // namespace sheaf::tests::cuda_memory_test
