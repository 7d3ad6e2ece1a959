#include "core/scratch_offsets.hpp"
#include "cuda/device/launch.cuh"
#include "cuda/hash/cost.hpp"
#include "cuda/hash/place_keys.cuh"
#include "cuda/hash/place_partitions.cuh"
#include "plan/choose.hpp"
#include "primitives/sort/contract.hpp"

// The build cuda.sorted: hashes are sorted with their record numbers, and then lie in the order of the index. A scan
// says where each goes. Where a build with atomics writes to the table at random, this one streams, and a key that many
// records have is as any other.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// Record numbers in sorts and rows.
constexpr std::uint64_t id_bytes_of(slot_form form) { return row_bytes(form); }

/// What the host reads of a build: these lie side by side.
struct build_outcome {
  build_state all;
  unsigned long long longest_chain;
};

/// Buckets behind those that keys want, for the slots of the last keys, where the index takes its memory before the
/// host knows how many slots there are. Half full tables need fewer.
constexpr std::uint64_t spare_buckets = 32;

template <class Key, class Row>
__global__ void __launch_bounds__(block_threads)
    hash_keys(const key_source keys, std::uint64_t count, Key* hashes, Row* ids, unsigned long long* longest_chain) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *longest_chain = 0;
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < count; i += step) {
    hashes[i] = hash_of(load_key<Key>(keys, i));
    ids[i] = static_cast<Row>(i);
  }
}

/// Builds of up to so many records are made from partitions, unless these do not fit.
constexpr std::uint64_t most_partitioned_records = std::uint64_t{1} << 22;

/// How the records of a small build are partitioned. Tiles are for some 128 multiprocessors. Partitions have up to 2048
/// records, so that those of keys with 16 records each still fit a block; few records are spread over more blocks.
partitioning partitioning_of(const hash_build_problem& problem, slot_form form, const plan::scope& in) {
  constexpr std::uint64_t tiles_at_once = 128;
  constexpr std::uint64_t usual_records = 2048;
  constexpr std::uint64_t least_records = 512;
  constexpr std::uint64_t spread_partitions = 256;
  partitioning cut;
  if (problem.count == 0 || problem.count > most_partitioned_records || form == slot_form::wide_rows) return cut;
  const std::uint64_t rounds = ceil_div(problem.count, partition_threads * tiles_at_once);
  cut.count = static_cast<std::uint32_t>(problem.count);
  cut.tile = static_cast<std::uint32_t>(partition_threads * std::min<std::uint64_t>(rounds, tile_items_each));
  cut.tiles = static_cast<std::uint32_t>(ceil_div(problem.count, cut.tile));
  const std::uint64_t partitions =
      std::max(std::bit_ceil(ceil_div(problem.count, usual_records)),
               std::min(spread_partitions, std::bit_ceil(ceil_div(problem.count, least_records))));
  cut.partition_bits = static_cast<std::uint32_t>(std::countr_zero(partitions));
  // A plan for a machine of another day has no device to ask.
  constexpr std::uint64_t table_bytes = 2 * 1024;
  const std::uint64_t shared_bytes =
      table_bytes + (problem.key_bytes == 8 ? partition_keys_shared_bytes<std::uint64_t>(cut)
                                            : partition_keys_shared_bytes<std::uint32_t>(cut));
  if (in.context != nullptr && shared_bytes > static_cast<const cuda_state*>(in.context)->shared_bytes_of_block())
    return {};
  return cut;
}

/// Where the arrays of a build from partitions begin in its scratch, in bytes. The sort's arrays lie there, too, where
/// partitions do not fit.
struct partition_layout {
  std::uint64_t records = 0;
  std::uint64_t begins = 0;
  std::uint64_t crowded = 0;
  std::uint64_t states = 0;
  std::uint64_t outcomes = 0;
  std::uint64_t bytes = 0;

  partition_layout(const partitioning& cut, std::uint64_t key_bytes) {
    if (cut.tiles == 0) return;
    core::scratch_offsets arrays;
    records = arrays.take(cut.count * 2 * key_bytes);
    begins = arrays.take(std::uint64_t{cut.tiles} * cut.partitions() * sizeof(std::uint16_t));
    crowded = arrays.take(cut.tiles * sizeof(std::uint8_t));
    states = arrays.take(std::uint64_t{place_rounds} * cut.partitions() * sizeof(published_state));
    outcomes = arrays.take(place_rounds * sizeof(partition_outcome));
    bytes = arrays.bytes();
  }
};

struct build_decision {
  partitioning cut;

  bool takes_partitions() const { return cut.tiles > 0; }
  void tell(plan::told& to) const { to.add("partitions", takes_partitions() ? cut.partitions() : 0U); }
};

