#include "distributed/sort/by_primitives.hpp"

#include <algorithm>
#include <cstring>

#include "distributed/collectives.hpp"
#include "distributed/sort/selection.hpp"

namespace sheaf::distributed {
namespace {

/// The key of `bits` bits of a key behind its highest `skipped` ones.
sort_key part_of(const key_layout& key, std::uint32_t skipped, std::uint32_t bits) {
  sort_key part{key_field{}};
  part.count = 0;
  for (std::uint32_t f = 0; f < key.field_count && bits > 0; ++f) {
    const std::uint32_t all = primitives::bits_of(key.fields[f]);
    const std::uint32_t left = all - std::min(all, skipped);
    skipped -= all - left;
    if (left == 0) continue;
    const std::uint32_t taken = std::min(left, bits);
    key_field& field = part.fields[part.count++];
    field = key.fields[f];
    field.first_bit += left - taken;
    field.bit_count = taken;
    bits -= taken;
  }
  return part;
}

/// By which bits of the key local rows are sorted before the parts are known.
struct first_sort {
  std::uint32_t skipped = 0;  ///< bits before them, which the sampled keys have alike
  std::uint32_t bits = 0;
  std::vector<key_number> edges;  ///< numbers of these bits, ascending, between which buckets lie
};

/// Keys of all ranks' rows, as many of each rank as its share is; in order.
std::vector<key_number> sample_keys(group_state& state, const_records rows, const key_layout& key, std::uint64_t all) {
  constexpr std::uint64_t most_samples = std::uint64_t{1} << 10;
  std::vector<std::uint64_t> positions;
  const std::uint64_t samples = std::min(rows.count, (rows.count * most_samples + all - 1) / all);
  for (std::uint64_t i = 0; i < samples; ++i) {
    // Not evenly spaced: rows may repeat after a number of them.
    const std::uint64_t begin = i * rows.count / samples;
    const std::uint64_t end = (i + 1) * rows.count / samples;
    positions.push_back(begin + (i * 0x9e3779b97f4a7c15U >> 33) % (end - begin));
  }
  const std::vector<key_number> mine = key_reader(state.ctx, rows, key)(positions);
  const gathered_bytes told = all_gather_parts(state, std::as_bytes(std::span(mine)));
  std::vector<key_number> keys(told.data.size() / sizeof(key_number));
  std::memcpy(keys.data(), told.data.data(), told.data.size());
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// The share of the rows that lie in buckets in which a rank's rows end.
double share_at_ends(const std::vector<key_number>& parts, int ranks, std::uint64_t buckets) {
  const auto count = static_cast<double>(parts.size());
  double share = 0;
  auto last = parts.end();
  for (int r = 1; r < ranks; ++r) {
    const auto at = parts.begin() + static_cast<std::ptrdiff_t>(parts.size() * static_cast<std::uint64_t>(r) /
                                                                static_cast<std::uint64_t>(ranks));
    const auto [first, behind] = std::equal_range(parts.begin(), parts.end(), *at);
    if (first != last) share += std::max(1 / static_cast<double>(buckets), static_cast<double>(behind - first) / count);
    last = first;
  }
  return std::min(share, 1.0);
}

/// The bits by which a first sort and the sorts of buckets at the ends of ranks take least. None: it is by the whole
/// key. @param may_skip  whether the highest bits may be taken for those of the sample, as is checked afterwards
first_sort choose_first_sort(const group_state& state, const std::vector<key_number>& samples, std::uint32_t key_bits,
                             bool may_skip) {
  // Passes of 8 bits: 2^28 keys of 8 bytes take an H200 2.3 ms for one, 6.2 ms for a whole sort (README.md and
  // docs/experiments/sort.md). Rows of other widths have not been measured.
  constexpr double passes_of_whole_sort = 2.7;
  constexpr double passes_of_copy = 0.5;
  const std::uint64_t buckets = std::max<std::uint64_t>(256, 8 * static_cast<std::uint64_t>(state.size));
  std::uint32_t common = 0;
  while (common < key_bits &&
         above(samples.front(), key_bits - common - 1) == above(samples.back(), key_bits - common - 1))
    ++common;
  // Where few keys have the highest bit in which samples differ, others have higher ones.
  const auto has_bit = [&](const key_number& key) { return (lowest_word(above(key, key_bits - common - 1)) & 1) != 0; };
  if (common < key_bits) {
    const auto with_bit = static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), has_bit));
    may_skip = may_skip && std::min(with_bit, samples.size() - with_bit) >= samples.size() / 16;
  }
  first_sort best;
  std::vector<key_number> best_parts;
  double least = passes_of_whole_sort;
  for (const std::uint32_t skipped : {std::uint32_t{0}, common}) {
    for (const std::uint32_t bits : {8U, 16U}) {
      if (skipped + bits >= key_bits || (skipped > 0 && !may_skip)) continue;
      std::vector<key_number> parts;
      parts.reserve(samples.size());
      for (const key_number& key : samples)
        parts.push_back(primitives::bits_from(key, key_bits - skipped - bits, bits));
      const double whole_sorts = share_at_ends(parts, state.size, buckets);
      const double passes = bits / 8.0 + whole_sorts * (passes_of_whole_sort + passes_of_copy);
      if (passes >= least) continue;
      least = passes;
      best.skipped = skipped;
      best.bits = bits;
      best_parts = std::move(parts);
    }
  }
  for (std::uint64_t i = 0; i < buckets && !best_parts.empty(); ++i) {
    // A number that many rows have is a bucket of its own.
    key_number edge = best_parts[best_parts.size() * i / buckets];
    if (best.edges.empty() || best.edges.back() < edge) best.edges.push_back(edge);
    ++edge.word[0];
    if (best.edges.back() < edge) best.edges.push_back(edge);
  }
  return best;
}

