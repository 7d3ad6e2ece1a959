#include "distributed/sort/travelling_parts.hpp"

#include <algorithm>

#include "distributed/collectives.hpp"
#include "distributed/sort/by_primitives.hpp"
#include "distributed/sort/key_reader.hpp"

namespace sheaf::distributed {

travelling_parts::travelling_parts(group_state& state, const sort_request& request,
                                   std::span<const const_records> arrays, const part_edges& edges,
                                   const part_table& table, const part_owners& owners)
    : state_(state), request_(request), arrays_(arrays), edges_(edges), table_(table), owners_(owners) {
  std::uint64_t packed = 0;
  for (std::uint64_t c = 0; c < table_.chunks(); ++c) {
    packed_begins_.push_back(packed);
    // Rows that are left out are packed, too, because they are moved with the others.
    packed +=
        table_.before(state_.rank, c, table_.all_parts()) - table_.count(state_.rank, c, mine().first(), mine().last());
  }
  for (const const_records& array : arrays_) packed_.emplace_back(state_, packed * array.record_bytes, state_.ctx);
  for (std::size_t g = 0; g + 1 < mine().begins.size(); ++g) {
    std::vector<message_buffer>& came = groups_.emplace_back();
    for (const const_records& array : arrays_) came.emplace_back(state_, count(g) * array.record_bytes, state_.ctx);
  }
  group_arrivals_.resize(groups_.size());
  // Rows of keys alone, and some with values, are sorted part by part; others need no lists.
  if (edges_.dropped_bits == 0) lists_.emplace(state_, edges_, table_, mine());
}

std::vector<std::byte*> travelling_parts::targets(std::uint64_t chunk) const {
  const std::size_t all_parts = table_.all_parts();
  std::vector<std::byte*> to(arrays_.size() * all_parts);
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    const std::uint64_t width = arrays_[a].record_bytes;
    std::byte** const of_array = to.data() + a * all_parts;
    for (std::size_t part = 0; part < all_parts; ++part) {
      if (!mine().has(part)) of_array[part] = packed_[a].data() + packed_place(chunk, part) * width;
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::size_t first = mine().begins[g];
      const std::size_t last = mine().begins[g + 1];
      const std::uint64_t begin = table_.place(state_.rank, chunk, first, last);
      for (std::size_t part = first; part < last; ++part)
        of_array[part] = groups_[g][a].data() + (begin + table_.count(state_.rank, chunk, first, part)) * width;
    }
  }
  return to;
}

/// Messages of one exchange: blocks in which each rank gets at most one message of each array.
class travelling_parts::message_blocks {
 public:
  explicit message_blocks(travelling_parts& of)
      : of_(of), size_(static_cast<std::size_t>(of.state_.size)), arrays_(of.arrays_.size()) {}

  void begin() {
    to_.resize(to_.size() + arrays_ * size_);
    from_.resize(to_.size());
  }
  void send(int to, std::uint64_t place, std::uint64_t rows) {
    for (std::size_t a = 0; a < arrays_; ++a) {
      const std::uint64_t width = of_.arrays_[a].record_bytes;
      to_[message(a, to)] = {of_.packed_[a].data() + place * width, rows * width};
    }
  }
  void get(int from, std::span<const message_buffer> in, std::uint64_t place, std::uint64_t rows) {
    for (std::size_t a = 0; a < arrays_; ++a) {
      const std::uint64_t width = of_.arrays_[a].record_bytes;
      from_[message(a, from)] = {in[a].data() + place * width, rows * width};
    }
  }
  std::unique_ptr<array_exchange> start() const { return std::make_unique<array_exchange>(of_.state_, to_, from_); }

 private:
  std::size_t message(std::size_t array, int rank) const noexcept {
    return to_.size() - (arrays_ - array) * size_ + static_cast<std::size_t>(rank);
  }

  travelling_parts& of_;
  std::size_t size_;
  std::size_t arrays_;
  std::vector<const_bytes> to_;
  std::vector<mutable_bytes> from_;
};

