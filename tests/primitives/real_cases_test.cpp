// Every variant of every list runs real cases: problems whose right output differs from what it held before the call,
// and from every input of its size. A list of row numbers also differs from the rows as they come. So no test of a
// variant passes by empty lists, by lists in order, or by a copy. How many cases there are is counted here, in one
// process for each list and backend, because other tests run in processes of their own.
#include "primitives/backends.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/memory.hpp>

#include "cpu/sort/vqsort.hpp"
#include "lab/description/arrays.hpp"
#include "plan/choose.hpp"
#include "support/cases/rows.hpp"
#include "support/contexts.hpp"
#include "support/scoped_environment.hpp"

namespace sheaf::tests::primitives_real_cases_test {
namespace {

using jobs::array_role;
using jobs::array_shape;
using primitives::problem_spec;
using primitives::row_of_entry_variant;
using primitives::variant_table;

constexpr std::size_t wanted_cases = 30;
constexpr std::uint64_t seed = 20090914;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    words.push_back(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(text.size(), words.back().size() + 1));
  }
  return words;
}

/// A list of variants by the reference's table of it, which has the names of the calls.
struct tested_list {
  const variant_table* table;

  /// The library itself has no call for the rows of entries.
  bool has_call() const { return !table->calls().empty(); }
  std::string_view name() const { return has_call() ? words_of(table->calls()).front() : "row_of_entry"; }
  /// Whether the variants are preparations, whose runs answer.
  bool is_prepared() const { return table->calls().starts_with(prepare); }
  /// The entries whose jobs run the variants.
  std::vector<const primitives::entry*> entries() const;

  static constexpr std::string_view prepare = "prepare_";
};

// A preparation is named after the entry whose runs it prepares, or after the call of which that entry has the rows.
bool is_named_by(std::string_view calls, const primitives::entry& of) {
  return std::ranges::any_of(words_of(calls), [&](std::string_view call) {
    if (call == of.name) return true;
    if (!call.starts_with(tested_list::prepare) || of.job->prepare == nullptr) return false;
    const std::string_view prepared = call.substr(tested_list::prepare.size());
    return prepared == of.name || fmt::format("{}_rows", prepared) == of.name;
  });
}

// What has no list by its own name, as sort_keys and multi_split, goes by the list of another call of its family.
std::vector<const primitives::entry*> tested_list::entries() const {
  std::vector<const primitives::entry*> named;
  for (const primitives::entry* const e : primitives::entries()) {
    if (is_named_by(table->calls(), *e)) named.push_back(e);
  }
  std::vector<const primitives::entry*> all = named;
  for (const primitives::entry* const e : primitives::entries()) {
    const bool has_list = std::ranges::any_of(reference::variants,
                                              [&](const variant_table& list) { return is_named_by(list.calls(), *e); });
    const bool is_of_family = std::ranges::any_of(named, [&](const auto* other) { return other->family == e->family; });
    if (!has_list && is_of_family && !is_prepared()) all.push_back(e);
  }
  return all;
}

/// Whose memory a variant works on, by its name; none for one of any backend.
std::optional<backend_kind> backend_of(std::string_view variant) {
  if (variant.starts_with("cuda.")) return backend_kind::cuda;
  if (variant.starts_with("opengl.")) return backend_kind::opengl;
  if (variant.starts_with("cpu.") || variant.starts_with("reference.")) return backend_kind::cpu;
  return std::nullopt;
}

/// The variants of a list that work on a backend's memory: the library's and the papers'.
std::vector<std::string> variants_of(const tested_list& list, backend_kind backend) {
  std::vector<std::string> names;
  for (const primitives::variant_tables* const tables : primitives::all_backends()) {
    for (const variant_table& table : *tables) {
      if (!table.is_of_primitive_of(*list.table)) continue;
      for (std::size_t v = 0; v < table.size(); ++v) {
        if (backend_of(table.name(v)).value_or(backend) == backend) names.emplace_back(table.name(v));
      }
    }
  }
  return names;
}

std::optional<context> context_of(backend_kind backend) {
  switch (backend) {
    case backend_kind::cuda: return cuda_context();
    case backend_kind::opengl: return opengl_context();
    default: return context::cpu(2);
  }
}

/// The bytes of each array of a problem, on the host.
using contents = std::array<std::vector<std::byte>, jobs::most_arrays>;

contents contents_of(const context& ctx, const jobs::problem_arrays& arrays) {
  contents all;
  for (std::size_t place = 0; place < all.size(); ++place) {
    const records array = arrays.at(0, place);
    all[place].resize(array.count * array.record_bytes);
    if (!all[place].empty()) copy_bytes(ctx, all[place].data(), array.data, all[place].size());
  }
  return all;
}

