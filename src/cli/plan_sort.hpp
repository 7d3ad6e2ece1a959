#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <sheaf/context.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/sort.hpp>

namespace sheaf::cli {

/// A sort that `sheaf plan` is asked about.
struct plan_sort {
  std::string_view primitive;  ///< sort_records, sort_pairs, sort_gather_index
  std::uint64_t count = 0;
  std::uint64_t row_bytes = 0;                  ///< of the rows that hold the keys: records, or keys apart
  std::vector<std::uint64_t> value_bytes = {};  ///< of sort_pairs, of each array of values
  index_type index = index_type::u32;           ///< of sort_gather_index
  sort_key key;

  explanation explain(const context& ctx, std::string_view variant) const;
  /// In words.
  std::string text() const;
  nlohmann::json json() const;
};

/// What `--key` says of these rows as `sheaf sort` takes it, or the whole row as an unsigned number where it says
/// nothing. `rows` is what messages call them: "records". @throws error(bad_argument)
sort_key key_of_rows(const std::vector<std::string>& texts, std::uint64_t row_bytes, std::string_view rows);

}  // namespace sheaf::cli
