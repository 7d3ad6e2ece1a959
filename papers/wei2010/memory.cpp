#include <fmt/format.h>

#include "core/startable.hpp"
#include "lab/harness/now.hpp"
#include "lab/inputs/pattern.hpp"
#include "papers/wei2010/figures.hpp"
#include "papers/wei2010/points.hpp"

// Tables 3 and 4: a test that only accesses words of 64 bits far from each other, as fast as the machine can, beside
// the time that a list takes for each of its nodes.
namespace sheaf::bench::papers::wei2010 {
namespace {

// Accesses of a block whose walkers take turns.
void access_on_host(const memory_test& test, std::uint64_t block, std::uint64_t* data, std::uint64_t words,
                    std::uint64_t& sum) {
  std::vector<std::uint64_t> at(test.threads);
  for (std::uint64_t t = 0; t < test.threads; ++t) at[t] = first_word(block * test.threads + t, words);
  std::uint64_t total = 0;
  for (std::uint64_t access = 0; access < test.accesses; ++access) {
    for (std::uint64_t& word : at) {
      total += data[word];
      if (test.writes) data[word] = word;
      word = next_word(test.at_random, word, test.stride, words);
    }
  }
  sum = total;
}

std::vector<memory_test> points_of(const session& session) {
  if (session.size == run_size::tiny) return {{.blocks = 2, .threads = 8}, {.blocks = 4, .threads = 32}};
#if SHEAF_HAS_CUDA
  if (session.ctx.backend() == backend_kind::cuda) return points_of_cuda(device::multiprocessors(session.ctx));
#endif
  return points_of_cpu(static_cast<std::uint64_t>(session.ctx.threads()));
}

std::uint64_t expected_sum(const memory_test& test, std::uint64_t words) {
  std::uint64_t sum = 0;
  for (std::uint64_t walker = 0; walker < test.walkers(); ++walker) {
    std::uint64_t word = first_word(walker, words);
    for (std::uint64_t access = 0; access < test.accesses; ++access) {
      sum += word;
      word = next_word(test.at_random, word, test.stride, words);
    }
  }
  return sum;
}

/// A point and what it took.
struct measured_test {
  memory_test test;
  double seconds = 0;

  double per_access() const { return seconds / static_cast<double>(test.total()); }
};

/// The words of one size, in a context's memory.
class tested_words {
 public:
  tested_words(session& s, std::uint64_t words)
      : session_(s), words_(words), data_(s.ctx, words * sizeof(std::uint64_t)), sum_(s.ctx, sizeof(std::uint64_t)) {
    inputs::fill_index(s.ctx, {primitives::pattern_kind::identity}, words, {data_.data(), words, index_type::u64});
    s.ctx.wait();
  }

  /// The least of two runs, because the first may begin with cold translations of addresses.
  measured_test run(const memory_test& test) {
    measured_test best{test, seconds_of(test)};
    best.seconds = std::min(best.seconds, seconds_of(test));
    return best;
  }

  /// Whether a test of few accesses reads the words that it should.
  bool is_right(memory_test test) {
    test.blocks = 2;
    test.threads = 8;
    test.accesses = 1024;
    const std::uint64_t zero = 0;
    copy_bytes(session_.ctx, sum_.data(), &zero, sizeof zero);
    seconds_of(test);
    std::uint64_t found = 0;
    copy_bytes(session_.ctx, &found, sum_.data(), sizeof found);
    return found == expected_sum(test, words_);
  }

 private:
  double seconds_of(const memory_test& test) {
    queue_clock* const clock = session_.clock.get();
    const double begin = now();
    if (clock != nullptr) clock->start();
    queue_memory_test(session_.ctx, test, data_.as<std::uint64_t>(), words_, sum_.as<std::uint64_t>());
    if (clock != nullptr) clock->stop();
    session_.ctx.wait();
    return clock != nullptr ? clock->seconds() : now() - begin;
  }

