#include "distributed/grid.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "distributed/collectives.hpp"

namespace sheaf::distributed {
namespace {

/// Bytes of a pair of ranks from which one direct message takes less time than two with twice the bytes: computed from
/// 2 us a message and 10 GB/s a host, not measured.
constexpr std::uint64_t direct_bytes = 230'000;

std::vector<const_bytes> parts_of(const std::byte* data, const std::vector<std::uint64_t>& begins) {
  std::vector<const_bytes> parts(begins.size() - 1);
  for (std::size_t r = 0; r < parts.size(); ++r) parts[r] = {data + begins[r], begins[r + 1] - begins[r]};
  return parts;
}

std::vector<mutable_bytes> parts_of(std::byte* data, const std::vector<std::uint64_t>& begins) {
  std::vector<mutable_bytes> parts(begins.size() - 1);
  for (std::size_t r = 0; r < parts.size(); ++r) parts[r] = {data + begins[r], begins[r + 1] - begins[r]};
  return parts;
}

/// What passes through each rank on its way: who sends it (over which rank), who hands it on.
struct ways {
  explicit ways(group_state& state)
      : grid(state.size),
        over(static_cast<std::size_t>(state.size)),
        senders(grid.senders_to(state.rank)),
        receivers(grid.receivers_from(state.rank)),
        over_to_me(over.size()) {
    for (int r = 0; r < state.size; ++r) {
      over[static_cast<std::size_t>(r)] = grid.between(state.rank, r);
      over_to_me[static_cast<std::size_t>(r)] = grid.between(r, state.rank);
    }
  }

