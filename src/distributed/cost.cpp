#include "distributed/cost.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <limits>

#include "distributed/collectives.hpp"
#include "distributed/exchange.hpp"
#include "distributed/fitted_cost.hpp"
#include "distributed/movement/peers.hpp"

namespace sheaf::distributed {
namespace {

// Loads of short records by an H200 from another one's memory (movement/peers.cpp).
constexpr double short_loads_per_second = 6.7e9;

/// Where the link is slower, each load takes a sector of 32 bytes and its request of it. Computed, not measured.
double short_loads(double bytes_per_second) noexcept {
  return std::min(short_loads_per_second, bytes_per_second / (32 + 16));
}

/// The median seconds of some calls, each from when the ranks' last one is done.
double median_seconds(const std::function<void()>& call) {
  using clock = std::chrono::steady_clock;
  constexpr std::size_t calls = 9;
  call();
  std::array<double, calls> seconds{};
  for (double& s : seconds) {
    const auto begin = clock::now();
    call();
    s = std::chrono::duration<double>(clock::now() - begin).count();
  }
  std::nth_element(seconds.begin(), seconds.begin() + calls / 2, seconds.end());
  return seconds[calls / 2];
}

/// Arrays of which each rank sends a part to each other one.
class link_trial {
 public:
  link_trial(group_state& state, std::uint64_t bytes_of_a_pair)
      : state_(state),
        sent_(state, bytes_of_a_pair * static_cast<std::uint64_t>(state.size), state.ctx),
        got_(state, sent_.size(), state.ctx) {}

  void exchange(std::uint64_t bytes_of_a_pair) const {
    const auto size = static_cast<std::size_t>(state_.size);
    std::vector<const_bytes> to(size);
    std::vector<mutable_bytes> from(size);
    for (std::size_t r = 0; r < size; ++r) {
      if (static_cast<int>(r) == state_.rank) continue;
      to[r] = {sent_.data() + r * bytes_of_a_pair, bytes_of_a_pair};
      from[r] = {got_.data() + r * bytes_of_a_pair, bytes_of_a_pair};
    }
    array_exchange(state_, to, from).finish();
  }

 private:
  group_state& state_;
  message_buffer sent_;
  message_buffer got_;
};

double largest_of_ranks(group_state& state, double mine) {
  double largest = 0;
  for (const std::uint64_t bits : all_gather(state, std::bit_cast<std::uint64_t>(mine)))
    largest = std::max(largest, std::bit_cast<double>(bits));
  return largest;
}

link_rates measured(group_state& state) {
  link_rates rates;
  rates.are_devices = state.goes_by_primitives;
  const std::uint64_t long_bytes = std::uint64_t{1} << (state.is_on_device() ? 29 : 24);
  const std::uint64_t of_a_pair = long_bytes / static_cast<std::uint64_t>(state.size);
  const double others = state.size - 1;
  const link_trial trial(state, of_a_pair);
  rates.wait_seconds =
      state.is_on_device() ? largest_of_ranks(state, median_seconds([&] { wait_for_queued(state); })) : 0;
  rates.message_seconds = largest_of_ranks(state, median_seconds([&] { all_gather(state, 0); }));
  rates.exchange_seconds = largest_of_ranks(state, median_seconds([&] { trial.exchange(sizeof(std::uint64_t)); }));
  const double whole = largest_of_ranks(state, median_seconds([&] { trial.exchange(of_a_pair); }));
  rates.bytes_per_second =
      others * static_cast<double>(of_a_pair) / std::max(whole - rates.exchange_seconds, whole / 2);
  const std::vector<std::uint64_t> read = all_gather(state, shares_memory(state));
  if (!state.is_on_device()) return rates;
  rates.share_beside_kernels = fitted::nccl_beside_kernels;
  if (std::find(read.begin(), read.end(), 0U) == read.end()) {
    rates.share_beside_kernels = fitted::copies_beside_kernels;
    rates.loads_per_second = short_loads(rates.bytes_per_second);
    rates.loaded_bytes_per_second = rates.bytes_per_second * fitted::loads_of_exchange;
  }
  return rates;
}

}  // namespace

link_rates usual_link(link_kind kind, gpu_access access) noexcept {
  switch (kind) {
    // Two H200s of one host, docs/scale-out.md.
    case link_kind::copies: {
      // The bus is that of PCI Express 4 with 16 lanes, which nothing was measured on.
      const double bytes_per_second = access == gpu_access::links ? 388e9 : 20e9;
      const bool reads = access != gpu_access::through_host;
      return {.are_devices = true,
              .bytes_per_second = bytes_per_second,
              .exchange_seconds = 34e-6,
              .message_seconds = 2.7e-6,
              .wait_seconds = 12.7e-6,
              .loads_per_second = reads ? short_loads(bytes_per_second) : 0,
              .loaded_bytes_per_second = reads ? bytes_per_second * fitted::loads_of_exchange : 0,
              .share_beside_kernels = fitted::copies_beside_kernels};
    }
    case link_kind::nccl:
      return {.are_devices = true,
              .bytes_per_second = 350e9,
              .exchange_seconds = 226e-6,
              .message_seconds = 3e-6,
              .wait_seconds = 14.4e-6,
              .share_beside_kernels = fitted::nccl_beside_kernels};
    // Two cores of an AMD EPYC.
    default: return {.bytes_per_second = 3e9, .exchange_seconds = 2e-6, .message_seconds = 2e-6};
  }
}

link_rates measure_link(const group& ranks) {
  return collective(ranks, [](group_state& state, std::uint64_t) { return measured(state); });
}

double call_cost::seconds() const noexcept {
  double sum = 0;
  for (const cost_term& term : terms_) sum += term.seconds;
  return sum;
}

int cheapest_ranks(int most, const std::function<double(int ranks)>& seconds) {
  int best = most;
  double least = std::numeric_limits<double>::infinity();
  for (int ranks = 1; ranks <= most; ++ranks) {
    const double here = seconds(ranks);
    if (!(here < least)) continue;
    best = ranks;
    least = here;
  }
  return best;
}

double chosen_seconds(const explanation& of) noexcept {
  const variant_estimate* const choice = of.choice();
  return choice == nullptr ? std::numeric_limits<double>::infinity() : choice->seconds;
}

}  // namespace sheaf::distributed
