#include "distributed/exchange.hpp"

#include <atomic>
#include <barrier>
#include <cmath>
#include <thread>

#include "distributed/collectives.hpp"
#include "distributed/grid.hpp"
#include "distributed/ranks.hpp"

namespace sheaf::tests::distributed_exchange_test {
namespace {

using namespace distributed;

/// Bytes from one rank to another: none for some pairs, many for others.
std::uint64_t length(int from, int to) {
  const auto a = static_cast<std::uint64_t>(from);
  const auto b = static_cast<std::uint64_t>(to);
  return (a * 7 + b * 13) % 5 * (a + 1) * 29;
}
std::byte byte_of(int from, int to, std::uint64_t at) {
  return static_cast<std::byte>(
      (static_cast<std::uint64_t>(from) * 101 + static_cast<std::uint64_t>(to) * 37 + at * 11) & 255);
}

/// Counts the bytes that come over another transport.
class counting_transport final : public transport {
 public:
  explicit counting_transport(std::shared_ptr<transport> over) : over_(std::move(over)) {}

  int rank() const noexcept override { return over_->rank(); }
  int size() const noexcept override { return over_->size(); }
  std::uint64_t start(std::span<const outgoing_message> out, std::span<const incoming_message> in) noexcept override {
    for (const auto& m : in) got_bytes += m.bytes;
    return over_->start(out, in);
  }
  transfer_state poll(std::uint64_t started) noexcept override { return over_->poll(started); }
  void cancel(std::uint64_t started) noexcept override { over_->cancel(started); }
  void post(int to, const control_note& note) noexcept override { over_->post(to, note); }
  bool take(control_note& note) noexcept override { return over_->take(note); }

  std::uint64_t got_bytes = 0;

 private:
  std::shared_ptr<transport> over_;
};

template <class Exchange, class Length = decltype(&length)>
void exchange_all(const group& ranks, Exchange run, Length length = distributed_exchange_test::length) {
  collective(ranks, [&](group_state& state, std::uint64_t) {
    std::vector<std::vector<std::byte>> sent(static_cast<std::size_t>(ranks.size()));
    std::vector<std::vector<std::byte>> got(sent.size());
    std::vector<const_bytes> to(sent.size());
    std::vector<mutable_bytes> from(sent.size());
    std::vector<std::uint64_t> counts;
    for (int r = 0; r < ranks.size(); ++r) {
      auto& mine = sent[static_cast<std::size_t>(r)];
      for (std::uint64_t i = 0; i < length(ranks.rank(), r); ++i) mine.push_back(byte_of(ranks.rank(), r, i));
      counts.push_back(mine.size());
      to[static_cast<std::size_t>(r)] = {mine.data(), mine.size()};
    }
    counts = exchange_counts(state, counts);
    for (std::size_t r = 0; r < got.size(); ++r) {
      ASSERT_EQ(counts[r], length(static_cast<int>(r), ranks.rank()));
      got[r].resize(counts[r], std::byte{0xee});
      from[r] = {got[r].data(), got[r].size()};
    }
    run(state, to, from);
    for (std::size_t r = 0; r < got.size(); ++r) {
      for (std::uint64_t i = 0; i < got[r].size(); ++i)
        ASSERT_EQ(got[r][i], byte_of(static_cast<int>(r), ranks.rank(), i)) << r << " " << i;
    }
  });
}

const auto directly = [](group_state& state, const auto& to, const auto& from) { exchange(state, to, from).finish(); };

TEST(Exchange, BringsPartsOfAnyLength) {
  on_ranks([](const group& ranks) { exchange_all(ranks, directly); });
}

TEST(Exchange, BringsThemInRoundsOf64Bytes) {
  limits bounds;
  bounds.message_bytes = 64;
  on_ranks([](const group& ranks) { exchange_all(ranks, directly); }, bounds);
}

TEST(Exchange, BringsThemOverAGrid) {
  limits bounds;
  bounds.two_level_ranks = 2;
  bounds.message_bytes = 100;
  on_ranks([](const group& ranks) { exchange_all(ranks, exchange_parts); }, bounds);
  on_ranks([](const group& ranks) { exchange_all(ranks, exchange_over_grid); }, bounds);
}

TEST(Exchange, BringsThemBetweenManyRanks) {
  if (!ranks_are_threads()) GTEST_SKIP() << "processes are not so many";
  for (const int ranks : {33, 37, 64}) {
    run_in_one_process(ranks, 1, {}, [](const group& g) {
      exchange_all(g, exchange_parts);
      exchange_all(g, directly);
    });
  }
}

TEST(Exchange, OverAGridHasRanksBetweenAllPairs) {
  for (int ranks = 1; ranks < 70; ++ranks) {
    const rank_grid grid(ranks);
    int most = 0;
    for (int via = 0; via < ranks; ++via) {
      const std::vector<int> senders = grid.senders_to(via);
      const std::vector<int> receivers = grid.receivers_from(via);
      most = std::max(most, static_cast<int>(senders.size() + receivers.size()));
      for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
          const bool is_between = std::count(senders.begin(), senders.end(), from) == 1 &&
                                  std::count(receivers.begin(), receivers.end(), to) == 1;
          ASSERT_EQ(is_between, grid.between(from, to) == via) << ranks << ": " << from << " " << to << " " << via;
        }
      }
    }
    EXPECT_LE(most, 3 * std::ceil(std::sqrt(ranks)) + 1) << ranks;
  }
}

