#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <sheaf/distributed/conjugate_gradient.hpp>
#include <sheaf/distributed/gather.hpp>
#include <sheaf/distributed/gpus.hpp>
#include <sheaf/distributed/sort.hpp>
#include <sheaf/distributed/split.hpp>
#include <sheaf/distributed/spmv.hpp>
#include <sheaf/gather.hpp>
#include <sheaf/sort.hpp>

#include "core/context_state.hpp"
#include "distributed/exchange.hpp"
#include "distributed/threads.hpp"

// Calls on the GPUs of one process beside the same call on one of them, with as many rows for each GPU; in the same
// run. Prints medians, and how many times the rows of one GPU are done in its time: GPUs * time of one / time of all.
// No test: `sheaf-gpu-rates GPUS [copies|nccl] [log2 of rows a GPU] [exchange|sort|gather|product|preparation]`.

namespace {

using namespace sheaf;
using clock_type = std::chrono::steady_clock;

__host__ __device__ inline std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

/// Word w of row i is a function of both.
__global__ void fill_words(std::uint64_t* to, std::uint64_t words, std::uint64_t seed) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < words;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    to[i] = mixed(i * 0x9e3779b97f4a7c15ULL + seed);
}

__global__ void fill_list(std::uint32_t* to, std::uint64_t count, std::uint64_t rows, std::uint64_t seed) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    to[i] = static_cast<std::uint32_t>(mixed(i * 0x9e3779b97f4a7c15ULL + seed) % rows);
}

/// Rows of a 7-point grid of side * side * planes, [first, first + rows) of it; every row has 7 entries, zeros outside.
__global__ void fill_grid(std::uint32_t* columns, double* values, std::uint64_t first, std::uint64_t rows,
                          std::int64_t side, std::int64_t all) {
  const std::int64_t steps[] = {-side * side, -side, -1, 0, 1, side, side * side};
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < rows * 7;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const auto row = static_cast<std::int64_t>(first + i / 7);
    const std::int64_t column = row + steps[i % 7];
    const bool is_there = column >= 0 && column < all;
    columns[i] = static_cast<std::uint32_t>(is_there ? column : row);
    values[i] = i % 7 == 3 ? 6.5 : is_there ? -1 : 0;
  }
}

__global__ void fill_offsets(std::uint64_t* offsets, std::uint64_t rows) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i <= rows;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    offsets[i] = 7 * i;
}

constexpr unsigned blocks = 4096;
constexpr unsigned threads = 256;

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

/// Seconds of a call on all ranks, from when all begin to when all are done.
double timed(const distributed::group& ranks, const std::function<void()>& call) {
  call();
  std::vector<double> times(5);
  for (double& time : times) {
    ranks.wait();
    const auto start = clock_type::now();
    call();
    ranks.wait();
    time = std::chrono::duration<double>(clock_type::now() - start).count();
  }
  return median(times);
}

void compare(const distributed::group& ranks, const char* what, double rows, const std::function<void()>& all,
             const std::function<void()>& one) {
  const double mine = timed(ranks, one);
  const double together = timed(ranks, all);
  if (ranks.rank() != 0) return;
  std::printf("%-28s one GPU %9.3f ms, %d GPUs %9.3f ms: %.2fx; %.2f G rows/s\n", what, mine * 1e3, ranks.size(),
              together * 1e3, ranks.size() * mine / together, rows * ranks.size() / together / 1e9);
  std::fflush(stdout);
}

buffer words_of(const context& ctx, std::uint64_t words, std::uint64_t seed) {
  buffer memory(ctx, words * 8);
  if (words > 0) fill_words<<<blocks, threads, 0, ctx.stream()>>>(memory.as<std::uint64_t>(), words, seed);
  return memory;
}

void exchange_rate(const distributed::group& ranks, std::uint64_t bytes) {
  distributed::group_state& state = ranks.state();
  const auto size = static_cast<std::size_t>(ranks.size());
  const buffer from = words_of(ranks.local(), bytes / 8 * size, 1);
  const buffer to(ranks.local(), bytes / 8 * 8 * size);
  std::vector<distributed::const_bytes> parts_out(size);
  std::vector<distributed::mutable_bytes> parts_in(size);
  for (std::size_t r = 0; r < size; ++r) {
    if (r == static_cast<std::size_t>(ranks.rank())) continue;
    parts_out[r] = {from.data() + r * (bytes / 8 * 8), bytes / 8 * 8};
    parts_in[r] = {to.data() + r * (bytes / 8 * 8), bytes / 8 * 8};
  }
  const double seconds = timed(ranks, [&] { distributed::array_exchange(state, parts_out, parts_in).finish(); });
  if (ranks.rank() == 0) {
    std::printf("exchange of %.0f MB a pair       %9.3f ms: %.0f GB/s a GPU each way\n",
                static_cast<double>(bytes) / 1e6, seconds * 1e3,
                static_cast<double>(bytes) * static_cast<double>(size - 1) / seconds / 1e9);
    std::fflush(stdout);
  }
}

