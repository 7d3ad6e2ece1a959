#include <atomic>
#include <barrier>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include <sheaf/distributed/conjugate_gradient.hpp>
#include <sheaf/distributed/scatter.hpp>
#include <sheaf/distributed/split.hpp>
#include <sheaf/gather.hpp>

#include "distributed/ranks.hpp"

// What one rank alone does wrong, or has too little memory for, in each call.
namespace sheaf::tests::distributed_errors_test {
namespace {

using namespace distributed;

/// This rank's arguments of all calls; a test spoils those of one rank.
struct arguments {
  explicit arguments(const group& ranks)
      : rows(layout::even(rows_of_all, ranks.size(), system_block_rows)),
        count(rows.count(ranks.rank())),
        table(count),
        out(entries),
        list(entries),
        in(entries),
        category(entries),
        values(entries),
        sums(count),
        counts(count),
        diagonal_begins(count + 1),
        diagonal_columns(count),
        diagonal(count, 2),
        x(count, 1),
        y(count) {
    const std::uint64_t first = rows.begin(ranks.rank());
    for (std::uint64_t i = 0; i < count; ++i) {
      table[i] = (first + i) * 3;
      diagonal_begins[i] = i;
      // A column of another rank, so that there is a halo; the diagonal for conjugate gradient.
      diagonal_columns[i] = static_cast<std::uint32_t>(first + i);
    }
    diagonal_begins[count] = count;
    shifted_columns = diagonal_columns;
    for (auto& c : shifted_columns) c = static_cast<std::uint32_t>((c + rows_of_all / 2) % rows_of_all);
    for (std::uint64_t i = 0; i < entries; ++i) {
      list[i] = static_cast<std::uint32_t>((i * 37 + first) % rows_of_all);
      in[i] = i * 1001 % 97;
      category[i] = static_cast<std::uint16_t>(i % 7);
      values[i] = static_cast<double>(i);
    }
  }

  csr_view matrix() const { return {count, rows_of_all, diagonal_begins, diagonal_columns, diagonal}; }
  csr_view shifted() const { return {count, rows_of_all, diagonal_begins, shifted_columns, diagonal}; }
  const_value_rows value_rows_in() const { return {values.data(), values.size(), 1, value_type::f64}; }
  value_rows value_rows_out() { return {sums.data(), sums.size(), 1, value_type::f64}; }

  static constexpr std::uint64_t rows_of_all = 2048;
  static constexpr std::uint64_t entries = 300;

