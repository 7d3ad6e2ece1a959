#include "papers/patidar2009/basic_split.hpp"

#include "cpu/movement/record_copy.hpp"
#include "cpu/split/category_reader.hpp"
#include "cpu/threads/core_speed.hpp"

// The basic split on a CPU: a thread, in the place of a CUDA block, takes segment after segment.
namespace sheaf::cpu {

using namespace primitives;
using namespace papers::patidar2009;

namespace {

constexpr std::uint64_t block_records = category_reader::block_records;

class basic_split {
 public:
  basic_split(const context& ctx, const split_problem& call_problem, const basic_split_form& call_form,
              const split_buffers& call_buffers, std::byte* scratch)
      : problem_(call_problem),
        buffers_(call_buffers),
        segment_records_(call_form.segment_records),
        segments_(segments_of(call_problem.count, call_form.segment_records)),
        parts_(std::min(segments_, parts_worth(call_problem.count * call_problem.record_bytes,
                                               static_cast<std::uint64_t>(ctx.threads())))) {
    const basic_split_scratch layout(call_problem, call_form);
    run_begin_ = reinterpret_cast<std::uint64_t*>(scratch + layout.run_begin);
    local_scan_ = reinterpret_cast<std::uint32_t*>(scratch + layout.local_scan);
    local_ = scratch + layout.local;
  }

  /// Step 1: records of each category of each segment. With two steps also where their runs begin in the segment.
  void count(bool has_two_steps) const {
    const category_reader categories = reader_of(buffers_.in.data, problem_.in_stride_bytes);
    for_each_segment([&](std::uint64_t segment, std::uint64_t first, std::uint64_t records) {
      std::uint32_t counts[most_categories] = {};
      for_each_record(categories, first, records, [&](std::uint64_t, std::uint32_t c) { ++counts[c]; });
      std::uint32_t before = 0;
      for (std::uint64_t c = 0; c < problem_.categories; ++c) {
        run_begin_[c * segments_ + segment] = counts[c];
        if (has_two_steps) local_scan_[c * segments_ + segment] = before;
        before += counts[c];
      }
    });
  }

  /// Step 2: prefix sums of the table in column-major order.
  void scan() const {
    std::vector<std::uint64_t> sums(parts_);
    exclusive_scan(run_begin_, problem_.categories * segments_, parts_, sums.data());
    if (buffers_.offsets == nullptr) return;
    for (std::uint64_t c = 0; c < problem_.categories; ++c) buffers_.offsets[c] = run_begin_[c * segments_];
    buffers_.offsets[problem_.categories] = problem_.count;
  }

  /// Step 3 of the one-step form: every record to its place in the output.
  void scatter_records() const {
    const category_reader categories = reader_of(buffers_.in.data, problem_.in_stride_bytes);
    const any_layout layout{problem_.record_bytes, problem_.in_stride_bytes, problem_.out_stride_bytes};
    for_each_segment([&](std::uint64_t segment, std::uint64_t first, std::uint64_t records) {
      std::uint64_t next[most_categories];
      for (std::uint64_t c = 0; c < problem_.categories; ++c) next[c] = run_begin_[c * segments_ + segment];
      for_each_record(categories, first, records, [&](std::uint64_t i, std::uint32_t c) {
        layout.copy(buffers_.out.data + layout.indexed_offset(next[c]++),
                    buffers_.in.data + layout.sequential_offset(i));
      });
    });
  }

  /// Step 3 of the two-step form: splits each segment.
  void split_segments() const {
    const category_reader categories = reader_of(buffers_.in.data, problem_.in_stride_bytes);
    const any_layout layout{problem_.record_bytes, problem_.in_stride_bytes, problem_.record_bytes};
    for_each_segment([&](std::uint64_t segment, std::uint64_t first, std::uint64_t records) {
      std::uint32_t next[most_categories];
      for (std::uint64_t c = 0; c < problem_.categories; ++c) next[c] = local_scan_[c * segments_ + segment];
      for_each_record(categories, first, records, [&](std::uint64_t i, std::uint32_t c) {
        layout.copy(local_ + layout.indexed_offset(first + next[c]++), buffers_.in.data + layout.sequential_offset(i));
      });
    });
  }

