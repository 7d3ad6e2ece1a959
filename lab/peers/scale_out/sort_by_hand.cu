#include <cub/device/device_merge.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <sheaf/memory.hpp>

#include "lab/peers/cub/calls.cuh"
#include "lab/peers/scale_out/sort_by_hand.hpp"

namespace sheaf::bench::peers::device {
namespace {

constexpr std::uint64_t most_bounds = 64;

__global__ void find_places(const std::uint64_t* sorted, std::uint64_t count, const std::uint64_t* bounds,
                            std::uint64_t* places, std::uint32_t bound_count) {
  const std::uint32_t b = threadIdx.x;
  if (b >= bound_count) return;
  std::uint64_t low = 0;
  std::uint64_t high = count;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    (sorted[middle] < bounds[b] ? low : high) = sorted[middle] < bounds[b] ? middle + 1 : middle;
  }
  places[b] = low;
}

std::size_t temporary_bytes_of(std::uint64_t count, std::uint64_t most) {
  std::uint64_t* const none = nullptr;
  std::size_t of_sort = 0;
  std::size_t of_merge = 0;
  require(cub::DeviceRadixSort::SortKeys(nullptr, of_sort, none, none, count), "SortKeys");
  require(cub::DeviceMerge::MergeKeys(nullptr, of_merge, none, static_cast<std::int64_t>(most), none,
                                      static_cast<std::int64_t>(most), none),
          "MergeKeys");
  return std::max(of_sort, of_merge);
}

}  // namespace

struct sort_steps::memory {
  context ctx;
  const std::uint64_t* keys;
  std::uint64_t count;
  std::size_t temporary_bytes;
  buffer sorted, received, merged, temporary, bounds;
  std::uint64_t* result = nullptr;

  memory(const context& of, const std::uint64_t* all, std::uint64_t n, std::uint64_t most)
      : ctx(of),
        keys(all),
        count(n),
        temporary_bytes(temporary_bytes_of(n, most)),
        sorted(ctx, n * 8),
        received(ctx, most * 8),
        merged(ctx, most * 8),
        temporary(ctx, temporary_bytes),
        bounds(ctx, 2 * most_bounds * 8) {}
};

sort_steps::sort_steps(const context& ctx, const std::uint64_t* keys, std::uint64_t count, std::uint64_t most)
    : of_(std::make_unique<memory>(ctx, keys, count, most)) {}
sort_steps::~sort_steps() = default;

void sort_steps::sort() {
  require(cudaSetDevice(of_->ctx.device()), "cudaSetDevice");
  std::size_t bytes = of_->temporary_bytes;
  require(cub::DeviceRadixSort::SortKeys(of_->temporary.data(), bytes, of_->keys, of_->sorted.as<std::uint64_t>(),
                                         of_->count, 0, 64, of_->ctx.stream()),
          "SortKeys");
}

std::vector<std::uint64_t> sort_steps::sample(std::uint64_t numbers) const {
  std::vector<std::uint64_t> out(numbers);
  const std::size_t pitch = of_->count / numbers * 8;
  require(cudaMemcpy2DAsync(out.data(), 8, of_->sorted.data(), pitch, 8, numbers, cudaMemcpyDeviceToHost,
                            of_->ctx.stream()),
          "cudaMemcpy2DAsync");
  require(cudaStreamSynchronize(of_->ctx.stream()), "cudaStreamSynchronize");
  return out;
}

std::vector<std::uint64_t> sort_steps::places(std::span<const std::uint64_t> bounds) const {
  auto* const there = of_->bounds.as<std::uint64_t>();
  copy_bytes(of_->ctx, there, bounds.data(), bounds.size_bytes());
  find_places<<<1, most_bounds, 0, of_->ctx.stream()>>>(of_->sorted.as<std::uint64_t>(), of_->count, there,
                                                        there + most_bounds, static_cast<std::uint32_t>(bounds.size()));
  require(cudaGetLastError(), "find_places");
  std::vector<std::uint64_t> out(bounds.size());
  copy_bytes(of_->ctx, out.data(), there + most_bounds, bounds.size_bytes());
  return out;
}

const std::uint64_t* sort_steps::sorted() const noexcept { return of_->sorted.as<std::uint64_t>(); }
std::uint64_t* sort_steps::received() const noexcept { return of_->received.as<std::uint64_t>(); }
const std::uint64_t* sort_steps::result() const noexcept { return of_->result; }

void sort_steps::merge(std::vector<std::uint64_t> begins) {
  auto* from = of_->received.as<std::uint64_t>();
  auto* to = of_->merged.as<std::uint64_t>();
  while (begins.size() > 2) {  // runs beside each other, two at a time
    std::vector<std::uint64_t> next{0};
    for (std::size_t run = 0; run + 1 < begins.size(); run += 2) {
      const std::uint64_t middle = begins[run + 1];
      const std::uint64_t end = begins[std::min(run + 2, begins.size() - 1)];
      std::size_t bytes = of_->temporary_bytes;
      require(cub::DeviceMerge::MergeKeys(
                  of_->temporary.data(), bytes, from + begins[run], static_cast<std::int64_t>(middle - begins[run]),
                  from + middle, static_cast<std::int64_t>(end - middle), to + begins[run], {}, of_->ctx.stream()),
              "MergeKeys");
      next.push_back(end);
    }
    begins = std::move(next);
    std::swap(from, to);
  }
  of_->result = from;
}

}  // namespace sheaf::bench::peers::device
