#include "cpu/sort/plan.hpp"
#include "cpu/sort/row_encoders.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"

// Counting sort of rows of 1 or 2 bytes that are their own key. Equal rows are identical, so it is enough to count each
// row value and to write it as often as it occurs.
namespace sheaf::cpu {
namespace {

using namespace primitives;

// Fewest rows of a part: every part looks at up to 2^16 counts, so fewer rows are not worth a part.
constexpr std::uint64_t least_rows_of_part = std::uint64_t{1} << 16;

std::uint64_t numbers_of(const sort_problem& p) noexcept { return std::uint64_t{1} << (8 * p.rows.record_bytes); }

// What plan decides for run.
struct counting_decision {
  std::uint64_t parts;  ///< parts of the rows that are counted in parallel

  void tell(plan::told& to) const { to.add("parts", parts); }
};

plan::planned plan_counting(const sort_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (encoding_of(problem).content != word_content::row || !key_is_row(problem))
    return plan::rejected("rows hold more than their key");
  if (problem.rows.record_bytes > 2) return plan::rejected("keys of more than 16 bits are too many numbers to count");
  plan::planned plan;
  const std::uint64_t moved = problem.count * (problem.rows.in_stride_bytes + problem.rows.out_stride_bytes);
  const std::uint64_t parts =
      std::min(parts_worth(moved, machine.parallelism), std::max<std::uint64_t>(1, problem.count / least_rows_of_part));
  plan.decided.set(counting_decision{parts});
  plan.scratch_bytes = parts * numbers_of(problem) * sizeof(std::uint64_t);
  plan.add("latency", machine.launch_seconds + machine.step_seconds);
  plan.add("streamed", machine.streamed(moved, moved));
  // One thread of a Xeon of family 6 model 207: 2^25 rows of 1 byte take 16 ms, of 2 bytes 37 to 50 ms. 2^14 rows of
  // 2 bytes take 0.47 ms, mostly for looking at counts of 0 and 1.
  const double digits_of_row = problem.rows.record_bytes == 1 ? 0.154 : 0.462;
  constexpr double digits_of_number = 2.69;
  plan.add("counting", shared_digit_seconds(problem.count, digits_of_row, machine, parts));
  plan.add("reading counts", digits_of_number * digit_seconds(machine) * static_cast<double>(numbers_of(problem)));
  return plan;
}

template <class Word>
class counting_sort {
 public:
  counting_sort(const sort_problem& p, const sort_buffers& b, std::uint64_t parts, std::uint64_t* counts)
      : encoder_(p, b), out_(b.out), count_(p.count), parts_(parts), counts_(counts) {}

  void run() const {
    for_each_part(parts_, [&](std::uint64_t part) { count(part); });
    for (std::uint64_t n = 0; n < numbers; ++n) {
      for (std::uint64_t part = 1; part < parts_; ++part) counts_[n] += counts_[part * numbers + n];
    }
    for_each_part(parts_, [&](std::uint64_t part) { write(part); });
  }

 private:
  static constexpr std::uint64_t numbers = std::uint64_t{1} << bits_in<Word>;

  void count(std::uint64_t part) const {
    std::uint64_t* const counts = counts_ + part * numbers;
    std::fill_n(counts, numbers, std::uint64_t{0});
    for_each_word_block(part_begin(count_, parts_, part), part_begin(count_, parts_, part + 1),
                        [&](std::uint64_t first, std::uint64_t block_count) {
                          Word buffer[block_words];
                          const Word* const words = encoder_.read(first, block_count, buffer);
                          for (std::uint64_t i = 0; i < block_count; ++i) ++counts[words[i]];
                        });
  }

  // Writes a part of the output: the row values whose runs reach into it.
  void write(std::uint64_t part) const {
    const std::uint64_t begin = part_begin(count_, parts_, part);
    const std::uint64_t end = part_begin(count_, parts_, part + 1);
    std::uint64_t run_end = 0;
    for (std::uint64_t n = 0; n < numbers && run_end < end; ++n) {
      const std::uint64_t first = std::max(run_end, begin);
      run_end += counts_[n];
      if (run_end > first) write_run(static_cast<Word>(n), first, std::min(run_end, end));
    }
  }
  void write_run(Word number, std::uint64_t first, std::uint64_t end) const {
    const Word row = encoder_.row_of(number);
    if (out_.stride_bytes == sizeof(Word) && reinterpret_cast<std::uintptr_t>(out_.data) % alignof(Word) == 0) {
      std::fill(reinterpret_cast<Word*>(out_.data) + first, reinterpret_cast<Word*>(out_.data) + end, row);
      return;
    }
    for (std::uint64_t i = first; i < end; ++i) std::memcpy(out_.data + i * out_.stride_bytes, &row, sizeof row);
  }

  row_encoder<Word> encoder_;
  records out_;
  std::uint64_t count_;
  std::uint64_t parts_;
  std::uint64_t* counts_;
};

void run_counting(const context&, const sort_problem& problem, const plan::planned& plan, const sort_buffers& buffers,
                  std::byte* scratch) {
  const auto [parts] = plan.decided.get<counting_decision>();
  auto* const counts = reinterpret_cast<std::uint64_t*>(scratch);
  if (problem.rows.record_bytes == 1) {
    counting_sort<std::uint8_t>(problem, buffers, parts, counts).run();
  } else {
    counting_sort<std::uint16_t>(problem, buffers, parts, counts).run();
  }
}

}  // namespace

extern constinit const sort_variant sort_counting{"cpu.counting", backend_kind::cpu, plan_counting, run_counting};

}  // namespace sheaf::cpu