  session& session_;
  std::uint64_t words_;
  buffer data_;
  buffer sum_;
};

/// The points in the order of their time for each access.
std::vector<measured_test> explore(tested_words& words, const std::vector<memory_test>& points) {
  std::vector<measured_test> all;
  all.reserve(points.size());
  for (const memory_test& test : points) all.push_back(words.run(test));
  std::ranges::sort(all, {}, &measured_test::per_access);
  return all;
}

std::vector<memory_test> with_form(std::vector<memory_test> points, bool at_random, bool writes) {
  for (memory_test& test : points) {
    test.at_random = at_random;
    test.writes = writes;
  }
  return points;
}

std::string shape_text(const memory_test& test) {
  return fmt::format("{} x {} x {}", test.blocks, test.threads, test.accesses);
}

std::string nanoseconds(double seconds) { return fmt::format("{:.3g} ns", seconds * 1e9); }

// The points that the largest size finds best, by form: reads, and reads with writes.
constexpr std::size_t kept_points = 12;

struct kept_tests {
  std::vector<memory_test> reads;
  std::vector<memory_test> writes;
};

std::vector<memory_test> best_points(tested_words& words, const std::vector<memory_test>& points) {
  std::vector<memory_test> best;
  for (const measured_test& found : explore(words, points)) {
    if (best.size() < kept_points) best.push_back(found.test);
  }
  return best;
}

// Those of the paper, or fewer: more would not find other points.
std::uint64_t explored_words(const paper_run& run, const session& session) {
  constexpr std::uint64_t paper_millions = 64;
  return std::min(paper_millions * million, run.count(session, paper_millions));
}

kept_tests explore_forms(const paper_run& run, session& session, bool at_random) {
  const std::vector<memory_test> points = points_of(session);
  const std::uint64_t count = explored_words(run, session);
  tested_words words(session, count);
  kept_tests best{best_points(words, with_form(points, at_random, false)),
                  best_points(words, with_form(points, at_random, true))};
  fmt::print("  memory test, the best of {} points for {} words: reads {}, reads with writes {}", points.size(),
             count_text(count), shape_text(best.reads.front()), shape_text(best.writes.front()));
  fmt::print(" (blocks x threads x accesses of each)\n");
  fmt::print(
      "  words of the test stay in the last cache where they fit; calls on lists rotate among copies that do not\n");
  return best;
}

// One line of the paper's tables: what the test and list ranking took on the C1060, in nanoseconds, for 1 M to 256 M.
struct paper_row {
  double test;
  double list;
};

std::string paper_text(std::span<const paper_row> paper, std::uint64_t nodes) {
  for (std::size_t row = 0; row < paper.size(); ++row) {
    if (million << row == nodes) return fmt::format("{:.2f}, {:.2f} ns", paper[row].test, paper[row].list);
  }
  return "-";
}

std::string times_of_access(const result* r, double per_access) {
  if (r == nullptr) return "-";
  return ratio_text(r->time.median_seconds / static_cast<double>(r->problem.count) / per_access);
}

/// Keeps a row of the memory test: the time of all its accesses, which `who` says the number of.
void keep_test(paper_run& run, const session& session, int figure, std::uint64_t words, const measured_test& found,
               bool is_right) {
  const memory_test& test = found.test;
  run.input_results.push_back(
      {.figure = fmt::format("{}/{}", run.paper, figure_text(figure)),
       .input = fmt::format("{} words of 64 bits, {}", words,
                            test.at_random ? "at random" : fmt::format("stride {}", test.stride)),
       .machine = session.hardware.machine,
       .where = std::string(sheaf::name(session.ctx.backend())),
       .backend = session.ctx.backend(),
       .who = fmt::format("memory test, {}, {}", test.writes ? "reads with writes" : "reads", shape_text(test)),
       .time = {found.seconds, found.seconds, found.seconds, 1},
       .verified = is_right});
}

// Both tables: the test with accesses at random or strided, and lists of this order.
void compare(paper_run& run, session& session, int figure, bool at_random, std::span<const paper_row> paper,
             primitives::input_pattern (*order_of)(std::uint64_t nodes)) {
  const std::vector<std::uint64_t> counts = run.counts(session);
  if (explored_words(run, session) * sizeof(std::uint64_t) > session.hardware.memory_bytes / 2) {
    return fmt::print("  left out: too little memory\n");
  }
  const kept_tests best = explore_forms(run, session, at_random);
  const table rows({"nodes", "test, read", "read + write", "blocks x threads x reads", "rank", "scan", "rank / read",
                    "scan / read", "scan / (read + write)", "C1060: test, list"});
  for (const std::uint64_t nodes : counts) {
    if (nodes * sizeof(std::uint64_t) > session.hardware.memory_bytes / 2) {
      return fmt::print("  {} nodes and more left out: too little memory\n", count_text(nodes));
    }
    measured_test reads;
    measured_test writes;
    bool is_right = false;
    {
      tested_words words(session, nodes);  // given back before the lists take their memory
      reads = explore(words, best.reads).front();
      writes = explore(words, best.writes).front();
      is_right = words.is_right(reads.test) && words.is_right(writes.test);
    }
    const primitives::input_pattern order = order_of(nodes);
    const auto ranked = run.measure_choice(session, figure, ranks(nodes, order));
    const auto summed = run.measure_choice(session, figure, packed_sums(nodes, order));
    const result* const rank = find(ranked, "sheaf");
    const result* const scan = find(summed, "sheaf");
    rows.row({count_text(nodes), nanoseconds(reads.per_access()), nanoseconds(writes.per_access()),
              shape_text(reads.test), per_node(rank), per_node(scan), times_of_access(rank, reads.per_access()),
              times_of_access(scan, reads.per_access()), times_of_access(scan, writes.per_access()),
              paper_text(paper, nodes)});
    if (!is_right) fmt::print("  the memory test of {} words read others: WRONG\n", nodes);
    keep_test(run, session, figure, nodes, reads, is_right);
    keep_test(run, session, figure, nodes, writes, is_right);
  }
}

}  // namespace

void queue_memory_test(const context& ctx, const memory_test& test, std::uint64_t* data, std::uint64_t words,
                       std::uint64_t* sum) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::queue_memory_test(ctx, test, data, words, sum);
#endif
  const auto threads =
      static_cast<int>(std::min<std::uint64_t>(test.blocks, static_cast<std::uint64_t>(ctx.threads())));
  std::uint64_t total = 0;
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static) reduction(+ : total)
  for (std::uint64_t block = 0; block < test.blocks; ++block) {
    std::uint64_t of_block = 0;
    access_on_host(test, block, data, words, of_block);
    total += of_block;
  }
  *sum += total;
}