/// So many numbers that they are added part by part, and the sums of lower ranks.
void check_sums(const group& ranks, group_state& state) {
  const auto number = [](std::uint64_t rank, std::uint64_t i) { return (rank + 1) * (i * i + 3) << (i % 50); };
  const auto rank = static_cast<std::uint64_t>(ranks.rank());
  for (const std::uint64_t count : {1, 1023, 1024, 1025, 1999}) {
    std::vector<std::uint64_t> sums(count);
    for (std::uint64_t i = 0; i < count; ++i) sums[i] = number(rank, i);
    std::vector<std::uint64_t> lower = sums;
    all_add(state, sums);
    add_lower_ranks(state, lower);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t all = 0;
      std::uint64_t before = 0;
      for (std::uint64_t r = 0; r < static_cast<std::uint64_t>(ranks.size()); ++r) {
        all += number(r, i);
        before += r < rank ? number(r, i) : 0;
      }
      ASSERT_EQ(sums[i], all) << count << " " << i;
      ASSERT_EQ(lower[i], before) << count << " " << i;
    }
  }
}

TEST(Exchange, AddsUpNumbersOfManyRanks) {
  if (!ranks_are_threads()) GTEST_SKIP() << "processes are not so many";
  for (const int ranks : {6, 9, 16, 37}) {
    run_in_one_process(ranks, 1, {}, [](const group& g) {
      collective(g, [&](group_state& state, std::uint64_t) { check_sums(g, state); });
    });
  }
}

TEST(Exchange, OverAGridSendsLongPartsDirectly) {
  // Every rank of a row of the grid sends most of its bytes into one column: over the grid alone, one rank would have
  // them all on their way.
  if (!ranks_are_threads()) GTEST_SKIP() << "processes are not so many";
  constexpr int ranks = 16;
  constexpr std::uint64_t long_part = 20000;
  const auto transports = transports_in_one_process(ranks);
  std::vector<std::shared_ptr<counting_transport>> counted;
  counted.reserve(ranks);
  for (const auto& t : transports) counted.push_back(std::make_shared<counting_transport>(t));
  limits bounds;
  bounds.two_level_ranks = 2;
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      const group g(context::cpu(1), counted[static_cast<std::size_t>(r)], bounds);
      counted[static_cast<std::size_t>(r)]->got_bytes = 0;
      exchange_all(g, exchange_parts, [](int from, int to) {
        return from % 4 * 4 + from / 4 == to ? long_part : static_cast<std::uint64_t>(from + to) % 3 * 10;
      });
    });
  }
  for (std::thread& t : threads) t.join();
  for (const auto& t : counted) EXPECT_LT(t->got_bytes, 2 * long_part);
}

