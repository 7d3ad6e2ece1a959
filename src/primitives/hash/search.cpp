#include "primitives/hash/search.hpp"

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/views.hpp"

namespace sheaf {
namespace primitives {

std::span<const hash_search_variant> hash_search_variants() { return list_of<hash_search_variant>(); }

namespace {

constexpr std::string_view search_call = "hash_search";
constexpr std::string_view into_call = "hash_search_into";
constexpr std::string_view count_call = "hash_count";
constexpr std::string_view contains_call = "hash_contains";
constexpr std::string_view find_call = "hash_find";

/// The table of an index that this context can search.
const hash_table& table_for(std::string_view call, const context& ctx, const hash_index& index) {
  if (index.was_moved_from()) {
    refuse("{}: the index was moved from; another object holds its contents now", call);
  }
  const hash_facts& facts = index.table().facts;
  if (facts.backend != ctx.backend()) {
    refuse("{}: the index was built on {}, but the context works on {}", call, name(facts.backend),
           name(ctx.backend()));
  }
  if (facts.device != ctx.device()) {
    refuse("{}: the index was built on device {}, but the context works on device {}", call, facts.device,
           ctx.device());
  }
  return index.table();
}

hash_search_problem describe(std::string_view call, const context& ctx, const hash_index& index, const_records probes,
                             hash_output output, std::uint64_t out_bytes) {
  hash_search_problem problem;
  problem.index = table_for(call, ctx, index).facts;
  require_shape(call, probes, "probes");
  if (probes.record_bytes != problem.index.key_bytes) {
    refuse("{}: probes of {} bytes, but the index has keys of {}", call, probes.record_bytes, problem.index.key_bytes);
  }
  if (probes.count > most_hash_keys) refuse("{}: {} probes are more than memory can hold", call, probes.count);
  problem.output = output;
  problem.probes = probes.count;
  problem.probe_stride_bytes = probes.stride_bytes;
  problem.out_bytes = out_bytes;
  return problem;
}

hash_search_problem describe_find(const context& ctx, const hash_index& index, const_records probes) {
  hash_search_problem p = describe(find_call, ctx, index, probes, hash_output::first, 0);
  p.out_bytes = bytes(p.index.id);
  return p;
}

/// An output has one entry for each probe.
void require_length(std::string_view call, std::uint64_t count, std::string_view what, const_records probes) {
  if (count != probes.count) refuse("{}: {} has {} entries for {} probes", call, what, count, probes.count);
}

void require_apart(std::string_view call, const void* out, std::uint64_t out_bytes, std::string_view what,
                   const_records probes) {
  require_no_overlap(call, out, out_bytes, what, probes.data, extent(probes), "probes");
}

/// Entries that are as wide as record numbers of the index, and hold all of them.
void require_ids(std::string_view call, index_output ids, const hash_facts& facts) {
  require_index_type(call, ids.type, "ids");
  if (bytes(ids.type) != bytes(facts.id)) {
    refuse("{}: ids has entries of {} bytes, but record numbers of the index have {}", call, bytes(ids.type),
           bytes(facts.id));
  }
  require_index_width(call, ids.type, "ids", facts.records);
}

void require_counts(index_output counts, const hash_index& index, const_records probes) {
  require_length(count_call, counts.count, "counts", probes);
  require_index_width(count_call, counts.type, "counts", index.longest_chain());
}

/// Runs a search that has something to look for, in an index that has something to find. Else the output is the same
/// byte throughout.
void run(std::string_view call, const context& ctx, const hash_search_problem& problem,
         const hash_search_buffers& buffers, std::uint64_t all_out_bytes, unsigned char byte_of_none,
         const hash_search_options& options) {
  if (problem.probes == 0 || problem.index.records == 0) {
    // Refuses a variant that there is not.
    if (!options.variant.empty()) plan::choose(call, hash_search_variants(), problem, ctx, options.variant);
    ctx.state().fill(buffers.out, byte_of_none, all_out_bytes);
    return;
  }
  plan::execute(call, hash_search_variants(), problem, ctx, options.variant, buffers);
}

explanation explain(std::string_view call, const context& ctx, const hash_search_problem& p,
                    const hash_search_options& options) {
  return plan::explain(call, hash_search_variants(), p, ctx, options.variant);
}

constexpr std::uint64_t offset_bytes = 8;

/// Bytes of so many entries; more than any memory has where they are past 2^64.
constexpr std::uint64_t bytes_of(std::uint64_t entries, std::uint64_t width) {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  return entries > most / width ? most : entries * width;
}

}  // namespace
}  // namespace primitives

using namespace primitives;

hash_matches hash_search(const context& ctx, const hash_index& index, const_records probes,
                         const hash_search_options& options) {
  const hash_search_problem problem = describe(search_call, ctx, index, probes, hash_output::matches, offset_bytes);
  require_memory(search_call, ctx, probes.data, extent(probes), "probes");
  hash_matches found;
  found.probes = probes.count;
  found.id_type = problem.index.id;
  const std::uint64_t all_offsets = bytes_of(probes.count + 1, offset_bytes);
  found.offset_memory = hash_memory(ctx, search_call, fmt::format("offsets of {} probes", probes.count), all_offsets);
  const std::function<hash_match_room(std::uint64_t)> make_room = [&](std::uint64_t total) -> hash_match_room {
    found.total = total;
    found.id_memory =
        hash_memory(ctx, search_call, fmt::format("{} matches", total), bytes_of(total, bytes(problem.index.id)));
    return {found.id_memory.data(), total};
  };
  run(search_call, ctx, problem, {&index.table(), probes, found.offset_memory.data(), &make_room}, all_offsets, 0,
      options);
  return found;
}

std::uint64_t hash_search_into(const context& ctx, const hash_index& index, const_records probes, index_output offsets,
                               index_output ids, const hash_search_options& options) {
  const hash_search_problem problem = describe(into_call, ctx, index, probes, hash_output::matches, offset_bytes);
  if (offsets.type != index_type::u64) refuse("{}: offsets is not of type u64", into_call);
  if (offsets.count != probes.count + 1) {
    refuse("{}: offsets has {} entries for {} probes, not one more", into_call, offsets.count, probes.count);
  }
  require_ids(into_call, ids, problem.index);
  require_memory(into_call, ctx, probes.data, extent(probes), "probes");
  require_index_output(into_call, ctx, offsets, "offsets", 0);
  require_index_output(into_call, ctx, ids, "ids", problem.index.records);
  const std::uint64_t all_offsets = offsets.count * offset_bytes;
  const std::uint64_t all_ids = ids.count * bytes(ids.type);
  require_apart(into_call, offsets.data, all_offsets, "offsets", probes);
  require_apart(into_call, ids.data, all_ids, "ids", probes);
  require_no_overlap(into_call, ids.data, all_ids, "ids", offsets.data, all_offsets, "offsets");
  std::uint64_t matches = 0;
  const std::function<hash_match_room(std::uint64_t)> make_room = [&](std::uint64_t total) -> hash_match_room {
    matches = total;
    return {ids.data, ids.count};
  };
  run(search_call, ctx, problem, {&index.table(), probes, offsets.data, &make_room}, all_offsets, 0, options);
  return matches;
}

void hash_count(const context& ctx, const hash_index& index, const_records probes, index_output counts,
                const hash_search_options& options) {
  require_index_type(count_call, counts.type, "counts");
  const hash_search_problem problem = describe(count_call, ctx, index, probes, hash_output::counts, bytes(counts.type));
  require_counts(counts, index, probes);
  require_memory(count_call, ctx, probes.data, extent(probes), "probes");
  require_index_output(count_call, ctx, counts, "counts", 0);
  const std::uint64_t all = counts.count * problem.out_bytes;
  require_apart(count_call, counts.data, all, "counts", probes);
  run(count_call, ctx, problem, {&index.table(), probes, counts.data}, all, 0, options);
}

void hash_contains(const context& ctx, const hash_index& index, const_records probes, records found,
                   const hash_search_options& options) {
  const hash_search_problem problem = describe(contains_call, ctx, index, probes, hash_output::contains, 1);
  if (found.record_bytes != 1 || found.stride_bytes != 1) {
    refuse("{}: found has records of {} bytes, {} bytes apart, not bytes side by side", contains_call,
           found.record_bytes, found.stride_bytes);
  }
  require_length(contains_call, found.count, "found", probes);
  require_memory(contains_call, ctx, probes.data, extent(probes), "probes");
  require_memory(contains_call, ctx, found.data, found.count, "found");
  require_apart(contains_call, found.data, found.count, "found", probes);
  run(contains_call, ctx, problem, {&index.table(), probes, found.data}, found.count, 0, options);
}

void hash_find(const context& ctx, const hash_index& index, const_records probes, index_output ids,
               const hash_search_options& options) {
  const hash_search_problem problem = describe_find(ctx, index, probes);
  require_length(find_call, ids.count, "ids", probes);
  require_ids(find_call, ids, problem.index);
  require_memory(find_call, ctx, probes.data, extent(probes), "probes");
  require_index_output(find_call, ctx, ids, "ids", problem.index.records);
  const std::uint64_t all = ids.count * problem.out_bytes;
  require_apart(find_call, ids.data, all, "ids", probes);
  run(find_call, ctx, problem, {&index.table(), probes, ids.data}, all, 0xff, options);
}

explanation explain_hash_search(const context& ctx, const hash_index& index, const_records probes,
                                const hash_search_options& options) {
  return explain(search_call, ctx, describe(search_call, ctx, index, probes, hash_output::matches, offset_bytes),
                 options);
}

explanation explain_hash_count(const context& ctx, const hash_index& index, const_records probes, index_output counts,
                               const hash_search_options& options) {
  require_index_type(count_call, counts.type, "counts");
  const hash_search_problem p = describe(count_call, ctx, index, probes, hash_output::counts, bytes(counts.type));
  require_counts(counts, index, probes);
  return explain(count_call, ctx, p, options);
}

explanation explain_hash_contains(const context& ctx, const hash_index& index, const_records probes,
                                  const hash_search_options& options) {
  return explain(contains_call, ctx, describe(contains_call, ctx, index, probes, hash_output::contains, 1), options);
}

explanation explain_hash_find(const context& ctx, const hash_index& index, const_records probes,
                              const hash_search_options& options) {
  return explain(find_call, ctx, describe_find(ctx, index, probes), options);
}

}  // namespace sheaf
