#include "distributed/sort/selection.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "distributed/collectives.hpp"
#include "distributed/exchange.hpp"

namespace sheaf::distributed {
namespace {

/// A rank's rows among which a position lies.
struct row_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct sampled_row {
  key_number key;
  std::size_t rank;
  std::uint64_t row;

  friend bool operator<(const sampled_row& a, const sampled_row& b) {
    if (!(a.key == b.key)) return a.key < b.key;
    return std::tie(a.rank, a.row) < std::tie(b.rank, b.row);
  }
};

std::uint64_t samples_of(const row_range& range, std::uint64_t most) { return std::min(most, range.end - range.begin); }

/// Narrows the ranges of all ranks. @param rows  samples of each range, evenly spaced
void narrow(std::span<row_range> ranges, std::uint64_t position, std::vector<sampled_row>& rows) {
  std::sort(rows.begin(), rows.end());
  // The first sample of each rank behind the ones seen so far, or the end of its range.
  std::vector<std::uint64_t> next_row(ranges.size());
  std::vector<std::size_t> next_sample(rows.size());
  for (std::size_t r = 0; r < ranges.size(); ++r) next_row[r] = ranges[r].end;
  std::vector<std::size_t> last_seen(ranges.size(), rows.size());
  for (std::size_t i = rows.size(); i-- > 0;) {
    next_sample[i] = last_seen[rows[i].rank];
    last_seen[rows[i].rank] = i;
    next_row[rows[i].rank] = rows[i].row;
  }
  std::vector<std::uint64_t> seen(ranges.size());  // rows of each rank that are surely not behind the sample
  std::uint64_t least = 0;                         // rows of all ranks of which this is so
  std::uint64_t most = 0;
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    seen[r] = ranges[r].begin;
    least += seen[r];
    most += next_row[r];
  }
  std::vector<row_range> narrowed(ranges.begin(), ranges.end());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t rank = rows[i].rank;
    const std::uint64_t behind = next_sample[i] < rows.size() ? rows[next_sample[i]].row : ranges[rank].end;
    least += rows[i].row + 1 - seen[rank];
    seen[rank] = rows[i].row + 1;
    // Of the sample's own rank exactly those up to it.
    most += rows[i].row + 1 - next_row[rank];
    if (least > position) {
      for (std::size_t r = 0; r < ranges.size(); ++r) narrowed[r].end = r == rank ? rows[i].row : next_row[r];
      break;
    }
    if (most <= position) {
      for (std::size_t r = 0; r < ranges.size(); ++r) narrowed[r].begin = seen[r];
    }
    most += behind - (rows[i].row + 1);
    next_row[rank] = behind;
  }
  std::copy(narrowed.begin(), narrowed.end(), ranges.begin());
}

/// Where the rows before the position are known to be all of one end of the ranges, closes them there. Returns whether
/// they are closed.
bool is_found(std::vector<std::vector<row_range>>& of_ranks, std::size_t t, std::uint64_t position) {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  for (const auto& ranges : of_ranks) {
    least += ranges[t].begin;
    most += ranges[t].end;
  }
  if (position < least || position > most) throw error(error_code::internal, "sort: a position outside of its rows");
  if (least != position && most != position) return false;
  for (auto& ranges : of_ranks) {
    if (least == position) {
      ranges[t].end = ranges[t].begin;
    } else {
      ranges[t].begin = ranges[t].end;
    }
  }
  return true;
}

std::vector<std::vector<row_range>> ranges_of_ranks(group_state& state, std::span<const whole_position> at) {
  std::vector<row_range> mine;
  for (const whole_position& p : at) mine.push_back({p.begin, p.end});
  const auto size = static_cast<std::size_t>(state.size);
  std::vector<row_range> all(mine.size() * size);
  if (!mine.empty()) all_gather(state, mine.data(), mine.size() * sizeof(row_range), all.data());
  std::vector<std::vector<row_range>> of_ranks;
  for (std::size_t r = 0; r < size; ++r) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(r * mine.size());
    of_ranks.emplace_back(first, first + static_cast<std::ptrdiff_t>(mine.size()));
  }
  return of_ranks;
}

/// Each rank narrows every size-th of the positions, for all.
class selection_round {
 public:
  selection_round(group_state& state, std::vector<std::vector<row_range>>& of_ranks, std::span<const std::size_t> open)
      : state_(state), of_ranks_(of_ranks), open_(open), size_(of_ranks.size()) {
    constexpr std::uint64_t samples_of_all = std::uint64_t{1} << 12;
    samples_ = std::clamp<std::uint64_t>(samples_of_all / open.size(), 16, 512);
  }