/// Whether entry i of a list is i.
bool is_in_order(const std::vector<std::byte>& list, std::uint64_t entry_bytes) {
  for (std::uint64_t i = 0; (i + 1) * entry_bytes <= list.size(); ++i) {
    std::uint64_t entry = 0;
    std::memcpy(&entry, list.data() + i * entry_bytes, entry_bytes);
    if (entry != i) return false;
  }
  return true;
}

bool is_written(const array_shape& shape) {
  return shape.bytes() > 0 && shape.role != array_role::input && shape.role != array_role::work;
}

/// Whether a right answer says that a variant worked: every array that is written differs from what it held and from
/// every input of its size.
bool is_real(const problem_spec& problem, const contents& before, const contents& after) {
  const jobs::array_shapes shapes = jobs::job_of(problem).shapes(problem);
  bool was_written = false;
  for (std::size_t place = 0; place < shapes.size(); ++place) {
    if (!is_written(shapes[place])) continue;
    was_written = true;
    if (after[place] == before[place]) return false;
    for (std::size_t other = 0; other < shapes.size(); ++other) {
      if (shapes[other].role == array_role::input && after[place] == before[other]) return false;
    }
    const bool is_index = place == jobs::places::target && primitives::entry_of(problem).writes_index;
    if (is_index && is_in_order(after[place], problem.record_bytes)) return false;
  }
  return was_written;
}

struct cases {
  std::size_t run = 0;
  std::size_t real = 0;

  bool are_enough() const { return real >= wanted_cases; }
  /// Whether no further case is run: where so many were not real, the next ones will not be.
  bool are_done() const { return are_enough() || run >= 10 * wanted_cases; }
};

/// The cases of each variant.
using cases_of_variants = std::map<std::string, cases>;

bool takes(const context& ctx, const problem_spec& problem, const std::string& variant) {
  const explanation why = primitives::entry_of(problem).explain(ctx, problem, variant);
  const auto found = std::ranges::find(why.variants, variant, &variant_estimate::variant);
  return found != why.variants.end() && found->applicable;
}

/// Runs a call on the arrays, checks its answer, and counts it.
void count_call(const context& ctx, const problem_spec& problem, const jobs::problem_arrays& arrays,
                const std::string& variant, const std::function<void()>& call, bool with_side_outputs, cases& count) {
  arrays.reset_outputs();
  const contents before = contents_of(ctx, arrays);
  call();
  ctx.wait();
  EXPECT_EQ(arrays.count_mistakes(with_side_outputs), 0U) << name(problem) << ": " << variant;
  ++count.run;
  count.real += is_real(problem, before, contents_of(ctx, arrays)) ? 1 : 0;
}

void count_calls(const context& ctx, std::string_view entry, const std::vector<std::string>& variants,
                 cases_of_variants& counted) {
  jobs::problem_arrays arrays(ctx);
  for (const problem_spec& problem : problems_in_rows(entry, seed)) {
    bool is_filled = false;
    for (const std::string& variant : variants) {
      if (counted[variant].are_done() || !takes(ctx, problem, variant)) continue;
      if (!is_filled) arrays.fill(problem, 1);
      is_filled = true;
      const auto call = [&] { jobs::job_of(problem).run(ctx, problem, arrays.of_copy(0), {variant, true}); };
      count_call(ctx, problem, arrays, variant, call, true, counted[variant]);
    }
  }
}

/// The text by which the environment forces a variant for every call of a list.
std::string forced(const tested_list& list, std::string_view variant) {
  std::string text;
  for (const std::string_view call : words_of(list.table->calls())) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", call, variant);
  }
  return text;
}

/// The preparation of a problem, or nothing where the variant that is forced refuses it.
std::optional<jobs::prepared_run> preparation_of(const context& ctx, const problem_spec& problem,
                                                 const jobs::problem_arrays& arrays) {
  constexpr std::uint64_t expected_runs = 100;
  try {
    return jobs::job_of(problem).prepare(ctx, problem, arrays.of_copy(0), expected_runs);
  } catch (const error& e) {
    if (e.code() != error_code::no_variant) throw;
    return std::nullopt;
  }
}

void count_prepared_runs(backend_kind backend, const tested_list& list, std::string_view entry,
                         const std::vector<std::string>& variants, cases_of_variants& counted) {
  const std::vector<problem_spec> problems = problems_in_rows(entry, seed);
  for (const std::string& variant : variants) {
    const scoped_environment environment("SHEAF_VARIANT", forced(list, variant));
    const context ctx = *context_of(backend);
    jobs::problem_arrays arrays(ctx);
    for (const problem_spec& problem : problems) {
      if (counted[variant].are_done()) break;
      arrays.fill(problem, 1);
      const std::optional<jobs::prepared_run> prepared = preparation_of(ctx, problem, arrays);
      if (!prepared || prepared->report.variant != variant) continue;
      count_call(ctx, problem, arrays, variant, prepared->run, false, counted[variant]);
    }
  }
}