/// Local rows in the order of some of their keys' bits, in buckets. In the whole, all rows of a bucket lie before those
/// of the next one.
class bucketed_rows {
 public:
  bucketed_rows(group_state& state, const sort_request& request, std::span<const const_records> arrays,
                std::uint64_t rows, bool may_skip)
      : state_(state), key_(request.key), layout_(layout_of(request.key)), count_(request.keys.count) {
    for (const const_records& array : arrays) {
      widths_.push_back(array.record_bytes);
      arrays_.emplace_back(state, count_ * array.record_bytes, state.ctx);
    }
    const bool are_few = rows <= state.bounds.chunk_bytes / 64;
    if (!are_few && request.first_left_out == 0)
      first_ = choose_first_sort(state, sample_keys(state, request.keys, layout_, rows), layout_.bits, may_skip);
    const bool is_whole = first_.bits == 0;
    const sort_key by = is_whole ? key_ : part_of(layout_, first_.skipped, first_.bits);
    std::vector<records> out;
    for (std::size_t a = 0; a < arrays.size(); ++a) out.push_back(range(a, 0, count_));
    sort_arrays(state.ctx, arrays, by, out);
    begins_ = {0};
    if (is_whole) {
      begins_.push_back(request.first_left_out == 0 ? count_ : first_not_below(request.first_left_out));
    } else {
      std::vector<key_bound> bounds;
      for (const key_number& edge : first_.edges) bounds.push_back({edge, false, 0, count_});
      const key_reader parts(state.ctx, range(0, 0, count_), layout_of(by));
      for (const std::uint64_t place : find_bounds(parts, bounds)) begins_.push_back(place);
      begins_.push_back(count_);
    }
    whole_begins_ = begins_;
    all_add(state, whole_begins_);
    are_sorted_.assign(begins_.size() - 1, is_whole ? 1 : 0);
  }

  /// Whether the order is right only if all keys have the bits alike that the sample had.
  bool skips_bits() const noexcept { return first_.skipped > 0; }
  /// Rows of all ranks that are not left out.
  std::uint64_t rows() const noexcept { return whole_begins_.back(); }
  /// The bucket inside of which a position of the whole lies; that behind the last one if it lies between two.
  std::size_t bucket_around(std::uint64_t position) const noexcept {
    const std::size_t b = bucket_from(position);
    return b < buckets() && whole_begins_[b] == position ? buckets() : b;
  }
  std::size_t buckets() const noexcept { return begins_.size() - 1; }
  std::uint64_t begin(std::size_t bucket) const noexcept { return begins_[bucket]; }
  std::uint64_t whole_begin(std::size_t bucket) const noexcept { return whole_begins_[bucket]; }
  bool is_sorted(std::size_t bucket) const noexcept { return are_sorted_[bucket] != 0; }

