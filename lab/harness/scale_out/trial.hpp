#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "lab/harness/now.hpp"
#include "lab/harness/requests.hpp"
#include "lab/harness/scale_out/items.hpp"
#include "lab/harness/scale_out/ranks.hpp"
#include "lab/peers/scale_out/peers.hpp"

namespace sheaf::bench::scale_out {

/// A rank of a place, and what its trials are measured with.
struct stage {
  const distributed::group& ranks;
  const scale_out_request& request;
  place where;
  distributed::link_rates link;
  std::uint64_t rows_of_device;             ///< of 8 bytes
  std::shared_ptr<peers::nccl_ranks> nccl;  ///< null: there is none
  results* found;                           ///< of the first rank; null on others

  const context& ctx() const { return ranks.local(); }
  std::uint64_t size() const { return static_cast<std::uint64_t>(ranks.size()); }
  bool is_first() const { return ranks.rank() == 0; }
  /// Where this rank's rows begin, if each has as many.
  std::uint64_t first(std::uint64_t rows) const { return static_cast<std::uint64_t>(ranks.rank()) * rows; }
};

/// A call, as one rank makes it. All ranks make the same.
struct trial {
  std::string problem;  ///< of one device
  bool is_prepared = false;
  std::function<void()> together = {};  ///< on all ranks, each with its part
  std::function<void()> alone = {};     ///< on this rank's device, with as many rows
  /// This rank's part of the sum of the answer, after a call on all ranks; and the same sum of a call of the first
  /// rank's device for the rows of all.
  std::function<std::uint64_t()> sum = {};
  std::function<std::uint64_t()> sum_of_one = {};
  /// The prediction. Called on the first rank while the others wait.
  std::function<distributed::call_cost()> cost = {};
  double sent_bytes = 0;
  std::uint64_t divisor = 1;  ///< calls of a time, as the iterations of a solver
  std::uint64_t most_rounds = 100;
  std::vector<peers::rank_call> peers = {};
};

/// Times a trial and its peers in turn, compares the answer with that of one device, prints a row for each and keeps
/// it. Collective.
void measure(const stage& on, const trial& of);

/// Median seconds of a call on this rank's device alone, for predictions.
double seconds_alone(const context& ctx, const std::function<void()>& call);

/// Times that are asked for again and again, each measured once.
template <class Key>
std::function<double(Key)> measured_once(std::function<double(Key)> measure) {
  return [measure = std::move(measure), known = std::make_shared<std::map<Key, double>>()](Key of) {
    const auto found = known->find(of);
    return found != known->end() ? found->second : known->emplace(of, measure(of)).first->second;
  };
}

/// Memory of random words, functions of their places in the whole.
buffer random_words(const context& ctx, std::uint64_t words, std::uint64_t first, std::uint64_t seed);
std::uint64_t sum_of(const context& ctx, const void* words, std::uint64_t count, std::uint64_t first);
/// A copy of bytes of the context's memory, half of them read and half written.
double stream_seconds(const context& ctx, std::uint64_t bytes);

void run_sorts(const stage& on);
void run_movements(const stage& on);
void run_systems(const stage& on);

}  // namespace sheaf::bench::scale_out
