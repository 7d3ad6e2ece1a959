#include "distributed/collectives.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "distributed/exchange.hpp"
#include "distributed/grid.hpp"

namespace sheaf::distributed {
namespace {

/// Sends and receives one message, in rounds where it is long.
void swap_messages(group_state& state, outgoing_message out, incoming_message in) {
  const std::uint64_t most = message_bytes(state);
  while (out.bytes > 0 || in.bytes > 0) {
    const outgoing_message sent{out.to, out.data, std::min(out.bytes, most)};
    const incoming_message got{in.from, in.data, std::min(in.bytes, most)};
    state.finish(state.start({&sent, sent.bytes > 0 ? 1U : 0U}, {&got, got.bytes > 0 ? 1U : 0U}));
    out.data += sent.bytes;
    out.bytes -= sent.bytes;
    in.data += got.bytes;
    in.bytes -= got.bytes;
  }
}

void gather_directly(group_state& state, const std::byte* mine, std::span<const std::uint64_t> lengths,
                     std::byte* all) {
  const std::vector<std::uint64_t> at = begins_of(lengths);
  message_buffer arrived(state, at.back());
  const auto rank = static_cast<std::size_t>(state.rank);
  // Sent from memory that outlives a lost group, which the caller's may not.
  if (lengths[rank] > 0) std::memcpy(arrived.data() + at[rank], mine, lengths[rank]);
  std::vector<const_bytes> to(lengths.size(), const_bytes{arrived.data() + at[rank], lengths[rank]});
  std::vector<mutable_bytes> from(lengths.size());
  for (std::size_t r = 0; r < from.size(); ++r) from[r] = {arrived.data() + at[r], lengths[r]};
  exchange(state, to, from).finish();
  if (at.back() > 0) std::memcpy(all, arrived.data(), at.back());
}

// Bruck et al. 1997: each step doubles the number of ranks whose parts a rank has, in ceil(log2(ranks)) messages.
void gather_by_doubling(group_state& state, const std::byte* mine, std::span<const std::uint64_t> lengths,
                        std::byte* all) {
  const auto size = static_cast<std::uint64_t>(state.size);
  const auto rank = static_cast<std::uint64_t>(state.rank);
  std::vector<std::uint64_t> turned_lengths(size);  // from this rank's part on
  for (std::uint64_t i = 0; i < size; ++i) turned_lengths[i] = lengths[(rank + i) % size];
  const std::vector<std::uint64_t> at = begins_of(turned_lengths);
  message_buffer turned(state, at.back());
  if (lengths[rank] > 0) std::memcpy(turned.data(), mine, lengths[rank]);
  for (std::uint64_t have = 1; have < size; have *= 2) {
    const std::uint64_t more = std::min(have, size - have);
    swap_messages(state, {static_cast<int>((rank + size - have) % size), turned.data(), at[more]},
                  {static_cast<int>((rank + have) % size), turned.data() + at[have], at[have + more] - at[have]});
  }
  const std::vector<std::uint64_t> to = begins_of(lengths);
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t r = (rank + i) % size;
    if (lengths[r] > 0) std::memcpy(all + to[r], turned.data() + at[i], lengths[r]);
  }
}

/// Bytes from which on numbers are added part by part, which takes twice the messages and, of many ranks, a fraction of
/// the bytes. For few bytes: with 2 us a message and 10 GB/s a host, time alone would want some 30 KB.
constexpr std::uint64_t long_sums_bytes = 8192;

void add_received(std::span<std::uint64_t> numbers, std::span<const std::uint64_t> other) {
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += other[i];
}

/// Sums of a power of two of ranks (Rabenseifner 2004): halves of what a rank still adds go to its partner, until each
/// rank has the sums of one part; then parts go back the same way.
void add_by_parts(group_state& state, int ranks, const message_buffer& sums, const message_buffer& other) {
  struct range {
    std::uint64_t begin;
    std::uint64_t end;
  };
  const auto numbers = sums.as<std::uint64_t>();
  const auto bytes_at = [](const message_buffer& of, std::uint64_t number) {
    return of.data() + number * sizeof(std::uint64_t);
  };
  const auto halves = [&](const range& whole, int distance) {
    const std::uint64_t middle = whole.begin + (whole.end - whole.begin) / 2;
    const range low{whole.begin, middle};
    const range high{middle, whole.end};
    return (state.rank & distance) == 0 ? std::pair{low, high} : std::pair{high, low};  // this rank's, its partner's
  };
  std::vector<range> wholes{{0, numbers.size()}};
  for (int distance = ranks / 2; distance > 0; distance /= 2) {
    const auto [mine, theirs] = halves(wholes.back(), distance);
    const int peer = state.rank ^ distance;
    swap_messages(state, {peer, bytes_at(sums, theirs.begin), (theirs.end - theirs.begin) * sizeof(std::uint64_t)},
                  {peer, bytes_at(other, mine.begin), (mine.end - mine.begin) * sizeof(std::uint64_t)});
    add_received(numbers.subspan(mine.begin, mine.end - mine.begin),
                 other.as<const std::uint64_t>().subspan(mine.begin, mine.end - mine.begin));
    wholes.push_back(mine);
  }
  for (int distance = 1; distance < ranks; distance *= 2) {
    wholes.pop_back();
    const auto [mine, theirs] = halves(wholes.back(), distance);
    const int peer = state.rank ^ distance;
    swap_messages(state, {peer, bytes_at(sums, mine.begin), (mine.end - mine.begin) * sizeof(std::uint64_t)},
                  {peer, bytes_at(sums, theirs.begin), (theirs.end - theirs.begin) * sizeof(std::uint64_t)});
  }
}

}  // namespace

