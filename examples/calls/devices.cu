#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include <sheaf/cuda/edge_sum.cuh>
#include <sheaf/cuda/list_scan.cuh>
#include <sheaf/distributed/gpus.hpp>
#include <sheaf/distributed/sort.hpp>
#include <sheaf/distributed/worth.hpp>
#include <sheaf/interop/cuda.hpp>
#include <sheaf/sheaf.hpp>

#include "../example.hpp"
#include "calls.hpp"

namespace {

namespace distributed = sheaf::distributed;
using calls::expect;
template <class T>
using array = example::array<T>;

//! [cuda::list_scan]
struct larger {
  __device__ float operator()(float earlier, float later) const { return earlier > later ? earlier : later; }
};

// Of arrays on the device: nodes of a list, and a value for each.
void largest_so_far(const sheaf::context& ctx, std::span<const int> successor, const float* values, float* out) {
  sheaf::list_scan(ctx, successor, values, out, larger());
}

// Of packed nodes: value and successor side by side.
void largest_of_nodes(const sheaf::context& ctx, std::span<const sheaf::list_node<float>> nodes, float* out) {
  sheaf::list_scan(ctx, nodes.data(), nodes.size(), out, larger());
}
//! [cuda::list_scan]

//! [cuda::edge_sum]
struct conduct {
  __device__ void operator()(const float* first, const float* second, const float* weight, float* contribution) const {
    contribution[0] = weight[0] * (second[0] - first[0]);
  }
};

void heat_flow(const sheaf::context& ctx, const sheaf::edge_view& edges, std::span<const float> heat,
               std::span<const float> conductance, std::span<float> flow) {
  sheaf::edge_sum<1, 1, float>(ctx, edges, heat, conductance, flow, conduct());
}
//! [cuda::edge_sum]

void show_functions(const sheaf::context& ctx) {
  const array<int> successor(ctx, {2, -1, 1});
  const array<float> values(ctx, {5, 6, 7}), out(ctx, 3);
  const array<sheaf::list_node<float>> nodes(ctx, {{5.0F, 2}, {6.0F, -1}, {7.0F, 1}});
  largest_so_far(ctx, successor.span(), values.data(), out.data());
  expect(out.on_host(ctx) == std::vector<float>{5, 7, 7});
  largest_of_nodes(ctx, nodes.span(), out.data());
  expect(out.on_host(ctx) == std::vector<float>{5, 7, 7});

  const array<std::uint32_t> ends(ctx, {0, 1, 1, 2});
  const sheaf::edge_view edges(ends.span());
  const array<float> heat(ctx, {1, 4, 9}), conductance(ctx, {2, 0.5F}), flow(ctx, 3);
  heat_flow(ctx, edges, heat.span(), conductance.span(), flow.span());
  expect(flow.on_host(ctx) == std::vector<float>{6, -3.5F, -2.5F});
  //! [cuda::run_edge_sum]
  const sheaf::prepared_edge_sum sum = sheaf::prepare_edge_sum(ctx, edges, 3, 1, 1000);
  sheaf::run_edge_sum<1, 1, float>(sum, heat.span(), conductance.span(), flow.span(), conduct());
  //! [cuda::run_edge_sum]
  ctx.wait();
  expect(flow.on_host(ctx) == std::vector<float>{6, -3.5F, -2.5F});
}

void show_streams() {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  {
    //! [cuda_context]
    const sheaf::context ctx = sheaf::cuda_context(stream);  // calls are queued on the program's own stream
    //! [cuda_context]
    //! [cuda_stream]
    cudaStream_t its_stream = sheaf::cuda_stream(ctx);
    //! [cuda_stream]
    expect(its_stream == stream);
  }
  cudaStreamDestroy(stream);
}

void show_groups() {
  //! [distributed::run_on_gpus]
  // On every GPU of the machine, a thread each, with arrays in the memory of its GPU.
  distributed::run_on_gpus({}, {}, [](const distributed::group& ranks) {
    const example::array<std::uint64_t> my_keys(ranks.local(), {9 - static_cast<std::uint64_t>(ranks.rank())});
    const auto sorted = distributed::sort_keys(ranks, my_keys);
  });
  //! [distributed::run_on_gpus]
  const std::vector<int> one{0};
  //! [distributed::local_gpus]
  const std::vector<distributed::group> groups = distributed::local_gpus(one);  // of GPU 0 alone; each for a thread
  //! [distributed::local_gpus]
  groups[0].wait();
  //! [distributed::transports_between_gpus]
  const std::vector<sheaf::context> contexts{sheaf::context::cuda(0)};
  const auto between = distributed::transports_between_gpus(contexts);
  const distributed::group ranks(contexts[0], between[0]);
  //! [distributed::transports_between_gpus]
  ranks.wait();
  //! [distributed::has_nccl]
  if (!distributed::has_nccl()) std::printf("no libnccl.so.2; SHEAF_NCCL may name it\n");
  //! [distributed::has_nccl]
  if (!distributed::has_nccl()) return;
  const sheaf::context ctx = sheaf::context::cuda(0);
  const std::shared_ptr<distributed::transport> control = distributed::transports_in_one_process(1)[0];
  //! [distributed::nccl_transport]
  // Each process has a GPU; what ranks tell each other goes over `control`, such as mpi_transport(MPI_COMM_WORLD).
  const distributed::group over_nccl(ctx, distributed::nccl_transport(ctx, control));
  //! [distributed::nccl_transport]
  over_nccl.wait();
}

void show_worth(const sheaf::context& ctx) {
  //! [distributed::explain_sort_on_devices]
  // 10^9 records of 8 bytes, sorted on up to 4 GPUs like that of ctx.
  const auto sort = distributed::explain_sort_on_devices(ctx, {.records = 1'000'000'000, .record_bytes = 8}, 4);
  //! [distributed::explain_sort_on_devices]
  //! [distributed::device_estimate]
  for (std::size_t i = 0; i < sort.seconds.size(); ++i) std::printf("%zu GPUs: %.3f s\n", i + 1, sort.seconds[i]);
  std::printf("worth %d of them\n", sort.worth());
  //! [distributed::device_estimate]
  //! [distributed::explain_gather_on_devices]
  const distributed::gather_size list{.entries = 100'000'000, .records = 100'000'000, .record_bytes = 128};
  const auto gather = distributed::explain_gather_on_devices(ctx, list, 4);
  //! [distributed::explain_gather_on_devices]
  //! [distributed::explain_spmv_on_devices]
  const distributed::matrix_size grid{.rows = 100'000'000, .entries = 700'000'000, .halo = 215'000};
  const auto product = distributed::explain_spmv_on_devices(ctx, grid, 4);
  //! [distributed::explain_spmv_on_devices]
  //! [distributed::explain_conjugate_gradient_on_devices]
  const auto iteration = distributed::explain_conjugate_gradient_on_devices(ctx, grid, 4);
  //! [distributed::explain_conjugate_gradient_on_devices]
  expect(sort.seconds.size() == 4 && gather.worth() >= 1 && product.worth() >= 1 && iteration.worth() >= 1);
}

}  // namespace

int main() try {
  show_functions(sheaf::context::cuda());
  show_streams();
  show_groups();
  show_worth(sheaf::context::cuda());
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