/// Where rows of 0 to 7 entries each begin, and where the last one ends.
std::vector<std::uint64_t> beginnings_of_rows(std::uint64_t rows, std::mt19937_64& random) {
  std::vector<std::uint64_t> first(rows + 1);
  for (std::uint64_t r = 0; r < rows; ++r) first[r + 1] = first[r] + random() % 8;
  return first;
}

std::vector<std::byte> rows_of_entries(const std::vector<std::uint64_t>& first, std::uint64_t entry_bytes) {
  std::vector<std::byte> rows(first.back() * entry_bytes);
  for (std::uint64_t r = 0; r + 1 < first.size(); ++r) {
    for (std::uint64_t e = first[r]; e < first[r + 1]; ++e) std::memcpy(&rows[e * entry_bytes], &r, entry_bytes);
  }
  return rows;
}

void count_rows_of_entries(const context& ctx, const std::vector<std::string>& variants, cases_of_variants& counted) {
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < wanted_cases; ++i) {
    const index_type type = i % 2 == 0 ? index_type::u32 : index_type::u64;
    const std::vector<std::uint64_t> first = beginnings_of_rows(1000 + 431 * i, random);
    const std::vector<std::byte> expected = rows_of_entries(first, bytes(type));
    const std::vector<std::byte> before(expected.size(), std::byte{0xa5});
    const buffer beginnings(ctx, first.size() * sizeof first[0]);
    const buffer rows(ctx, expected.size());
    copy_bytes(ctx, beginnings.data(), first.data(), beginnings.size());
    for (const std::string& variant : variants) {
      copy_bytes(ctx, rows.data(), before.data(), before.size());
      plan::execute("row_of_entry", primitives::row_of_entry_variants(),
                    {ctx.backend(), first.size() - 1, first.back(), type}, ctx, variant,
                    primitives::row_of_entry_buffers{beginnings.as<std::uint64_t>(), rows.data()});
      ctx.wait();
      std::vector<std::byte> after(expected.size());
      copy_bytes(ctx, after.data(), rows.data(), after.size());
      EXPECT_EQ(after, expected) << variant << " of " << first.size() - 1 << " rows";
      ++counted[variant].run;
      counted[variant].real += after != before && !is_in_order(after, bytes(type)) ? 1 : 0;
    }
  }
}

/// "sort_keys: cpu.lsd 30 of 31, ...", a line for each entry.
std::string text_of(const std::map<std::string_view, cases_of_variants>& counted) {
  std::string text;
  for (const auto& [entry, variants] : counted) {
    text += fmt::format("{}:", entry);
    for (const auto& [variant, count] : variants) text += fmt::format(" {} {} of {};", variant, count.real, count.run);
    text += '\n';
  }
  return text;
}

/// A variant that this processor has no instructions for.
bool is_missing_here(std::string_view variant) { return variant == "cpu.vqsort" && !cpu::sorts_in_vectors(); }

struct list_on_backend {
  tested_list list;
  backend_kind backend;

  friend void PrintTo(const list_on_backend& l, std::ostream* out) {
    *out << l.list.name() << " on " << name(l.backend);
  }
};

/// Every list on each backend that has variants of its own of it, and on the CPU where variants work on any backend.
std::vector<list_on_backend> lists_on_backends() {
  std::vector<list_on_backend> all;
  for (const variant_table& table : reference::variants) {
    for (const backend_kind backend : {backend_kind::cpu, backend_kind::cuda, backend_kind::opengl}) {
      const std::vector<std::string> names = variants_of({&table}, backend);
      const bool has_own = std::ranges::any_of(
          names, [&](const auto& v) { return backend_of(v).value_or(backend_kind::cpu) == backend; });
      if (has_own) all.push_back({{&table}, backend});
    }
  }
  return all;
}

class RealCases : public testing::TestWithParam<list_on_backend> {};

std::string name_of_test(const testing::TestParamInfo<list_on_backend>& of) {
  return fmt::format("{}_on_{}", of.param.list.name(), name(of.param.backend));
}

INSTANTIATE_TEST_SUITE_P(Of, RealCases, testing::ValuesIn(lists_on_backends()), name_of_test);

