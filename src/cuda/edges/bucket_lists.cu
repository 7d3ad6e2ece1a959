#include "cuda/edges/bucket_lists.hpp"

#include "cuda/device/launch.cuh"
#include "cuda/edges/buckets/phases.hpp"

// How lists by buckets are cut, what they need, and the phases that make them, in order; buckets/ has these.
namespace sheaf::cuda {

using edge_kernels::end_arrays;
using primitives::edge_sum_problem;

namespace {

std::uint32_t chunk_items(const bucket_cut& cut) {
  return cut.long_parts == 0 ? 0 : std::max(chunks_of_long_parts, cut.long_parts);
}

}  // namespace

bucket_cut::bucket_cut(const edge_sum_problem& p) noexcept {
  const std::uint64_t words = p.weight_components * p.value_bytes() / sizeof(std::uint32_t);
  carries_weights = words > 0 && words <= most_carried;
  carried = carries_weights ? static_cast<std::uint32_t>(words) : words > 0 ? 1 : 0;
  constexpr std::uint64_t blocks = 132;  // of which a device has about as many multiprocessors
  const std::uint64_t mean = std::max<std::uint64_t>(1, ceil_div(2 * p.edges, std::max<std::uint64_t>(1, p.nodes)));
  const std::uint64_t aimed_at = usual_entries(carried);
  const std::uint64_t usual =
      std::min(aimed_at / std::min(mean, aimed_at), std::max<std::uint64_t>(1, p.nodes / blocks));
  const auto usual_bits = static_cast<std::uint32_t>(std::bit_width(std::max<std::uint64_t>(1, usual)) - 1);
  part_bits = std::clamp(usual_bits, least_part_bits, most_part_bits);
  bucket_bits = part_bits;
  while (bucket_bits < part_bits + most_log2_parts && p.nodes > std::uint64_t{most_node_buckets} << bucket_bits)
    ++bucket_bits;
  buckets = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(ceil_div(p.nodes, std::uint64_t{1} << bucket_bits), most_node_buckets));
  tiles = static_cast<std::uint32_t>(ceil_div(p.edges, tile_edges));
  row = (buckets + 2) / 2 * 2;
  turned_row = (tiles + 1) / 2 * 2;
  long_parts = static_cast<std::uint32_t>(std::min<std::uint64_t>(2 * p.edges / list_capacity(carried), parts()));
}

void bucket_cut::tell(plan::told& to) const { to.add("buckets", buckets).add("nodes of a part", part_nodes()); }

const char* bucket_rejection(const edge_sum_problem& p, const bucket_cut& cut, const plan::scope& in) noexcept {
  if (p.edges == 0 || p.nodes == 0) return "there is nothing to put in order";
  if (ceil_div(p.edges, tile_edges) * tile_ends >> 32 != 0) return "it numbers ends with 32 bits";
  if (!suits_rows(p)) return "lists are longer than a thread should sum";
  if (p.nodes > std::uint64_t{cut.buckets} << cut.bucket_bits) return "there are more nodes than its buckets have";
  if (in.context == nullptr) return nullptr;  // a plan for a machine of another day has no device to ask
  constexpr std::uint64_t table_bytes = 4 * 1024;
  const std::uint64_t most_bytes = static_cast<const cuda_state*>(in.context)->shared_bytes_of_block();
  return std::max(list_bytes(cut), place_bytes(cut.buckets)) + table_bytes <= most_bytes
             ? nullptr
             : "a block of this device has too little shared memory for a part";
}

bucket_scratch::bucket_scratch(const bucket_cut& cut, core::scratch_arrays& arrays)
    : others(arrays.take<std::uint32_t>(std::uint64_t{cut.tiles} * tile_ends)),
      locals(arrays.take<std::uint16_t>(std::uint64_t{cut.tiles} * tile_ends)),
      carried(arrays.take<std::uint32_t>(std::uint64_t{cut.tiles} * tile_ends * cut.carried)),
      table(arrays.take<std::uint16_t>(std::uint64_t{cut.tiles} * cut.row)),
      turned(arrays.take<std::uint16_t>((std::uint64_t{cut.buckets} + 1) * cut.turned_row)),
      begins(arrays.take<std::uint32_t>(cut.buckets + 1)),
      long_part(arrays.take<std::uint32_t>(2 * std::uint64_t{cut.long_parts} + 1)),
      part_counts(arrays.take<std::uint32_t>(std::uint64_t{chunk_items(cut)} << cut.part_bits)) {}

void queue_bucket_lists(const context& ctx, const edge_sum_problem& p, const end_arrays& edges, const void* weights,
                        const bucket_cut& cut, const bucket_scratch& scratch, const row_outputs& to,
                        unsigned long long* first_bad) {
  require(cudaMemsetAsync(scratch.long_part, 0, sizeof *scratch.long_part, ctx.stream()), ctx);
  require(cudaMemsetAsync(to.longest, 0, sizeof *to.longest, ctx.stream()), ctx);
  queue_placed_ends(ctx, edges, weights, cut, scratch, first_bad);
  queue_bucket_begins(ctx, cut, scratch);
  const list_kernel_arguments args{cut, scratch, to, p.nodes};
  queue_short_parts(ctx, args);
  queue_long_parts(ctx, args);
}

}  // namespace sheaf::cuda
