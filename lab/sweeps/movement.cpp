#include "lab/description/job.hpp"
#include "lab/description/movement/problem.hpp"
#include "lab/sweeps/sweep.hpp"
#include "primitives/words.hpp"

// Movements by an index list: every width by every order of the list.
namespace sheaf::bench {
namespace {

constexpr std::string_view family = "movement";

sweep quick() {
  return {primitives::entries_of(family),
          patterns({"identity", "permutation"}),
          {4, 8, 128},
          {index_type::u32},
          {1 << 12, 1 << 20}};
}

sweep large_records() {
  return {{&primitives::entry_named("gather")},
          patterns({"permutation"}),
          {32, 64, 100, 128, 256, 1024},
          {index_type::u32},
          {},
          std::uint64_t{8} << 30};
}

sweep small_widths() {
  return {primitives::entries_of(family),
          primitives::all_patterns(),
          {1, 2, 4, 8, 16},
          {index_type::u32},
          powers_of_two(10, 28, 2)};
}

sweep model() {
  std::vector<primitives::input_pattern> all = primitives::all_patterns();
  for (const auto& more : patterns({"partitioned:8", "partitioned:4096", "clustered:1048576"})) all.push_back(more);
  std::vector<std::uint64_t> counts = powers_of_two(16, 28, 2);
  counts.push_back(std::uint64_t{1} << 29);
  return {
      primitives::entries_of(family), all, {1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 1024}, {index_type::u32}, counts};
}

sweep on_the_cpu() {
  return {primitives::entries_of(family),
          patterns({"identity", "permutation", "clustered:4096"}),
          {4, 8, 16, 64},
          {index_type::u32},
          {std::uint64_t{1} << 26}};
}

void add(const sweep& s, std::span<const primitives::entry* const> entries, std::vector<problem>& problems) {
  for (const std::uint64_t record_bytes : s.record_bytes) {
    for (const std::uint64_t count : s.counts_of(record_bytes)) {
      for (const index_type index : s.indices) {
        for (const primitives::input_pattern& pattern : s.patterns) {
          for (const primitives::entry* const e : entries) {
            problem p{e->name, pattern, record_bytes, index, count};
            for (const duplicates rule : s.duplicate_rules) {
              p.part<primitives::movement_part>().duplicates = rule;
              if (jobs::job_of(p).unchecked(p).empty()) problems.push_back(p);
            }
          }
        }
      }
    }
  }
}

constexpr named_sweep sets[] = {{"quick", quick},
                                {"records", large_records},
                                {"small-widths", small_widths},
                                {"model", model},
                                {"cpu", on_the_cpu}};

constexpr list_option lists[] = {
    {"--duplicates", "of scatters: any, last",
     [](sweep& s, std::span<const std::string> texts) {
       s.duplicate_rules = parsed_list(texts, [](std::string_view text) {
         return primitives::value_of(text, primitives::duplicates_words, "a rule for duplicates");
       });
     }},
};

}  // namespace

extern const family_sweeps movement_sweeps{family, sets, lists, add};

}  // namespace sheaf::bench