void all_gather(group_state& state, const void* mine, std::uint64_t bytes, void* all) {
  const std::vector<std::uint64_t> lengths(static_cast<std::size_t>(state.size), bytes);
  gather_parts(state, {static_cast<const std::byte*>(mine), bytes}, lengths, static_cast<std::byte*>(all));
}

std::vector<std::uint64_t> all_gather(group_state& state, std::uint64_t mine) {
  std::vector<std::uint64_t> all(static_cast<std::size_t>(state.size));
  all_gather(state, &mine, sizeof mine, all.data());
  return all;
}

// Recursive doubling among a power of two of the ranks; the others hand their numbers to one of these, and get the sums
// from it.
void all_add(group_state& state, std::span<std::uint64_t> numbers) {
  if (state.size == 1 || numbers.empty()) return;
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(state.size)));
  const std::uint64_t bytes = numbers.size_bytes();
  const message_buffer sums(state, bytes);
  const message_buffer other(state, bytes);
  std::memcpy(sums.data(), numbers.data(), bytes);
  const auto swap_with = [&](int peer, bool sends, bool receives) {
    swap_messages(state, {peer, sums.data(), sends ? bytes : 0}, {peer, other.data(), receives ? bytes : 0});
  };
  const int partner = state.rank < core ? state.rank + core : state.rank - core;
  if (state.rank >= core) {
    swap_with(partner, true, false);
    swap_with(partner, false, true);
    std::memcpy(numbers.data(), other.data(), bytes);
    return;
  }
  if (partner < state.size) {
    swap_with(partner, false, true);
    add_received(sums.as<std::uint64_t>(), other.as<const std::uint64_t>());
  }
  if (core > 4 && bytes >= long_sums_bytes) {
    add_by_parts(state, core, sums, other);
  } else {
    for (int distance = 1; distance < core; distance *= 2) {
      swap_with(state.rank ^ distance, true, true);
      add_received(sums.as<std::uint64_t>(), other.as<const std::uint64_t>());
    }
  }
  if (partner < state.size) swap_with(partner, true, false);
  std::memcpy(numbers.data(), sums.data(), bytes);
}

// After step k a rank has the sum of itself and of the 2^k - 1 ranks before it.
void add_lower_ranks(group_state& state, std::span<std::uint64_t> numbers) {
  if (numbers.empty()) return;
  const std::uint64_t bytes = numbers.size_bytes();
  const message_buffer sums(state, bytes);
  const message_buffer other(state, bytes);
  std::memcpy(sums.data(), numbers.data(), bytes);
  std::fill(numbers.begin(), numbers.end(), 0);
  for (int distance = 1; distance < state.size; distance *= 2) {
    const bool sends = state.rank + distance < state.size;
    const bool receives = state.rank >= distance;
    swap_messages(state, {state.rank + distance, sums.data(), sends ? bytes : 0},
                  {state.rank - distance, other.data(), receives ? bytes : 0});
    if (!receives) continue;
    add_received(sums.as<std::uint64_t>(), other.as<const std::uint64_t>());
    add_received(numbers, other.as<const std::uint64_t>());
  }
}

std::vector<std::uint64_t> exchange_counts(group_state& state, std::span<const std::uint64_t> numbers) {
  if (state.size >= state.bounds.two_level_ranks) return exchange_counts_over_grid(state, numbers);
  const message_buffer sent(state, numbers.size_bytes());
  const message_buffer got(state, numbers.size_bytes());
  std::memcpy(sent.data(), numbers.data(), numbers.size_bytes());
  std::vector<const_bytes> to(numbers.size());
  std::vector<mutable_bytes> from(numbers.size());
  for (std::size_t r = 0; r < numbers.size(); ++r) {
    to[r] = {sent.data() + r * sizeof(std::uint64_t), sizeof(std::uint64_t)};
    from[r] = {got.data() + r * sizeof(std::uint64_t), sizeof(std::uint64_t)};
  }
  exchange(state, to, from).finish();
  const auto numbers_got = got.as<const std::uint64_t>();
  return {numbers_got.begin(), numbers_got.end()};
}

gathered_bytes all_gather_parts(group_state& state, std::span<const std::byte> mine) {
  const std::vector<std::uint64_t> lengths = all_gather(state, mine.size());
  gathered_bytes all;
  all.begins = begins_of(lengths);
  all.data.resize(all.begins.back());
  gather_parts(state, mine, lengths, all.data.data());
  return all;
}

void gather_parts(group_state& state, std::span<const std::byte> mine, std::span<const std::uint64_t> lengths,
                  std::byte* all) {
  if (state.size >= state.bounds.two_level_ranks) return gather_by_doubling(state, mine.data(), lengths, all);
  gather_directly(state, mine.data(), lengths, all);
}

}  // namespace sheaf::distributed