TEST(Exchange, GathersOfAllRanks) {
  for (const int two_levels : {2, 32}) {
    limits bounds;
    bounds.two_level_ranks = two_levels;
    bounds.message_bytes = 24;
    on_ranks(
        [](const group& ranks) {
          collective(ranks, [&](group_state& state, std::uint64_t) {
            const auto rank = static_cast<std::uint64_t>(ranks.rank());
            const std::vector<std::uint64_t> all = all_gather(state, rank * rank + 5);
            for (std::uint64_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], r * r + 5);
            const std::vector<std::byte> mine(rank % 3 * 50, static_cast<std::byte>(rank));
            const gathered_bytes parts = all_gather_parts(state, mine);
            ASSERT_EQ(parts.begins.size(), all.size() + 1);
            for (std::uint64_t r = 0; r < all.size(); ++r) {
              ASSERT_EQ(parts.begins[r + 1] - parts.begins[r], r % 3 * 50);
              for (std::uint64_t i = parts.begins[r]; i < parts.begins[r + 1]; ++i)
                ASSERT_EQ(parts.data[i], static_cast<std::byte>(r));
            }
            std::vector<std::uint64_t> sums{rank, 1, rank * 1000, ~std::uint64_t{0}};
            all_add(state, sums);
            const std::uint64_t n = all.size();
            EXPECT_EQ(sums,
                      (std::vector<std::uint64_t>{n * (n - 1) / 2, n, n * (n - 1) / 2 * 1000, ~std::uint64_t{0} * n}));
            check_sums(ranks, state);
          });
        },
        bounds);
  }
}

TEST(Group, NamesTheRankThatRefuses) {
  on_ranks([](const group& ranks) {
    const int last = ranks.size() - 1;
    const auto call = [&](int bad, error_code code) {
      collective(ranks, [&](group_state& state, std::uint64_t) {
        state.agree("a call", {}, {}, [&] {
          if (ranks.rank() == bad) throw error(code, "a call: in is bad");
        });
      });
    };
    EXPECT_EQ(message_of(error_code::bad_argument, [&] { call(last, error_code::bad_argument); }),
              "rank " + std::to_string(last) + ": a call: in is bad");
    EXPECT_EQ(message_of(error_code::out_of_memory, [&] { call(0, error_code::out_of_memory); }),
              "rank 0: a call: in is bad");
    call(-1, error_code::bad_argument);  // the group goes on
  });
}

TEST(Group, NamesTheRankThatDisagrees) {
  on_ranks([](const group& ranks) {
    if (ranks.size() == 1) return;
    const auto rank = static_cast<std::uint64_t>(ranks.rank());
    EXPECT_EQ(message_of(error_code::bad_argument,
                         [&] {
                           collective(ranks, [&](group_state& state, std::uint64_t) {
                             const agreed_value values[] = {{"a", 4}, {"the width", rank == 1 ? 9U : 8U}};
                             state.agree("a call", values, {}, [] {});
                           });
                         }),
              "a call: the width is 9 on rank 1, but 8 on rank 0");
    EXPECT_EQ(message_of(error_code::bad_argument,
                         [&] {
                           collective(ranks, [&](group_state& state, std::uint64_t) {
                             state.agree(rank == 1 ? "this" : "that", {}, {}, [] {});
                           });
                         }),
              "rank 1 calls this, but rank 0 calls that");
    EXPECT_EQ(layout::of(ranks, rank), layout::of(ranks, rank));
  });
}

