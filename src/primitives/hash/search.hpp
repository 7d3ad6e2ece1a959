#pragma once

#include <functional>

#include <sheaf/hash_search.hpp>

#include "core/host.hpp"
#include "plan/correction.hpp"

namespace sheaf::primitives {

/// What is known of an index: where it is, and what its build has counted.
struct hash_facts {
  backend_kind backend = backend_kind::cpu;
  int device = -1;
  std::string_view built_by = {};   ///< name of the variant, which decides how the index lies in memory
  std::uint64_t records = 0;        ///< keys that it was built from
  std::uint64_t distinct = 0;       ///< keys, each counted once
  std::uint64_t longest_chain = 0;  ///< the most records that share a key
  std::uint64_t key_bytes = 8;
  index_type id = index_type::u32;  ///< of record numbers
  double load = 0;                  ///< that the caller asked for; 0: the backend's

  bool has_repeats() const noexcept { return distinct < records; }
  friend bool operator==(const hash_facts&, const hash_facts&) = default;
};

/// What an index holds. Each backend derives its own; a search variant knows by facts.built_by what it is given.
/// Destroyed by any thread, when no search reads it.
class hash_table {
 public:
  virtual ~hash_table() = default;
  virtual std::uint64_t bytes() const noexcept = 0;
  /// For distinct keys in all buckets together; 0 where there are no buckets.
  virtual std::uint64_t places() const noexcept { return 0; }

  hash_facts facts;
};

/// What plans know of a build. There is at least one key.
struct hash_build_problem {
  backend_kind backend = backend_kind::cpu;
  std::uint64_t count = 0;  ///< records
  std::uint64_t key_bytes = 8;
  std::uint64_t key_stride_bytes = 8;
  index_type id = index_type::u32;
  double load = 0;

  friend bool operator==(const hash_build_problem&, const hash_build_problem&) = default;
};

inline plan::measured_place place_of(const hash_build_problem& p) noexcept {
  return {"build_hash_index", access_pattern::kind::unknown, p.key_bytes, p.count, 0};
}

struct hash_build_buffers {
  const_records keys;
  /// Where run puts the index. It sets facts.distinct and facts.longest_chain, and the call sets the other facts.
  std::unique_ptr<hash_table>* made = nullptr;
};

/// run() returns when the index is there to be read by any context, or throws error(out_of_memory), by hash_memory().
using hash_build_variant = plan::variant<hash_build_problem, hash_build_buffers>;

/// What a search writes for its probes.
enum class hash_output : std::uint8_t {
  matches,   ///< offsets, and the numbers of all records, in ascending order for each probe
  counts,    ///< how many records there are
  contains,  ///< a byte, 1 if there is a record
  first,     ///< the lowest number of a record; all bits set for none
};

/// What plans know of a search. There is at least one probe, and the index has at least one record.
struct hash_search_problem {
  hash_output output = hash_output::matches;
  std::uint64_t probes = 0;
  std::uint64_t probe_stride_bytes = 8;
  std::uint64_t out_bytes = 8;  ///< of one entry of the output: 4 or 8 for counts, 8 for offsets, 1 for contains
  double hit_share = 1;         ///< of probes that find something, for prices; a call does not know it
  /// Of the index. An empty built_by stands for what a build variant of this backend would build.
  hash_facts index;

  friend bool operator==(const hash_search_problem&, const hash_search_problem&) = default;
};

/// Searches for all records have steps of their own. The others differ by what they write for a probe alone, and are
/// measured together.
inline plan::measured_place place_of(const hash_search_problem& p) noexcept {
  return {p.output == hash_output::matches ? "hash_search" : "hash_count", access_pattern::kind::unknown,
          p.index.key_bytes, p.probes, p.index.records};
}

/// Where the ids of all matches go: the first `capacity` of them are written.
struct hash_match_room {
  void* ids = nullptr;
  std::uint64_t capacity = 0;
};

struct hash_search_buffers {
  const hash_table* table = nullptr;
  const_records probes;
  void* out = nullptr;  ///< offsets (one more than there are probes), counts, bytes, or ids
  /// Of hash_output::matches: called once with the number of matches, when run() knows it, and before it writes ids. It
  /// may throw error(out_of_memory); run() lets that pass.
  const std::function<hash_match_room(std::uint64_t total)>* make_room = nullptr;
};

using hash_search_variant = plan::variant<hash_search_problem, hash_search_buffers>;

/// All variants of this build, in the order of composition/tables.cpp and of each backend's variants.cpp.
std::span<const hash_build_variant> hash_build_variants();
std::span<const hash_search_variant> hash_search_variants();

/// Memory that a result keeps. Much memory of the host that the library takes itself is compared with what the system
/// has. @throws error(out_of_memory): "<call>: <what> take <bytes> bytes, ..."
/// @param available_bytes  what the system has
buffer hash_memory(const context& ctx, std::string_view call, const std::string& what, std::uint64_t bytes,
                   std::uint64_t (*available_bytes)() = core::host_available_bytes);

constexpr std::string_view hash_build_call = "build_hash_index";

/// Most keys of a build and probes of a search: bytes of what either takes for each of them then have less than 64
/// bits.
constexpr std::uint64_t most_hash_keys = std::uint64_t{1} << 56;

/// The message's words for an index that does not fit.
std::string words_of_index(std::uint64_t records, std::uint64_t distinct);

}  // namespace sheaf::primitives
