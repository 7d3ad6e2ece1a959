#include "distributed/sort/by_parts.hpp"

#include <algorithm>
#include <numeric>

#include "distributed/collectives.hpp"
#include "distributed/sort/course.hpp"
#include "distributed/sort/local_parts.hpp"
#include "distributed/sort/travelling_parts.hpp"

namespace sheaf::distributed {
namespace {

/// Ranks that would end inside of a part whose rows have one key end behind it.
layout behind_one_key(const layout& even, const part_edges& edges, const part_table& table,
                      std::span<const cut_part> cuts) {
  std::vector<std::uint64_t> begins(even.begins().begin(), even.begins().end());
  for (const cut_part& cut : cuts) {
    if (!edges.has_one_key(cut.part)) continue;
    for (std::uint64_t& begin : begins) {
      if (begin > table.begin(cut.part) && begin < table.begin(cut.part + 1)) begin = table.begin(cut.part + 1);
    }
  }
  return layout::at(std::move(begins));
}

/// How many chunks of a group's rows travel as soon as they are moved: all of the first group's, because it alone is
/// waited for; of others as many as leave no pause in which nothing travels. Rows of 8 bytes are moved in 0.7 of the
/// time in which half of them travels; where these only have to be copied at last, three groups of four may come late.
std::uint64_t early_chunks(std::size_t group, std::size_t groups, std::uint64_t chunks, bool are_copied) {
  if (group == 0 || (are_copied && group + 1 < groups)) return chunks;
  return group == 1 ? chunks / 2 : 0;
}

/// Moves rows chunk by chunk, and begins to send them.
void move_and_start(group_state& state, const local_parts& local, std::span<const const_records> arrays,
                    const part_edges& edges, travelling_parts& travelling, const part_table& table,
                    const layout& where) {
  const std::uint64_t chunks = table.chunks();
  std::vector<std::byte*> targets;
  for (std::uint64_t c = 0; c < chunks; ++c) {
    const std::vector<std::byte*> of_chunk = travelling.targets(c);
    targets.insert(targets.end(), of_chunk.begin(), of_chunk.end());
  }
  const std::size_t of_chunk = arrays.size() * table.all_parts();
  const buffer on_device(state.ctx, targets.size() * sizeof(std::byte*));
  copy_bytes(state.ctx, on_device.data(), targets.data(), on_device.size());
  const auto early = [&](std::size_t g) {
    return early_chunks(g, travelling.groups(), chunks, edges.are_all_numbers && edges.dropped_bits == 0);
  };
  for (std::uint64_t c = 0; c < chunks; ++c) {
    local.move(c, arrays, std::span(targets).subspan(c * of_chunk, of_chunk),
               on_device.as<std::byte*>() + c * of_chunk);
    if (c + 1 == chunks) travelling.start_cuts(where);
    for (std::size_t g = 0; g < travelling.groups(); ++g) {
      if (c < early(g)) travelling.start_group(g, c, c + 1);
    }
  }
  for (std::size_t g = 0; g < travelling.groups(); ++g) {
    if (early(g) < chunks) travelling.start_group(g, early(g), chunks);
  }
}

}  // namespace

std::optional<sorted_pairs> sort_by_parts(group_state& state, const sort_request& request,
                                          std::span<const const_records> arrays,
                                          std::span<const std::uint64_t> counts) {
  std::uint64_t row_bytes = 0;
  for (const const_records& array : arrays) row_bytes += array.record_bytes;
  const std::uint64_t rows = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  // A part of average length may be sorted on each rank that has rows of it, but not one of twice that length.
  const bool are_parts_long =
      !has_few_numbers(request) && primitives::most_row_parts < 8 * static_cast<std::uint64_t>(state.size);
  if (are_few_rows(rows, state.bounds) || are_parts_long) return std::nullopt;
  const sort_course course =
      course_of(state.size, *std::max_element(counts.begin(), counts.end()),
                rows / static_cast<std::uint64_t>(state.size), row_bytes, layout_of(request.key).bits, state.bounds);
  const part_edges edges = edges_of(state, request, counts, rows);
  auto local = std::make_unique<const local_parts>(state, request, edges, course.chunks);
  std::vector<std::uint64_t> all_counts(local->counts().size() * static_cast<std::size_t>(state.size));
  all_gather(state, local->counts().data(), local->counts().size_bytes(), all_counts.data());
  const std::size_t kept = edges.parts() - (request.first_left_out > 0 ? 1 : 0);
  const part_table table(all_counts, state.size, course.chunks, edges.parts(), kept);
  const layout even = layout::even(table.rows(), state.size);
  const part_owners owners(table, even, course.shares);
  // Each rank that has rows of a cut part sorts all of it.
  const std::uint64_t most_cut_rows =
      std::max(table.rows() / (4 * static_cast<std::uint64_t>(state.size)), state.bounds.chunk_bytes / 1024);
  for (const cut_part& cut : owners.cuts) {
    if (!edges.has_one_key(cut.part) && table.begin(cut.part + 1) - table.begin(cut.part) > most_cut_rows)
      return std::nullopt;
  }
  sorted_pairs out;
  out.where = request.parts == balance::by_key ? behind_one_key(even, edges, table, owners.cuts) : even;
  travelling_parts travelling(state, request, arrays, edges, table, owners);
  move_and_start(state, *local, arrays, edges, travelling, table, out.where);
  local.reset();
  travelling.sort_cuts();
  if (request.parts == balance::by_key) out.where = travelling.by_key(out.where);
  take_memory(state, request, out.where.count(state.rank), out);
  for (std::size_t g = 0; g < travelling.groups(); ++g) {
    const std::uint64_t count = travelling.count(g);
    const std::uint64_t first = count > 0 ? travelling.begin(g) - out.where.begin(state.rank) : 0;
    travelling.finish_group(g, outputs(request, out, first, count));
  }
  travelling.copy_cuts(out);
  wait_for_queued(state);
  if (request.number_begins != nullptr && edges.are_all_numbers) {
    for (std::size_t part = 0; part <= table.parts(); ++part) request.number_begins->push_back(table.begin(part));
  }
  return out;
}

}  // namespace sheaf::distributed
