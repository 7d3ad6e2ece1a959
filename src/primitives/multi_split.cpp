#include <algorithm>

#include <sheaf/gather.hpp>
#include <sheaf/split.hpp>

#include "core/context_state.hpp"
#include "plan/choose.hpp"
#include "primitives/split.hpp"
#include "primitives/views.hpp"

// A record in several categories is a split of its memberships: each entry becomes the number of its record, the
// numbers are split by category, and the records are gathered by them.
namespace sheaf {
namespace primitives {
namespace {

constexpr std::string_view call = "multi_split";

void require_membership(const context& ctx, const membership& of, std::uint64_t records) {
  if (of.first.size() != records + 1) {
    refuse("{}: first has {} values, not {} for {} records", call, of.first.size(), records + 1, records);
  }
  require_shape(call, of.category, "category");
  require_memory(call, ctx, of.first.data(), of.first.size_bytes(), "first");
  require_aligned(call, of.first.data(), 8, "first");
  require_memory(call, ctx, of.category.data, extent(of.category), "category");
}

void expand(const context& ctx, const membership& of, index_type type, void* owners) {
  const expand_problem p{ctx.backend(), of.first.size() - 1, of.category.count, type};
  const auto [variant, plan] = plan::choose("expand_rows", expand_variants(), p, ctx, "");
  variant->run(ctx, p, plan, {of.first.data(), owners});
}

// Splits the record numbers of all entries into `sources`.
void split_sources(const context& ctx, const membership& of, index_output sources, std::span<std::uint64_t> offsets,
                   const split_options& options) {
  const std::uint64_t width = bytes(sources.type);
  const std::uint64_t entries = of.category.count;
  const core::scratch owners(ctx.state(), std::max<std::uint64_t>(1, entries * width));
  if (entries > 0) expand(ctx, of, sources.type, owners.as<void>());
  split(ctx, const_records(owners.as<void>(), entries, width), split_key::category(of.category, of.categories),
        records(sources.data, entries, width), offsets, options);
}

void require_sources(const context& ctx, const membership& of, index_output sources) {
  if (sources.count != of.category.count) {
    refuse("{}: sources has {} entries, but there are {} memberships", call, sources.count, of.category.count);
  }
  require_index_output(call, ctx, sources, "sources", of.first.size() - 1);
}

}  // namespace
}  // namespace primitives

void multi_split_index(const context& ctx, const membership& of, index_output sources,
                       std::span<std::uint64_t> offsets, const split_options& options) {
  using namespace primitives;
  if (of.first.empty()) refuse("{}: first is empty; it has one value more than there are records", call);
  require_membership(ctx, of, of.first.size() - 1);
  require_sources(ctx, of, sources);
  split_sources(ctx, of, sources, offsets, options);
}

void multi_split(const context& ctx, const_records in, const membership& of, records out, index_output sources,
                 std::span<std::uint64_t> offsets, const split_options& options) {
  using namespace primitives;
  require_shape(call, in, "in");
  require_shape(call, out, "out");
  require_membership(ctx, of, in.count);
  if (in.record_bytes != out.record_bytes) {
    refuse("{}: in has records of {} bytes, out of {}", call, in.record_bytes, out.record_bytes);
  }
  if (out.count != of.category.count) {
    refuse("{}: out has {} records, but there are {} memberships", call, out.count, of.category.count);
  }
  const bool wants_sources = sources.count != 0 || sources.data != nullptr;
  if (wants_sources) require_sources(ctx, of, sources);
  const index_type type = in.count > (std::uint64_t{1} << 32) - 1 ? index_type::u64 : index_type::u32;
  const std::uint64_t own_bytes = wants_sources ? 0 : out.count * bytes(type);
  const core::scratch own(ctx.state(), std::max<std::uint64_t>(1, own_bytes));
  if (!wants_sources) sources = {own.as<void>(), out.count, type};
  split_sources(ctx, of, sources, offsets, options);
  gather(ctx, in, sources, out);
}

}  // namespace sheaf
