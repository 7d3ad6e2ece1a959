// A program with an operator of its own, compiled against an installed sheaf: products of 2x2 matrices modulo 2^32,
// which do not commute, along a list that hops through the array, and compositions of functions of numbers of 16 bits
// whose nodes are packed. Without a GPU it says so and ends with 77, which a test takes for skipped.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/cuda/list_scan.cuh>
#include <sheaf/sheaf.hpp>

namespace {

struct matrix {
  std::uint32_t m[4];
};

struct product {
  __host__ __device__ matrix operator()(const matrix& a, const matrix& b) const {
    return {{a.m[0] * b.m[0] + a.m[1] * b.m[2], a.m[0] * b.m[1] + a.m[1] * b.m[3], a.m[2] * b.m[0] + a.m[3] * b.m[2],
             a.m[2] * b.m[1] + a.m[3] * b.m[3]}};
  }
};

bool same(const matrix& a, const matrix& b) {
  return a.m[0] == b.m[0] && a.m[1] == b.m[1] && a.m[2] == b.m[2] && a.m[3] == b.m[3];
}

bool is_right(const sheaf::context& ctx, std::uint32_t count, bool is_exclusive, const char* variant) {
  const std::uint32_t hop = 7919;  // a prime that divides no count here
  std::vector<std::uint32_t> successor(count);
  std::vector<matrix> in(count);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    const auto at = static_cast<std::uint32_t>(std::uint64_t{rank} * hop % count);
    const auto next = static_cast<std::uint32_t>((std::uint64_t{rank} + 1) * hop % count);
    successor[at] = rank + 1 < count ? next : 0xffffffffU;
    in[at] = {{rank, 1, rank * 3 + 1, 2}};
  }
  std::uint32_t* device_successor = nullptr;
  matrix* device_in = nullptr;
  matrix* device_out = nullptr;
  cudaMalloc(&device_successor, count * sizeof(std::uint32_t));
  cudaMalloc(&device_in, count * sizeof(matrix));
  cudaMalloc(&device_out, count * sizeof(matrix));
  cudaMemcpy(device_successor, successor.data(), count * sizeof(std::uint32_t), cudaMemcpyHostToDevice);
  cudaMemcpy(device_in, in.data(), count * sizeof(matrix), cudaMemcpyHostToDevice);
  const matrix initial{{5, 6, 7, 8}};
  sheaf::list_scan(ctx, sheaf::index_span(device_successor, count, sheaf::index_type::u32), device_in, device_out,
                   product{},
                   {.exclusive_from = is_exclusive ? std::optional(initial) : std::nullopt, .variant = variant});
  ctx.wait();
  std::vector<matrix> out(count);
  cudaMemcpy(out.data(), device_out, count * sizeof(matrix), cudaMemcpyDeviceToHost);
  cudaFree(device_successor);
  cudaFree(device_in);
  cudaFree(device_out);
  matrix running = initial;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    const auto at = static_cast<std::uint32_t>(std::uint64_t{rank} * hop % count);
    if (is_exclusive && !same(out[at], running)) return false;
    running = rank == 0 && !is_exclusive ? in[at] : product{}(running, in[at]);
    if (!is_exclusive && !same(out[at], running)) return false;
  }
  return true;
}

/// x -> scale * x + shift of numbers of 16 bits.
struct affine {
  std::uint16_t scale;
  std::uint16_t shift;
};

struct composed {
  __host__ __device__ affine operator()(const affine& earlier, const affine& later) const {
    const std::uint32_t shift = std::uint32_t{earlier.shift} * later.scale + later.shift;
    return {static_cast<std::uint16_t>(std::uint32_t{earlier.scale} * later.scale), static_cast<std::uint16_t>(shift)};
  }
};

bool is_right_packed(const sheaf::context& ctx) {
  const std::uint32_t count = 100000;
  std::vector<sheaf::list_node<affine>> nodes(count);
  for (std::uint32_t i = 0; i < count; ++i) {  // from the last node to the first
    nodes[i] = {{static_cast<std::uint16_t>(2 * i + 1), static_cast<std::uint16_t>(i)},
                static_cast<std::int32_t>(i) - 1};
  }
  sheaf::list_node<affine>* device_nodes = nullptr;
  affine* device_out = nullptr;
  cudaMalloc(&device_nodes, count * sizeof nodes[0]);
  cudaMalloc(&device_out, count * sizeof(affine));
  cudaMemcpy(device_nodes, nodes.data(), count * sizeof nodes[0], cudaMemcpyHostToDevice);
  sheaf::list_scan(ctx, device_nodes, count, device_out, composed{});
  ctx.wait();
  std::vector<affine> out(count);
  cudaMemcpy(out.data(), device_out, count * sizeof(affine), cudaMemcpyDeviceToHost);
  cudaFree(device_nodes);
  cudaFree(device_out);
  affine running{};
  for (std::uint32_t i = count; i-- > 0;) {
    running = i + 1 == count ? nodes[i].value : composed{}(running, nodes[i].value);
    if (out[i].scale != running.scale || out[i].shift != running.shift) return false;
  }
  return true;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device here");
    return 77;
  }
  const sheaf::context ctx = sheaf::context::cuda();
  for (const char* const variant : {"", "cuda.log", "cuda.sublist", "cuda.pointer_jumping"}) {
    for (const std::uint32_t count : {1U, 2U, 33U, 1000U, 300000U}) {
      for (const bool is_exclusive : {false, true}) {
        if (is_right(ctx, count, is_exclusive, variant)) continue;
        std::printf("wrong: %u nodes, exclusive %d, variant '%s'\n", count, is_exclusive, variant);
        return 1;
      }
    }
  }
  if (!is_right_packed(ctx)) {
    std::puts("wrong: packed nodes");
    return 1;
  }
  std::puts("right");
  return 0;
}
