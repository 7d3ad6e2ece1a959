#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>

// Hash search: which records have a key, for many keys at once (He et al. 2007, section 4.2).
//
// Keys are 4 or 8 bytes of any value, at any stride and alignment; two keys are equal if their bits are, so -0.0 is not
// 0.0. Keys that are a field of records are const_records(first_record + offset, count, 4 or 8, record_bytes).
namespace sheaf {

namespace primitives {
class hash_table;
}

struct hash_build_options {
  /// Load factor of the hash table, 0.05 to 0.99: distinct keys for each place that a bucket has for a key. With less,
  /// the index takes more memory, and searches find more keys at first sight. 0: what the backend finds best, 0.8 on
  /// the CPU; on CUDA 0.1 for tables that the cache holds, and up to 0.5, or 0.6 for keys of 4 bytes that hardly
  /// repeat. The number of buckets has a limit (2^31 on CUDA up to 2^31 records, 2^32 on the CPU for keys of 4 bytes),
  /// so that a very low load may not be reached; hash_index::load() says which was.
  double load = 0;
  std::string_view variant = {};  ///< takes this variant and not the planner's choice, "cpu.partitioned"
};

/// A hash table of the keys of `count()` records, by which searches find the records' numbers. It owns what it needs;
/// the keys that it was built from are not needed afterwards. Searches only read it: any number of contexts of its
/// backend and device may search one index at once. It must live until the searches that are queued are done, and
/// as long as CUDA graphs that captured one.
///
/// An index that was moved from can be assigned to and destroyed. @throws error(bad_argument) where else it is used
class SHEAF_API hash_index {
 public:
  explicit hash_index(std::unique_ptr<const primitives::hash_table> table) noexcept;
  hash_index(hash_index&&) noexcept;
  hash_index& operator=(hash_index&&) noexcept;
  ~hash_index();

  std::uint64_t count() const;          ///< records
  std::uint64_t distinct() const;       ///< keys, each counted once
  std::uint64_t longest_chain() const;  ///< the most records that share a key
  std::uint64_t key_bytes() const;      ///< 4 or 8
  index_type id_type() const;           ///< of record numbers: u32, from 2^32 records on u64
  std::uint64_t bytes() const;          ///< memory that it keeps
  /// The load factor that its table has, which may be below what options asked for; 0 where it has no buckets: an index
  /// of no records, and the reference's.
  double load() const;
  backend_kind backend() const;      ///< whose contexts can search it
  std::string_view variant() const;  ///< the variant that built it

  /// The library's own view of this index.
  const primitives::hash_table& table() const {
    if (table_ == nullptr) throw_moved_from();
    return *table_;
  }
  bool was_moved_from() const noexcept { return table_ == nullptr; }

 private:
  [[noreturn]] static void throw_moved_from();
  std::unique_ptr<const primitives::hash_table> table_;
};

/// Builds the index of the records whose keys these are: record i has key i, and keys may repeat.
/// @param keys  records of 4 or 8 bytes, as many as there are records.
/// Returns when the index is built. An index of the same keys answers alike, whatever built it. Its memory comes from
/// ctx's resource, and does not count as scratch.
/// @throws error(bad_argument) for keys of other widths, a load out of range, or memory that is not ctx's,
/// error(out_of_memory) where the index or the scratch of its build does not fit.
SHEAF_API hash_index build_hash_index(const context& ctx, const_records keys, const hash_build_options& options = {});

struct hash_search_options {
  std::string_view variant = {};  ///< takes this variant and not the planner's choice, "cpu.direct"
};

/// The records that a search has found: those of probe i are ids()[offsets()[i]] up to ids()[offsets()[i + 1]], in
/// ascending order. Both lists lie in the memory of the search's context. A gather by ids() fetches the records.
struct hash_matches {
  buffer offset_memory;
  buffer id_memory;
  std::uint64_t probes = 0;
  std::uint64_t total = 0;  ///< ids
  index_type id_type = index_type::u32;

  index_span offsets() const { return {offset_memory.data(), probes + 1, index_type::u64}; }
  index_span ids() const { return {id_memory.data(), total, id_type}; }
};

// Probes are keys to search for, of the width of the index's keys, in any order; they may repeat. All calls
// throw error(bad_argument) if widths or lengths disagree, an output overlaps another view, memory is not ctx's, the
// index was built on another backend or device, or it was moved from. Outputs are the same bits on every backend and in
// every run. A call that throws has written nothing. build_hash_index, hash_search and hash_search_into wait for the
// device and cannot be captured into a CUDA graph, which is an error(bad_argument); the other calls can be.

/// All records of all probes. Waits for the number of matches; then the ids are written as by a queued call.
/// @throws error(out_of_memory) that names the number of matches and their bytes where they do not fit.
SHEAF_API hash_matches hash_search(const context& ctx, const hash_index& index, const_records probes,
                                   const hash_search_options& options = {});

/// hash_search into the caller's memory. Returns the number of matches, also where that is more than ids holds. Waits
/// for that number; when it returns, ids may still be being written.
/// @param offsets  of type u64, one more than there are probes: all are written, those past the end of ids too.
/// @param ids      entries as wide as the index's id_type(), i32 only below 2^31 records; as many matches are written
///                 as there are entries, the first ones, and entries past the last match keep
///                 their value.
SHEAF_API std::uint64_t hash_search_into(const context& ctx, const hash_index& index, const_records probes,
                                         index_output offsets, index_output ids,
                                         const hash_search_options& options = {});

/// counts[i] = how many records have the key probes[i]. Queued on ctx.
/// @param counts  one for each probe, of a type that holds index.longest_chain().
SHEAF_API void hash_count(const context& ctx, const hash_index& index, const_records probes, index_output counts,
                          const hash_search_options& options = {});

/// found[i] = 1 if a record has the key probes[i], else 0. Queued on ctx.
/// @param found  one byte for each probe, side by side.
SHEAF_API void hash_contains(const context& ctx, const hash_index& index, const_records probes, records found,
                             const hash_search_options& options = {});

/// ids[i] = the lowest number of a record that has the key probes[i]; all bits set where there is none. Queued on ctx.
/// @param ids  one for each probe, as wide as the index's id_type(), i32 only below 2^31 records.
SHEAF_API void hash_find(const context& ctx, const hash_index& index, const_records probes, index_output ids,
                         const hash_search_options& options = {});

/// What the calls would do with views of these shapes; their data is not touched and may be null.
SHEAF_API explanation explain_build_hash_index(const context& ctx, const_records keys,
                                               const hash_build_options& options = {});
SHEAF_API explanation explain_hash_search(const context& ctx, const hash_index& index, const_records probes,
                                          const hash_search_options& options = {});
SHEAF_API explanation explain_hash_count(const context& ctx, const hash_index& index, const_records probes,
                                         index_output counts, const hash_search_options& options = {});
SHEAF_API explanation explain_hash_contains(const context& ctx, const hash_index& index, const_records probes,
                                            const hash_search_options& options = {});
SHEAF_API explanation explain_hash_find(const context& ctx, const hash_index& index, const_records probes,
                                        const hash_search_options& options = {});

}  // namespace sheaf
