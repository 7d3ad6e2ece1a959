#include "primitives/split/multi_contract.hpp"

#include <limits>

#include "core/scratch_offsets.hpp"
#include "primitives/views.hpp"

namespace sheaf {
namespace primitives {
namespace {

constexpr std::string_view multi_split_call = "multi_split";

struct named_array {
  const void* data;
  std::uint64_t bytes;
  std::string_view name;
};

void require_no_overlap(std::initializer_list<named_array> written, std::initializer_list<named_array> read) {
  for (const named_array& array : written) {
    for (const named_array& r : read)
      primitives::require_no_overlap(multi_split_call, array.data, array.bytes, array.name, r.data, r.bytes, r.name);
    for (const named_array& other : written) {
      if (&other == &array) break;
      primitives::require_no_overlap(multi_split_call, other.data, other.bytes, other.name, array.data, array.bytes,
                                     array.name);
    }
  }
}

named_array named(const membership& of) { return {of.first.data(), of.first.size_bytes(), "first"}; }
named_array named(const_records r, std::string_view name) { return {r.data, extent(r), name}; }
named_array named(index_output i) { return {i.data, i.count * bytes(i.type), "sources"}; }
named_array named(std::span<std::uint64_t> offsets) { return {offsets.data(), offsets.size_bytes(), "offsets"}; }

void require_membership(const context& ctx, const membership& of, std::uint64_t records,
                        std::span<std::uint64_t> offsets) {
  if (of.first.size() != records + 1) {
    refuse("{}: first has {} values, not {} for {} records", multi_split_call, of.first.size(), records + 1, records);
  }
  if (of.first.size() > std::numeric_limits<std::uint64_t>::max() / 16) {
    refuse("{}: first has {} values, more than memory can hold", multi_split_call, of.first.size());
  }
  require_shape(multi_split_call, of.category, "category");
  require_categories(multi_split_call, of.category, of.categories);
  require_memory(multi_split_call, ctx, of.first.data(), of.first.size_bytes(), "first");
  require_aligned(multi_split_call, of.first.data(), 8, "first");
  require_memory(multi_split_call, ctx, of.category.data, extent(of.category), "category");
  require_offsets(multi_split_call, ctx, of.categories, offsets);
}

[[noreturn]] void throw_no_plan(const context& ctx, const multi_split_problem& problem, std::string_view forced_split) {
  plan::scope unlimited = plan::scope_of(ctx);
  unlimited.scratch_limit = plan::no_scratch_limit;
  if (const auto plan = plan_multi_split(problem, unlimited, forced_split)) {
    plan::throw_out_of_scratch(multi_split_call, plan->split.variant->name, plan->scratch_bytes,
                               ctx.state().scratch_limit());
  }
  plan::throw_no_choice(multi_split_call, split_variants(), problem.split, ctx.backend(), plan::scope_of(ctx),
                        plan::forced_name("split", forced_split, &ctx.state()));
}

// Splits the record numbers of all entries by category, into `sources` or scratch, and gathers `in` by them where
// problem.gather says so. All scratch is taken before anything runs; where there is less, calls that need less are
// planned.
void run_calls(const context& ctx, const multi_split_problem& problem, const membership& of, index_output sources,
               std::span<std::uint64_t> offsets, std::string_view forced_split, const_records in, records out) {
  if (problem.rows.entries == 0 && offsets.empty()) return;
  plan::scope scope = plan::scope_of(ctx);
  std::optional<multi_split_plan> calls = plan_multi_split(problem, scope, forced_split);
  if (!calls) throw_no_plan(ctx, problem, forced_split);
  core::scratch memory(ctx.state(), calls->scratch_bytes);
  while (!memory.is_taken()) {
    scope.scratch_limit = calls->scratch_bytes - 1;
    calls = plan_multi_split(problem, scope, forced_split);
    if (!calls) memory.throw_not_taken(multi_split_call);
    memory = core::scratch(ctx.state(), calls->scratch_bytes);
  }
  const std::uint64_t entries = problem.rows.entries;
  const std::uint64_t width = bytes(problem.rows.index);
  std::byte* const rows = memory.data();
  std::byte* const scratch = rows + calls->scratch;
  if (problem.has_own_sources) {
    sources = {rows + calls->sources, entries, problem.rows.index};
    // A split leaves entries out whose category is bad. Their places keep an index that names no record.
    if (entries > 0 && problem.split.checks_category()) ctx.state().fill(sources.data, 0xff, entries * width);
  }
  if (entries > 0) calls->rows.variant->run(ctx, problem.rows, calls->rows.plan, {of.first.data(), rows}, scratch);
  calls->split.variant->run(ctx, problem.split, calls->split.plan,
                            {.in = const_records(rows, entries, width),
                             .keys = of.category,
                             .out = records(sources.data, entries, width),
                             .index = {},
                             .offsets = offsets.empty() ? nullptr : offsets.data()},
                            scratch);
  if (!problem.gather || entries == 0) return;
  calls->gather.variant->run(ctx, *problem.gather, calls->gather.plan,
                             {in, index_span(sources.data, entries, sources.type), out}, scratch);
}

multi_split_problem problem_of(const context& ctx, const membership& of, index_output sources, index_type type) {
  const std::uint64_t entries = of.category.count;
  multi_split_problem problem;
  problem.rows = {ctx.backend(), of.first.size() - 1, entries, type};
  problem.split =
      describe_split(ctx, const_records(nullptr, entries, bytes(type)), split_key::category(of.category, of.categories),
                     records(sources.data, entries, bytes(type)),
                     /*stable=*/true);
  problem.has_own_sources = sources.count == 0 && entries > 0;
  return problem;
}

void require_sources(const context& ctx, const membership& of, index_output sources) {
  if (sources.count != of.category.count) {
    refuse("{}: sources has {} entries, but there are {} memberships", multi_split_call, sources.count,
           of.category.count);
  }
  require_index_output(multi_split_call, ctx, sources, "sources", of.first.size() - 1);
}

}  // namespace

std::optional<multi_split_plan> plan_multi_split(const multi_split_problem& problem, const plan::scope& in,
                                                 std::string_view forced_split) {
  const backend_kind backend = problem.rows.backend;
  core::scratch_offsets arrays;
  arrays.take(problem.rows.entries * bytes(problem.rows.index));
  multi_split_plan calls;
  calls.sources = arrays.bytes();
  if (problem.has_own_sources) arrays.take(problem.rows.entries * bytes(problem.rows.index));
  calls.scratch = arrays.bytes();
  if (calls.scratch > in.scratch_limit) return std::nullopt;
  const plan::scope inside = plan::inner_scope(in, calls.scratch);
  calls.rows = plan::cheapest(row_of_entry_variants(), problem.rows, backend, inside);
  calls.split = plan::cheapest(split_variants(), problem.split, backend, inside,
                               plan::forced_name("split", forced_split, in.context));
  if (calls.rows.variant == nullptr || calls.split.variant == nullptr) return std::nullopt;
  std::uint64_t most = std::max(calls.rows.plan.scratch_bytes, calls.split.plan.scratch_bytes);
  if (problem.gather) {
    calls.gather = plan::cheapest(gather_variants(), *problem.gather, backend, inside,
                                  plan::forced_name("gather", {}, in.context));
    if (calls.gather.variant == nullptr) return std::nullopt;
    most = std::max(most, calls.gather.plan.scratch_bytes);
  }
  calls.scratch_bytes = calls.scratch + most;
  return calls;
}

}  // namespace primitives

void multi_split_index(const context& ctx, const membership& of, index_output sources, std::span<std::uint64_t> offsets,
                       const split_options& options) {
  using namespace primitives;
  if (of.first.empty()) refuse("{}: first is empty; it needs one value more than there are records", multi_split_call);
  require_membership(ctx, of, of.first.size() - 1, offsets);
  require_sources(ctx, of, sources);
  require_no_overlap({named(sources), named(offsets)}, {named(of), named(of.category, "category")});
  run_calls(ctx, problem_of(ctx, of, sources, sources.type), of, sources, offsets, options.variant, {}, {});
}

void multi_split(const context& ctx, const_records in, const membership& of, records out, index_output sources,
                 std::span<std::uint64_t> offsets, const split_options& options) {
  using namespace primitives;
  require_shape(multi_split_call, in, "in");
  require_shape(multi_split_call, out, "out");
  require_membership(ctx, of, in.count, offsets);
  if (in.record_bytes != out.record_bytes) {
    refuse("{}: in has records of {} bytes, but out has {}", multi_split_call, in.record_bytes, out.record_bytes);
  }
  if (out.count != of.category.count) {
    refuse("{}: out has {} records, but there are {} memberships", multi_split_call, out.count, of.category.count);
  }
  const bool wants_sources = sources.count != 0;
  if (wants_sources) require_sources(ctx, of, sources);
  require_memory(multi_split_call, ctx, in.data, extent(in), "in");
  require_memory(multi_split_call, ctx, out.data, extent(out), "out");
  require_no_overlap({named(out, "out"), named(sources), named(offsets)},
                     {named(in, "in"), named(of), named(of.category, "category")});
  const index_type narrowest = in.count > (std::uint64_t{1} << 32) - 1 ? index_type::u64 : index_type::u32;
  multi_split_problem p = problem_of(ctx, of, sources, wants_sources ? sources.type : narrowest);
  const index_span order(sources.data, out.count, p.rows.index);
  p.gather = describe_gather(ctx, in, order, out);
  run_calls(ctx, p, of, sources, offsets, options.variant, in, out);
}

}  // namespace sheaf