struct build_calls {
  slot_form form;  ///< as if no key repeated
  std::uint64_t hashes, ids, sorted_hashes, sorted_ids, states, sort_scratch;
  sort_problem sort;
  plan::choice<sort_variant> sort_choice;
};

sort_problem sort_of(const hash_build_problem& problem, slot_form form) {
  const auto array_of = [](std::uint64_t bytes) {
    return sorted_array{bytes, bytes, bytes, static_cast<std::uint32_t>(bytes)};
  };
  sort_problem sort;
  sort.backend = problem.backend;
  sort.count = problem.count;
  sort.key.fields[0] = {0, static_cast<std::uint32_t>(problem.key_bytes), key_type::unsigned_integer};
  sort.key.field_count = 1;
  sort.key.bits = static_cast<std::uint32_t>(8 * problem.key_bytes);
  sort.rows = array_of(problem.key_bytes);
  sort.column_count = 1;
  sort.columns[0] = array_of(id_bytes_of(form));
  return sort;
}

plan::planned plan_sorted(const hash_build_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  const auto calls = std::make_shared<build_calls>();
  calls->form = form_of(problem.key_bytes, problem.count, problem.count, problem.id);
  const std::uint64_t id_bytes = id_bytes_of(calls->form);
  const std::uint64_t tiles = ceil_div(problem.count, place_tile);
  core::scratch_offsets arrays;
  calls->states = arrays.take(tile_sums<build_state>::bytes(tiles) + sizeof(build_outcome));
  calls->hashes = arrays.take(problem.count * problem.key_bytes);
  calls->ids = arrays.take(problem.count * id_bytes);
  calls->sorted_hashes = arrays.take(problem.count * problem.key_bytes);
  calls->sorted_ids = arrays.take(problem.count * id_bytes);
  calls->sort = sort_of(problem, calls->form);
  calls->sort_scratch = arrays.bytes();
  calls->sort_choice =
      plan::cheapest(sort_variants(), calls->sort, problem.backend, plan::inner_scope(scope, arrays.bytes()));
  if (calls->sort_choice.variant == nullptr) {
    // What the build would take says why it cannot run: memory.
    const plan::scope unlimited{machine, plan::no_scratch_limit, scope.context};
    calls->sort_choice = plan::cheapest(sort_variants(), calls->sort, problem.backend, unlimited);
  }
  if (calls->sort_choice.variant == nullptr) return plan::rejected("no sort can run on the hashes");
  arrays.take(calls->sort_choice.plan.scratch_bytes);
  const build_decision decided{partitioning_of(problem, calls->form, scope)};
  plan::planned plan;
  plan.decided.set(decided);
  if (decided.takes_partitions()) {
    price_partitioned_build(problem, calls->form, machine, plan);
  } else {
    price_build(problem, calls->form, calls->sort_choice.plan.seconds, machine, plan);
  }
  plan.scratch_bytes = std::max(arrays.bytes(), partition_layout(decided.cut, problem.key_bytes).bytes);
  plan.inner_calls = calls;
  return plan;
}

/// One build: its arrays in scratch.
template <class Key, class Row>
class sorted_build {
 public:
  sorted_build(const context& ctx, const hash_build_problem& p, const build_calls& calls, const partitioning& cut,
               std::byte* scratch)
      : ctx_(ctx), problem_(p), calls_(calls), cut_(cut), scratch_(scratch) {}

  std::unique_ptr<slot_index> run(const const_records keys) {
    if constexpr (sizeof(Row) == sizeof(std::uint32_t)) {
      if (cut_.tiles > 0) {
        if (auto index = from_partitions(keys)) return index;
      }
    }
    sort(keys);
    slot_form form = calls_.form;
    std::uint64_t buckets = buckets_for(problem_.count, problem_.key_bytes, form, problem_.load);
    summarize(form, buckets);
    build_state all = read(&outcome()->all);
    const slot_form wanted_form = form_of(problem_.key_bytes, problem_.count, all.keys, problem_.id);
    const std::uint64_t wanted = buckets_for(all.keys, problem_.key_bytes, wanted_form, problem_.load);
    if (wanted_form != form || wanted != buckets) {
      form = wanted_form;
      buckets = wanted;
      summarize(form, buckets);
      all = read(&outcome()->all);
    }
    // The last key's slot, one that is empty, and the rest of that bucket; no bucket that keys want lies behind.
    const std::uint64_t last = all.end_of_slots() - 1;
    const std::uint64_t all_buckets = std::max(buckets, last / slots_per_bucket(form) + 1) + 1;
    std::unique_ptr<slot_index> index = place(form, buckets, all_buckets, all.keys, all.row_words);
    finish(*index);
    return index;
  }