void travelling_parts::start_group(std::size_t g, std::uint64_t first_chunk, std::uint64_t last_chunk) {
  message_blocks blocks(*this);
  const std::size_t first = mine().begins[g];
  const std::size_t last = mine().begins[g + 1];
  for (std::uint64_t c = first_chunk; c < last_chunk; ++c) {
    blocks.begin();
    for (int r = 0; r < state_.size; ++r) {
      if (r == state_.rank) continue;  // its rows were moved to where they stay
      const auto& theirs = owners_.groups[static_cast<std::size_t>(r)].begins;
      blocks.send(r, packed_place(c, theirs[g]), table_.count(state_.rank, c, theirs[g], theirs[g + 1]));
      blocks.get(r, groups_[g], table_.place(r, c, first, last), table_.count(r, c, first, last));
    }
  }
  group_arrivals_[g].push_back(blocks.start());
}

void travelling_parts::start_cuts(const layout& where) {
  message_blocks blocks(*this);
  cuts_.resize(owners_.cuts.size());
  for (std::size_t k = 0; k < cuts_.size(); ++k) {
    const cut_part& cut = owners_.cuts[k];
    const bool is_mine = state_.rank >= cut.first_rank && state_.rank <= cut.last_rank;
    const row_range mine = received(where, k, state_.rank);
    for (std::size_t a = 0; is_mine && a < arrays_.size(); ++a)
      cuts_[k].came.emplace_back(state_, mine.count() * arrays_[a].record_bytes, state_.ctx);
    for (std::uint64_t c = 0; c < table_.chunks(); ++c) {
      blocks.begin();
      const row_range here = chunk_rows(k, state_.rank, c);
      for (int r = cut.first_rank; r <= cut.last_rank; ++r) {
        const row_range out = common(here, received(where, k, r));
        blocks.send(r, packed_place(c, cut.part) + (out.begin - here.begin), out.count());
      }
      for (int r = 0; is_mine && r < state_.size; ++r) {
        const row_range in = common(chunk_rows(k, r, c), mine);
        blocks.get(r, cuts_[k].came, in.begin - mine.begin, in.count());
      }
    }
  }
  cut_arrival_ = blocks.start();
}

void travelling_parts::sort_cuts() {
  cut_arrival_->finish();
  for (std::size_t k = 0; k < cuts_.size(); ++k) {
    if (cuts_[k].came.empty() || has_one_key(k)) continue;
    const std::uint64_t rows = part_rows(k).count();
    std::vector<records> out;
    for (const const_records& array : arrays_) {
      cuts_[k].sorted.emplace_back(state_.ctx, rows * array.record_bytes);
      out.emplace_back(cuts_[k].sorted.back().data(), rows, array.record_bytes);
    }
    sort_arrays(state_.ctx, inputs(cuts_[k].came, rows), request_.key, out);
  }
}

layout travelling_parts::by_key(const layout& where) const {
  std::vector<std::uint64_t> begins(where.begins().begin(), where.begins().end());
  for (std::size_t k = 0; k < cuts_.size(); ++k) {
    if (cuts_[k].sorted.empty()) continue;
    const row_range part = part_rows(k);
    const const_records sorted(cuts_[k].sorted.front().data(), part.count(), request_.keys.record_bytes);
    const key_reader keys(state_.ctx, sorted, layout_of(request_.key));
    std::vector<std::size_t> ends;      // of ranks, inside of the part
    std::vector<std::uint64_t> beside;  // the rows before and behind each
    for (std::size_t r = 1; r + 1 < begins.size(); ++r) {
      if (begins[r] <= part.begin || begins[r] >= part.end) continue;
      ends.push_back(r);
      beside.insert(beside.end(), {begins[r] - part.begin - 1, begins[r] - part.begin});
    }
    const std::vector<key_number> read = keys(beside);
    std::vector<std::size_t> moved;
    std::vector<key_bound> bounds;
    for (std::size_t e = 0; e < ends.size(); ++e) {
      if (!(read[2 * e] == read[2 * e + 1])) continue;
      moved.push_back(ends[e]);
      bounds.push_back({read[2 * e], true, beside[2 * e], part.count()});
    }
    const std::vector<std::uint64_t> found = find_bounds(keys, bounds);
    for (std::size_t m = 0; m < moved.size(); ++m) begins[moved[m]] = part.begin + found[m];
  }
  // Of an end, the ranks know that have rows of the part; it was moved towards higher rows, if at all.
  std::vector<std::uint64_t> all(begins.size() * static_cast<std::size_t>(state_.size));
  all_gather(state_, begins.data(), begins.size() * sizeof(std::uint64_t), all.data());
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::uint64_t& begin = begins[i % begins.size()];
    begin = std::max(begin, all[i]);
  }
  return layout::at(std::move(begins));
}