  /// Local rows before a position between buckets.
  std::uint64_t local_begin(std::uint64_t position) const noexcept { return begins_[bucket_from(position)]; }

  /// Sorts the rows of a bucket by their whole keys.
  void sort(std::size_t bucket) {
    if (is_sorted(bucket)) return;
    are_sorted_[bucket] = 1;
    const std::uint64_t first = begins_[bucket];
    const std::uint64_t count = begins_[bucket + 1] - first;
    if (count < 2) return;
    std::vector<buffer> memory;
    std::vector<const_records> in;
    std::vector<records> out;
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      memory.emplace_back(state_.ctx, count * widths_[a]);
      in.push_back(range(a, first, count));
      out.emplace_back(memory.back().data(), count, widths_[a]);
    }
    sort_arrays(state_.ctx, in, key_, out);
    for (std::size_t a = 0; a < arrays_.size(); ++a)
      copy_bytes(state_.ctx, range(a, first, count).data, memory[a].data(), memory[a].size());
  }

  key_reader keys() const { return {state_.ctx, range(0, 0, count_), layout_}; }
  std::vector<message_buffer> take_arrays() noexcept { return std::move(arrays_); }

 private:
  records range(std::size_t a, std::uint64_t first, std::uint64_t count) const noexcept {
    return {arrays_[a].data() + first * widths_[a], count, widths_[a]};
  }

  /// The last bucket that begins at or before a position; that behind the last one at the end of the whole.
  std::size_t bucket_from(std::uint64_t position) const noexcept {
    const auto behind = std::upper_bound(whole_begins_.begin(), whole_begins_.end(), position);
    return static_cast<std::size_t>(behind - whole_begins_.begin()) - 1;
  }

  std::uint64_t first_not_below(std::uint64_t number) const {
    key_bound bound{{}, false, 0, count_};
    bound.key.word[0] = number;
    return find_bounds(keys(), {&bound, 1}).front();
  }

  group_state& state_;
  const sort_key key_;
  const key_layout layout_;
  const std::uint64_t count_;
  first_sort first_;
  std::vector<std::uint64_t> widths_;
  std::vector<message_buffer> arrays_;
  std::vector<std::uint64_t> begins_;        // of local buckets, and the end of the last one
  std::vector<std::uint64_t> whole_begins_;  // of all ranks together
  std::vector<char> are_sorted_;
};

/// An end of a part, and the bucket around it.
struct inner_cut {
  std::size_t number = 0;  ///< of the inner position
  std::size_t bucket = 0;
};

/// The keys beside a cut.
struct cut_neighbours {
  std::uint64_t has_before = 0;
  std::uint64_t has_behind = 0;
  key_number before;
  key_number behind;
};

/// Collective: moves cuts among rows of equal keys behind the last of these.
void move_behind_ties(group_state& state, const bucketed_rows& rows, std::span<const inner_cut> cuts,
                      std::vector<std::uint64_t>& local) {
  if (cuts.empty()) return;
  const key_reader keys = rows.keys();
  std::vector<std::uint64_t> positions;
  for (const inner_cut& cut : cuts) {
    const std::uint64_t at = local[cut.number];
    if (at > rows.begin(cut.bucket)) positions.push_back(at - 1);
    if (at < rows.begin(cut.bucket + 1)) positions.push_back(at);
  }
  const std::vector<key_number> read = keys(positions);
  std::vector<cut_neighbours> mine;
  std::size_t next = 0;
  for (const inner_cut& cut : cuts) {
    const std::uint64_t at = local[cut.number];
    cut_neighbours& neighbours = mine.emplace_back();
    if (at > rows.begin(cut.bucket)) {
      neighbours.has_before = 1;
      neighbours.before = read[next++];
    }
    if (at < rows.begin(cut.bucket + 1)) {
      neighbours.has_behind = 1;
      neighbours.behind = read[next++];
    }
  }
  std::vector<cut_neighbours> all(cuts.size() * static_cast<std::size_t>(state.size));
  all_gather(state, mine.data(), mine.size() * sizeof(cut_neighbours), all.data());
  std::vector<key_bound> bounds;
  std::vector<std::size_t> moved;
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    const cut_neighbours* before = nullptr;
    const cut_neighbours* behind = nullptr;
    for (std::size_t i = c; i < all.size(); i += cuts.size()) {
      if (all[i].has_before != 0 && (before == nullptr || before->before < all[i].before)) before = &all[i];
      if (all[i].has_behind != 0 && (behind == nullptr || all[i].behind < behind->behind)) behind = &all[i];
    }
    // Inside of a bucket, rows lie on both sides.
    if (!(before->before == behind->behind)) continue;
    moved.push_back(cuts[c].number);
    bounds.push_back({before->before, true, local[cuts[c].number], rows.begin(cuts[c].bucket + 1)});
  }
  const std::vector<std::uint64_t> places = find_bounds(keys, bounds);
  for (std::size_t m = 0; m < moved.size(); ++m) local[moved[m]] = places[m];
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