  /// Step 4: copies the runs of split segments to the output.
  void copy_runs() const {
    const category_reader categories = reader_of(local_, problem_.record_bytes);
    const any_layout layout{problem_.record_bytes, problem_.record_bytes, problem_.out_stride_bytes};
    for_each_segment([&](std::uint64_t segment, std::uint64_t first, std::uint64_t records) {
      for_each_record(categories, first, records, [&](std::uint64_t i, std::uint32_t c) {
        const std::uint64_t run = c * segments_ + segment;
        const std::uint64_t to = run_begin_[run] + (i - first - local_scan_[run]);
        layout.copy(buffers_.out.data + layout.indexed_offset(to), local_ + layout.sequential_offset(i));
      });
    });
  }

 private:
  category_reader reader_of(const std::byte* records, std::uint64_t stride_bytes) const {
    return {records, problem_.record_bytes, stride_bytes, problem_.bits};
  }

  /// Calls work(segment, first record, records) for every segment, in parallel.
  template <class Work>
  void for_each_segment(Work work) const {
    for_each_range(segments_, parts_, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t segment = begin; segment < end; ++segment) {
        const std::uint64_t first = segment * segment_records_;
        work(segment, first, std::min<std::uint64_t>(segment_records_, problem_.count - first));
      }
    });
  }

  /// Calls record(i, category) for the records of a segment in order.
  template <class Record>
  static void for_each_record(const category_reader& categories, std::uint64_t first, std::uint64_t records,
                              Record record) {
    std::uint32_t block[block_records];
    for (std::uint64_t done = 0; done < records; done += block_records) {
      const std::uint64_t count = std::min(block_records, records - done);
      categories.read(first + done, count, block);
      for (std::uint64_t i = 0; i < count; ++i) record(first + done + i, block[i]);
    }
  }

  const split_problem& problem_;
  const split_buffers& buffers_;
  std::uint64_t segment_records_;
  std::uint64_t segments_;
  std::uint64_t parts_;
  std::uint64_t* run_begin_;
  std::uint32_t* local_scan_;
  std::byte* local_;
};

}  // namespace

plan::planned plan_basic_split(const split_problem& problem, const basic_split_form& form, const machine& machine) {
  if (const char* reason = basic_split_rejection(problem, form)) return plan::rejected(reason);
  // Instructions for a record and step, in digits (core_speed.hpp): read its category, take a counter, copy it.
  constexpr double digits_per_step = 1;
  const std::uint64_t moved = problem.count * problem.record_bytes;
  const std::uint64_t read = problem.count * problem.in_stride_bytes;
  const std::uint64_t steps = form.has_two_steps ? 3 : 2;
  plan::planned plan;
  plan.add("latency", machine.launch_seconds + static_cast<double>(steps + 1) * machine.step_seconds);
  plan.add("streamed", machine.streamed(2 * read + (form.has_two_steps ? 3 : 1) * moved, 2 * moved));
  plan.add("moving records",
           static_cast<double>(problem.count * steps) * digits_per_step * digit_seconds(machine) / machine.parallelism);
  plan.scratch_bytes = basic_split_scratch(problem, form).bytes;
  plan.by_name_only = true;
  return plan;
}

void run_basic_split(const context& ctx, const split_problem& problem, const basic_split_form& form,
                     const split_buffers& buffers, std::byte* scratch, const split_listener* listener) {
  if (problem.count == 0) return clear_offsets(buffers.offsets, problem.categories, 1);
  const auto done = [listener](split_step step) {
    if (listener != nullptr) listener->step_done(listener->state, step);
  };
  const basic_split split(ctx, problem, form, buffers, scratch);
  split.count(form.has_two_steps);
  done(split_step::count);
  split.scan();
  done(split_step::scan);
  form.has_two_steps ? split.split_segments() : split.scatter_records();
  done(split_step::local_split);
  if (!form.has_two_steps) return;
  split.copy_runs();
  done(split_step::scatter);
}

}  // namespace sheaf::cpu
