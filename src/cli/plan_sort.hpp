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

/// The question to `sheaf plan` about a sort.
struct plan_sort {
  std::string_view primitive;  ///< sort_records, sort_pairs, sort_gather_index
  std::uint64_t count = 0;
  std::uint64_t row_bytes = 0;                  ///< bytes of a row that holds a key: a record, or a separate key
  std::vector<std::uint64_t> value_bytes = {};  ///< for sort_pairs: bytes of a value of each array
  index_type index = index_type::u32;           ///< for sort_gather_index: type of the index
  sort_key key;

  explanation explain(const context& ctx, std::string_view variant) const;
  /// The problem in words.
  std::string text() const;
  nlohmann::json json() const;
};

/// The key that `--key` describes, in the notation of `sheaf sort`; without --key the whole row as an unsigned number.
/// `rows` is what messages call the rows: "records". @throws error(bad_argument)
sort_key key_of_rows(const std::vector<std::string>& texts, std::uint64_t row_bytes, std::string_view rows);

}  // namespace sheaf::cli
