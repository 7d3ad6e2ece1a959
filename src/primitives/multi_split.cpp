#include <algorithm>
#include <initializer_list>
#include <limits>

#include <sheaf/gather.hpp>
#include <sheaf/split.hpp>

#include "core/context_state.hpp"
#include "plan/choose.hpp"
#include "primitives/split.hpp"
#include "primitives/views.hpp"

// A split of records that belong to several categories, in three steps: each entry of the membership gets the number of
// its record (row_of_entry), the numbers are split by category, and the records are gathered by the numbers.
namespace sheaf {
namespace primitives {
namespace {

constexpr std::string_view call = "multi_split";

struct named_array {
  const void* data;
  std::uint64_t bytes;
  std::string_view name;
};

void require_no_overlap(std::initializer_list<named_array> written, std::initializer_list<named_array> read) {
  for (const named_array& w : written) {
    for (const named_array& r : read)
      primitives::require_no_overlap(call, w.data, w.bytes, w.name, r.data, r.bytes, r.name);
    for (const named_array& other : written) {
      if (&other == &w) break;
      primitives::require_no_overlap(call, other.data, other.bytes, other.name, w.data, w.bytes, w.name);
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
    refuse("{}: first has {} values, not {} for {} records", call, of.first.size(), records + 1, records);
  }
  if (of.first.size() > std::numeric_limits<std::uint64_t>::max() / 16) {
    refuse("{}: first has {} values, more than memory can hold", call, of.first.size());
  }
  require_shape(call, of.category, "category");
  require_categories(call, of.category, of.categories);
  require_memory(call, ctx, of.first.data(), of.first.size_bytes(), "first");
  require_aligned(call, of.first.data(), 8, "first");
  require_memory(call, ctx, of.category.data, extent(of.category), "category");
  require_offsets(call, ctx, of.categories, offsets);
}

void find_row_of_entries(const context& ctx, const membership& of, index_type type, void* row_of_entry) {
  const row_of_entry_problem p{ctx.backend(), of.first.size() - 1, of.category.count, type};
  const auto [variant, plan] = plan::choose("row_of_entry", row_of_entry_variants(), p, ctx, "");
  variant->run(ctx, p, plan, {of.first.data(), row_of_entry});
}

// Splits the record numbers of all entries by category, into `sources`.
void split_sources(const context& ctx, const membership& of, index_output sources, std::span<std::uint64_t> offsets,
                   const split_options& options) {
  const std::uint64_t width = bytes(sources.type);
  const std::uint64_t entries = of.category.count;
  const core::scratch row_of_entry(ctx.state(), std::max<std::uint64_t>(1, entries * width));
  if (entries > 0) find_row_of_entries(ctx, of, sources.type, row_of_entry.as<void>());
  split(ctx, const_records(row_of_entry.as<void>(), entries, width), split_key::category(of.category, of.categories),
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

void multi_split_index(const context& ctx, const membership& of, index_output sources, std::span<std::uint64_t> offsets,
                       const split_options& options) {
  using namespace primitives;
  if (of.first.empty()) refuse("{}: first is empty; it has one value more than there are records", call);
  require_membership(ctx, of, of.first.size() - 1, offsets);
  require_sources(ctx, of, sources);
  require_no_overlap({named(sources), named(offsets)}, {named(of), named(of.category, "category")});
  split_sources(ctx, of, sources, offsets, options);
}

void multi_split(const context& ctx, const_records in, const membership& of, records out, index_output sources,
                 std::span<std::uint64_t> offsets, const split_options& options) {
  using namespace primitives;
  require_shape(call, in, "in");
  require_shape(call, out, "out");
  require_membership(ctx, of, in.count, offsets);
  if (in.record_bytes != out.record_bytes) {
    refuse("{}: in has records of {} bytes, out of {}", call, in.record_bytes, out.record_bytes);
  }
  if (out.count != of.category.count) {
    refuse("{}: out has {} records, but there are {} memberships", call, out.count, of.category.count);
  }
  const bool wants_sources = sources.count != 0;
  if (wants_sources) require_sources(ctx, of, sources);
  require_memory(call, ctx, in.data, extent(in), "in");
  require_memory(call, ctx, out.data, extent(out), "out");
  require_no_overlap({named(out, "out"), named(sources), named(offsets)},
                     {named(in, "in"), named(of), named(of.category, "category")});
  const index_type type = in.count > (std::uint64_t{1} << 32) - 1 ? index_type::u64 : index_type::u32;
  const std::uint64_t own_bytes = wants_sources ? 0 : out.count * bytes(type);
  const core::scratch own(ctx.state(), std::max<std::uint64_t>(1, own_bytes));
  if (!wants_sources) {
    sources = {own.as<void>(), out.count, type};
    // A split leaves entries out whose category is bad. Their places keep an index that names no record.
    if (own_bytes > 0 && of.categories < std::uint64_t{1} << (8 * of.category.record_bytes)) {
      ctx.state().fill(sources.data, 0xff, own_bytes);
    }
  }
  split_sources(ctx, of, sources, offsets, options);
  gather(ctx, in, sources, out);
}

}  // namespace sheaf
