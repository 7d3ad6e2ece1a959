#include "cuda/ranks/owners.cuh"
#include "cuda/ranks/steps.hpp"

// Owners of a list's entries, and pairs that a split has brought into their order taken apart: both stream.
namespace sheaf::cuda {
namespace {

using namespace primitives;

constexpr int items = 4;  ///< entries that a thread has in flight

template <class Number>
struct __align__(2 * sizeof(Number)) number_pair {
  Number row;
  Number position;
};

/// Loads of a full tile do not branch; past the end they read the last entry again.
template <class Index, class Owner, class Number>
__global__ void __launch_bounds__(block_threads)
    write_routes(const void* list, std::uint64_t count, const rows_of_ranks rows, Owner* owners,
                 number_pair<Number>* pairs, std::uint64_t* first_bad) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (block_threads * items) + threadIdx.x;
  std::uint64_t entry[items];
#pragma unroll
  for (int k = 0; k < items; ++k) entry[k] = entry_at<Index>(list, min(first + k * block_threads, count - 1));
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const std::uint64_t i = first + k * block_threads;
    if (i >= count) return;
    const bool is_good = entry[k] < rows.limit;
    const std::uint32_t owner = is_good ? owner_of(rows, entry[k]) : rows.ranks;
    owners[i] = static_cast<Owner>(owner);
    pairs[i] = {is_good ? static_cast<Number>(entry[k] - rows.begins[owner]) : Number{0}, static_cast<Number>(i)};
    if (!is_good) note_bad(first_bad, i);
  }
}

template <class Number>
__global__ void __launch_bounds__(block_threads)
    write_apart(const number_pair<Number>* pairs, std::uint64_t count, Number* rows, Number* positions) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (block_threads * items) + threadIdx.x;
  number_pair<Number> pair[items];
#pragma unroll
  for (int k = 0; k < items; ++k) pair[k] = pairs[min(first + k * block_threads, count - 1)];
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const std::uint64_t i = first + k * block_threads;
    if (i >= count) return;
    rows[i] = pair[k].row;
    positions[i] = pair[k].position;
  }
}

std::uint64_t blocks_of(std::uint64_t count) { return ceil_div(count, std::uint64_t{block_threads} * items); }

}  // namespace

void route_entries(const context& ctx, index_span list, const rows_of_ranks& rows, const routed_entries& out) {
  const run_scope scope(ctx, "route");
  clear_first_bad(ctx, out.first_bad);
  if (list.count == 0) return;
  const auto queue = [&](auto index, auto owner, auto number) {
    using index_value = decltype(index);
    using owner_value = decltype(owner);
    using number_value = decltype(number);
    launch(ctx, write_routes<index_value, owner_value, number_value>, blocks_of(list.count), list.data, list.count,
           rows, reinterpret_cast<owner_value*>(out.owner),
           reinterpret_cast<number_pair<number_value>*>(out.row_and_position), out.first_bad);
  };
  const auto with_number = [&](auto index, auto owner) {
    out.is_wide ? queue(index, owner, std::uint64_t{}) : queue(index, owner, std::uint32_t{});
  };
  const auto with_owner = [&](auto index) {
    owner_bytes(rows.ranks) == 1 ? with_number(index, std::uint8_t{}) : with_number(index, std::uint16_t{});
  };
  bytes(list.type) == sizeof(std::uint32_t) ? with_owner(std::uint32_t{}) : with_owner(std::uint64_t{});
}

void unzip_pairs(const context& ctx, const std::byte* pairs, std::uint64_t count, bool is_wide, std::byte* rows,
                 std::byte* positions) {
  if (count == 0) return;
  const run_scope scope(ctx, "unzip");
  const auto queue = [&](auto number) {
    using number_value = decltype(number);
    launch(ctx, write_apart<number_value>, blocks_of(count), reinterpret_cast<const number_pair<number_value>*>(pairs),
           count, reinterpret_cast<number_value*>(rows), reinterpret_cast<number_value*>(positions));
  };
  is_wide ? queue(std::uint64_t{}) : queue(std::uint32_t{});
}

}  // namespace sheaf::cuda
