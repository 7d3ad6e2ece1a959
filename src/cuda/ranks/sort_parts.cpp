#include "core/scratch_offsets.hpp"
#include "cuda/device/state.hpp"
#include "cuda/ranks/steps.hpp"
#include "cuda/sort/by_words.hpp"
#include "cuda/sort/radix/parts.hpp"

// Rows that lie in parts are words, as they are where they are sorted alone or with one array of values.
namespace sheaf::cuda {
namespace {

using namespace primitives;

sorted_array array_of(const const_records& in, const records& out) {
  sorted_array array;
  array.record_bytes = in.record_bytes;
  array.in_stride_bytes = in.stride_bytes;
  array.out_stride_bytes = out.stride_bytes;
  array.access_bytes = static_cast<std::uint32_t>(in.record_bytes);
  return array;
}

bool lie_as_words(const const_records& in, const records& out) {
  return are_words(in) && out.data != nullptr && are_words(out);
}

/// Whether kernels of sorts in parts take such rows.
bool takes(const rows_in_parts& p) {
  const std::uint64_t count = p.in.front().count;
  if (count < least_words_in_parts || count >= sorted_words_limit || p.in.size() > 2) return false;
  for (std::size_t a = 0; a < p.in.size(); ++a) {
    if (!lie_as_words(p.in[a], p.out[a])) return false;
  }
  const key_field& field = p.key.fields[0];
  return p.key.count == 1 && field.type != key_type::bytes && field.bytes == p.in.front().record_bytes &&
         bits_of(field) == 8 * field.bytes;
}

}  // namespace

bool sort_rows_in_parts(const context& ctx, const rows_in_parts& p) {
  if (p.have_one_key && p.run_count > 0) {
    copy_runs(ctx, p);
    return true;
  }
  if (!takes(p)) return false;
  sort_problem problem;
  problem.backend = backend_kind::cuda;
  problem.count = p.in.front().count;
  problem.key.fields[0] = p.key.fields[0];
  problem.key.field_count = 1;
  problem.key.bits = bits_of(p.key.fields[0]);
  problem.rows = array_of(p.in.front(), p.out.front());
  if (p.in.size() > 1) problem.columns[problem.column_count++] = array_of(p.in[1], p.out[1]);
  sort_buffers buffers;
  buffers.in = p.in.front();
  buffers.out = p.out.front();
  const word_encoding encoding = encoding_of(problem);
  word_sort sort = word_sort_of(problem, encoding, sort_method::sample, problem.key.bits);
  const words_in_parts list{p.parts, p.part_count, p.runs, p.run_count};
  const std::uint64_t word_bytes = problem.count * encoding.word_bytes();
  const std::uint64_t value_bytes = problem.count * sort.value_bytes;
  const std::uint64_t bytes =
      word_bytes + value_bytes + 2 * core::scratch_alignment + part_sort_scratch_bytes(sort, list);
  if (bytes > ctx.state().scratch_limit()) return false;
  const run_scope scope(ctx, "sort in parts");
  const core::scratch scratch(ctx.state(), bytes);
  if (!scratch.is_taken()) scratch.throw_not_taken("sort in parts");
  core::scratch_arrays arrays(scratch.data());
  sort.buffers[1] = arrays.take<std::byte>(word_bytes);
  sort.buffers[2] = p.out.front().data;
  if (sort.value_bytes > 0) {
    sort.values[0] = const_cast<std::byte*>(p.in[1].data);
    sort.values[1] = arrays.take<std::byte>(value_bytes);
    sort.values[2] = sort.values_to = p.out[1].data;
  }
  if (encoding.rows_are_words) {
    sort.buffers[0] = const_cast<std::byte*>(p.in.front().data);
    sort.target.words = p.out.front().data;
  } else {
    set_rows_and_target(problem, encoding, buffers, sort);
  }
  sort_in_parts(ctx, sort, list, arrays.rest());
  return true;
}

}  // namespace sheaf::cuda