void travelling_parts::finish_group(std::size_t g, std::span<const records> out) {
  for (const auto& arrival : group_arrivals_[g]) arrival->finish();
  group_arrivals_[g].clear();
  if (count(g) > 0) {
    const std::vector<const_records> in = inputs(groups_[g], count(g));
    if (!is_sorted_in_parts(g, in, out)) sort_arrays(state_.ctx, in, request_.key, out);
  }
  groups_[g].clear();
}

void travelling_parts::copy_cuts(const sorted_pairs& out) const {
  const row_range result{out.where.begin(state_.rank), out.where.end(state_.rank)};
  for (std::size_t k = 0; k < cuts_.size(); ++k) {
    const cut_rows& cut = cuts_[k];
    const row_range mine = common(part_rows(k), result);
    if (cut.came.empty() || mine.count() == 0) continue;
    const std::uint64_t skipped = cut.sorted.empty() ? 0 : mine.begin - part_rows(k).begin;
    const std::vector<records> to = outputs(request_, out, mine.begin - result.begin, mine.count());
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      if (to[a].data == nullptr) continue;
      const std::byte* const from = cut.sorted.empty() ? cut.came[a].data() : cut.sorted[a].data();
      copy_bytes(state_.ctx, to[a].data, from + skipped * to[a].record_bytes, to[a].count * to[a].record_bytes);
    }
  }
}

travelling_parts::row_range travelling_parts::common(const row_range& a, const row_range& b) noexcept {
  const std::uint64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// Where rows of a chunk's part that do not stay here lie among those packed.
std::uint64_t travelling_parts::packed_place(std::uint64_t chunk, std::size_t part) const noexcept {
  const std::uint64_t staying =
      table_.count(state_.rank, chunk, std::min(part, mine().first()), std::min(part, mine().last()));
  return packed_begins_[chunk] + table_.before(state_.rank, chunk, part) - staying;
}

travelling_parts::row_range travelling_parts::part_rows(std::size_t k) const noexcept {
  const std::size_t part = owners_.cuts[k].part;
  return {table_.begin(part), table_.begin(part + 1)};
}

/// Rows of a rank's chunk in a cut part: where they would lie in the whole if all of the part's rows were equal.
travelling_parts::row_range travelling_parts::chunk_rows(std::size_t k, int rank, std::uint64_t chunk) const noexcept {
  const std::size_t part = owners_.cuts[k].part;
  const std::uint64_t begin = table_.begin(part) + table_.place(rank, chunk, part, part + 1);
  return {begin, begin + table_.count(rank, chunk, part, part + 1)};
}

/// The rows of a cut part that a rank gets, likewise.
travelling_parts::row_range travelling_parts::received(const layout& where, std::size_t k, int rank) const noexcept {
  return has_one_key(k) ? common(part_rows(k), {where.begin(rank), where.end(rank)}) : part_rows(k);
}

std::vector<const_records> travelling_parts::inputs(std::span<const message_buffer> came, std::uint64_t rows) const {
  std::vector<const_records> in;
  for (std::size_t a = 0; a < arrays_.size(); ++a) in.emplace_back(came[a].data(), rows, arrays_[a].record_bytes);
  return in;
}

bool travelling_parts::is_sorted_in_parts(std::size_t g, std::span<const const_records> in,
                                          std::span<const records> out) const {
  primitives::rows_in_parts rows{in, out, request_.key};
  if (!lists_ || !lists_->set(g, rows)) return false;
  return primitives::routing_steps_of(state_.ctx.backend()).sort_parts(state_.ctx, rows);
}

}  // namespace sheaf::distributed