void run_sorts(const distributed::group& ranks, std::uint64_t n) {
  const context& ctx = ranks.local();
  const auto seed = static_cast<std::uint64_t>(ranks.rank()) << 40;
  const buffer keys = words_of(ctx, n, seed);
  buffer out(ctx, n * 8);
  const const_records in(keys.data(), n, 8);
  const sort_key key = sort_key::of<std::uint64_t>();
  compare(
      ranks, "sort u64", static_cast<double>(n), [&] { distributed::sort_records(ranks, in, key); },
      [&] { sheaf::sort_records(ctx, in, key, records(out.data(), n, 8)); });
  {
    const buffer values = words_of(ctx, n, seed + 7);
    const const_records v(values.data(), n, 8);
    buffer values_out(ctx, n * 8);
    const sort_column column{v, records(values_out.data(), n, 8)};
    compare(
        ranks, "sort u64 + u64", static_cast<double>(n),
        [&] {
          distributed::sort_pairs(ranks, in, key, {&v, 1});
        },
        [&] {
          sheaf::sort_pairs(ctx, in, key, records(out.data(), n, 8), {&column, 1});
        });
  }
  compare(
      ranks, "split of 8 bytes by 8 bits", static_cast<double>(n),
      [&] {
        distributed::split(ranks, in, split_key::of_record({0, 8}));
      },
      [&] {
        sheaf::split(ctx, in, split_key::of_record({0, 8}), records(out.data(), n, 8));
      });
  const std::uint64_t wide = n / 8;
  const buffer rows = words_of(ctx, wide * 16, seed + 9);
  buffer rows_out(ctx, wide * 128);
  const const_records r(rows.data(), wide, 128);
  compare(
      ranks, "sort of 128-byte records", static_cast<double>(wide), [&] { distributed::sort_records(ranks, r, key); },
      [&] { sheaf::sort_records(ctx, r, key, records(rows_out.data(), wide, 128)); });
}

void run_gathers(const distributed::group& ranks, std::uint64_t n) {
  const context& ctx = ranks.local();
  const auto size = static_cast<std::uint64_t>(ranks.size());
  for (const std::uint64_t width : {std::uint64_t{8}, std::uint64_t{32}, std::uint64_t{128}, std::uint64_t{1024}}) {
    const std::uint64_t rows = std::min<std::uint64_t>(n, (std::uint64_t{1} << 32) / width);
    if (rows * size > ~std::uint32_t{0}) continue;
    const buffer table = words_of(ctx, rows * width / 8, 3);
    const buffer list(ctx, rows * 4);
    const buffer own_list(ctx, rows * 4);
    const std::uint64_t seed = static_cast<std::uint64_t>(ranks.rank()) << 40;
    fill_list<<<blocks, threads, 0, ctx.stream()>>>(list.as<std::uint32_t>(), rows, rows * size, seed);
    fill_list<<<blocks, threads, 0, ctx.stream()>>>(own_list.as<std::uint32_t>(), rows, rows, seed);
    buffer out(ctx, rows * width);
    const auto where = distributed::layout::even(rows * size, ranks.size());
    const const_records t(table.data(), rows, width);
    const records o(out.data(), rows, width);
    const index_span index(list.data(), rows, index_type::u32);
    const index_span own(own_list.data(), rows, index_type::u32);
    char what[64];
    std::snprintf(what, sizeof what, "gather of %d bytes", static_cast<int>(width));
    compare(
        ranks, what, static_cast<double>(rows), [&] { distributed::gather(ranks, t, where, index, o); },
        [&] { sheaf::gather(ctx, t, own, o); });
    const auto prepared = distributed::prepare_gather(ranks, index, where);
    std::snprintf(what, sizeof what, "prepared gather, %d bytes", static_cast<int>(width));
    compare(
        ranks, what, static_cast<double>(rows), [&] { prepared.run(t, o); }, [&] { sheaf::gather(ctx, t, own, o); });
  }
}

