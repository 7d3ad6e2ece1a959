#include <algorithm>
#include <bit>
#include <numeric>

#include <sheaf/error.hpp>

#include "distributed/collectives.hpp"
#include "lab/harness/scale_out/items.hpp"
#include "lab/peers/scale_out/nccl.hpp"
#include "lab/peers/scale_out/sort_by_hand.hpp"

namespace sheaf::bench::peers {
namespace {

class hand_sort {
 public:
  hand_sort(const distributed::group& ranks, std::shared_ptr<nccl_ranks> nccl, const_records in)
      : ranks_(ranks),
        nccl_(std::move(nccl)),
        most_(in.count + in.count / 4 + 4096),
        steps_(ranks.local(), reinterpret_cast<const std::uint64_t*>(in.data), in.count, most_),
        count_(in.count) {}

  void run() {
    steps_.sort();
    const std::vector<std::uint64_t> ends = places_of_parts();
    const auto size = static_cast<std::size_t>(ranks_.size());
    std::vector<std::uint64_t> sent(size);
    for (std::size_t r = 0; r < size; ++r) sent[r] = ends[r + 1] - ends[r];
    std::vector<std::uint64_t> got;
    distributed::collective(ranks_, [&](distributed::group_state& state, std::uint64_t) {
      got = distributed::exchange_counts(state, sent);
    });
    std::vector<std::uint64_t> begins{0};
    for (const std::uint64_t count : got) begins.push_back(begins.back() + count);
    if (begins.back() > most_) throw error(error_code::internal, "sort by hand: keys are not evenly spread");
    std::vector<sent_part> to(size);
    std::vector<received_part> from(size);
    for (std::size_t r = 0; r < size; ++r) {
      to[r] = {reinterpret_cast<const std::byte*>(steps_.sorted() + ends[r]), sent[r] * 8};
      from[r] = {reinterpret_cast<std::byte*>(steps_.received() + begins[r]), got[r] * 8};
    }
    nccl_->exchange(to, from);
    received_ = begins.back();
    steps_.merge(std::move(begins));
  }

  std::uint64_t sum() const {
    std::uint64_t first = 0;
    distributed::collective(ranks_, [&](distributed::group_state& state, std::uint64_t) {
      const std::vector<std::uint64_t> all = distributed::all_gather(state, received_);
      first = std::accumulate(all.begin(), all.begin() + state.rank, std::uint64_t{0});
    });
    return jobs::over_items(ranks_.local(), received_, scale_out::sum_of_words{steps_.result(), first}).sum;
  }

 private:
  /// Where this rank's numbers for each rank begin, and the end.
  std::vector<std::uint64_t> places_of_parts() const {
    const std::uint64_t numbers = std::min<std::uint64_t>(1024, count_);
    const std::vector<std::uint64_t> mine = steps_.sample(numbers);
    const auto size = static_cast<std::size_t>(ranks_.size());
    std::vector<std::uint64_t> all(mine.size() * size);
    distributed::collective(ranks_, [&](distributed::group_state& state, std::uint64_t) {
      distributed::all_gather(state, mine.data(), mine.size() * 8, all.data());
    });
    std::ranges::sort(all);
    std::vector<std::uint64_t> bounds;
    for (std::size_t r = 1; r < size; ++r) bounds.push_back(all[all.size() * r / size]);
    std::vector<std::uint64_t> ends = steps_.places(bounds);
    ends.insert(ends.begin(), 0);
    ends.push_back(count_);
    return ends;
  }

  distributed::group ranks_;
  std::shared_ptr<nccl_ranks> nccl_;
  std::uint64_t most_;
  device::sort_steps steps_;
  std::uint64_t count_;
  std::uint64_t received_ = 0;
};

}  // namespace

rank_call sort_by_hand(const distributed::group& ranks, std::shared_ptr<nccl_ranks> nccl, const_records in) {
  const auto sort = std::make_shared<hand_sort>(ranks, std::move(nccl), in);
  return {"cub.nccl.by_hand", [sort] { sort->run(); }, [sort] { return sort->sum(); }};
}

}  // namespace sheaf::bench::peers
