#include "lab/spatter/check.hpp"

#include <atomic>

#include <fmt/format.h>

#include "core/startable.hpp"
#include "lab/description/host_threads.hpp"
#include "lab/inputs/pattern_function.hpp"

namespace sheaf::bench {
namespace {

constexpr std::uint64_t none = ~std::uint64_t{0};
constexpr std::uint64_t staged_entries = std::uint64_t{1} << 22;
constexpr std::uint64_t least_window = std::uint64_t{1} << 24;

// Entries of the context's memory where the host can read them: in place, or copied into `staging`.
const std::uint64_t* on_host(const context& ctx, const std::uint64_t* entries, std::uint64_t count,
                             std::vector<std::uint64_t>& staging) {
  if (ctx.backend() == backend_kind::cpu) return entries;
  staging.resize(std::max<std::uint64_t>(staging.size(), count));
  copy_bytes(ctx, staging.data(), entries, count * spatter_record_bytes);
  return staging.data();
}

// A bit per entry of a window, set by many threads.
class bitmap {
 public:
  explicit bitmap(std::uint64_t bits) : words_(bits / 64) {}
  void clear() { std::ranges::fill(words_, 0); }
  std::uint64_t word(std::uint64_t w) const { return words_[w]; }
  void set(std::uint64_t bit) {
    std::atomic_ref<std::uint64_t> word(words_[bit / 64]);
    const std::uint64_t mask = std::uint64_t{1} << bit % 64;
    if ((word.load(std::memory_order_relaxed) & mask) == 0) word.fetch_or(mask, std::memory_order_relaxed);
  }

 private:
  std::vector<std::uint64_t> words_;
};

std::uint64_t first_place(const spatter_sequence& sequence) { return *std::ranges::min_element(sequence.places); }

// The first step of [0, count) whose offset is at least `least`, by binary search: offsets never decrease.
std::uint64_t first_step_at(const spatter_sequence& sequence, std::uint64_t count, std::uint64_t least) {
  std::uint64_t low = 0;
  std::uint64_t high = count;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (sequence.offset(middle) < least) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Finds the writers of every entry of a window. Sets the entry's bit in `held` if it holds a writer's value, and in
// `missed` if some writer's value is not there. value_in(step)(j) is the value that the step writes from entry j.
template <class ValueIn>
void mark_writers(const spatter_sequence& sequence, std::uint64_t first_step, std::uint64_t end_step,
                  std::uint64_t begin, std::uint64_t end, const std::uint64_t* window, int threads, bitmap& held,
                  bitmap& missed, ValueIn value_in) {
  const std::uint64_t length = sequence.places.size();
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t step = first_step; step < end_step; ++step) {
    const std::uint64_t offset = sequence.offset(step);
    const auto value = value_in(step);
    for (std::uint64_t j = 0; j < length; ++j) {
      const std::uint64_t place = sequence.places[j] + offset;
      if (place < begin || place >= end) continue;
      (window[place - begin] == value(j) ? held : missed).set(place - begin);
    }
  }
}

// Counts the wrong entries of a window, and finds the first of them.
std::uint64_t count_wrong_entries(const std::uint64_t* window, std::uint64_t begin, std::uint64_t count, int threads,
                                  const bitmap& held, const bitmap& missed, std::uint64_t& first) {
  std::uint64_t wrong = 0;
  std::uint64_t lowest = none;
// clang-format off
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static) \
    reduction(+ : wrong) reduction(min : lowest)
  // clang-format on
  for (std::uint64_t word = 0; word < (count + 63) / 64; ++word) {
    const std::uint64_t end = std::min<std::uint64_t>(64, count - word * 64);
    for (std::uint64_t b = 0; b < end; ++b) {
      if ((held.word(word) >> b & 1) != 0) continue;
      const std::uint64_t entry = word * 64 + b;
      const bool named = (missed.word(word) >> b & 1) != 0;
      if (!named && window[entry] == inputs::record_word(scatter_seed, begin + entry, 0)) continue;
      ++wrong;
      lowest = std::min(lowest, entry);
    }
  }
  first = lowest;
  return wrong;
}

}  // namespace

std::uint64_t dense_value(std::uint64_t row, std::uint64_t j, std::uint64_t length) {
  return inputs::mix(row * length + j);
}

