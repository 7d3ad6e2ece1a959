#include "distributed/sort/by_primitives.hpp"

#include <algorithm>
#include <cstring>

#include "distributed/collectives.hpp"
#include "distributed/sort/selection.hpp"

namespace sheaf::distributed {
namespace {

/// Local rows in the order of their whole keys.
class sorted_rows {
 public:
  sorted_rows(group_state& state, const sort_request& request, std::span<const const_records> arrays)
      : state_(state), layout_(layout_of(request.key)), count_(request.keys.count), kept_(count_) {
    std::vector<records> out;
    for (const const_records& array : arrays) {
      arrays_.emplace_back(state, count_ * array.record_bytes, state.ctx);
      out.emplace_back(arrays_.back().data(), count_, array.record_bytes);
    }
    keys_ = out.front();
    sort_arrays(state.ctx, arrays, request.key, out);
    if (request.first_left_out == 0) return;
    key_bound bound{{}, false, 0, count_};
    bound.key.word[0] = request.first_left_out;
    kept_ = find_bounds(keys(), {&bound, 1}).front();
  }

  /// Rows that are not left out.
  std::uint64_t count() const noexcept { return kept_; }
  key_reader keys() const { return {state_.ctx, keys_, layout_}; }
  std::vector<message_buffer> take_arrays() noexcept { return std::move(arrays_); }

 private:
  group_state& state_;
  const key_layout layout_;
  const std::uint64_t count_;
  std::uint64_t kept_;
  const_records keys_;
  std::vector<message_buffer> arrays_;
};

/// The keys beside a cut.
struct cut_neighbours {
  std::uint64_t has_before = 0;
  std::uint64_t has_behind = 0;
  key_number before;
  key_number behind;
};

/// Collective: moves cuts among rows of equal keys behind the last of these.
void move_behind_ties(group_state& state, const sorted_rows& rows, std::span<const std::size_t> moved_if_tied,
                      std::vector<std::uint64_t>& cuts) {
  const key_reader keys = rows.keys();
  std::vector<std::uint64_t> positions;
  for (const std::size_t i : moved_if_tied) {
    if (cuts[i] > 0) positions.push_back(cuts[i] - 1);
    if (cuts[i] < rows.count()) positions.push_back(cuts[i]);
  }
  const std::vector<key_number> read = keys(positions);
  std::vector<cut_neighbours> mine;
  std::size_t next = 0;
  for (const std::size_t i : moved_if_tied) {
    cut_neighbours& neighbours = mine.emplace_back();
    if (cuts[i] > 0) {
      neighbours.has_before = 1;
      neighbours.before = read[next++];
    }
    if (cuts[i] < rows.count()) {
      neighbours.has_behind = 1;
      neighbours.behind = read[next++];
    }
  }
  std::vector<cut_neighbours> all(mine.size() * static_cast<std::size_t>(state.size));
  if (!mine.empty()) all_gather(state, mine.data(), mine.size() * sizeof(cut_neighbours), all.data());
  std::vector<key_bound> bounds;
  std::vector<std::size_t> moved;
  for (std::size_t c = 0; c < moved_if_tied.size(); ++c) {
    const cut_neighbours* before = nullptr;
    const cut_neighbours* behind = nullptr;
    for (std::size_t i = c; i < all.size(); i += moved_if_tied.size()) {
      if (all[i].has_before != 0 && (before == nullptr || before->before < all[i].before)) before = &all[i];
      if (all[i].has_behind != 0 && (behind == nullptr || all[i].behind < behind->behind)) behind = &all[i];
    }
    if (before == nullptr || behind == nullptr || !(before->before == behind->behind)) continue;
    moved.push_back(moved_if_tied[c]);
    bounds.push_back({before->before, true, cuts[moved.back()], rows.count()});
  }
  const std::vector<std::uint64_t> places = find_bounds(keys, bounds);
  for (std::size_t m = 0; m < moved.size(); ++m) cuts[moved[m]] = places[m];
}

}  // namespace

void sort_arrays(const context& ctx, std::span<const const_records> in, const sort_key& key,
                 std::span<const records> out) {
  if (in.front().count == 0) return;
  if (in.size() == 1) return sheaf::sort_records(ctx, in.front(), key, out.front());
  std::vector<sort_column> columns;
  for (std::size_t a = 1; a < in.size(); ++a) columns.push_back({in[a], out[a]});
  sheaf::sort_pairs(ctx, in.front(), key, out.front().count > 0 ? out.front() : records{}, columns);
}

primitive_parts pack_by_primitives(group_state& state, const sort_request& request,
                                   std::span<const const_records> arrays, std::uint64_t groups) {
  sorted_rows local(state, request, arrays);
  std::uint64_t rows = local.count();
  all_add(state, {&rows, 1});
  primitive_parts parts;
  parts.where = layout::even(rows, state.size);
  std::vector<whole_position> searched;
  for (const std::uint64_t position : inner_positions(parts.where, groups))
    searched.push_back({position, 0, local.count()});
  std::vector<std::uint64_t> cuts = rows_before(state, local.keys(), searched);
  if (request.parts == balance::by_key) {
    std::vector<std::size_t> ends;  // of ranks
    for (std::size_t i = groups - 1; i < cuts.size(); i += groups) ends.push_back(i);
    move_behind_ties(state, local, ends, cuts);
    std::vector<std::uint64_t> begins{0};
    for (const std::size_t end : ends) begins.push_back(cuts[end]);
    begins.push_back(local.count());
    all_add(state, begins);
    parts.where = layout::at(std::move(begins));
  }
  // Where the end of a rank's rows was moved, groups of the next one may end before it.
  for (std::size_t i = 1; i < cuts.size(); ++i) cuts[i] = std::max(cuts[i], cuts[i - 1]);
  parts.packed.offsets = std::move(cuts);
  parts.packed.offsets.insert(parts.packed.offsets.begin(), 0);
  parts.packed.offsets.push_back(local.count());
  parts.packed.arrays = local.take_arrays();
  return parts;
}

}  // namespace sheaf::distributed
