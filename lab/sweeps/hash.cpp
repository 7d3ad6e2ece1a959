#include <string>

#include <fmt/format.h>

#include "lab/description/hash/problem.hpp"
#include "lab/description/job.hpp"
#include "lab/description/row_name.hpp"
#include "lab/sweeps/sweep.hpp"
#include "primitives/views.hpp"
#include "primitives/words.hpp"

// Hash search: tables by how often keys repeat in them, and probes by their order and by how many find something.
// Consecutive rows share their table, whose index is then built once.
namespace sheaf::bench {
namespace {

constexpr std::string_view family = "hash";
constexpr std::uint64_t most_matches = std::uint64_t{1} << 30;

sweep searches() {
  sweep s{{&primitives::entry_named("build_hash_index"), &primitives::entry_named("hash_search"),
           &primitives::entry_named("hash_find")},
          patterns({"identity", "zipf"}),
          {4},
          {index_type::u32},
          powers_of_two(22, 28, 6)};
  s.tables = powers_of_two(20, 30, 5);
  s.repeats = {1, 16, 1000, primitives::power_law_repeats};
  s.hits = {0, 50, 100};
  return s;
}

struct table_parameters {
  std::uint64_t records;
  std::uint64_t repeats;
  std::uint64_t key_bytes;
  std::uint64_t load;

  std::uint64_t id_bytes() const { return records >> 32 == 0 ? 4 : 8; }
  std::string type() const {
    return load == 0 ? fmt::format("k{}", 8 * key_bytes) : fmt::format("k{}+load{}", 8 * key_bytes, load);
  }
};

void add_build(const table_parameters& t, std::vector<problem>& problems) {
  problems.push_back(primitives::parse_problem(fmt::format(
      "build_hash_index/x{}/r{}/{}/n={}", primitives::repeats_text(t.repeats), t.id_bytes(), t.type(), t.records)));
}

void add_searches(const sweep& s, const primitives::entry& e, const table_parameters& t,
                  std::vector<problem>& problems) {
  const std::uint64_t entry_bytes = e.name == "hash_contains" ? 1 : t.id_bytes();
  for (const std::uint64_t count : s.counts) {
    for (const primitives::input_pattern& pattern : s.patterns) {
      for (const std::uint64_t hits : s.hits) {
        problems.push_back(primitives::parse_problem(
            fmt::format("{}/{}:s{}:x{}:h{}/r{}/{}/n={}", e.name, primitives::name(pattern), t.records,
                        primitives::repeats_text(t.repeats), hits, entry_bytes, t.type(), count)));
      }
    }
  }
}

// Searches that would find more than fits the memory of today's devices get fewer probes: half as many, or a quarter,
// and so on.
void limit_matches(problem& p) {
  while (p.primitive == "hash_search" && p.count > 1 && jobs::room_for_matches(p) > most_matches) p.count /= 2;
}

bool is_measured(const problem& p) { return jobs::job_of(p).unchecked(p).empty(); }

void add(const sweep& s, std::span<const primitives::entry* const> entries, std::vector<problem>& problems) {
  for (const std::uint64_t key_bytes : s.hash_key_bytes) {
    for (const std::uint64_t records : s.tables) {
      for (const std::uint64_t repeats : s.repeats) {
        for (const std::uint64_t load : s.loads) {
          const table_parameters table{records, repeats, key_bytes, load};
          for (const primitives::entry* const e : entries) {
            e->name == "build_hash_index" ? add_build(table, problems) : add_searches(s, *e, table, problems);
          }
        }
      }
    }
  }
  for (problem& p : problems) limit_matches(p);
  std::erase_if(problems, [](const problem& p) { return entry_of(p).family == family && !is_measured(p); });
}

constexpr named_sweep sets[] = {{"hash", searches}};

std::uint64_t parse_repeats(std::string_view text) {
  if (text == "zipf") return primitives::power_law_repeats;
  const std::string texts[] = {std::string(text)};
  return numbers_in("--repeats", texts, 1, ~std::uint64_t{0}).front();
}

constexpr list_option lists[] = {
    {"--tables", "of hash searches: records that they look among",
     [](sweep& s, std::span<const std::string> texts) {
       s.tables = numbers_in("--tables", texts, 0, ~std::uint64_t{0});
     }},
    {"--repeats", "of hash searches: records that share a key, or zipf",
     [](sweep& s, std::span<const std::string> texts) { s.repeats = parsed_list(texts, parse_repeats); }},
    {"--hits", "of hash searches: per cent of the probes that find something",
     [](sweep& s, std::span<const std::string> texts) { s.hits = numbers_in("--hits", texts, 0, 100); }},
    {"--hash-keys", "of hash searches: bytes of a key, 4 or 8",
     [](sweep& s, std::span<const std::string> texts) {
       s.hash_key_bytes = parsed_list(texts, [](std::string_view text) -> std::uint64_t {
         if (text == "4" || text == "8") return text == "4" ? 4 : 8;
         primitives::refuse("--hash-keys: '{}' is not 4 or 8", core::printable(text));
       });
     }},
    {"--loads", "of hash searches: load factors in per cent",
     [](sweep& s, std::span<const std::string> texts) { s.loads = numbers_in("--loads", texts, 5, 99); }},
};

}  // namespace

extern const family_sweeps hash_sweeps{family, sets, lists, add};

}  // namespace sheaf::bench
