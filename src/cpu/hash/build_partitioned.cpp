#include <omp.h>

#include "cpu/hash/bucket_index.hpp"
#include "cpu/sort/in_cache.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/huge_pages.hpp"
#include "cpu/threads/parts.hpp"
#include "cpu/threads/write_combining.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

/// Constants of the variant. This folder's README has the figures that decided.
struct build_tuning {
  std::uint64_t words_per_partition = 8192;  ///< with as many spare ones they fit the second-level cache
  std::uint64_t averages_in_cache = 4;       ///< a partition of so many averages is sorted by its thread's spare words
  std::uint32_t most_partition_bits = 12;
  double digits_per_word = 6.0;  ///< work on a word in cache: hashes, partition, sort, entry
};

/// What one partition has.
struct partition_facts {
  std::uint64_t distinct;  ///< keys
  std::uint64_t longest_chain;
  std::uint64_t overflow;  ///< keys past their buckets' lines; then, of all ranges before this one
};

struct build_decision {
  std::uint64_t parts;
  std::uint32_t partition_bits;
  std::uint32_t word_bytes;
  std::uint64_t spare_words;  ///< of one thread

  std::uint64_t partitions() const noexcept { return std::uint64_t{1} << partition_bits; }

  void tell(plan::told& to) const { to.add("parts", parts).add("partitions", partitions()); }
};

struct build_arrays {
  std::byte* words;
  std::byte* spare;           ///< for each thread the spare words of small partitions
  std::byte* spare_of_large;  ///< as many as there are words; a partition's own begin where its words do
  bucket_table starts;
  std::uint64_t* cursors;  ///< of the write-combining buffers
  std::byte* buffers;
  partition_facts* facts;

  build_arrays(const hash_build_problem& p, const build_decision& decision, core::scratch_arrays& arrays)
      : words(arrays.take<std::byte>(p.count * decision.word_bytes)),
        spare(arrays.take<std::byte>(decision.parts * decision.spare_words * decision.word_bytes)),
        spare_of_large(arrays.take<std::byte>(p.count > decision.spare_words ? p.count * decision.word_bytes : 0)),
        starts(decision.parts, decision.partitions(), arrays),
        cursors(arrays.take<std::uint64_t>(decision.parts * decision.partitions())),
        buffers(arrays.take<std::byte>(decision.parts * decision.partitions() * write_buffer_bytes)),
        facts(arrays.take<partition_facts>(decision.partitions())) {}
};

build_decision decide_build(const hash_build_problem& problem, std::uint64_t threads, const build_tuning& tuning) {
  build_decision decision{};
  decision.word_bytes = problem.key_bytes == 4 && problem.id == index_type::u32 ? 8 : 16;
  decision.parts = parts_worth(problem.count * decision.word_bytes, threads);
  const std::uint64_t wanted = problem.count / tuning.words_per_partition;
  decision.partition_bits = std::min(static_cast<std::uint32_t>(std::bit_width(wanted)), tuning.most_partition_bits);
  decision.spare_words =
      std::min(problem.count, tuning.averages_in_cache * ((problem.count >> decision.partition_bits) + 1));
  return decision;
}

// Keys are split by their hashes' leading bits into partitions that fit a cache, each partition is sorted there, and
// its entries are written in order: what hash join calls a radix-partitioned build. Nothing depends on the order in
// which threads work, so the index is the same for any number of them.
plan::planned plan_build(const hash_build_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  constexpr build_tuning tuning;
  const build_decision decision = decide_build(problem, machine.parallelism, tuning);
  plan::planned plan;
  plan.scratch_bytes = core::bytes_of<build_arrays>(problem, decision);
  plan.decided.set(decision);
  const std::uint64_t words = problem.count * decision.word_bytes;
  const std::uint64_t index =
      index_layout(problem.count, problem.count, problem.key_bytes, bytes(problem.id), problem.load).bytes;
  plan.add("latency", machine.launch_seconds + 4 * machine.step_seconds);
  plan.add("streamed",
           machine.streamed(2 * problem.count * problem.key_stride_bytes + 7 * words + index, 2 * words + index));
  plan.add("sort in cache", shared_digit_seconds(problem.count, tuning.digits_per_word, machine, decision.parts));
  return plan;
}

/// One build. A word has the hash in its highest bits and the record's number in its lowest.
template <class Key, class Id, class Word>
class index_build {
 public:
  index_build(const context& ctx, const hash_build_problem& p, const hash_build_buffers& b, const build_decision& d,
              const build_arrays& at)
      : ctx_(ctx),
        problem_(p),
        buffers_(b),
        decision_(d),
        hashes_(b.keys),
        at_(at),
        words_(reinterpret_cast<Word*>(at.words)) {}