  void run(const key_reader& keys, std::span<const whole_position> at) {
    const auto rank = static_cast<std::size_t>(state_.rank);
    std::vector<std::uint64_t> positions;
    std::vector<std::uint64_t> sent(size_);
    std::vector<std::uint64_t> got(size_);
    for (std::size_t r = 0; r < size_; ++r) {
      for_owned(r, [&](std::size_t t) {
        const row_range& range = of_ranks_[rank][t];
        add_evenly(positions, range.begin, range.end, samples_of(range, samples_));
        sent[r] += samples_of(range, samples_);
      });
      for_owned(rank, [&](std::size_t t) { got[r] += samples_of(of_ranks_[r][t], samples_); });
    }
    const std::vector<key_number> mine = keys(positions);
    const message_buffer told = exchanged(mine, sent, got);
    const std::vector<std::uint64_t> begins = begins_of(got);
    std::vector<std::uint64_t> next(begins.begin(), begins.end() - 1);
    std::vector<row_range> narrowed;
    for_owned(rank, [&](std::size_t t) {
      std::vector<row_range> ranges;
      std::vector<sampled_row> rows;
      for (std::size_t r = 0; r < size_; ++r) {
        const row_range& range = of_ranks_[r][t];
        ranges.push_back(range);
        std::vector<std::uint64_t> places;
        add_evenly(places, range.begin, range.end, samples_of(range, samples_));
        for (const std::uint64_t place : places) rows.push_back({told.as<key_number>()[next[r]++], r, place});
      }
      narrow(ranges, at[t].position, rows);
      narrowed.insert(narrowed.end(), ranges.begin(), ranges.end());
    });
    tell(narrowed);
  }

 private:
  template <class Use>
  void for_owned(std::size_t rank, Use use) const {
    for (std::size_t i = rank; i < open_.size(); i += size_) use(open_[i]);
  }

  message_buffer exchanged(const std::vector<key_number>& mine, std::span<const std::uint64_t> sent,
                           std::span<const std::uint64_t> got) {
    const std::vector<std::uint64_t> to_begins = begins_of(sent, sizeof(key_number));
    const std::vector<std::uint64_t> from_begins = begins_of(got, sizeof(key_number));
    const message_buffer out(state_, to_begins.back());
    message_buffer in(state_, from_begins.back());
    if (!mine.empty()) std::memcpy(out.data(), mine.data(), to_begins.back());
    std::vector<const_bytes> to(size_);
    std::vector<mutable_bytes> from(size_);
    for (std::size_t r = 0; r < size_; ++r) {
      if (sent[r] > 0) to[r] = {out.data() + to_begins[r], to_begins[r + 1] - to_begins[r]};
      if (got[r] > 0) from[r] = {in.data() + from_begins[r], from_begins[r + 1] - from_begins[r]};
    }
    exchange(state_, to, from).finish();
    return in;
  }

  void tell(const std::vector<row_range>& narrowed) {
    std::vector<std::uint64_t> lengths(size_);
    for (std::size_t r = 0; r < size_; ++r) for_owned(r, [&](std::size_t) { lengths[r] += size_ * sizeof(row_range); });
    std::vector<row_range> all(open_.size() * size_);
    gather_parts(state_, std::as_bytes(std::span(narrowed)), lengths, reinterpret_cast<std::byte*>(all.data()));
    std::size_t next = 0;
    for (std::size_t owner = 0; owner < size_; ++owner) {
      for_owned(owner, [&](std::size_t t) {
        for (std::size_t r = 0; r < size_; ++r) of_ranks_[r][t] = all[next++];
      });
    }
  }

  group_state& state_;
  std::vector<std::vector<row_range>>& of_ranks_;
  std::span<const std::size_t> open_;
  std::size_t size_;
  std::uint64_t samples_ = 0;
};

}  // namespace

std::vector<std::uint64_t> rows_before(group_state& state, const key_reader& keys, std::span<const whole_position> at) {
  auto of_ranks = ranges_of_ranks(state, at);
  for (;;) {
    std::vector<std::size_t> open;
    for (std::size_t t = 0; t < at.size(); ++t) {
      if (!is_found(of_ranks, t, at[t].position)) open.push_back(t);
    }
    if (open.empty()) break;
    selection_round(state, of_ranks, open).run(keys, at);
  }
  std::vector<std::uint64_t> before;
  for (const row_range& range : of_ranks[static_cast<std::size_t>(state.rank)]) before.push_back(range.begin);
  return before;
}

}  // namespace sheaf::distributed
