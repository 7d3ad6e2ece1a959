#include "lab/description/arrays.hpp"

#include <fmt/format.h>

#include "core/scratch_offsets.hpp"

namespace sheaf::jobs {
namespace {

std::uint64_t buffer_bytes(const array_shape& shape, std::uint64_t copies) {
  return (shape.is_shared() ? 1 : copies) * core::scratch_aligned(shape.bytes());
}

bool is_written(const array_shape& shape) {
  return shape.role == array_role::output || shape.role == array_role::in_out || shape.role == array_role::side_output;
}

}  // namespace

std::uint64_t bytes_of_arrays(const problem_spec& p, std::uint64_t copies) {
  std::uint64_t bytes = 0;
  const job& j = job_of(p);
  for (const array_shape& shape : j.shapes(p)) bytes += buffer_bytes(shape, copies);
  return j.made == nullptr ? bytes : bytes + copies * j.made->bytes(p);
}

std::uint64_t bytes_of_making(const problem_spec& p) {
  const made_object* const made = job_of(p).made;
  return made == nullptr ? 0 : made->making_bytes(p);
}

std::uint64_t problem_arrays::held_bytes() const {
  std::uint64_t bytes = 0;
  for (const buffer& each : buffers_) bytes += each.size();
  return bytes;
}

void problem_arrays::reserve(const problem_spec& p, std::uint64_t copies) {
  const array_shapes shapes = job_of(p).shapes(p);
  for (std::size_t place = 0; place < most_arrays; ++place) {
    most_bytes_[place] = std::max(most_bytes_[place], buffer_bytes(shapes[place], copies));
  }
}

void problem_arrays::allocate() {
  const auto fits = [&](std::size_t place) { return buffers_[place].size() >= most_bytes_[place]; };
  bool all_fit = true;
  for (std::size_t place = 0; place < most_arrays; ++place) all_fit = all_fit && fits(place);
  if (all_fit) return;
  // All are given back before the first is taken, so that memory for both is never needed.
  for (std::size_t place = 0; place < most_arrays; ++place) {
    if (!fits(place)) buffers_[place] = {};
  }
  for (std::size_t place = 0; place < most_arrays; ++place) {
    if (fits(place)) continue;
    buffers_[place] = buffer(ctx_, most_bytes_[place]);
    contents_[place].clear();
  }
}

// In words; empty where nothing is made.
std::string problem_arrays::kind_of_made(const problem_spec& p, std::uint64_t copies) const {
  const job& j = job_of(p);
  if (j.made == nullptr) return {};
  return fmt::format("{} copies of {} of {}", copies, j.made->kind(p), j.shapes(p)[places::source].contents);
}

void problem_arrays::make(std::uint64_t copies) {
  const std::string kind = kind_of_made(problem_, copies);
  if (kind == kind_of_all_made_) return;
  for (std::uint64_t copy = 0; copy < copies; ++copy) {
    made_.push_back(job_of(problem_).made->make(ctx_, problem_, of_copy(copy)));
  }
  kind_of_all_made_ = kind;
}

void problem_arrays::fill(const problem_spec& problem, std::uint64_t copies) {
  // Given back before buffers are taken, so that memory for both is never needed.
  if (kind_of_made(problem, copies) != kind_of_all_made_) {
    made_.clear();
    kind_of_all_made_.clear();
  }
  reserve(problem, copies);
  allocate();
  problem_ = problem;
  shapes_ = job_of(problem).shapes(problem);
  for (std::size_t place = 0; place < most_arrays; ++place) {
    if (shapes_[place].bytes() > 0) fill_place(place, copies);
  }
  make(copies);
}

void problem_arrays::fill_place(std::size_t place, std::uint64_t copies) {
  const array_shape& shape = shapes_[place];
  const std::uint64_t copies_here = shape.is_shared() ? 1 : copies;
  // Outputs are filled so that their memory is touched before a call is timed.
  const std::string contents = shape.role == array_role::input
                                   ? fmt::format("{} copies of {}", copies, shape.contents)
                                   : fmt::format("{} times {} bytes written", copies_here, shape.bytes());
  if (contents == contents_[place] && shape.role != array_role::in_out) return;
  for (std::uint64_t copy = 0; copy < copies_here; ++copy) jobs::fill(ctx_, problem_, copy, place, at(copy, place));
  contents_[place] = contents;
}

records problem_arrays::at(std::uint64_t copy, std::size_t place) const {
  const array_shape& shape = shapes_[place];
  std::byte* const first = buffers_[place].data();
  const std::uint64_t skipped = shape.is_shared() ? 0 : copy * core::scratch_aligned(shape.bytes());
  return {shape.count == 0 ? nullptr : first + skipped, shape.count, shape.item_bytes};
}

array_set problem_arrays::of_copy(std::uint64_t copy) const {
  array_set all;
  for (std::size_t place = 0; place < most_arrays; ++place) all[place] = at(copy, place);
  if (copy < made_.size()) all.made = made_[copy];
  return all;
}

void problem_arrays::reset_outputs() const {
  for (std::size_t place = 0; place < most_arrays; ++place) {
    if (is_written(shapes_[place]) && shapes_[place].bytes() > 0) jobs::fill(ctx_, problem_, 0, place, at(0, place));
  }
}

std::uint64_t problem_arrays::count_mistakes(bool with_side_outputs) const {
  return jobs::count_mistakes(ctx_, problem_, of_copy(0), with_side_outputs);
}

}  // namespace sheaf::jobs
