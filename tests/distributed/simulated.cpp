#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <mpi.h>
#include <sheaf/distributed/gather.hpp>
#include <sheaf/distributed/sort.hpp>
#include <sheaf/distributed/spmv.hpp>
#include <sheaf/error.hpp>

#include "distributed/mpi/process.hpp"

extern "C" const sheaf::distributed::mpi_process sheaf_mpi_process;

// Calls with hundreds of ranks, which SimGrid simulates in one process (smpirun): answers, messages of each rank, and
// what a rank has in its messages at a time. Prints one line, and ends with a code other than 0 if a bound is broken.

namespace {

using namespace sheaf;

[[noreturn]] void fail(const char* what) {
  std::printf("WRONG: %s\n", what);
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

/// Counts what goes over another transport.
class counting_transport final : public distributed::transport {
 public:
  explicit counting_transport(std::shared_ptr<distributed::transport> over) : over_(std::move(over)) {}

  int rank() const noexcept override { return over_->rank(); }
  int size() const noexcept override { return over_->size(); }
  std::uint64_t start(std::span<const distributed::outgoing_message> out,
                      std::span<const distributed::incoming_message> in) noexcept override {
    messages += out.size();
    for (const auto& m : out) sent_bytes += m.bytes;
    for (const auto& m : in) got_bytes += m.bytes;
    return over_->start(out, in);
  }
  distributed::transfer_state poll(std::uint64_t started) noexcept override { return over_->poll(started); }
  void cancel(std::uint64_t started) noexcept override { over_->cancel(started); }
  void post(int to, const distributed::control_note& note) noexcept override { over_->post(to, note); }
  bool take(distributed::control_note& note) noexcept override { return over_->take(note); }

  /// A simulated rank gives way by asking: real time would only pass.
  void give_way(double) noexcept override {}

  std::uint64_t messages = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t got_bytes = 0;

 private:
  std::shared_ptr<distributed::transport> over_;
};

std::uint64_t mixed(std::uint64_t n) {
  n = (n ^ n >> 31) * 0x9e3779b97f4a7c15U;
  n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9U;
  return n ^ n >> 32;
}

std::uint64_t most_of_all(std::uint64_t mine) {
  std::uint64_t most = 0;
  MPI_Allreduce(&mine, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

void check_sorted(const std::vector<std::uint64_t>& keys, std::span<const std::uint64_t> mine, int rank, int size) {
  if (mine.size() != keys.size() || !std::is_sorted(mine.begin(), mine.end())) fail("a sort");
  std::uint64_t difference = 0;
  for (const std::uint64_t k : keys) difference += mixed(k);
  for (const std::uint64_t k : mine) difference -= mixed(k);
  std::uint64_t sum = 0;
  MPI_Allreduce(&difference, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (sum != 0) fail("a sort lost keys");
  // To the next rank alone: SimGrid's own all-gather takes minutes with 256 ranks.
  std::uint64_t key_before = 0;
  const int lower = rank == 0 ? MPI_PROC_NULL : rank - 1;
  const int higher = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
  MPI_Sendrecv(&mine.back(), 1, MPI_UINT64_T, higher, 0, &key_before, 1, MPI_UINT64_T, lower, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  if (key_before > mine.front()) fail("parts of a sort overlap");
}

void run(std::uint64_t each) {
  const auto counted = std::make_shared<counting_transport>(sheaf_mpi_process.begin());
  const distributed::group ranks(context::cpu(1), counted);
  const int size = ranks.size();
  const std::uint64_t n = each * static_cast<std::uint64_t>(size);
  const auto rows = distributed::layout::even(n, size);
  const std::uint64_t first = rows.begin(ranks.rank());
  const auto most_messages = [&](std::uint64_t before) { return most_of_all(counted->messages - before); };

  // Zipf's keys, of which one is a third of all, and random ones.
  std::vector<std::uint64_t> keys(each);
  std::uint64_t sort_messages = 0;
  std::uint64_t sort_bytes = 0;
  for (const bool is_random : {false, true}) {
    for (std::uint64_t i = 0; i < each; ++i) {
      const std::uint64_t number = mixed(first + i);
      keys[i] = is_random ? mixed(number) : number % 3 == 0 ? 7 : n / (1 + number % n);
    }
    const std::uint64_t messages_before = counted->messages;
    const std::uint64_t bytes_before = counted->got_bytes;
    const auto sorted = distributed::sort_keys(ranks, keys);
    sort_messages = std::max(sort_messages, most_messages(messages_before));
    sort_bytes = std::max(sort_bytes, most_of_all(counted->got_bytes - bytes_before));
    check_sorted(keys, sorted.rows.as<std::uint64_t>(), ranks.rank(), size);
  }

  std::vector<std::uint32_t> list(each);
  std::vector<std::uint64_t> out(each);
  for (std::uint64_t i = 0; i < each; ++i) list[i] = static_cast<std::uint32_t>(mixed(first + i + 99) % n);
  for (std::uint64_t i = 0; i < each; ++i) keys[i] = mixed(first + i);
  const std::uint64_t before = counted->messages;
  distributed::gather(ranks, keys, rows, list, out);
  const std::uint64_t gather_messages = most_messages(before);
  for (std::uint64_t i = 0; i < each; ++i) {
    if (out[i] != mixed(list[i])) fail("a gather");
  }

  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> columns;
  for (std::uint64_t i = 0; i < each; ++i) {
    for (const std::uint64_t c : {(first + i + n - 1) % n, first + i, (first + i + 1) % n})
      columns.push_back(static_cast<std::uint32_t>(c));
    offsets.push_back(columns.size());
  }
  const std::vector<double> values(columns.size(), 1);
  std::vector<double> x(each);
  std::vector<double> y(each);
  for (std::uint64_t i = 0; i < each; ++i) x[i] = static_cast<double>((first + i) % 1000);
  distributed::spmv(ranks, csr_view(each, n, offsets, columns, values), rows, rows, x, y);
  for (std::uint64_t i = 0; i < each; ++i) {
    const std::uint64_t g = first + i;
    const auto at = [&](std::uint64_t c) { return static_cast<double>(c % n % 1000); };
    if (y[i] != at(g + n - 1) + at(g) + at(g + 1)) fail("a product");
  }
  ranks.wait();

  const double root = std::sqrt(static_cast<double>(size));
  if (ranks.rank() != 0) return;
  std::printf(
      "%d ranks: a sort has %.1f sqrt(p) messages a rank and brings %.2f times its rows, a gather %.1f sqrt(p)\n", size,
      static_cast<double>(sort_messages) / root, static_cast<double>(sort_bytes) / static_cast<double>(8 * each),
      static_cast<double>(gather_messages) / root);
  std::fflush(stdout);
  if (static_cast<double>(sort_messages) > 20 * root) fail("a sort has too many messages");
  if (static_cast<double>(gather_messages) > 15 * root) fail("a gather has too many messages");
  // Rows travel twice over the grid of ranks.
  if (static_cast<double>(sort_bytes) > 2.2 * static_cast<double>(8 * each)) fail("a sort brings too many bytes");
}

}  // namespace

// smpirun looks for it in a shared object.
[[gnu::visibility("default")]] int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2000);
  } catch (const std::exception& thrown) {
    fail(thrown.what());
  }
  MPI_Finalize();
  return 0;
}