  layout rows;
  std::uint64_t count;
  std::vector<std::uint64_t> table;
  std::vector<std::uint64_t> out;
  std::vector<std::uint32_t> list;
  std::vector<std::uint64_t> in;
  std::vector<std::uint16_t> category;
  std::vector<double> values;
  std::vector<double> sums;
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> diagonal_begins;
  std::vector<std::uint32_t> diagonal_columns;
  std::vector<std::uint32_t> shifted_columns;
  std::vector<double> diagonal;
  std::vector<double> x;
  std::vector<double> y;
};

struct wrong_call {
  const char* what;
  std::function<void(const group&, arguments&, bool bad)> call;
  error_code code = error_code::bad_argument;
};

index_span misaligned(const std::vector<std::uint32_t>& list, bool bad) {
  return {reinterpret_cast<const std::byte*>(list.data()) + (bad ? 1 : 0), list.size() - (bad ? 1 : 0),
          index_type::u32};
}

/// Each is refused by the rank that is bad, and by none where none is.
const wrong_call refusals[] = {
    {"gather: out is short",
     [](const group& g, arguments& a, bool bad) {
       distributed::gather(g, a.table, a.rows, a.list, std::span(a.out).first(a.out.size() - (bad ? 1 : 0)));
     }},
    {"gather: out overlaps table",
     [](const group& g, arguments& a, bool bad) {
       std::vector<std::uint64_t> both(a.count + a.entries);
       distributed::gather(g, std::span<const std::uint64_t>(both).first(a.count), a.rows, a.list,
                           std::span(both).subspan(bad ? a.count - 1 : a.count, a.entries));
     }},
    {"gather: a list of another alignment",
     [](const group& g, arguments& a, bool bad) {
       const index_span list = misaligned(a.list, bad);
       distributed::gather(g, a.table, a.rows, list, std::span(a.out).first(list.count));
     }},
    {"gather: a table of no address",
     [](const group& g, arguments& a, bool bad) {
       distributed::gather(g, const_records(bad ? nullptr : a.table.data(), a.count, 8), a.rows, a.list, a.out);
     }},
    {"prepare_gather: a list of another alignment",
     [](const group& g, arguments& a, bool bad) { prepare_gather(g, misaligned(a.list, bad), a.rows); }},
    {"prepared_gather: out is short",
     [](const group& g, arguments& a, bool bad) {
       const auto prepared = prepare_gather(g, a.list, a.rows);
       prepared.run(a.table, std::span(a.out).first(a.out.size() - (bad ? 1 : 0)));
     }},
    {"scatter: in is short",
     [](const group& g, arguments& a, bool bad) {
       distributed::scatter(g, std::span(a.in).first(a.in.size() - (bad ? 1 : 0)), a.list, a.table, a.rows);
     }},
    {"scatter: duplicates that are none",
     [](const group& g, arguments& a, bool bad) {
       distributed::scatter(g, a.in, a.list, a.table, a.rows, static_cast<duplicates>(bad ? 9 : 0));
     }},
    {"prepared_scatter: in is short",
     [](const group& g, arguments& a, bool bad) {
       prepare_scatter(g, a.list, a.rows).run(std::span(a.in).first(a.in.size() - (bad ? 1 : 0)), a.table);
     }},
    {"scatter_reduce: counts are short",
     [](const group& g, arguments& a, bool bad) {
       scatter_reduce_rows_options options;
       options.counts = std::span(a.counts).first(a.counts.size() - (bad ? 1 : 0));
       distributed::scatter_reduce(g, a.value_rows_in(), a.list, a.value_rows_out(), a.rows, reduction::add, options);
     }},
    {"scatter_reduce: counts overlap out",
     [](const group& g, arguments& a, bool bad) {
       scatter_reduce_rows_options options;
       options.counts = bad ? sheaf::values(a.sums.data(), a.sums.size(), value_type::u64)
                            : sheaf::values(a.counts.data(), a.counts.size(), value_type::u64);
       distributed::scatter_reduce(g, a.value_rows_in(), a.list, a.value_rows_out(), a.rows, reduction::add, options);
     }},
    {"scatter_reduce: a list of no address",
     [](const group& g, arguments& a, bool bad) {
       distributed::scatter_reduce(g, a.value_rows_in(),
                                   index_span(bad ? nullptr : a.list.data(), a.list.size(), index_type::u32),
                                   a.value_rows_out(), a.rows, reduction::add);
     }},
    {"scatter_reduce: a variant that is none",
     [](const group& g, arguments& a, bool bad) {
       scatter_reduce_rows_options options;
       options.variant = bad ? "cpu.nothing" : "";
       distributed::scatter_reduce(g, a.value_rows_in(), a.list, a.value_rows_out(), a.rows, reduction::add, options);
     }},
    {"prepared_scatter: counts of another type",
     [](const group& g, arguments& a, bool bad) {
       scatter_reduce_rows_options options;
       options.counts = sheaf::values(a.counts.data(), a.counts.size(), bad ? value_type::f64 : value_type::u64);
       prepare_scatter(g, a.list, a.rows).run_reduce(a.value_rows_in(), a.value_rows_out(), reduction::add, options);
     }},
    {"split: keys are short",
     [](const group& g, arguments& a, bool bad) {
       distributed::split(g, a.in, split_key::category(std::span(a.category).first(a.entries - (bad ? 1 : 0)), 7));
     }},
    {"sort_records: rows of no address",
     [](const group& g, arguments& a, bool bad) {
       distributed::sort_records(g, const_records(bad ? nullptr : a.in.data(), a.in.size(), 8),
                                 sort_key::of<std::uint64_t>());
     }},
    {"sort_pairs: values are short",
     [](const group& g, arguments& a, bool bad) {
       const const_records values[] = {std::span(a.values).first(a.entries - (bad ? 1 : 0))};
       distributed::sort_pairs(g, a.in, sort_key::of<std::uint64_t>(), values);
     }},
    {"sort_pairs: nine arrays",
     [](const group& g, arguments& a, bool bad) {
       const std::vector<const_records> values(bad ? 9 : 1, const_records(a.values));
       distributed::sort_pairs(g, a.in, sort_key::of<std::uint64_t>(), values);
     }},
    {"spmv: x is short",
     [](const group& g, arguments& a, bool bad) {
       distributed::spmv(g, a.shifted(), a.rows, a.rows, std::span(a.x).first(a.count - (bad ? 1 : 0)), a.y);
     }},
    {"spmv: y overlaps x",
     [](const group& g, arguments& a, bool bad) {
       distributed::spmv(g, a.shifted(), a.rows, a.rows, a.x, bad ? std::span(a.x) : std::span(a.y));
     }},
    {"prepare_spmv: rows that are not the layout's",
     [](const group& g, arguments& a, bool bad) {
       const csr_view all = a.shifted();
       const csr_view part(a.count - (bad ? 1 : 0), all.columns,
                           index_span(a.diagonal_begins.data(), a.count + (bad ? 0 : 1), index_type::u64),
                           all.column_indices, all.values);
       prepare_spmv(g, part, a.rows, a.rows);
     }},
    {"prepared_spmv: y is short",
     [](const group& g, arguments& a, bool bad) {
       prepare_spmv(g, a.shifted(), a.rows, a.rows).run(a.x, std::span(a.y).first(a.count - (bad ? 1 : 0)));
     }},
    {"conjugate_gradient: an interval of 0",
     [](const group& g, arguments& a, bool bad) {
       conjugate_gradient_options options;
       options.progress_interval = bad ? 0 : 1;
       distributed::conjugate_gradient(g, a.matrix(), a.rows, a.x, a.y, options);
     }},
    {"conjugate_gradient: b is short",
     [](const group& g, arguments& a, bool bad) {
       distributed::conjugate_gradient(g, a.matrix(), a.rows, std::span(a.x).first(a.count - (bad ? 1 : 0)), a.y);
     }},
    {"agree: an exception that is not the library's",
     [](const group& g, arguments&, bool bad) {
       g.agree([&] {
         if (bad) throw std::runtime_error("a file is gone");
       });
     },
     error_code::internal},
};

/// Each is right on every rank by itself, but not beside those of the others.
const wrong_call disagreements[] = {
    {"gather: the layout",
     [](const group& g, arguments& a, bool bad) {
       // This rank has as many rows, but all others have none.
       std::vector<std::uint64_t> begins(a.rows.begins().begin(), a.rows.begins().end());
       if (bad) std::fill(begins.begin(), begins.end() - 1, 0);
       if (bad) begins.back() = a.count;
       distributed::gather(g, a.table, layout::at(begins), a.list, a.out);
     }},
    {"gather: the width",
     [](const group& g, arguments& a, bool bad) {
       const std::uint64_t width = bad ? 4 : 8;
       distributed::gather(g, const_records(a.table.data(), a.count, width, 8), a.rows, a.list,
                           records(a.out.data(), a.entries, width, 8));
     }},
    {"scatter: duplicates",
     [](const group& g, arguments& a, bool bad) {
       distributed::scatter(g, a.in, a.list, a.table, a.rows, bad ? duplicates::last : duplicates::any);
     }},
    {"prepared_scatter: the width",
     [](const group& g, arguments& a, bool bad) {
       const std::uint64_t width = bad ? 4 : 8;
       prepare_scatter(g, a.list, a.rows)
           .run(const_records(a.in.data(), a.entries, width, 8), records(a.table.data(), a.count, width, 8));
     }},
    {"scatter_reduce: the reduction",
     [](const group& g, arguments& a, bool bad) {
       distributed::scatter_reduce(g, a.value_rows_in(), a.list, a.value_rows_out(), a.rows,
                                   bad ? reduction::max : reduction::add);
     }},
    {"scatter_reduce: the type",
     [](const group& g, arguments& a, bool bad) {
       const value_type type = bad ? value_type::u64 : value_type::f64;
       distributed::scatter_reduce(g, const_value_rows(a.values.data(), a.entries, 1, type), a.list,
                                   value_rows(a.sums.data(), a.count, 1, type), a.rows, reduction::add);
     }},
    {"scatter_reduce: the start",
     [](const group& g, arguments& a, bool bad) {
       scatter_reduce_rows_options options;
       options.start = bad ? reduction_start::identity : reduction_start::out;
       distributed::scatter_reduce(g, a.value_rows_in(), a.list, a.value_rows_out(), a.rows, reduction::add, options);
     }},
    {"sort_records: the key", [](const group& g, arguments& a, bool bad) { sort_keys(g, a.in, bad); }},
    {"sort_records: balance",
     [](const group& g, arguments& a, bool bad) { sort_keys(g, a.in, false, bad ? balance::by_key : balance::exact); }},
    {"sort_pairs: the widths of values",
     [](const group& g, arguments& a, bool bad) {
       const const_records values[] = {const_records(a.values.data(), a.entries, bad ? 4 : 8, 8)};
       distributed::sort_pairs(g, a.in, sort_key::of<std::uint64_t>(), values);
     }},
    {"sort_pairs: the number of arrays",
     [](const group& g, arguments& a, bool bad) {
       const std::vector<const_records> values(bad ? 2 : 1, const_records(a.values));
       distributed::sort_pairs(g, a.in, sort_key::of<std::uint64_t>(), values);
     }},
    {"split: the number of categories",
     [](const group& g, arguments& a, bool bad) {
       distributed::split(g, a.in, split_key::category(a.category, bad ? 8 : 7));
     }},
    {"split: offsets",
     [](const group& g, arguments& a, bool bad) {
       distributed::split(g, a.in, split_key::category(a.category, 7), balance::exact, bad);
     }},
    {"spmv: alpha",
     [](const group& g, arguments& a, bool bad) {
       spmv_options options;
       options.alpha = bad ? 2 : 1;
       distributed::spmv(g, a.shifted(), a.rows, a.rows, a.x, a.y, options);
     }},
    {"spmv: sums",
     [](const group& g, arguments& a, bool bad) {
       spmv_options options;
       options.sums = bad ? spmv_sums::f64 : spmv_sums::as_values;
       distributed::spmv(g, a.shifted(), a.rows, a.rows, a.x, a.y, options);
     }},
    {"prepared_spmv: beta",
     [](const group& g, arguments& a, bool bad) {
       prepare_spmv(g, a.shifted(), a.rows, a.rows).run(a.x, a.y, 1, bad ? 1 : 0);
     }},
    {"conjugate_gradient: the tolerance",
     [](const group& g, arguments& a, bool bad) {
       conjugate_gradient_options options;
       options.tolerance = bad ? 1e-3 : 1e-6;
       distributed::conjugate_gradient(g, a.matrix(), a.rows, a.x, a.y, options);
     }},
    {"conjugate_gradient: the preconditioner",
     [](const group& g, arguments& a, bool bad) {
       conjugate_gradient_options options;
       options.preconditioner = bad ? preconditioner::jacobi : preconditioner::none;
       distributed::conjugate_gradient(g, a.matrix(), a.rows, a.x, a.y, options);
     }},
    {"prepared_gather: what was prepared",
     [](const group& g, arguments& a, bool bad) {
       // Both lists have as many entries, but ask other ranks for them.
       const auto all = prepare_gather(g, a.list, a.rows);
       std::fill(a.list.begin(), a.list.end(), 0);
       const auto first = prepare_gather(g, a.list, a.rows);
       (bad ? first : all).run(a.table, a.out);
     }},
    {"prepared_scatter: what was prepared",
     [](const group& g, arguments& a, bool bad) {
       const auto all = prepare_scatter(g, a.list, a.rows);
       std::fill(a.list.begin(), a.list.end(), 0);
       const auto first = prepare_scatter(g, a.list, a.rows);
       (bad ? first : all).run(a.in, a.table);
     }},
    {"prepared_scatter: what was prepared for a reduction",
     [](const group& g, arguments& a, bool bad) {
       const auto all = prepare_scatter(g, a.list, a.rows);
       std::fill(a.list.begin(), a.list.end(), 0);
       const auto first = prepare_scatter(g, a.list, a.rows);
       (bad ? first : all).run_reduce(a.value_rows_in(), a.value_rows_out(), reduction::add);
     }},
    {"prepared_spmv: what was prepared",
     [](const group& g, arguments& a, bool bad) {
       const auto with_halo = prepare_spmv(g, a.shifted(), a.rows, a.rows);
       const auto without = prepare_spmv(g, a.matrix(), a.rows, a.rows);
       (bad ? without : with_halo).run(a.x, a.y);
     }},
    {"the name of a number", [](const group& g, arguments&, bool bad) { g.require_same(bad ? "rows" : "columns", 3); }},
    {"a number", [](const group& g, arguments&, bool bad) { g.require_same("a number", bad ? 1 : 0); }},
    {"the call",
     [](const group& g, arguments& a, bool bad) {
       if (bad) return g.wait();
       distributed::gather(g, a.table, a.rows, a.list, a.out);
     }},
};

void expect_refused(const group& ranks, const wrong_call& wrong, const std::string& part) {
  SCOPED_TRACE(wrong.what);
  const int last = ranks.size() - 1;
  arguments mine(ranks);
  const auto table = mine.table;
  const std::string said = message_of(wrong.code, [&] { wrong.call(ranks, mine, ranks.rank() == last); });
  EXPECT_NE(said.find(part + std::to_string(last)), std::string::npos) << said;
  EXPECT_EQ(mine.table, table) << "output was written";
  // The group goes on.
  ranks.wait();
  arguments again(ranks);
  wrong.call(ranks, again, false);
  ranks.wait();
}

TEST(DistributedErrors, WhatOneRankRefusesAllThrow) {
  for (const wrong_call& wrong : refusals)
    on_ranks_both_ways([&](const group& ranks) { expect_refused(ranks, wrong, "rank "); });
}

TEST(DistributedErrors, WhatRanksDisagreeAboutAllThrow) {
  for (const wrong_call& wrong : disagreements) {
    on_ranks_both_ways([&](const group& ranks) {
      if (ranks.size() > 1)
        expect_refused(ranks, wrong, wrong.what == std::string_view("the call") ? "rank " : "on rank ");
    });
  }
}

TEST(DistributedErrors, WordsShowNumbersAndNoFingerprints) {
  on_ranks([](const group& ranks) {
    if (ranks.size() == 1) return;
    const int last = ranks.size() - 1;
    const bool bad = ranks.rank() == last;
    arguments a(ranks);
    const std::string on_last = " on rank " + std::to_string(last);
    EXPECT_EQ(message_of(error_code::bad_argument, [&] { sort_keys(ranks, a.in, bad); }),
              "sort_records: the key" + on_last + " is not that of rank 0");
    spmv_options options;
    options.alpha = bad ? 0.5 : 2;
    EXPECT_EQ(message_of(error_code::bad_argument,
                         [&] { distributed::spmv(ranks, a.shifted(), a.rows, a.rows, a.x, a.y, options); }),
              "spmv: alpha is 0.5" + on_last + ", but 2 on rank 0");
  });
}

TEST(DistributedErrors, ACallAmidAnotherIsRefused) {
  on_ranks([](const group& ranks) {
    const int last = ranks.size() - 1;
    const std::string said = message_of(error_code::bad_argument, [&] {
      ranks.agree([&] {
        if (ranks.rank() == last) ranks.wait();
      });
    });
    EXPECT_EQ(said, "rank " + std::to_string(last) + ": group: a call amid another call on the same group");
    // In a function that one rank calls.
    arguments a(ranks);
    for (std::uint64_t i = 0; i < a.count; ++i) a.diagonal[i] = 1 + static_cast<double>(i % 7);
    conjugate_gradient_options options;
    if (ranks.rank() == last) {
      options.progress = [&](const conjugate_gradient_progress&) {
        ranks.wait();
        return true;
      };
    }
    std::fill(a.y.begin(), a.y.end(), 0.0);
    const auto solve = [&] { return distributed::conjugate_gradient(ranks, a.matrix(), a.rows, a.x, a.y, options); };
    if (ranks.rank() == last) {
      message_of(error_code::bad_argument, solve);
    } else {
      EXPECT_EQ(solve().reason, stop_reason::stopped);
    }
    ranks.wait();
  });
}

TEST(DistributedErrors, AGroupThatWasMovedFromIsRefused) {
  on_ranks([](const group& ranks) {
    group from = ranks;
    const group to = std::move(from);
    // NOLINTBEGIN(bugprone-use-after-move): what is tested
    const std::string words = "group: it was moved from; another group holds its contents now";
    EXPECT_EQ(message_of(error_code::bad_argument, [&] { from.wait(); }), words);
    EXPECT_EQ(message_of(error_code::bad_argument, [&] { static_cast<void>(from.rank()); }), words);
    from.abandon("a group that is none tells nobody");
    // NOLINTEND(bugprone-use-after-move)
    to.wait();
    from = to;
    from.wait();
  });
}

TEST(DistributedErrors, ABadIndexOfACallOfOnesOwnEndsTheWaitOfAll) {
  on_ranks_both_ways([](const group& ranks) {
    const int last = ranks.size() - 1;
    arguments a(ranks);
    a.list[5] = a.rows_of_all + 1;
    std::vector<std::uint64_t> whole(a.rows_of_all);
    // One of the context, on one rank, and one of the group: both are heard of, one after the other.
    if (ranks.rank() == last) sheaf::gather(ranks.local(), whole, a.list, a.out);
    distributed::gather(ranks, a.table, a.rows, a.list, a.out);
    const std::string of_one = message_of(error_code::bad_index, [&] { ranks.wait(); });
    EXPECT_TRUE(of_one.starts_with("rank " + std::to_string(last) + ": gather: index[5] is 2049")) << of_one;
    // A preparation throws its own alone.
    EXPECT_THROW(prepare_gather(ranks, a.list, a.rows), error);
    EXPECT_TRUE(message_of(error_code::bad_index, [&] { ranks.wait(); }).starts_with("gather: index[5] is 2049"));
    ranks.wait();
  });
}

TEST(DistributedErrors, AGroupOfMoreRanksThan16BitsTellApartIsRefused) {
  class wide final : public transport {
   public:
    int rank() const noexcept override { return 0; }
    int size() const noexcept override { return 65535; }
    std::uint64_t start(std::span<const outgoing_message>, std::span<const incoming_message>) noexcept override {
      return 0;
    }
    transfer_state poll(std::uint64_t) noexcept override { return {}; }
    void cancel(std::uint64_t) noexcept override {}
    void post(int, const control_note&) noexcept override {}
    bool take(control_note&) noexcept override { return false; }
  };
  EXPECT_EQ(message_of(error_code::bad_argument, [] { group(context::cpu(1), std::make_shared<wide>()); }),
            "group: 65535 ranks, more than 65534");
}

// Memory that is short from one allocation on, on one rank, in each of a call's allocations by turns.

/// Knows what memory messages use: those under way, and those that were given up, until the end.
class watching_transport final : public transport {
 public:
  explicit watching_transport(std::shared_ptr<transport> over) : over_(std::move(over)) {}

