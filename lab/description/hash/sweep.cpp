#include "lab/description/sweep.hpp"

#include "lab/description/hash/problem.hpp"
#include "primitives/enum_names.hpp"

// Rows of hash search: tables by how often keys repeat in them, and probes by their order and by how many find
// something. Consecutive rows share their table, whose index is then built once.
namespace sheaf::primitives {
namespace {

constexpr std::uint64_t most_matches_of_row = std::uint64_t{1} << 30;

struct hash_lists {
  std::vector<std::uint64_t> tables{std::uint64_t{1} << 20};  ///< records that a search looks among
  std::vector<std::uint64_t> repeats{1};                      ///< of them that share a key, or power_law_repeats
  std::vector<std::uint64_t> hits{100};                       ///< per cent of the probes that find something
  std::vector<std::uint64_t> key_bytes{8};
  std::vector<std::uint64_t> loads{0};  ///< of the table, in per cent; 0: what the backend finds best
};

problem_spec build_of(std::uint64_t records, const hash_part& hash, std::uint64_t key_bytes) {
  const index_type id = id_type(records);
  const problem_spec problem{.primitive = "build_hash_index",
                             .record_bytes = bytes(id),
                             .index = id,
                             .count = records,
                             .key_bytes = key_bytes};
  return problem.with(hash);
}

// Searches that would find more than fits the memory of today's devices get fewer probes: half as many, or a quarter,
// and so on.
void limit_matches(problem_spec& p) {
  while (p.primitive == "hash_search" && p.count > 1 && jobs::room_for_matches(p) > most_matches_of_row) p.count /= 2;
}

void add_searches(const sweep& s, const entry& entry, const problem_spec& build, std::vector<problem_spec>& problems) {
  for (const std::uint64_t count : s.counts) {
    for (const input_pattern& pattern : s.patterns) {
      for (const std::uint64_t hits : s.lists.of<hash_lists>().hits) {
        problem_spec problem = build;
        problem.primitive = entry.name;
        problem.pattern = pattern;
        problem.count = count;
        problem.table = build.count;
        if (entry.name == "hash_contains") problem.record_bytes = 1;
        problem.part<hash_part>().hit_percent = static_cast<std::uint32_t>(hits);
        limit_matches(problem);
        add_if_checked(problem, problems);
      }
    }
  }
}

void add(const sweep& sweep, std::span<const entry* const> entries, std::vector<problem_spec>& problems) {
  const auto& lists = sweep.lists.of<hash_lists>();
  for (const std::uint64_t key_bytes : lists.key_bytes) {
    for (const std::uint64_t records : lists.tables) {
      for (const std::uint64_t repeats : lists.repeats) {
        for (const std::uint64_t load : lists.loads) {
          const hash_part hash{.repeats = repeats, .load_percent = static_cast<std::uint32_t>(load)};
          const problem_spec build = build_of(records, hash, key_bytes);
          for (const entry* const e : entries) {
            e->name == build.primitive ? add_if_checked(build, problems) : add_searches(sweep, *e, build, problems);
          }
        }
      }
    }
  }
}

constexpr named_sweep sets[] = {
    {"hash",
     "--primitives build_hash_index,hash_search,hash_find --patterns identity,zipf --log2-sizes 22:28:6 "
     "--tables 1048576,33554432,1073741824 --repeats 1,16,1000,zipf --hits 0,50,100"}};

constexpr list_option lists[] = {
    {"--tables", "of hash searches: records that they look among",
     [](sweep& s, option_texts texts) { s.lists.of<hash_lists>().tables = numbers_in("--tables", texts, 0); }},
    {"--repeats", "of hash searches: records that share a key, or zipf",
     [](sweep& s, option_texts texts) { s.lists.of<hash_lists>().repeats = parsed_list(texts, parse_repeats); }},
    {"--hits", "of hash searches: per cent of the probes that find something",
     [](sweep& s, option_texts texts) { s.lists.of<hash_lists>().hits = numbers_in("--hits", texts, 0, 100); }},
    {"--hash-keys", "of hash searches: bytes of a key, 4 or 8",
     [](sweep& s, option_texts texts) {
       const auto parse = [](std::string_view text) { return key_bytes_of("--hash-keys", text); };
       s.lists.of<hash_lists>().key_bytes = parsed_list(texts, parse);
     }},
    {"--loads", "of hash searches: load factors in per cent",
     [](sweep& s, option_texts texts) {
       s.lists.of<hash_lists>().loads = numbers_in("--loads", texts, least_load_percent, most_load_percent);
     }},
};

constexpr const entry* entries_of_family[] = {&build_hash_index_entry, &hash_search_entry, &hash_count_entry,
                                              &hash_contains_entry, &hash_find_entry};

}  // namespace

extern const family hash_family{"hash", entries_of_family, sets, lists, add};

}  // namespace sheaf::primitives
