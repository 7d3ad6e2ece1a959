#include "cli/plan_problem.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sheaf/error.hpp>
#include <sheaf/gather.hpp>

#include "cli/command.hpp"
#include "cli/key.hpp"
#include "cli/movement.hpp"
#include "primitives/views.hpp"

namespace sheaf::cli {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw error(error_code::bad_argument, what); }

// The primitives that an option concerns, and whether they require it.
struct option_use {
  const char* option;
  bool given;
  std::vector<std::string_view> primitives;
  bool required;
};

template <class Value>
void add_choice(CLI::App& subcommand, const char* option, std::optional<Value>& chosen,
                const std::vector<std::pair<std::string, Value>>& choices, const char* description) {
  std::vector<std::string> words;
  words.reserve(choices.size());
  for (const auto& choice : choices) words.push_back(choice.first);
  subcommand
      .add_option_function<std::string>(
          option,
          [&chosen, choices](const std::string& word) {
            for (const auto& choice : choices) {
              if (choice.first == word) chosen = choice.second;
            }
          },
          description)
      ->check(CLI::IsMember(words));
}

void add_sizes(CLI::App& subcommand, plan_problem& o) {
  constexpr auto most = ~std::uint64_t{0};
  add_number(
      subcommand, "--count", 0, most, [&o](std::uint64_t n) { o.count = n; }, "Records that move")
      ->required();
  add_number(
      subcommand, "--table", 0, most, [&o](std::uint64_t n) { o.table = n; },
      "Records that INDEX may name: gather's table, the output of scatter and scatter_reduce");
  add_number(
      subcommand, "--bytes", 1, most, [&o](std::uint64_t n) { o.widths.push_back(n); },
      "Bytes of a record; sort_pairs: of a value, once for each array of values")
      ->trigger_on_parse();
  add_index_type(subcommand, o.index_kind, "Type of the index; u32 unless one is written of too many records");
}

void add_key_options(CLI::App& subcommand, plan_problem& o) {
  subcommand
      .add_option("--key", o.keys,
                  "Splits: OFFSET:BITS, the bits that are a record's category; 0:8 unless given. Sorts: "
                  "OFFSET:BYTES[:TYPE][:asc|desc] as in sheaf sort, up to 8 times; the whole record as an unsigned "
                  "number unless given")
      ->type_name("KEY")
      ->allow_extra_args(false);
  add_bit_order(subcommand, o.order);
  add_number(
      subcommand, "--key-bytes", 1, primitives::most_record_bytes, [&o](std::uint64_t n) { o.key_bytes = n; },
      "Width of keys in an array of their own. Splits: without it they are the records, 4 bytes where an index or "
      "--categories need some; "
      "sort_pairs: 4 unless given");
  add_number(
      subcommand, "--categories", 1, std::uint64_t{1} << 32, [&o](std::uint64_t n) { o.categories = n; },
      "Splits: keys are categories, of which there are N");
}

}  // namespace

void plan_problem::require_options() const {
  const std::vector<std::string_view> all_splits{"split", "split_unstable", "split_gather_index",
                                                 "split_scatter_index"};
  std::vector<std::string_view> keyed = all_splits;
  keyed.insert(keyed.end(), {"sort_records", "sort_pairs", "sort_gather_index"});
  std::vector<std::string_view> with_separate_keys = all_splits;
  with_separate_keys.emplace_back("sort_pairs");
  const option_use uses[] = {
      {"--table", table.has_value(), {"gather", "scatter", "scatter_reduce"}, true},
      {"--bytes",
       !widths.empty(),
       {"gather", "scatter", "split", "split_unstable", "sort_records", "sort_pairs", "sort_gather_index"},
       true},
      {"--index-type",
       index_kind.has_value(),
       {"gather", "scatter", "split_gather_index", "split_scatter_index", "scatter_reduce", "sort_gather_index"},
       false},
      {"--pattern", pattern != access_pattern::unknown(), {"gather", "scatter", "scatter_reduce"}, false},
      {"--duplicates", repeats.has_value(), {"scatter"}, false},
      {"--key", !keys.empty(), keyed, false},
      {"--from-left", order == bit_order::from_left, all_splits, false},
      {"--key-bytes", key_bytes.has_value(), with_separate_keys, false},
      {"--categories", categories.has_value(), all_splits, false},
      {"--type", type.has_value(), {"scatter_reduce"}, false},
      {"--op", op.has_value(), {"scatter_reduce"}, false},
      {"--order", adding.has_value(), {"scatter_reduce"}, false},
  };
  for (const option_use& use : uses) {
    const bool fits = std::find(use.primitives.begin(), use.primitives.end(), primitive) != use.primitives.end();
    if (use.given && !fits) {
      refuse(fmt::format("{} is for {}", use.option, fmt::join(use.primitives, ", ")));
    }
    if (!use.given && fits && use.required) throw CLI::RequiredError(use.option);
  }
  if (categories && !keys.empty()) refuse("give --key or --categories, not both");
  if (splits() && keys.size() > 1) refuse(fmt::format("{} times --key: {} has one", keys.size(), primitive));
  if (widths.size() > 1 && primitive != "sort_pairs") {
    refuse(fmt::format("{} times --bytes: {} has one", widths.size(), primitive));
  }
}

index_type plan_problem::index() const {
  return writes_index() ? index_type_for(index_kind, count) : index_kind.value_or(index_type::u32);
}