  int rank() const noexcept override { return over_->rank(); }
  int size() const noexcept override { return over_->size(); }
  std::uint64_t start(std::span<const outgoing_message> out, std::span<const incoming_message> in) noexcept override {
    const std::uint64_t started = over_->start(out, in);
    for (const auto& m : out) used_[started].push_back({m.data, m.data + m.bytes});
    for (const auto& m : in) used_[started].push_back({m.data, m.data + m.bytes});
    return started;
  }
  transfer_state poll(std::uint64_t started) noexcept override {
    const transfer_state state = over_->poll(started);
    if (state.state == transfer_state::kind::done) used_.erase(started);
    return state;
  }
  void cancel(std::uint64_t started) noexcept override {
    has_given_up = has_given_up || used_.contains(started);
    over_->cancel(started);
  }
  void post(int to, const control_note& note) noexcept override { over_->post(to, note); }
  bool take(control_note& note) noexcept override { return over_->take(note); }

  bool uses(const std::byte* begin, const std::byte* end) const {
    for (const auto& [started, ranges] : used_) {
      for (const auto& [first, last] : ranges) {
        if (first < end && begin < last) return true;
      }
    }
    return false;
  }
  bool has_given_up = false;

 private:
  std::shared_ptr<transport> over_;
  std::map<std::uint64_t, std::vector<std::pair<const std::byte*, const std::byte*>>> used_;
};

struct short_memory {
  const watching_transport* watched = nullptr;
  std::uint64_t left = ~std::uint64_t{0};  ///< allocations until memory is short
  bool has_failed = false;
  bool freed_used = false;