void run_products(const distributed::group& ranks, std::uint64_t n, bool prepares_alone) {
  const context& ctx = ranks.local();
  const auto size = static_cast<std::uint64_t>(ranks.size());
  const auto side = static_cast<std::int64_t>(std::cbrt(static_cast<double>(n)));
  const std::uint64_t plane = static_cast<std::uint64_t>(side * side);
  const std::uint64_t rows = n / plane * plane / 256 * 256;
  const std::uint64_t all = rows * size;
  const auto where = distributed::layout::even(all, ranks.size(), 256);
  const std::uint64_t mine = where.count(ranks.rank());
  const buffer offsets(ctx, (mine + 1) * 8);
  const buffer columns(ctx, mine * 7 * 4);
  const buffer own_columns(ctx, mine * 7 * 4);
  const buffer values(ctx, mine * 7 * 8);
  const buffer own_values(ctx, mine * 7 * 8);
  fill_offsets<<<blocks, threads, 0, ctx.stream()>>>(offsets.as<std::uint64_t>(), mine);
  fill_grid<<<blocks, threads, 0, ctx.stream()>>>(columns.as<std::uint32_t>(), values.as<double>(),
                                                  where.begin(ranks.rank()), mine, side,
                                                  static_cast<std::int64_t>(all));
  fill_grid<<<blocks, threads, 0, ctx.stream()>>>(own_columns.as<std::uint32_t>(), own_values.as<double>(), 0, mine,
                                                  side, static_cast<std::int64_t>(mine));
  const index_span begins(offsets.data(), mine + 1, index_type::u64);
  const csr_view a(mine, all, begins, index_span(columns.data(), mine * 7, index_type::u32),
                   const_values(values.data(), mine * 7, value_type::f64));
  const csr_view own(mine, mine, begins, index_span(own_columns.data(), mine * 7, index_type::u32),
                     const_values(own_values.data(), mine * 7, value_type::f64));
  const std::vector<double> ones(mine, 1);
  const buffer x(ctx, mine * 8);
  const buffer y(ctx, mine * 8);
  copy_bytes(ctx, x.data(), ones.data(), mine * 8);
  const const_values xs(x.data(), mine, value_type::f64);
  const sheaf::values ys(y.data(), mine, value_type::f64);
  compare(
      ranks, "prepare_spmv of it", static_cast<double>(mine),
      [&] { distributed::prepare_spmv(ranks, a, where, where); }, [&] { sheaf::prepare_spmv(ctx, own, 50); });
  if (prepares_alone) return;
  const auto prepared = distributed::prepare_spmv(ranks, a, where, where);
  const auto prepared_alone = sheaf::prepare_spmv(ctx, own, 50);
  compare(
      ranks, "prepared spmv, 7-point grid", static_cast<double>(mine), [&] { prepared.run(xs, ys); },
      [&] { prepared_alone.run(xs, ys); });
  // Preparations, which a solve begins with, are left out: times of two numbers of iterations are subtracted.
  constexpr std::uint64_t few = 20;
  constexpr std::uint64_t many = 220;
  const auto seconds_of = [&](std::uint64_t iterations, bool on_all) {
    conjugate_gradient_options options;
    options.tolerance = 0;
    options.iteration_limit = iterations;
    options.keeps_last = true;
    return timed(ranks, [&] {
      ctx.state().fill(y.data(), 0, mine * 8);
      if (on_all) {
        distributed::conjugate_gradient(ranks, a, where, xs, ys, options);
      } else {
        sheaf::conjugate_gradient(ctx, own, xs, ys, options);
      }
    });
  };
  double seconds[2];
  double first[2];
  for (const bool on_all : {false, true}) {
    first[on_all ? 1 : 0] = seconds_of(few, on_all);
    seconds[on_all ? 1 : 0] = (seconds_of(many, on_all) - first[on_all ? 1 : 0]) / static_cast<double>(many - few);
  }
  if (ranks.rank() == 0) {
    std::printf("%-28s one GPU %9.3f ms, %d GPUs %9.3f ms: %.2fx; the first %d with all else %.1f ms, %.1f ms\n",
                "an iteration of CG", seconds[0] * 1e3, ranks.size(), seconds[1] * 1e3,
                ranks.size() * seconds[0] / seconds[1], static_cast<int>(few), first[0] * 1e3, first[1] * 1e3);
    std::fflush(stdout);
  }
}

void run(const distributed::group& ranks, std::uint64_t n, const std::string& which) {
  const auto is_wanted = [&](const char* part) { return which == "all" || which.find(part) != std::string::npos; };
  if (is_wanted("exchange")) {
    for (const std::uint64_t bytes : {std::uint64_t{1} << 12, std::uint64_t{1} << 20, std::uint64_t{1} << 28})
      exchange_rate(ranks, bytes);
  }
  if (is_wanted("sort")) run_sorts(ranks, n);
  if (is_wanted("gather")) run_gathers(ranks, n);
  if (is_wanted("product") || is_wanted("preparation")) run_products(ranks, n / 4, !is_wanted("product"));
}

}  // namespace

int main(int argc, char** argv) {
  const int gpus = argc > 1 ? std::atoi(argv[1]) : 2;
  const bool by_nccl = argc > 2 && std::strcmp(argv[2], "nccl") == 0;
  const std::uint64_t n = std::uint64_t{1} << (argc > 3 ? std::atoi(argv[3]) : 26);
  const std::string which = argc > 4 ? argv[4] : "all";
  std::vector<context> contexts;
  for (int device = 0; device < gpus; ++device) contexts.push_back(context::cuda(device));
  const auto control = distributed::transports_in_one_process(gpus);
  const auto copies = distributed::transports_between_gpus(contexts);
  std::printf("%d GPUs, %s, %llu rows a GPU\n", gpus, by_nccl ? "NCCL" : "copies", static_cast<unsigned long long>(n));
  distributed::run_on_threads(
      gpus,
      [&](int r) {
        const auto place = static_cast<std::size_t>(r);
        cudaSetDevice(r);
        return distributed::group(
            contexts[place], by_nccl ? distributed::nccl_transport(contexts[place], control[place]) : copies[place]);
      },
      [&](const distributed::group& ranks) { run(ranks, n, which); });
  return 0;
}