std::uint64_t plan_problem::width() const {
  if (type) return bytes(*type);
  if (!widths.empty()) return widths.front();
  return has_indexed_side() ? bytes(value_type::f32) : bytes(index());
}

split_key plan_problem::category_key() const {
  bit_field field = keys.empty() ? bit_field{} : parse_bit_field(keys.front());
  field.order = order;
  const const_records separate_keys(nullptr, count, key_bytes.value_or(4));
  if (categories) return split_key::category(separate_keys, *categories);
  return key_bytes || writes_index() ? split_key::of(separate_keys, field) : split_key::of_record(field);
}

plan_sort plan_problem::sort() const {
  if (primitive == "sort_pairs") {
    const std::uint64_t row_bytes = key_bytes.value_or(4);
    return {.primitive = primitive,
            .count = count,
            .row_bytes = row_bytes,
            .value_bytes = widths,
            .key = key_of_rows(keys, row_bytes, "keys")};
  }
  return {.primitive = primitive,
          .count = count,
          .row_bytes = width(),
          .index = index(),
          .key = key_of_rows(keys, width(), "records")};
}

explanation plan_problem::explain(const context& ctx, std::string_view variant) const {
  if (sorts()) return sort().explain(ctx, variant);
  const index_span index_list(nullptr, count, index());
  const records sequential(nullptr, count, width());
  const records indexed(nullptr, table.value_or(0), width());
  if (primitive == "gather")
    return explain_gather(ctx, indexed, index_list, sequential, {.pattern = pattern, .variant = variant});
  if (primitive == "scatter") {
    return explain_scatter(ctx, sequential, index_list, indexed,
                           {.pattern = pattern, .duplicates = repeats.value_or(duplicates::any), .variant = variant});
  }
  if (primitive == "scatter_reduce") {
    const value_type kind = type.value_or(value_type::f32);
    return explain_scatter_reduce(
        ctx, {nullptr, count, kind}, index_list, {nullptr, indexed.count, kind}, op.value_or(reduction::add),
        {.pattern = pattern, .order = adding.value_or(reduction_order::deterministic), .variant = variant});
  }
  if (primitive == "split_gather_index") return explain_split_gather_index(ctx, category_key(), index(), {variant});
  if (primitive == "split_scatter_index") return explain_split_scatter_index(ctx, category_key(), index(), {variant});
  return explain_split(ctx, sequential, category_key(), primitive == "split", {variant});
}

std::string plan_problem::text() const {
  if (sorts()) return sort().text();
  std::string text = fmt::format("{} records of {} bytes", count, width());
  if (has_indexed_side()) {
    const std::uint64_t table_records = table.value_or(0);
    return text + fmt::format(", table of {} ({}), {} index, pattern {}", table_records,
                              bytes_text(table_records * width()), name(index()), name(pattern));
  }
  const split_key by = category_key();
  text += fmt::format(", {} categories", by.categories);
  if (by.from != split_key::kind::category)
    text += fmt::format(" by {} bits from bit {}", by.bits.count, by.bits.first);
  if (by.from != split_key::kind::record_bits) text += fmt::format(" of keys of {} bytes", by.keys.record_bytes);
  return text;
}

nlohmann::json plan_problem::json() const {
  if (sorts()) return sort().json();
  nlohmann::json document = {{"count", count}, {"record_bytes", width()}};
  if (has_indexed_side() || writes_index()) document["index_type"] = name(index());
  if (has_indexed_side()) {
    document["table"] = table.value_or(0);
    document["pattern"] = name(pattern);
  } else {
    document["categories"] = category_key().categories;
  }
  return document;
}

void plan_problem::add_to(CLI::App& subcommand) {
  const std::vector<std::string> primitives{
      "gather",         "scatter",      "split",      "split_unstable",   "split_gather_index", "split_scatter_index",
      "scatter_reduce", "sort_records", "sort_pairs", "sort_gather_index"};
  subcommand.add_option("PRIMITIVE", primitive, fmt::format("{}", fmt::join(primitives, ", ")))
      ->required()
      ->type_name("")
      ->check(CLI::IsMember(primitives));
  add_sizes(subcommand, *this);
  add_pattern(subcommand, "--pattern", pattern);
  add_choice<sheaf::duplicates>(subcommand, "--duplicates", repeats,
                                {{"any", duplicates::any}, {"last", duplicates::last}},
                                "Which writer of a scatter wins: any or last");
  add_key_options(subcommand, *this);
  add_choice<value_type>(subcommand, "--type", type,
                         {{"i32", value_type::i32},
                          {"u32", value_type::u32},
                          {"i64", value_type::i64},
                          {"u64", value_type::u64},
                          {"f32", value_type::f32},
                          {"f64", value_type::f64}},
                         "scatter_reduce: what is put together; f32 unless given");
  add_choice<reduction>(subcommand, "--op", op,
                        {{"add", reduction::add}, {"min", reduction::min}, {"max", reduction::max}},
                        "scatter_reduce: how; add unless given");
  add_choice<reduction_order>(
      subcommand, "--order", adding,
      {{"deterministic", reduction_order::deterministic}, {"unordered", reduction_order::unordered}},
      "scatter_reduce: what may decide the order of additions; deterministic unless given");
}

}  // namespace sheaf::cli
