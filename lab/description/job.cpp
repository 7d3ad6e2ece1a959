#include "lab/description/job.hpp"

#include <fmt/format.h>

#include "lab/description/items.hpp"

namespace sheaf::jobs {
namespace {

std::uint64_t bytes_of(const records& array) { return array.count * array.record_bytes; }

}  // namespace

const job& job_of(const problem_spec& p) { return *primitives::entry_of(p).job; }

problem_spec problem_of(const sample& s, std::uint64_t count) {
  problem_spec p = primitives::parse_problem(fmt::format("{}/n={}", s.name, count));
  p.access = hint(p);
  return p;
}

std::uint64_t bytes_of_copy(const array_shapes& shapes) noexcept {
  std::uint64_t bytes = 0;
  for (const array_shape& shape : shapes) bytes += shape.is_shared() ? 0 : shape.bytes();
  return bytes;
}

void fill(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  if (!has_item_loops(ctx.backend())) return fill_through_host(ctx, p, copy, place, array);
  job_of(p).fill(ctx, p, copy, place, array);
}

std::uint64_t count_mistakes(const context& ctx, const problem_spec& p, const array_set& arrays,
                             bool with_side_outputs) {
  if (!has_item_loops(ctx.backend())) return count_mistakes_through_host(ctx, p, arrays, with_side_outputs);
  return job_of(p).count_mistakes(ctx, p, arrays, with_side_outputs);
}

void fill_through_host(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place,
                       records array) {
  const context host = context::cpu();
  const buffer staging(host, bytes_of(array));
  job_of(p).fill(host, p, copy, place, {staging.data(), array.count, array.record_bytes});
  copy_bytes(ctx, array.data, staging.data(), bytes_of(array));
}

std::uint64_t count_mistakes_through_host(const context& ctx, const problem_spec& problem, const array_set& arrays,
                                          bool with_side_outputs) {
  const context host = context::cpu();
  std::array<buffer, most_arrays> staging;
  array_set copies{};
  for (std::size_t place = 0; place < most_arrays; ++place) {
    const std::uint64_t bytes = bytes_of(arrays[place]);
    if (bytes == 0) continue;
    staging[place] = buffer(host, bytes);
    copy_bytes(ctx, staging[place].data(), arrays[place].data, bytes);
    copies[place] = {staging[place].data(), arrays[place].count, arrays[place].record_bytes};
  }
  return job_of(problem).count_mistakes(host, problem, copies, with_side_outputs);
}

}  // namespace sheaf::jobs
