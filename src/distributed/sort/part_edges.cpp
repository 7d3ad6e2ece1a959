#include "distributed/sort/part_edges.hpp"

#include <algorithm>
#include <numeric>

#include "distributed/collectives.hpp"
#include "primitives/ranks/steps.hpp"

namespace sheaf::distributed {
namespace {

using primitives::most_row_parts;

/// How many parts a sort of so many rows has: sorts of parts want some 2^19 rows in each, and the parts in which rows
/// of a rank end are to be few of a rank's rows.
std::size_t parts_of(std::uint64_t rows, int ranks) {
  constexpr std::uint64_t rows_of_part = std::uint64_t{1} << 19;
  return std::min<std::size_t>(most_row_parts, std::max(rows / rows_of_part, 32 * static_cast<std::uint64_t>(ranks)));
}

// Each part has 256 samples, so that few have more than 1.15 times their share: of such a part's 256 bins, two would no
// longer be finished together. Of a rank's samples in order every 16th is told, and parts err little more.
constexpr std::uint64_t samples_of_part = 256;
constexpr std::uint64_t told_of_part = 16;
constexpr std::uint64_t step = samples_of_part / told_of_part;

/// Numbers of all ranks' rows, as many of each rank as its share is; in order.
std::vector<std::uint64_t> sample_numbers(group_state& state, const primitives::rows_by_number& rows,
                                          std::span<const std::uint64_t> counts, std::uint64_t all) {
  constexpr std::uint64_t width = sizeof(std::uint64_t);
  const auto told_of = [&](std::uint64_t samples) { return (samples + step - 1) / step; };
  std::vector<std::uint64_t> lengths;
  for (const std::uint64_t count : counts) lengths.push_back(told_of(samples_of(count, all, state.size)) * width);
  const std::uint64_t samples = samples_of(rows.rows.count, all, state.size);
  std::vector<std::uint64_t> mine(told_of(samples));
  if (samples > 0) {
    const buffer numbers(state.ctx, samples * width);
    const buffer sorted(state.ctx, numbers.size());
    const primitives::routing_steps& steps = primitives::routing_steps_of(state.ctx.backend());
    const sort_key number = sort_key::of<std::uint64_t>();
    steps.sample_numbers(state.ctx, rows, samples, numbers.as<std::uint64_t>());
    sheaf::sort_records(state.ctx, const_records(numbers.data(), samples, width), number,
                        records(sorted.data(), samples, width));
    // The middle ones of each step, with the last sample of all in place of that of a step which ends before it.
    const std::uint64_t whole = (samples + step - 1 - step / 2) / step;
    const const_records middles(sorted.data() + step / 2 * width, whole, width, step * width);
    steps.sample_numbers(state.ctx, {middles, layout_of(number), 0, nullptr, 0}, whole, numbers.as<std::uint64_t>());
    copy_bytes(state.ctx, mine.data(), numbers.data(), whole * width);
    if (whole < mine.size()) copy_bytes(state.ctx, &mine.back(), sorted.data() + (samples - 1) * width, width);
  }
  std::vector<std::uint64_t> told(std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0}) / width);
  gather_parts(state, std::as_bytes(std::span(mine)), lengths, reinterpret_cast<std::byte*>(told.data()));
  auto end = told.begin();
  for (const std::uint64_t length : lengths) {
    const auto middle = end;
    end += static_cast<std::ptrdiff_t>(length / width);
    std::inplace_merge(told.begin(), middle, end);
  }
  return told;
}

}  // namespace

std::uint64_t samples_of(std::uint64_t rows, std::uint64_t all, int ranks) {
  const double share = static_cast<double>(rows) / static_cast<double>(all);
  const auto samples = static_cast<double>(parts_of(all, ranks) * samples_of_part);
  return std::min(rows, static_cast<std::uint64_t>(share * samples) + step);
}

bool has_few_numbers(const sort_request& request) {
  const std::uint32_t bits = layout_of(request.key).bits;
  const std::uint64_t left_out = request.first_left_out;
  return (bits < 64 && std::uint64_t{1} << bits <= most_row_parts) || (left_out > 0 && left_out < most_row_parts);
}

part_edges edges_of(group_state& state, const sort_request& request, std::span<const std::uint64_t> counts,
                    std::uint64_t all) {
  const key_layout key = layout_of(request.key);
  part_edges edges;
  edges.dropped_bits = key.bits - std::min(key.bits, 64U);
  edges.greatest = key.bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << key.bits) - 1;
  const std::uint64_t left_out = request.first_left_out;
  edges.are_all_numbers = has_few_numbers(request);
  if (edges.are_all_numbers) {
    const std::uint64_t last = left_out > 0 ? left_out : edges.greatest;
    for (std::uint64_t number = 1; number <= last; ++number) edges.numbers.push_back(number);
    return edges;
  }
  const std::vector<std::uint64_t> samples =
      sample_numbers(state, {request.keys, key, edges.dropped_bits, nullptr, 0}, counts, all);
  const auto add = [&](std::uint64_t edge) {
    if (edge > (edges.numbers.empty() ? 0 : edges.numbers.back()) && (left_out == 0 || edge < left_out))
      edges.numbers.push_back(edge);
  };
  // As many edges as quantiles at most, and one for what is left out.
  const std::size_t quantiles = parts_of(all, state.size) - 2;
  std::uint64_t before = 0;
  for (std::size_t q = 1; q <= quantiles; ++q) {
    const std::uint64_t edge = samples[samples.size() * q / (quantiles + 1)];
    add(edge);
    if (q > 1 && edge == before && edge < edges.greatest) add(edge + 1);
    before = edge;
  }
  if (left_out > 0) edges.numbers.push_back(left_out);
  return edges;
}

}  // namespace sheaf::distributed