 private:
  template <class T>
  T* array(std::uint64_t offset) const {
    return reinterpret_cast<T*>(scratch_ + offset);
  }
  const Key* hashes() const { return array<const Key>(calls_.sorted_hashes); }
  std::uint64_t tiles() const { return ceil_div(problem_.count, place_tile); }
  tile_sums<build_state> states() const { return tile_sums<build_state>::at(scratch_ + calls_.states, tiles()); }
  /// Behind what comes before each tile; scan_sums writes its first member.
  build_outcome* outcome() const {
    return reinterpret_cast<build_outcome*>(states().of_chunk + tile_sums<build_state>::chunks(tiles()));
  }

  /// with_slot_types() of the forms that have these keys and rows.
  template <class Body>
  static void with_types(slot_form form, Body body) {
    bool is_known = false;
    with_slot_types(form, sizeof(Key), [&](auto* pointer) {
      using types = std::remove_pointer_t<decltype(pointer)>;
      if constexpr (std::is_same_v<typename types::key, Key> && std::is_same_v<typename types::row, Row>) {
        is_known = true;
        body(pointer);
      }
    });
    if (!is_known) throw error(error_code::internal, "cuda.sorted: no slots for these keys and rows");
  }

  void sort(const_records keys) {
    constexpr std::uint64_t blocks_each = 8;
    const std::uint64_t blocks = std::min(static_cast<std::uint64_t>(state_of(ctx_).multiprocessors()) * blocks_each,
                                          ceil_div(problem_.count, block_threads));
    launch(ctx_, hash_keys<Key, Row>, blocks, key_source_of(keys), problem_.count, array<Key>(calls_.hashes),
           array<Row>(calls_.ids), &outcome()->longest_chain);
    sort_buffers buffers;
    buffers.in = {scratch_ + calls_.hashes, problem_.count, sizeof(Key)};
    buffers.out = {scratch_ + calls_.sorted_hashes, problem_.count, sizeof(Key)};
    buffers.columns[0] = {const_records(scratch_ + calls_.ids, problem_.count, sizeof(Row)),
                          records(scratch_ + calls_.sorted_ids, problem_.count, sizeof(Row))};
    const auto& chosen = calls_.sort_choice;
    chosen.variant->run(ctx_, calls_.sort, chosen.plan, buffers, scratch_ + calls_.sort_scratch);
  }

  /// Finds what comes before each tile, and what all come to.
  void summarize(slot_form form, std::uint64_t buckets) {
    with_types(form, [&](auto* pointer) {
      using types = std::remove_pointer_t<decltype(pointer)>;
      launch_overlapped(ctx_, summarize_tiles<types>, tiles(), place_threads, 0, hashes(), problem_.count,
                        static_cast<typename types::bucket_number>(buckets), states().of_tile);
    });
    scan_sums(ctx_, states(), tiles(), build_state::nothing(), follow());
  }

  /// The index, made by two kernels: records are partitioned by their hashes, and a block sorts each partition and
  /// places its keys. Null where a partition does not fit, or the memory does not suffice.
  std::unique_ptr<slot_index> from_partitions(const const_records keys) {
    const partition_layout layout(cut_, sizeof(Key));
    partition_arrays<Key> arrays{.records = array<hashed_record<Key>>(layout.records),
                                 .begins = array<std::uint16_t>(layout.begins),
                                 .crowded = array<std::uint8_t>(layout.crowded),
                                 .states = array<published_state>(layout.states),
                                 .outcomes = array<partition_outcome>(layout.outcomes)};
    launch_shared(ctx_, partition_keys<Key>, cut_.tiles, partition_threads, partition_keys_shared_bytes<Key>(cut_),
                  key_source_of(keys), cut_, arrays);
    // Most often no key repeats, and the first guess is right.
    slot_form form = calls_.form;
    std::uint64_t distinct = problem_.count;
    std::uint64_t row_words = 0;
    for (unsigned round = 0; round < place_rounds; ++round) {
      const std::uint64_t buckets = buckets_for(distinct, problem_.key_bytes, form, problem_.load);
      const std::uint64_t all_buckets = buckets + spare_buckets;
      std::unique_ptr<slot_index> index;
      try {
        index = place_partitions_of(arrays, form, buckets, all_buckets, distinct, row_words);
      } catch (const error& e) {
        if (e.code() != error_code::out_of_memory) throw;
        return nullptr;  // keys that repeat take less
      }
      const auto found = read(arrays.outcomes);
      if ((found.faults & does_not_fit) != 0) return nullptr;
      if (found.keys == distinct) {
        if (found.end_of_slots >= all_buckets * slots_per_bucket(form)) return nullptr;
        index->facts.distinct = found.keys;
        index->facts.longest_chain = found.longest_chain;
        return index;
      }
      distinct = found.keys;
      row_words = found.row_words;
      form = form_of(problem_.key_bytes, problem_.count, distinct, problem_.id);
      arrays.states += cut_.partitions();
      ++arrays.outcomes;
    }
    throw error(error_code::internal, "cuda.sorted: keys were counted twice, with different results");
  }