  void run() {
    count_keys();
    at_.starts.scan();
    move_words();
    for_each_task(decision_.partitions(), decision_.parts, [&](std::uint64_t partition) { sort_partition(partition); });
    std::uint64_t distinct = 0;
    std::uint64_t longest_chain = 0;
    for (std::uint64_t partition = 0; partition < decision_.partitions(); ++partition) {
      distinct += at_.facts[partition].distinct;
      longest_chain = std::max(longest_chain, at_.facts[partition].longest_chain);
    }
    index_layout layout(problem_.count, distinct, sizeof(Key), sizeof(Id), problem_.load);
    layout.set_overflow(count_overflow(layout.buckets));
    buffer memory = hash_memory(ctx_, hash_build_call, words_of_index(problem_.count, distinct), layout.bytes);
    ask_for_huge_pages(memory.data(), layout.bytes);
    auto made = std::make_unique<bucket_index>(std::move(memory), layout);
    write_index(index_view<Key, Id>(*made));
    made->facts.distinct = distinct;
    made->facts.longest_chain = longest_chain;
    *buffers_.made = std::move(made);
  }

 private:
  static constexpr std::uint32_t hash_shift = bits_in<Word> - bits_in<Key>;
  static constexpr Word hash_mask = bits_at<Word>(hash_shift, bits_in<Key>);

  static Key hash_in(Word word) noexcept { return static_cast<Key>(word >> hash_shift); }

  std::uint64_t partition_of(Key hash) const noexcept {
    return decision_.partition_bits == 0 ? 0 : std::uint64_t{hash} >> (bits_in<Key> - decision_.partition_bits);
  }

