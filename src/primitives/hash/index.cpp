#include "core/host_pool.hpp"
#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/views.hpp"

// Indices of keys: the object and its build.
namespace sheaf {
namespace primitives {

std::span<const hash_build_variant> hash_build_variants() { return list_of<hash_build_variant>(); }

namespace {

/// Whether the host has memory for what its pool would lend, filled or not. Other resources know what they have.
bool may_be_filled(const context& ctx, std::uint64_t bytes, std::uint64_t (*available_bytes)()) {
  constexpr std::uint64_t small_bytes = std::uint64_t{1} << 26;  // to ask the system takes longer than to fill a few
  const memory_resource& memory = ctx.state().memory;
  if (bytes < small_bytes || memory.allocate != core::host_pool::allocate_from) return true;
  return static_cast<core::host_pool*>(memory.state)->has_room_for(bytes, available_bytes);
}

}  // namespace

buffer hash_memory(const context& ctx, std::string_view call, const std::string& what, std::uint64_t bytes,
                   std::uint64_t (*available_bytes)()) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 60;  // resources round up to what they hand out
  try {
    if (bytes <= most_bytes && may_be_filled(ctx, bytes, available_bytes)) return {ctx, bytes};
  } catch (const error& e) {
    if (e.code() != error_code::out_of_memory) throw;
  }
  throw error(error_code::out_of_memory, fmt::format("{}: {} take {} bytes of {} memory, which are not available", call,
                                                     what, bytes, name(ctx.backend())));
}

std::string words_of_index(std::uint64_t records, std::uint64_t distinct) {
  return fmt::format("{} distinct keys of {} records", distinct, records);
}

namespace {

constexpr double least_load = 0.05;
constexpr double most_load = 0.99;

/// The index of no records, on every backend. Calls answer for it without a variant.
class empty_table final : public hash_table {
 public:
  std::uint64_t bytes() const noexcept override { return 0; }
};

hash_build_problem describe_build(const context& ctx, const_records keys, const hash_build_options& options) {
  require_shape(hash_build_call, keys, "keys");
  if (keys.record_bytes != 4 && keys.record_bytes != 8) {
    refuse("{}: keys of {} bytes, not 4 or 8", hash_build_call, keys.record_bytes);
  }
  if (keys.count > most_hash_keys) refuse("{}: {} keys are more than memory can hold", hash_build_call, keys.count);
  if (options.load != 0 && !(options.load >= least_load && options.load <= most_load)) {
    refuse("{}: a load of {}, not 0 or {} to {}", hash_build_call, options.load, least_load, most_load);
  }
  hash_build_problem problem;
  problem.backend = ctx.backend();
  problem.count = keys.count;
  problem.key_bytes = keys.record_bytes;
  problem.key_stride_bytes = keys.stride_bytes;
  problem.id = keys.count < std::uint64_t{1} << 32 ? index_type::u32 : index_type::u64;
  problem.load = options.load;
  return problem;
}

}  // namespace
}  // namespace primitives

using namespace primitives;

hash_index::hash_index(std::unique_ptr<const hash_table> table) noexcept : table_(std::move(table)) {}
hash_index::hash_index(hash_index&&) noexcept = default;
hash_index& hash_index::operator=(hash_index&&) noexcept = default;
hash_index::~hash_index() = default;

void hash_index::throw_moved_from() { refuse("hash_index: it was moved from; another object holds its contents now"); }

std::uint64_t hash_index::count() const { return table().facts.records; }
std::uint64_t hash_index::distinct() const { return table().facts.distinct; }
std::uint64_t hash_index::longest_chain() const { return table().facts.longest_chain; }
std::uint64_t hash_index::key_bytes() const { return table().facts.key_bytes; }
index_type hash_index::id_type() const { return table().facts.id; }
std::uint64_t hash_index::bytes() const { return table().bytes(); }
double hash_index::load() const {
  const std::uint64_t places = table().places();
  return places == 0 ? 0 : static_cast<double>(distinct()) / static_cast<double>(places);
}
backend_kind hash_index::backend() const { return table().facts.backend; }
std::string_view hash_index::variant() const { return table().facts.built_by; }

hash_index build_hash_index(const context& ctx, const_records keys, const hash_build_options& options) {
  const hash_build_problem problem = describe_build(ctx, keys, options);
  require_memory(hash_build_call, ctx, keys.data, extent(keys), "keys");
  std::unique_ptr<hash_table> made;
  std::string_view built_by;
  if (keys.count == 0) {
    built_by = plan::choose(hash_build_call, hash_build_variants(), problem, ctx, options.variant).variant->name;
    made = std::make_unique<empty_table>();
  } else {
    const hash_build_buffers buffers{keys, &made};
    built_by =
        plan::execute(hash_build_call, hash_build_variants(), problem, ctx, options.variant, buffers).variant->name;
  }
  hash_facts& facts = made->facts;
  facts.backend = problem.backend;
  facts.device = ctx.device();
  facts.built_by = built_by;
  facts.records = problem.count;
  facts.key_bytes = problem.key_bytes;
  facts.id = problem.id;
  facts.load = problem.load;
  return hash_index(std::move(made));
}

explanation explain_build_hash_index(const context& ctx, const_records keys, const hash_build_options& options) {
  return plan::explain(hash_build_call, hash_build_variants(), describe_build(ctx, keys, options), ctx,
                       options.variant);
}

}  // namespace sheaf
