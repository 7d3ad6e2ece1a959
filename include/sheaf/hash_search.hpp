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
// A key has 4 or 8 bytes of any value, at any stride and alignment. Two keys are equal if their bits are, so -0.0 is
// not equal to 0.0. Keys that are a field of records are const_records(first_record + offset, count, 4 or 8,
// record_bytes).
namespace sheaf {

namespace primitives {
class hash_table;
}

struct hash_build_options {
  /// Load factor of the hash table, 0.05 to 0.99: distinct keys for each place that a bucket has for a key. With a
  /// lower one, the index takes more memory, and more searches end at the first bucket. 0 leaves it to the backend: 0.8
  /// on the CPU; on CUDA 0.1 for small tables, which the cache holds, and up to 0.5 for large ones, or 0.6 for keys of
  /// 4 bytes that fewer than two records share on the average. The number of buckets is limited (on CUDA to 2^31 up to
  /// 2^30 records; to 2^32 for keys of 4 bytes), so that a very low load may not be reached; hash_index::load() says
  /// which one was.
  double load = 0;
  std::string_view variant =
      {};  ///< name of the variant to run, such as "cpu.partitioned"; empty: the planner's choice
};

/// A hash table of the keys of `count()` records, by which searches find the numbers of the records. It owns what it
/// needs; the keys that it was built from are not needed afterwards. Searches only read it, so that any number of
/// contexts of its backend and device may search it at once. It must outlive the searches that are queued, and CUDA
/// graphs that captured one.
///
/// An index that was moved from can be assigned to and destroyed. @throws error(bad_argument) on any other use
class SHEAF_API hash_index {
 public:
  explicit hash_index(std::unique_ptr<const primitives::hash_table> table) noexcept;
  hash_index(hash_index&&) noexcept;
  hash_index& operator=(hash_index&&) noexcept;
  ~hash_index();

  std::uint64_t count() const;          ///< number of records
  std::uint64_t distinct() const;       ///< number of distinct keys
  std::uint64_t longest_chain() const;  ///< the most records that share a key
  std::uint64_t key_bytes() const;      ///< 4 or 8
  index_type id_type() const;           ///< of record numbers: u32, from 2^32 records on u64
  std::uint64_t bytes() const;          ///< bytes of memory that it keeps
  /// The load factor of the table, which may be below the one that options asked for. It is 0 where there are no
  /// buckets: in an index of no records, and in one that the reference built.
  double load() const;
  backend_kind backend() const;      ///< the backend whose contexts can search it
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

/// Builds an index of records by their keys: record i has key i, and keys may repeat.
/// @param keys  records of 4 or 8 bytes, one for each record, at any stride and alignment.
/// @throws error(bad_argument) for keys of other widths, a load out of range, memory that is not ctx's, or while the
/// stream is captured into a CUDA graph; error(no_variant) on OpenGL; error(out_of_memory) where the index or the
/// scratch of its build does not fit; and what every call may throw (see context).
/// An index of the same keys gives the same answers, whichever variant built it. The index is complete when the call
/// returns. Its memory comes from ctx's resource and does not count as scratch.
SHEAF_API hash_index build_hash_index(const context& ctx, const_records keys, const hash_build_options& options = {});

struct hash_search_options {
  std::string_view variant = {};  ///< name of the variant to run, such as "cpu.direct"; empty: the planner's choice
};

/// The records that a search has found. Those of probe i are ids()[offsets()[i]] up to but not including
/// ids()[offsets()[i + 1]], in ascending order. Both lists lie in the memory of the search's context. A gather by ids()
/// fetches the records.
struct hash_matches {
  buffer offset_memory;
  buffer id_memory;
  std::uint64_t probes = 0;
  std::uint64_t total = 0;  ///< number of ids
  index_type id_type = index_type::u32;

  index_span offsets() const { return {offset_memory.data(), probes + 1, index_type::u64}; }
  index_span ids() const { return {id_memory.data(), total, id_type}; }
};

// What all searches share. Probes are keys to search for, as wide as the index's keys, in any order; they may repeat.
// @throws error(bad_argument) if widths or lengths disagree, an output is not aligned to its type or overlaps another
// view, memory is not ctx's, or the index was built on another backend or device or was moved from; and what every call
// may throw (see context). A call that throws error(bad_argument) or error(out_of_memory) has written nothing.
// Outputs have the same bits on every backend and in every run. hash_count, hash_contains and hash_find are queued on
// ctx: they return before their work is done on CUDA, after it on the CPU. hash_search and hash_search_into wait for
// the number of matches, so that they throw error(bad_argument) while the stream is captured into a CUDA graph; when
// they return on CUDA, offsets and ids may not be complete yet.

/// Finds all records of all probes.
/// @throws error(out_of_memory) that names the number of matches and their bytes where they do not fit.
SHEAF_API hash_matches hash_search(const context& ctx, const hash_index& index, const_records probes,
                                   const hash_search_options& options = {});

/// Finds all records of all probes, and writes them to the caller's memory. Returns the number of matches, also where
/// it is more than ids holds.
/// @param offsets  of type u64, one more than there are probes. All are written, also those past the end of ids.
/// @param ids      entries as wide as the index's id_type(), i32 only below 2^31 records. The first matches are
///                 written, as many as there are entries; entries past the last match keep their value.
SHEAF_API std::uint64_t hash_search_into(const context& ctx, const hash_index& index, const_records probes,
                                         index_output offsets, index_output ids,
                                         const hash_search_options& options = {});

/// Counts the records of each probe: counts[i] is how many have the key probes[i].
/// @param counts  one for each probe, of a type that holds index.longest_chain().
SHEAF_API void hash_count(const context& ctx, const hash_index& index, const_records probes, index_output counts,
                          const hash_search_options& options = {});

/// Says which probes have a record: found[i] is 1 if one has the key probes[i], else 0.
/// @param found  one byte for each probe, side by side.
SHEAF_API void hash_contains(const context& ctx, const hash_index& index, const_records probes, records found,
                             const hash_search_options& options = {});

/// Finds the first record of each probe: ids[i] is the lowest number of a record that has the key probes[i]; all bits
/// are set where there is none.
/// @param ids  one for each probe, as wide as the index's id_type(), i32 only below 2^31 records.
SHEAF_API void hash_find(const context& ctx, const hash_index& index, const_records probes, index_output ids,
                         const hash_search_options& options = {});

/// What the calls would do with views of these shapes. Their data is not read and may be null.
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