TEST(Group, TellsAllRanksOfAFailureAmidACall) {
  if (!ranks_are_threads()) GTEST_SKIP() << "a lost group of processes is tested apart";
  for (const int ranks : {2, 3, 8}) {
    std::atomic<int> told = 0;
    std::barrier all_there(ranks);
    EXPECT_EQ(message_of(error_code::out_of_memory,
                         [&] {
                           run_in_one_process(ranks, 1, {}, [&](const group& g) {
                             all_there.arrive_and_wait();
                             const auto call = [&] {
                               collective(g, [&](group_state& state, std::uint64_t) {
                                 if (g.rank() == 1) throw error(error_code::out_of_memory, "there is none");
                                 all_gather(state, 1);
                               });
                             };
                             const std::string said = message_of(error_code::out_of_memory, call);
                             told += said == "rank 1: there is none" ? 1 : 0;
                             EXPECT_EQ(message_of(error_code::out_of_memory, call), said) << "the group is lost";
                             throw error(error_code::out_of_memory, said);
                           });
                         }),
              "rank 1: there is none");
    EXPECT_EQ(told, ranks);
  }
}

TEST(Group, NamesTheRankThatIsLate) {
  if (!ranks_are_threads()) GTEST_SKIP() << "late processes are tested apart";
  limits bounds;
  bounds.wait_seconds = 0.2;
  bounds.two_level_ranks = 2;
  std::atomic<int> told = 0;
  try {
    run_in_one_process(5, 1, bounds, [&](const group& ranks) {
      if (ranks.rank() == 3) std::this_thread::sleep_for(std::chrono::seconds(3));
      const std::string said = message_of(error_code::device_failure, [&] { ranks.wait(); });
      told += said.starts_with("rank 3: has not been heard of for 0.2 s") ? 1 : 0;
    });
  } catch (const error&) {
  }
  EXPECT_EQ(told, 5);
}

TEST(Group, RefusesLimitsThatDisagree) {
  if (!ranks_are_threads()) GTEST_SKIP();
  const auto transports = transports_in_one_process(2);
  std::vector<std::string> said(2);
  const auto make = [&](std::size_t r) {
    limits bounds;
    bounds.message_bytes += r;
    said[r] = message_of(error_code::bad_argument, [&] { group(context::cpu(1), transports[r], bounds); });
  };
  std::thread other(make, 1);
  make(0);
  other.join();
  EXPECT_EQ(said[0], "group: limits::message_bytes is 67108865 on rank 1, but 67108864 on rank 0");
  EXPECT_EQ(said[1], said[0]);
}

TEST(Layout, PartsFollowOneAnother) {
  for (const std::uint64_t rows : {0, 1, 7, 256, 1000}) {
    for (int ranks = 1; ranks < 9; ++ranks) {
      for (const std::uint64_t multiple : {1, 3, 256}) {
        const layout even = layout::even(rows, ranks, multiple);
        EXPECT_EQ(even.count(), rows);
        EXPECT_EQ(even.ranks(), ranks);
        for (int r = 0; r < ranks; ++r) {
          EXPECT_TRUE(even.end(r) % multiple == 0 || even.end(r) == rows);
          EXPECT_LE(even.count(r), (rows / multiple / static_cast<std::uint64_t>(ranks) + 1) * multiple);
        }
        for (std::uint64_t row = 0; row < rows; ++row) {
          const int owner = even.owner(row);
          ASSERT_TRUE(even.begin(owner) <= row && row < even.end(owner));
        }
      }
    }
  }
  EXPECT_EQ(layout::even(~std::uint64_t{0}, 3).count(), ~std::uint64_t{0});
  EXPECT_EQ(message_of(error_code::bad_argument, [] { layout::even(3, 0); }), "layout: 0 ranks, not 1 or more");
  EXPECT_EQ(message_of(error_code::bad_argument, [] { layout::at({0, 3, 2}); }), "layout: begins do not ascend from 0");
}

}  // namespace
}  // namespace sheaf::tests::distributed_exchange_test
