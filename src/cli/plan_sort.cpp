#include "cli/plan_sort.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sheaf/error.hpp>

#include "cli/movement.hpp"
#include "jobs/sort_key.hpp"

namespace sheaf::cli {
namespace {

std::vector<std::string> fields_of(const sort_key& key) {
  std::vector<std::string> fields;
  for (std::size_t i = 0; i < key.count; ++i) fields.push_back(jobs::text_of(key.fields[i]));
  return fields;
}

}  // namespace

sort_key key_of_rows(const std::vector<std::string>& texts, std::uint64_t row_bytes, std::string_view rows) {
  if (!texts.empty()) return jobs::key_of_texts(texts, row_bytes, false, rows);
  constexpr std::uint64_t most_key_bytes = sort_key::most_bits / 8;
  if (row_bytes > most_key_bytes) {
    throw error(error_code::bad_argument, fmt::format("{} of {} bytes need --key: a key has at most {} of them", rows,
                                                      row_bytes, most_key_bytes));
  }
  return key_field{0, static_cast<std::uint32_t>(row_bytes)};
}

explanation plan_sort::explain(const context& ctx, std::string_view variant) const {
  const const_records rows(nullptr, count, row_bytes);
  if (primitive == "sort_gather_index") return explain_sort_gather_index(ctx, rows, key, index, {variant});
  if (primitive == "sort_records") return explain_sort(ctx, rows, key, {variant});
  std::vector<sort_column> values;
  for (const std::uint64_t width : value_bytes) values.push_back({{nullptr, count, width}, {nullptr, count, width}});
  return explain_sort_pairs(ctx, rows, key, true, values, {variant});
}

std::string plan_sort::text() const {
  std::string what = fmt::format("{} records of {} bytes", count, row_bytes);
  if (primitive == "sort_gather_index") what = fmt::format("{} index of {}", name(index), what);
  if (primitive == "sort_pairs") {
    what =
        fmt::format("{} keys of {} bytes with values of {} bytes", count, row_bytes, fmt::join(value_bytes, " and "));
  }
  return fmt::format("{}, by {} ({} bits)", what, fmt::join(fields_of(key), ", then "), jobs::layout_of(key).bits);
}

nlohmann::json plan_sort::json() const {
  nlohmann::json document = {{"count", count}, {"key", fields_of(key)}, {"key_bits", jobs::layout_of(key).bits}};
  if (primitive == "sort_pairs") {
    document["key_bytes"] = row_bytes;
    document["value_bytes"] = value_bytes;
  } else {
    document["record_bytes"] = row_bytes;
  }
  if (primitive == "sort_gather_index") document["index_type"] = name(index);
  return document;
}

}  // namespace sheaf::cli