  rank_grid grid;
  std::vector<int> over;  ///< by receiver: the rank over which this rank's bytes go there
  std::vector<int> senders;
  std::vector<int> receivers;
  std::vector<int> over_to_me;  ///< by sender: the rank over which its bytes come to this rank
};

/// Both steps. passed_length(from, to) says how many bytes go between two ranks over this one.
template <class PassedLength>
void travel(group_state& state, const ways& way, std::span<const const_bytes> to, std::span<const mutable_bytes> from,
            PassedLength passed_length) {
  const auto size = static_cast<std::size_t>(state.size);
  // First step: to the rank between, parts in the order of receivers.
  std::vector<std::uint64_t> sent(size);
  for (std::size_t r = 0; r < size; ++r) sent[static_cast<std::size_t>(way.over[r])] += to[r].bytes;
  const std::vector<std::uint64_t> sent_begins = begins_of(sent);
  message_buffer packed(state, sent_begins.back());
  std::vector<std::uint64_t> cursor(sent_begins.begin(), sent_begins.end() - 1);
  for (std::size_t r = 0; r < size; ++r) {
    std::uint64_t& at = cursor[static_cast<std::size_t>(way.over[r])];
    if (to[r].bytes > 0) std::memcpy(packed.data() + at, to[r].data, to[r].bytes);
    at += to[r].bytes;
  }
  std::vector<std::uint64_t> taken(size);
  std::vector<std::uint64_t> handed(size);
  for (const int s : way.senders) {
    for (const int r : way.receivers) {
      taken[static_cast<std::size_t>(s)] += passed_length(s, r);
      handed[static_cast<std::size_t>(r)] += passed_length(s, r);
    }
  }
  const std::vector<std::uint64_t> taken_begins = begins_of(taken);
  message_buffer passing(state, taken_begins.back());
  exchange(state, parts_of(static_cast<const std::byte*>(packed.data()), sent_begins),
           parts_of(passing.data(), taken_begins))
      .finish();
  // Second step: to the receiver, parts in the order of senders.
  const std::vector<std::uint64_t> handed_begins = begins_of(handed);
  message_buffer repacked(state, handed_begins.back());
  cursor.assign(handed_begins.begin(), handed_begins.end() - 1);
  std::vector<std::uint64_t> read(taken_begins.begin(), taken_begins.end() - 1);
  for (const int s : way.senders) {
    for (const int r : way.receivers) {
      const std::uint64_t bytes = passed_length(s, r);
      std::uint64_t& put = cursor[static_cast<std::size_t>(r)];
      std::uint64_t& get = read[static_cast<std::size_t>(s)];
      if (bytes > 0) std::memcpy(repacked.data() + put, passing.data() + get, bytes);
      put += bytes;
      get += bytes;
    }
  }
  std::vector<std::uint64_t> arriving(size);
  for (std::size_t s = 0; s < size; ++s) arriving[static_cast<std::size_t>(way.over_to_me[s])] += from[s].bytes;
  const std::vector<std::uint64_t> arriving_begins = begins_of(arriving);
  message_buffer arrived(state, arriving_begins.back());
  exchange(state, parts_of(static_cast<const std::byte*>(repacked.data()), handed_begins),
           parts_of(arrived.data(), arriving_begins))
      .finish();
  cursor.assign(arriving_begins.begin(), arriving_begins.end() - 1);
  for (std::size_t s = 0; s < size; ++s) {
    std::uint64_t& at = cursor[static_cast<std::size_t>(way.over_to_me[s])];
    if (from[s].bytes > 0) std::memcpy(from[s].data, arrived.data() + at, from[s].bytes);
    at += from[s].bytes;
  }
}

/// Long parts go directly, in as many messages as the grid has for the others: where few pairs have most of the bytes,
/// ranks between them would have many times their share. @param share  bytes that a rank has to send, on average
void exchange_short_parts_over_grid(group_state& state, std::span<const const_bytes> to,
                                    std::span<const mutable_bytes> from, std::uint64_t share) {
  const double root = std::sqrt(static_cast<double>(state.size));
  const auto long_bytes = static_cast<std::uint64_t>(static_cast<double>(share) / (4 * root)) + 1;
  const auto take_long = [long_bytes](const auto& parts, auto& rest) {
    using part = std::remove_cvref_t<decltype(parts[0])>;
    std::vector<part> taken(parts.size());
    rest.assign(parts.begin(), parts.end());
    for (std::size_t r = 0; r < taken.size(); ++r) {
      if (parts[r].bytes >= long_bytes) taken[r] = std::exchange(rest[r], part{});
    }
    return taken;
  };
  std::vector<const_bytes> short_to;
  std::vector<mutable_bytes> short_from;
  const std::vector<const_bytes> long_to = take_long(to, short_to);
  const std::vector<mutable_bytes> long_from = take_long(from, short_from);
  exchange direct(state, long_to, long_from);
  exchange_over_grid(state, short_to, short_from);
  direct.finish();
}

}  // namespace

rank_grid::rank_grid(int ranks) noexcept
    : ranks_(ranks),
      width_(std::max(1, static_cast<int>(std::ceil(std::sqrt(static_cast<double>(ranks)))))),
      full_rows_(ranks / width_) {}

int rank_grid::between(int from, int to) const noexcept {
  const int in_row = row(from) * width_ + column(to);
  return in_row < ranks_ ? in_row : column(from) % full_rows_ * width_ + column(to);
}

std::vector<int> rank_grid::senders_to(int via) const {
  std::vector<int> senders;
  for (int s = 0; s < ranks_; ++s) {
    // Senders whose row has no such column are spread over the others.
    const int in_row = row(s) * width_ + column(via);
    const bool goes_here = in_row < ranks_ ? in_row == via : column(s) % full_rows_ == row(via);
    if (goes_here) senders.push_back(s);
  }
  return senders;
}

std::vector<int> rank_grid::receivers_from(int via) const {
  std::vector<int> receivers;
  for (int r = column(via); r < ranks_; r += width_) receivers.push_back(r);
  return receivers;
}

std::vector<std::uint64_t> exchange_counts_over_grid(group_state& state, std::span<const std::uint64_t> numbers) {
  const ways way(state);
  const message_buffer got(state, numbers.size_bytes());
  std::vector<const_bytes> to(numbers.size());
  std::vector<mutable_bytes> from(numbers.size());
  for (std::size_t r = 0; r < numbers.size(); ++r) {
    to[r] = {reinterpret_cast<const std::byte*>(&numbers[r]), sizeof(std::uint64_t)};
    from[r] = {got.data() + r * sizeof(std::uint64_t), sizeof(std::uint64_t)};
  }
  travel(state, way, to, from, [](int, int) { return sizeof(std::uint64_t); });
  const auto numbers_got = got.as<const std::uint64_t>();
  return {numbers_got.begin(), numbers_got.end()};
}

void exchange_over_grid(group_state& state, std::span<const const_bytes> to, std::span<const mutable_bytes> from) {
  const ways way(state);
  // The ranks between learn the lengths of what they hand on: from each sender, one number for each receiver over it.
  const auto size = static_cast<std::size_t>(state.size);
  std::vector<std::vector<std::uint64_t>> told(size);
  for (std::size_t r = 0; r < size; ++r) told[static_cast<std::size_t>(way.over[r])].push_back(to[r].bytes);
  const message_buffer told_memory(state, size * sizeof(std::uint64_t));
  std::uint64_t told_at = 0;
  std::vector<const_bytes> numbers_to(size);
  std::vector<mutable_bytes> numbers_from(size);
  std::vector<std::uint64_t> lengths(size);
  for (const int s : way.senders) lengths[static_cast<std::size_t>(s)] = way.receivers.size();
  const std::vector<std::uint64_t> begins = begins_of(lengths, sizeof(std::uint64_t));
  message_buffer all(state, begins.back());
  for (std::size_t r = 0; r < size; ++r) {
    numbers_to[r] = {told_memory.data() + told_at, told[r].size() * sizeof(std::uint64_t)};
    if (!told[r].empty()) std::memcpy(told_memory.data() + told_at, told[r].data(), numbers_to[r].bytes);
    told_at += numbers_to[r].bytes;
    numbers_from[r] = {all.data() + begins[r], begins[r + 1] - begins[r]};
  }
  exchange(state, numbers_to, numbers_from).finish();
  const auto table = all.as<const std::uint64_t>();
  const auto column_of = [&](int r) {  // of a receiver in a sender's numbers
    return static_cast<std::uint64_t>(std::lower_bound(way.receivers.begin(), way.receivers.end(), r) -
                                      way.receivers.begin());
  };
  travel(state, way, to, from, [&](int s, int r) {
    return table[begins[static_cast<std::size_t>(s)] / sizeof(std::uint64_t) + column_of(r)];
  });
}

void exchange_parts(group_state& state, std::span<const const_bytes> to, std::span<const mutable_bytes> from) {
  if (state.size >= state.bounds.two_level_ranks) {
    std::uint64_t total = 0;
    for (const const_bytes& part : to) total += part.bytes;
    all_add(state, {&total, 1});
    const auto ranks = static_cast<std::uint64_t>(state.size);
    if (total / ranks / ranks < direct_bytes) return exchange_short_parts_over_grid(state, to, from, total / ranks);
  }
  exchange(state, to, from).finish();
}

}  // namespace sheaf::distributed