void check_gathered(const context& ctx, const spatter_config& config, const spatter_chunk& chunk,
                    const std::uint64_t* dense, spatter_faults& faults) {
  const spatter_sequence& sequence = config.gather;
  const std::uint64_t length = sequence.places.size();
  const std::uint64_t total = chunk.rows * length;
  constexpr std::uint64_t block = 1 << 14;
  std::vector<std::uint64_t> staging;
  for (std::uint64_t done = 0; done < total; done += staged_entries) {
    const std::uint64_t count = std::min(staged_entries, total - done);
    const std::uint64_t* const found = on_host(ctx, dense + done, count, staging);
    std::uint64_t wrong = 0;
    std::uint64_t lowest = none;
// clang-format off
#pragma omp parallel for num_threads(core::startable(jobs::host_threads(ctx))) schedule(static) \
    reduction(+ : wrong) reduction(min : lowest)
    // clang-format on
    for (std::uint64_t begin = 0; begin < count; begin += block) {
      const std::uint64_t end = std::min(count, begin + block);
      std::uint64_t step = chunk.first + (done + begin) / length;
      std::uint64_t j = (done + begin) % length;
      for (std::uint64_t e = begin; e < end; ++e) {
        if (found[e] != inputs::record_word(gather_seed, sequence.places[j] + sequence.offset(step), 0)) {
          ++wrong;
          lowest = std::min(lowest, e);
        }
        if (++j == length) {
          j = 0;
          ++step;
        }
      }
    }
    faults.count += wrong;
    if (wrong == 0 || !faults.first.empty()) continue;
    const std::uint64_t step = chunk.first + (done + lowest) / length;
    const std::uint64_t j = (done + lowest) % length;
    faults.first =
        fmt::format("step {}, entry {} is not sparse[{}]", step, j, sequence.places[j] + sequence.offset(step));
  }
}

std::uint64_t check_window(const spatter_config& config) {
  if (!config.scatters()) return 0;
  const std::uint64_t span = config.scatter.last_place - first_place(config.scatter);
  const std::uint64_t entries = std::min(std::max(span, least_window), config.scatter.extent(config.count));
  return (entries + 63) / 64 * 64;
}

std::uint64_t check_bytes(const context& ctx, const spatter_config& config) {
  const bool copies = ctx.backend() != backend_kind::cpu;
  const std::uint64_t window = check_window(config);
  const std::uint64_t staging = copies ? std::max(window, config.gathers() ? staged_entries : 0) : 0;
  return staging * spatter_record_bytes + window / 64 * 2 * 8;
}

void check_scattered(const context& ctx, const spatter_config& config, const spatter_layout& layout,
                     const std::uint64_t* sparse, std::uint64_t window_entries, spatter_faults& faults) {
  const spatter_sequence& sequence = config.scatter;
  const std::uint64_t least = first_place(sequence);
  const std::uint64_t most = sequence.last_place;
  const std::uint64_t extent = sequence.extent(config.count);
  const int threads = jobs::host_threads(ctx);
  std::vector<std::uint64_t> staging;
  bitmap held(window_entries);
  bitmap missed(window_entries);
  for (std::uint64_t begin = 0; begin < extent; begin += window_entries) {
    const std::uint64_t count = std::min(window_entries, extent - begin);
    const std::uint64_t* const window = on_host(ctx, sparse + begin, count, staging);
    const std::uint64_t first_step = first_step_at(sequence, config.count, begin > most ? begin - most : 0);
    const std::uint64_t end_step =
        begin + count > least ? first_step_at(sequence, config.count, begin + count - least) : 0;
    held.clear();
    missed.clear();
    const auto mark = [&](auto value_in) {
      mark_writers(sequence, first_step, end_step, begin, begin + count, window, threads, held, missed, value_in);
    };
    if (config.gathers()) {
      mark([&](std::uint64_t step) {
        return [&places = config.gather.places, offset = config.gather.offset(step)](std::uint64_t j) {
          return inputs::record_word(gather_seed, places[j] + offset, 0);
        };
      });
    } else {
      mark([&](std::uint64_t step) {
        return [row = step % layout.wrap, length = sequence.places.size()](std::uint64_t j) {
          return dense_value(row, j, length);
        };
      });
    }
    std::uint64_t first = 0;
    const std::uint64_t wrong = count_wrong_entries(window, begin, count, threads, held, missed, first);
    faults.count += wrong;
    if (wrong == 0 || !faults.first.empty()) continue;
    const bool named = (missed.word(first / 64) >> first % 64 & 1) != 0;
    faults.first =
        fmt::format("sparse[{}] {}", begin + first,
                    named ? "does not hold what any of its writers wrote" : "changed, but nothing writes there");
  }
}

}  // namespace sheaf::bench
