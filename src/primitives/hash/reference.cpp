#include "primitives/hash/search.hpp"

namespace sheaf::reference {
extern const primitives::hash_build_variant hash_build_serial;

using namespace primitives;

namespace {

struct keyed_record {
  std::uint64_t key;
  std::uint64_t id;
  bool operator<(const keyed_record& other) const { return key != other.key ? key < other.key : id < other.id; }
};

struct by_key {
  bool operator()(const keyed_record& r, std::uint64_t key) const { return r.key < key; }
  bool operator()(std::uint64_t key, const keyed_record& r) const { return key < r.key; }
};

/// No hash table, but an array in the order of the keys.
class sorted_records final : public hash_table {
 public:
  sorted_records(buffer memory, std::uint64_t count) : memory_(std::move(memory)), count_(count) {}

  std::uint64_t bytes() const noexcept override { return memory_.size(); }
  keyed_record* begin() const { return memory_.as<keyed_record>(); }
  keyed_record* end() const { return begin() + count_; }
  std::pair<keyed_record*, keyed_record*> with_key(std::uint64_t key) const {
    return std::equal_range(begin(), end(), key, by_key());
  }

 private:
  buffer memory_;
  std::uint64_t count_;
};

std::uint64_t key_at(const_records keys, std::uint64_t i) {
  std::uint64_t key = 0;
  std::memcpy(&key, keys.data + i * keys.stride_bytes, keys.record_bytes);
  return key;
}

// Sorts pairs of key and record number.
plan::planned plan_build(const hash_build_problem& p, const plan::scope& scope) {
  return plan::serial(static_cast<double>(p.count), scope);
}

void run_build(const context& ctx, const hash_build_problem& problem, const plan::planned&,
               const hash_build_buffers& buffers, std::byte*) {
  buffer memory = hash_memory(ctx, hash_build_call, std::to_string(problem.count) + " sorted keys",
                              problem.count * sizeof(keyed_record));
  auto made = std::make_unique<sorted_records>(std::move(memory), problem.count);
  for (std::uint64_t i = 0; i < problem.count; ++i) made->begin()[i] = {key_at(buffers.keys, i), i};
  std::sort(made->begin(), made->end());
  std::uint64_t chain = 0;
  for (const keyed_record* r = made->begin(); r != made->end(); ++r) {
    const bool is_new = r == made->begin() || r->key != r[-1].key;
    chain = is_new ? 1 : chain + 1;
    if (is_new) ++made->facts.distinct;
    made->facts.longest_chain = std::max(made->facts.longest_chain, chain);
  }
  *buffers.made = std::move(made);
}

void store(void* out, std::uint64_t entry_bytes, std::uint64_t i, std::uint64_t value) {
  if (entry_bytes == 1) {
    static_cast<unsigned char*>(out)[i] = static_cast<unsigned char>(value);
  } else if (entry_bytes == 4) {
    static_cast<std::uint32_t*>(out)[i] = static_cast<std::uint32_t>(value);
  } else {
    static_cast<std::uint64_t*>(out)[i] = value;
  }
}

// A binary search for each probe, and a second one where ids are written. The index is the reference's own, so nothing
// else can search it.
plan::planned plan_search(const hash_search_problem& problem, const plan::scope& scope) {
  if (!problem.index.built_by.empty() && problem.index.built_by != hash_build_serial.name) {
    return plan::rejected("searches only what reference.serial has built; force build_hash_index:reference.serial too");
  }
  plan::planned plan;
  plan.add("latency", 20 * static_cast<double>(problem.probes) * scope.machine.access_seconds);
  return plan;
}

void run_search(const context&, const hash_search_problem& problem, const plan::planned&,
                const hash_search_buffers& buffers, std::byte*) {
  const auto& table = static_cast<const sorted_records&>(*buffers.table);
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < problem.probes; ++i) {
    const auto [first, last] = table.with_key(key_at(buffers.probes, i));
    const auto count = static_cast<std::uint64_t>(last - first);
    std::uint64_t value = 0;
    switch (problem.output) {
      case hash_output::matches: value = total; break;
      case hash_output::counts: value = count; break;
      case hash_output::contains: value = count > 0 ? 1 : 0; break;
      case hash_output::first: value = count > 0 ? first->id : ~std::uint64_t{0}; break;
    }
    store(buffers.out, problem.out_bytes, i, value);
    total += count;
  }
  if (problem.output != hash_output::matches) return;
  store(buffers.out, problem.out_bytes, problem.probes, total);
  const hash_match_room room = (*buffers.make_room)(total);
  std::uint64_t written = 0;
  for (std::uint64_t i = 0; i < problem.probes && written < room.capacity; ++i) {
    const auto [first, last] = table.with_key(key_at(buffers.probes, i));
    for (const keyed_record* r = first; r != last && written < room.capacity; ++r) {
      store(room.ids, bytes(problem.index.id), written++, r->id);
    }
  }
}

}  // namespace

extern constinit const hash_build_variant hash_build_serial{"reference.serial", backend_kind::cpu, plan_build,
                                                            run_build};
extern constinit const hash_search_variant hash_search_serial{"reference.serial", backend_kind::cpu, plan_search,
                                                              run_search};

}  // namespace sheaf::reference
