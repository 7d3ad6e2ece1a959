#include "lab/harness/scale_out/trial.hpp"

#include <algorithm>

#include "core/context_state.hpp"

namespace sheaf::bench::scale_out {
namespace {

/// Seconds from when the first rank begins until the last one is done. Collective.
double together(const stage& on, const std::function<void()>& call) {
  on.ranks.wait();
  const double begin = now();
  call();
  on.ctx().wait();
  const double end = now();
  const std::vector<double> begins = numbers_of_ranks(on.ranks, begin);
  const std::vector<double> ends = numbers_of_ranks(on.ranks, end);
  return *std::ranges::max_element(ends) - *std::ranges::min_element(begins);
}

/// Seconds of the slowest rank's own call, where all make it at once. Collective.
double alone(const stage& on, const std::function<void()>& call) {
  on.ranks.wait();
  const double begin = now();
  call();
  on.ctx().wait();
  return std::ranges::max(numbers_of_ranks(on.ranks, now() - begin));
}

/// Whether the answer of all ranks is that of one. Collective.
bool is_right(const stage& on, const std::function<std::uint64_t()>& sum,
              const std::function<std::uint64_t()>& sum_of_one) {
  const std::uint64_t all = sum_of_ranks(on.ranks, sum());
  const std::uint64_t one = sum_of_ranks(on.ranks, on.is_first() ? sum_of_one() : 0);
  return all == one;
}

timing divided(const std::vector<double>& seconds, std::uint64_t divisor) {
  timing time = summary_of(seconds);
  const auto by = static_cast<double>(divisor);
  return {time.median_seconds / by, time.least_seconds / by, time.most_seconds / by, time.calls};
}

/// NCCL's all-to-all of as many bytes as a trial sends, which bounds every call that moves its data once.
std::optional<peers::rank_call> bound_of(const stage& on, const trial& of) {
  if (on.nccl == nullptr || of.sent_bytes < 1) return std::nullopt;
  const auto bytes = static_cast<std::uint64_t>(of.sent_bytes) / (on.size() - 1) / 8 * 8;
  if (bytes == 0) return std::nullopt;
  return peers::nccl_all_to_all(on.ctx(), on.nccl, bytes);
}

void keep(const stage& on, row found) {
  if (on.found == nullptr) return;
  print(found);
  on.found->rows.push_back(std::move(found));
}

}  // namespace

void measure(const stage& on, const trial& of) {
  const std::optional<peers::rank_call> bound = on.request.no_peer ? std::nullopt : bound_of(on, of);
  std::vector<peers::rank_call> others = of.peers;
  if (on.request.no_peer) others.clear();
  if (bound) others.push_back(*bound);
  std::vector<double> all_seconds;
  std::vector<double> one_seconds;
  std::vector<std::vector<double>> other_seconds(others.size());
  together(on, of.together);  // loads code, and fills pools of memory
  alone(on, of.alone);
  for (const peers::rank_call& other : others) together(on, other.run);
  const std::uint64_t rounds = std::min(on.request.rounds, of.most_rounds);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    all_seconds.push_back(together(on, of.together));
    one_seconds.push_back(alone(on, of.alone));
    for (std::size_t i = 0; i < others.size(); ++i) other_seconds[i].push_back(together(on, others[i].run));
  }
  row ours{.problem = of.problem, .is_prepared = of.is_prepared, .where = on.where};
  ours.time = divided(all_seconds, of.divisor);
  ours.one_seconds = divided(one_seconds, of.divisor).median_seconds;
  ours.sent_bytes = of.sent_bytes;
  if (bound) ours.bound_seconds = summary_of(other_seconds.back()).median_seconds;
  together(on, of.together);
  ours.verified = is_right(on, of.sum, of.sum_of_one);
  if (on.is_first()) ours.cost = of.cost();
  on.ranks.wait();
  keep(on, std::move(ours));
  for (std::size_t i = 0; i < of.peers.size() && !others.empty(); ++i) {
    together(on, others[i].run);
    const bool verified = is_right(on, others[i].sum, of.sum_of_one);
    keep(on, {.problem = of.problem,
              .who = others[i].who,
              .is_prepared = of.is_prepared,
              .where = on.where,
              .time = summary_of(other_seconds[i]),
              .verified = verified});
  }
}

double seconds_alone(const context& ctx, const std::function<void()>& call) {
  constexpr std::size_t rounds = 5;
  std::vector<double> seconds;
  for (std::size_t round = 0; round <= rounds; ++round) {
    const double begin = now();
    call();
    ctx.wait();
    if (round > 0) seconds.push_back(now() - begin);
  }
  return summary_of(seconds).median_seconds;
}

buffer random_words(const context& ctx, std::uint64_t words, std::uint64_t first, std::uint64_t seed) {
  buffer memory(ctx, words * 8);
  jobs::over_items(ctx, words, fill_random_words{memory.as<std::uint64_t>(), first, seed});
  return memory;
}

std::uint64_t sum_of(const context& ctx, const void* words, std::uint64_t count, std::uint64_t first) {
  return jobs::over_items(ctx, count, sum_of_words{static_cast<const std::uint64_t*>(words), first}).sum;
}

double stream_seconds(const context& ctx, std::uint64_t bytes) {
  const std::uint64_t half = std::max<std::uint64_t>(8, bytes / 2 / 8 * 8);
  const buffer from = random_words(ctx, half / 8, 0, 1);
  const buffer to(ctx, half);
  return seconds_alone(ctx, [&] { copy_bytes(ctx, to.data(), from.data(), half); });
}

}  // namespace sheaf::bench::scale_out
