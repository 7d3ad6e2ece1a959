#include "distributed/sort/part_edges.hpp"

#include <algorithm>
#include <numeric>

#include "distributed/collectives.hpp"
#include "primitives/ranks/steps.hpp"

namespace sheaf::distributed {
namespace {

using primitives::most_row_parts;

/// Numbers of all ranks' rows, as many of each rank as its share is; in order.
std::vector<std::uint64_t> sample_numbers(group_state& state, const primitives::rows_by_number& rows,
                                          std::span<const std::uint64_t> counts, std::uint64_t all) {
  // Each of 512 parts has 64 samples, so that few parts have more than 1.4 times their share. Of a rank's samples in
  // order every fourth is told: what that loses is less than chance does, and hosts merge a quarter.
  constexpr std::uint64_t most_samples = std::uint64_t{1} << 15;
  constexpr std::uint64_t most_told = std::uint64_t{1} << 13;
  constexpr std::uint64_t width = sizeof(std::uint64_t);
  const std::uint64_t step = all > most_told ? most_samples / most_told : 1;
  const auto samples_of = [&](std::uint64_t count) {
    const auto share = static_cast<std::uint64_t>(static_cast<double>(count) / static_cast<double>(all) *
                                                  static_cast<double>(most_samples));
    return std::min(count, share + step);
  };
  const auto told_of = [&](std::uint64_t samples) { return (samples + step - 1) / step; };
  std::vector<std::uint64_t> lengths;
  for (const std::uint64_t count : counts) lengths.push_back(told_of(samples_of(count)) * width);
  const std::uint64_t samples = samples_of(rows.rows.count);
  std::vector<std::uint64_t> mine(samples);
  if (samples > 0) {
    const buffer numbers(state.ctx, samples * width);
    const buffer sorted(state.ctx, numbers.size());
    primitives::routing_steps_of(state.ctx.backend())
        .sample_numbers(state.ctx, rows, samples, numbers.as<std::uint64_t>());
    sheaf::sort_records(state.ctx, const_records(numbers.data(), samples, width), sort_key::of<std::uint64_t>(),
                        records(sorted.data(), samples, width));
    copy_bytes(state.ctx, mine.data(), sorted.data(), sorted.size());
  }
  for (std::uint64_t i = 0; i < told_of(samples); ++i) mine[i] = mine[std::min(i * step + step / 2, samples - 1)];
  mine.resize(told_of(samples));
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

/// How many parts a sort of so many rows has: sorts of parts want some 2^19 rows in each, and the parts in which rows
/// of a rank end are to be few of a rank's rows.
std::size_t parts_of(std::uint64_t rows, int ranks) {
  constexpr std::uint64_t rows_of_part = std::uint64_t{1} << 19;
  return std::min<std::size_t>(most_row_parts, std::max(rows / rows_of_part, 32 * static_cast<std::uint64_t>(ranks)));
}

}  // namespace

part_edges edges_of(group_state& state, const sort_request& request, std::span<const std::uint64_t> counts,
                    std::uint64_t all) {
  const key_layout key = layout_of(request.key);
  part_edges edges;
  edges.dropped_bits = key.bits - std::min(key.bits, 64U);
  edges.greatest = key.bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << key.bits) - 1;
  const std::uint64_t left_out = request.first_left_out;
  edges.are_all_numbers = edges.greatest < most_row_parts || (left_out > 0 && left_out < most_row_parts);
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