  static void* allocate(void* state, std::uint64_t bytes, CUstream_st*) {
    auto& mine = *static_cast<short_memory*>(state);
    if (mine.left == 0) {
      mine.has_failed = true;
      return nullptr;
    }
    --mine.left;
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  }
  static void give_back(void* state, void* block, std::uint64_t bytes, CUstream_st*) {
    auto& mine = *static_cast<short_memory*>(state);
    const auto* const begin = static_cast<const std::byte*>(block);
    mine.freed_used = mine.freed_used || mine.watched->uses(begin, begin + bytes);
    std::free(block);
  }
};

/// Returns whether the fault came.
bool run_with_short_memory(const wrong_call& right, std::uint64_t allocations, std::atomic<int>& given_up) {
  constexpr int ranks = 3;
  constexpr int bad = 1;
  const auto transports = transports_in_one_process(ranks);
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  std::atomic<bool> has_failed = false;
  std::barrier all_have_arguments(ranks);  // else a rank may hear of the failure while it still waits for these
  limits bounds;
  bounds.message_bytes = 256;
  bounds.chunk_bytes = 1000;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      const auto watched = std::make_shared<watching_transport>(transports[static_cast<std::size_t>(r)]);
      // Both outlive the group: memory of a lost one is kept.
      auto* const memory = new short_memory;
      static std::mutex mutex;
      static std::vector<std::unique_ptr<short_memory>> all;
      {
        const std::lock_guard lock(mutex);
        all.emplace_back(memory);
      }
      memory->watched = watched.get();
      context ctx = context::cpu(1);
      ctx.use(memory_resource{short_memory::allocate, short_memory::give_back, memory});
      const group g(ctx, watched, bounds);
      arguments mine(g);
      g.wait();
      all_have_arguments.arrive_and_wait();
      if (r == bad) memory->left = allocations;
      const auto call = [&] { right.call(g, mine, false); };
      bool threw = false;
      try {
        call();
        g.wait();
      } catch (const error& e) {
        threw = true;
        EXPECT_EQ(name(e.code()), name(error_code::out_of_memory)) << e.what();
        EXPECT_TRUE(std::string(e.what()).starts_with("rank 1: ")) << e.what();
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
      if (r == bad) has_failed = memory->has_failed;
      if (r == bad) {
        EXPECT_EQ(threw, memory->has_failed);
      }
      EXPECT_FALSE(memory->freed_used) << "memory was given back that messages may use";
      if (watched->has_given_up) ++given_up;
      memory->left = ~std::uint64_t{0};
      if (threw) {
        EXPECT_THROW(g.wait(), error);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  return has_failed;
}

TEST(DistributedErrors, MemoryThatIsShortOnOneRankEndsTheCallOnAll) {
  if (!ranks_are_threads()) GTEST_SKIP() << "a lost group of processes is tested apart";
  std::atomic<int> given_up = 0;
  for (const wrong_call& right : refusals) {
    SCOPED_TRACE(right.what);
    if (right.code == error_code::internal) continue;
    std::uint64_t allocations = 0;
    while (run_with_short_memory(right, allocations, given_up) && !HasFailure()) {
      ++allocations;
      if (allocations > 40) allocations += allocations / 8;
    }
    EXPECT_GT(allocations, 2U);
    if (HasFailure()) break;
  }
  EXPECT_GT(given_up, 20) << "faults came where no message was under way";
}

}  // namespace
}  // namespace sheaf::tests::distributed_errors_test