  /// Takes the memory of an index and queues the kernel that makes it from partitions.
  std::unique_ptr<slot_index> place_partitions_of(const partition_arrays<Key>& arrays, slot_form form,
                                                  std::uint64_t buckets, std::uint64_t all_buckets,
                                                  std::uint64_t distinct, std::uint64_t row_words) {
    const std::string words = words_of_index(problem_.count, distinct);
    buffer slots = hash_memory(ctx_, hash_build_call, words, all_buckets * sector_bytes);
    buffer rows;
    if (row_words > 0) rows = hash_memory(ctx_, hash_build_call, words, row_words * sizeof(Row));
    with_types(form, [&](auto* pointer) {
      using types = std::remove_pointer_t<decltype(pointer)>;
      const partition_arguments<types> args{.cut = cut_,
                                            .arrays = arrays,
                                            .buckets = static_cast<typename types::bucket_number>(buckets),
                                            .slots = slots.as<typename types::slot>(),
                                            .slot_count = all_buckets * types::per_bucket,
                                            .rows = rows.as<Row>()};
      const std::uint64_t blocks = cut_.partitions();
      const auto launch_with = [&](auto launch_function) {
        launch_function(ctx_, place_partitions<types>, blocks, partition_threads, place_partitions_shared_bytes<types>,
                        args);
      };
      // Blocks that begin while partition_keys runs share multiprocessors. If there is one for each, that costs 4 us of
      // 18 to 21 (2^16 keys on an H200).
      if (blocks <= static_cast<std::uint64_t>(state_of(ctx_).multiprocessors())) {
        launch_with([](const auto&... all) { launch_shared(all...); });
      } else {
        launch_with([](const auto&... all) { launch_overlapped(all...); });
      }
    });
    return std::make_unique<slot_index>(std::move(slots), std::move(rows), form, buckets);
  }

  /// Takes the memory of an index of so many buckets, with those behind that keys want, and queues its kernel.
  std::unique_ptr<slot_index> place(slot_form form, std::uint64_t buckets, std::uint64_t all_buckets,
                                    std::uint64_t distinct, std::uint64_t row_words) {
    const std::string words = words_of_index(problem_.count, distinct);
    buffer slots = hash_memory(ctx_, hash_build_call, words, all_buckets * sector_bytes);
    buffer rows;
    if (row_words > 0) rows = hash_memory(ctx_, hash_build_call, words, row_words * sizeof(Row));
    with_types(form, [&](auto* pointer) {
      using types = std::remove_pointer_t<decltype(pointer)>;
      const place_arguments<types> args{.hashes = hashes(),
                                        .ids = array<const Row>(calls_.sorted_ids),
                                        .count = problem_.count,
                                        .buckets = static_cast<typename types::bucket_number>(buckets),
                                        .states = states(),
                                        .slots = slots.as<typename types::slot>(),
                                        .slot_count = all_buckets * types::per_bucket,
                                        .rows = rows.as<Row>(),
                                        .longest_chain = &outcome()->longest_chain};
      launch_overlapped(ctx_, place_keys<types>, tiles(), place_threads, 0, args);
    });
    return std::make_unique<slot_index>(std::move(slots), std::move(rows), form, buckets);
  }

  /// Waits, because contexts of other streams may search the index as soon as it is there.
  void finish(slot_index& index) const {
    const build_outcome found = read(outcome());
    index.facts.distinct = found.all.keys;
    index.facts.longest_chain = found.longest_chain;
  }

  template <class T>
  T read(const T* device) const {
    T value;
    ctx_.state().copy(&value, device, sizeof value);  // waits
    return value;
  }

  const context& ctx_;
  const hash_build_problem& problem_;
  const build_calls& calls_;
  const partitioning& cut_;
  std::byte* scratch_;
};

void run_sorted(const context& ctx, const hash_build_problem& problem, const plan::planned& plan,
                const hash_build_buffers& buffers, std::byte* scratch) {
  const device_scope scope(ctx.device());
  refuse_capture(ctx, "build_hash_index");
  const auto& calls = plan.inner<build_calls>();
  const auto decided = plan.decided.get<build_decision>();
  with_slot_types(calls.form, problem.key_bytes, [&](auto* types) {
    using slot_types = std::remove_pointer_t<decltype(types)>;
    using build = sorted_build<typename slot_types::key, typename slot_types::row>;
    *buffers.made = build(ctx, problem, calls, decided.cut, scratch).run(buffers.keys);
  });
}

}  // namespace

extern constinit const hash_build_variant hash_build_sorted{"cuda.sorted", backend_kind::cuda, plan_sorted, run_sorted};

}  // namespace sheaf::cuda