TEST_P(RealCases, AreThirtyOrMoreForEveryVariant) {
  const auto [list, backend] = GetParam();
  const std::optional<context> ctx = context_of(backend);
  if (!ctx) GTEST_SKIP() << "no device of " << name(backend);
  SCOPED_TRACE(fmt::format("problems in the order of seed {}", seed));
  std::vector<std::string> variants = variants_of(list, backend);
  std::erase_if(variants, is_missing_here);

  std::map<std::string_view, cases_of_variants> counted;
  if (!list.has_call()) count_rows_of_entries(*ctx, variants, counted[list.name()]);
  for (const primitives::entry* const e : list.entries()) {
    if (list.is_prepared()) {
      count_prepared_runs(backend, list, e->name, variants, counted[e->name]);
    } else {
      count_calls(*ctx, e->name, variants, counted[e->name]);
    }
  }

  // A variant need not take every call of its list, but one that takes problems of a call takes enough of them.
  const std::string all = text_of(counted);
  for (const std::string& variant : variants) {
    std::size_t real = 0;
    for (auto& [entry, of_entry] : counted) {
      real += of_entry[variant].real;
      EXPECT_TRUE(of_entry[variant].run == 0 || of_entry[variant].are_enough())
          << variant << " has " << of_entry[variant].real << " real cases of " << entry << ", not " << wanted_cases
          << "; all are, of those that were run:\n"
          << all;
    }
    EXPECT_GE(real, wanted_cases) << variant << " has too few real cases; all are, of those that were run:\n" << all;
  }
  RecordProperty("cases", all);
}

TEST(RealCasesOfAll, AreCountedForEveryListOfVariantsAndEveryEntry) {
  std::set<std::string> counted;
  std::set<std::string_view> entries;
  for (const list_on_backend& l : lists_on_backends()) {
    const bool has_problems = !l.list.entries().empty() || !l.list.table->of<row_of_entry_variant>().empty();
    EXPECT_TRUE(has_problems) << l.list.name();
    for (const std::string& v : variants_of(l.list, l.backend)) counted.insert(fmt::format("{} {}", l.list.name(), v));
    for (const primitives::entry* const e : l.list.entries()) entries.insert(e->name);
  }
  for (const primitives::entry* const e : primitives::entries()) {
    EXPECT_TRUE(entries.contains(e->name)) << e->name << " has no list";
    EXPECT_FALSE(rows_of(e->name).empty()) << e->name << " has no problems in support/cases/rows.hpp";
  }
  std::size_t variants = 0;
  for (const primitives::variant_tables* const tables : primitives::all_backends()) {
    for (const variant_table& table : *tables) variants += table.size();
  }
  EXPECT_EQ(counted.size(), variants) << "a variant is of a list without a reference, or of no backend's name";
}

/// Whether the planner's choice for a problem is a real case, after so many calls on the same output.
bool is_real_case(const char* row, int calls_before = 0) {
  const context ctx = context::cpu(2);
  const problem_spec problem = primitives::parse_problem(row);
  jobs::problem_arrays arrays(ctx);
  arrays.fill(problem, 1);
  arrays.reset_outputs();
  const auto call = [&] { jobs::job_of(problem).run(ctx, problem, arrays.of_copy(0), {.with_side_outputs = true}); };
  for (int i = 0; i < calls_before; ++i) call();
  const contents before = contents_of(ctx, arrays);
  call();
  return is_real(problem, before, contents_of(ctx, arrays));
}

TEST(RealCasesOfAll, DoNotCountCopiesNorWhatTheOutputHeldNorNothing) {
  EXPECT_TRUE(is_real_case("gather/permutation/r8/u32/n=1000"));
  EXPECT_FALSE(is_real_case("gather/identity/r8/u32/n=1000")) << "a copy";
  EXPECT_FALSE(is_real_case("gather/permutation/r8/u32/n=1000", 1)) << "the output was right before";
  EXPECT_FALSE(is_real_case("gather/permutation/r8/u32/n=0")) << "nothing is written";
  EXPECT_TRUE(is_real_case("split/uniform:b8/r8/own/n=1000"));
  EXPECT_FALSE(is_real_case("split/equal:b8/r8/own/n=1000")) << "a copy";
  EXPECT_TRUE(is_real_case("sort_pairs/uniform/r4/u32/n=1000"));
  EXPECT_FALSE(is_real_case("sort_pairs/sorted/r4/u32/n=1000")) << "copies of keys and values";
  EXPECT_TRUE(is_real_case("sort_gather_index/uniform/r4/u32/n=1000"));
  EXPECT_FALSE(is_real_case("sort_gather_index/sorted/r4/u32/n=1000")) << "the rows as they come";
}

}  // namespace
}  // namespace sheaf::tests::primitives_real_cases_test