  void count_keys() const {
    for_each_range(problem_.count, decision_.parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
      std::uint64_t* const counts = at_.starts.cleared_row(part);
      for (std::uint64_t i = begin; i < end; ++i) ++counts[partition_of(hashes_(i))];
    });
  }

  void move_words() const {
    ask_for_huge_pages(words_, problem_.count * sizeof(Word));
    for_each_range(problem_.count, decision_.parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
      const std::uint64_t partitions = decision_.partitions();
      std::uint64_t* const cursors = at_.cursors + part * partitions;
      std::copy_n(at_.starts.row(part), partitions, cursors);
      const write_buffers<Word> out(at_.buffers + part * write_buffers<Word>::bytes(partitions), cursors,
                                    at_.starts.row(part), words_, true);
      for (std::uint64_t i = begin; i < end; ++i) {
        const Key hash = hashes_(i);
        out.put(partition_of(hash), static_cast<Word>(static_cast<Word>(hash) << hash_shift | i));
      }
      out.finish(partitions);
    });
  }

  std::uint64_t begin_of(std::uint64_t partition) const noexcept { return at_.starts.row(0)[partition]; }
  std::uint64_t end_of(std::uint64_t partition) const noexcept {
    return partition + 1 < decision_.partitions() ? begin_of(partition + 1) : problem_.count;
  }

  /// Spare words for a partition. Most take those of their thread, which stay in its cache: memory that nobody touches
  /// costs nothing, and to touch it for the first time costs more than the sort.
  Word* spare_for(std::uint64_t begin, std::uint64_t count) const {
    if (count > decision_.spare_words) {
      Word* const spare = reinterpret_cast<Word*>(at_.spare_of_large) + begin;
      ask_for_huge_pages(spare, count * sizeof(Word));
      return spare;
    }
    const auto thread = decision_.parts == 1 ? 0 : static_cast<std::uint64_t>(omp_get_thread_num());
    return reinterpret_cast<Word*>(at_.spare) + thread * decision_.spare_words;
  }

  void sort_partition(std::uint64_t partition) const {
    const std::uint64_t begin = begin_of(partition);
    const std::uint64_t count = end_of(partition) - begin;
    partition_facts& facts = at_.facts[partition];
    facts = {};
    if (count == 0) return;
    Word* const words = words_ + begin;
    if (count >> 32 == 0) {
      const Word* const sorted = sort_in_cache(words, spare_for(begin, count), count, hash_mask);
      if (sorted != words) std::copy_n(sorted, count, words);
    } else {
      std::sort(words, words + count);  // more than sort_in_cache can count; record numbers keep their order
    }
    std::uint64_t chain = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const bool is_new = i == 0 || hash_in(words[i]) != hash_in(words[i - 1]);
      chain = is_new ? 1 : chain + 1;
      facts.distinct += is_new ? 1 : 0;
      facts.longest_chain = std::max(facts.longest_chain, chain);
    }
  }

  // From here on all words are in the order of their hashes, and ranges of them are as many and as long as partitions
  // are on average, but begin where a bucket begins.
  std::uint64_t range_begin(std::uint64_t range, std::uint64_t buckets) const {
    const std::uint64_t at = part_begin(problem_.count, decision_.partitions(), range);
    if (at == 0 || at == problem_.count) return at;
    const std::uint64_t bucket = bucket_of(hash_in(words_[at - 1]), buckets);
    const Word* const next = std::partition_point(
        words_ + at, words_ + problem_.count, [&](Word word) { return bucket_of(hash_in(word), buckets) == bucket; });
    return static_cast<std::uint64_t>(next - words_);
  }

  /// Calls visit(i, bucket, number of the key in its bucket) for the first word i of each key in a range.
  template <class Visit>
  void for_each_key(std::uint64_t range, std::uint64_t buckets, Visit visit) const {
    const std::uint64_t end = range_begin(range + 1, buckets);
    std::uint64_t bucket = 0;
    std::uint64_t number = 0;
    for (std::uint64_t begin = range_begin(range, buckets), i = begin; i < end; ++i) {
      const Key hash = hash_in(words_[i]);
      if (i > begin && hash == hash_in(words_[i - 1])) continue;
      const std::uint64_t own = bucket_of(hash, buckets);
      number = i > begin && own == bucket ? number + 1 : 0;
      bucket = own;
      visit(i, bucket, number);
    }
  }

  /// The keys past the lines of their buckets; those before each range are in at_.facts.
  std::uint64_t count_overflow(std::uint64_t buckets) const {
    for_each_task(decision_.partitions(), decision_.parts, [&](std::uint64_t range) {
      std::uint64_t count = 0;
      for_each_key(range, buckets, [&](std::uint64_t, std::uint64_t, std::uint64_t number) {
        count += number >= bucket_line<Key, Id>::slots ? 1 : 0;
      });
      at_.facts[range].overflow = count;
    });
    std::uint64_t sum = 0;
    for (std::uint64_t range = 0; range < decision_.partitions(); ++range)
      sum += std::exchange(at_.facts[range].overflow, sum);
    return sum;
  }

  void write_index(const index_view<Key, Id>& index) const {
    for_each_task(decision_.partitions(), decision_.parts, [&](std::uint64_t range) { write_range(index, range); });
    const std::uint64_t last = index.bucket_of(hash_in(words_[problem_.count - 1]));
    clear_lines(index, last + 1, index.buckets + 1, problem_.count);
    index.set_overflow(index.overflow_count, static_cast<Key>(~Key{0}), static_cast<Id>(problem_.count));
    if (index.rows == nullptr) return;
    for_each_range(problem_.count, decision_.parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t i = begin; i < end; ++i) index.rows[i] = static_cast<Id>(words_[i]);
    });
  }

  /// Lines without keys, whose rows would begin at this place.
  static void clear_lines(const index_view<Key, Id>& index, std::uint64_t first, std::uint64_t end,
                          std::uint64_t row) noexcept {
    const Id value = index.rows == nullptr ? index.none : static_cast<Id>(row);
    for (std::uint64_t b = first; b < end; ++b) {
      bucket_line<Key, Id>& line = index.lines[b];
      std::fill_n(line.hash, line.slots, static_cast<Key>(~Key{0}));
      std::fill_n(line.value, line.slots, value);
      line.overflow = index.none;
    }
  }

  /// Writes the lines from the bucket behind the last range's last one on, up to this range's last one.
  void write_range(const index_view<Key, Id>& index, std::uint64_t range) const {
    using line = bucket_line<Key, Id>;
    const std::uint64_t begin = range_begin(range, index.buckets);
    const std::uint64_t end = range_begin(range + 1, index.buckets);
    if (begin == end) return;
    std::uint64_t next = begin == 0 ? 0 : index.bucket_of(hash_in(words_[begin - 1])) + 1;
    std::uint64_t overflow = at_.facts[range].overflow;
    line* at = nullptr;
    std::uint64_t used = 0;  // slots of the line
    const auto end_line = [&](std::uint64_t row) {
      if (at == nullptr || index.rows == nullptr) return;
      for (std::uint64_t slot = used; slot < line::slots; ++slot) at->value[slot] = static_cast<Id>(row);
    };
    for_each_key(range, index.buckets, [&](std::uint64_t i, std::uint64_t bucket, std::uint64_t number) {
      const Key hash = hash_in(words_[i]);
      const Id value = index.rows == nullptr ? static_cast<Id>(words_[i]) : static_cast<Id>(i);
      if (number == 0) {
        end_line(i);
        clear_lines(index, next, bucket + 1, i);
        next = bucket + 1;
        at = index.lines + bucket;
      }
      if (number < line::slots) {
        at->hash[number] = hash;
        at->value[number] = value;
        used = number + 1;
      } else {
        if (number == line::slots) at->overflow = static_cast<Id>(overflow);
        index.set_overflow(overflow++, hash, value);
      }
    });
    end_line(end);
  }

  const context& ctx_;
  const hash_build_problem& problem_;
  const hash_build_buffers& buffers_;
  const build_decision& decision_;
  hash_reader<Key> hashes_;
  build_arrays at_;
  Word* words_;
};

void run_build(const context& ctx, const hash_build_problem& problem, const plan::planned& plan,
               const hash_build_buffers& buffers, std::byte* scratch) {
  const auto decision = plan.decided.get<build_decision>();
  const auto at = core::arrays_in<build_arrays>(scratch, problem, decision);
  with_key_and_id(problem.key_bytes, bytes(problem.id), [&](auto key, auto id) {
    using Key = decltype(key);
    using Id = decltype(id);
    using Word = std::conditional_t<sizeof(Key) + sizeof(Id) == 8, std::uint64_t, word128>;
    index_build<Key, Id, Word>(ctx, problem, buffers, decision, at).run();
  });
}

}  // namespace

extern constinit const hash_build_variant hash_build_partitioned{"cpu.partitioned", backend_kind::cpu, plan_build,
                                                                 run_build};

}  // namespace sheaf::cpu