void table_3(paper_run& run) {
  constexpr paper_row paper[] = {{3.70, 5.33}, {3.84, 5.11}, {3.93, 4.85}, {3.97, 4.59}, {4.00, 4.51},
                                 {4.04, 4.45}, {4.06, 4.42}, {4.13, 4.28}, {4.19, 4.40}};
  print_caption("Table 3. The memory test beside lists of stride 1001",
                "4.04 ns for an access at best, by 16 x 64 x 4096; a list takes 4 to 44 % more for each node.");
  for (session& s : run.sessions) {
    print_place(s, "stride 1001");
    compare(run, s, table_number(3), false, paper, [](std::uint64_t) { return strided(usual_stride); });
  }
}

void table_4(paper_run& run) {
  constexpr paper_row paper[] = {{3.74, 5.33}, {3.86, 5.11}, {3.95, 4.85}, {3.99, 4.59},  {4.03, 4.51},
                                 {4.06, 4.45}, {4.07, 4.42}, {8.70, 9.33}, {13.40, 14.05}};
  print_caption("Table 4. The memory test at random beside lists of the longest stride, and of random order",
                "both slow down alike beyond 64 M nodes, to 13.4 ns for an access and 14.05 ns for a node.");
  for (session& s : run.sessions) {
    print_place(s, "neighbours half the array apart: a stride of one less than the nodes, which does not wrap around");
    compare(run, s, table_number(4), true, paper, [](std::uint64_t nodes) { return strided(nodes - 1); });
    print_place(s, "random order");
    compare(run, s, table_number(4), true, {}, [](std::uint64_t) { return at_random(); });
  }
}

}  // namespace sheaf::bench::papers::wei2010