bool is_in_order(group_state& state, const_records rows, const sort_key& key, std::span<const std::uint64_t> begins) {
  std::vector<std::uint64_t> ends;
  for (std::size_t g = 0; g + 1 < begins.size(); ++g) {
    if (begins[g] < begins[g + 1]) ends.insert(ends.end(), {begins[g], begins[g + 1] - 1});
  }
  const std::vector<key_number> mine = key_reader(state.ctx, rows, layout_of(key))(ends);
  const gathered_bytes all = all_gather_parts(state, std::as_bytes(std::span(mine)));
  std::vector<key_number> keys(all.data.size() / sizeof(key_number));
  if (!keys.empty()) std::memcpy(keys.data(), all.data.data(), all.data.size());
  return std::is_sorted(keys.begin(), keys.end());
}

primitive_parts pack_by_primitives(group_state& state, const sort_request& request,
                                   std::span<const const_records> arrays, std::uint64_t rows, std::uint64_t groups,
                                   bool may_skip) {
  bucketed_rows local(state, request, arrays, rows, may_skip);
  primitive_parts parts;
  parts.skips_bits = local.skips_bits();
  parts.where = layout::even(local.rows(), state.size);
  const std::vector<std::uint64_t> positions = inner_positions(parts.where, groups);
  const auto is_of_rank = [groups](std::size_t i) { return (i + 1) % groups == 0; };
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::size_t bucket = local.bucket_around(positions[i]);
    if (bucket < local.buckets() && is_of_rank(i)) local.sort(bucket);
  }
  std::vector<std::uint64_t> cuts(positions.size());
  std::vector<inner_cut> inside;
  std::vector<whole_position> searched;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::uint64_t position = positions[i];
    const std::size_t bucket = local.bucket_around(position);
    if (bucket == local.buckets()) {
      cuts[i] = local.local_begin(position);
    } else if (local.is_sorted(bucket)) {
      inside.push_back({i, bucket});
      searched.push_back({position, local.begin(bucket), local.begin(bucket + 1)});
    } else {
      // Groups of a rank need not have as many rows each: one ends where the nearer bucket does.
      const bool is_nearer_begin = position - local.whole_begin(bucket) < local.whole_begin(bucket + 1) - position;
      cuts[i] = local.begin(is_nearer_begin ? bucket : bucket + 1);
    }
  }
  const std::vector<std::uint64_t> found = rows_before(state, local.keys(), searched);
  for (std::size_t c = 0; c < inside.size(); ++c) cuts[inside[c].number] = found[c];
  if (request.parts == balance::by_key) {
    std::erase_if(inside, [&](const inner_cut& cut) { return !is_of_rank(cut.number); });
    move_behind_ties(state, local, inside, cuts);
    std::vector<std::uint64_t> begins{0};
    for (std::size_t i = groups - 1; i < cuts.size(); i += groups) begins.push_back(cuts[i]);
    begins.push_back(local.begin(local.buckets()));
    all_add(state, begins);
    parts.where = layout::at(std::move(begins));
  }
  // Where the end of a rank's rows was moved, groups of the next one may end before it.
  for (std::size_t i = 1; i < cuts.size(); ++i) cuts[i] = std::max(cuts[i], cuts[i - 1]);
  parts.packed.offsets = std::move(cuts);
  parts.packed.offsets.insert(parts.packed.offsets.begin(), 0);
  parts.packed.offsets.push_back(local.begin(local.buckets()));
  parts.packed.arrays = local.take_arrays();
  return parts;
}

}  // namespace sheaf::distributed
