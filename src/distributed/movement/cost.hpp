#pragma once

#include "distributed/cost.hpp"

namespace sheaf::distributed {

/// A gather or a scatter whose list and rows lie on ranks in equal parts; entries name rows anywhere.
struct movement_shape {
  std::uint64_t entries = 0;  ///< of all ranks
  std::uint64_t rows = 0;     ///< of the table or of the output, of all ranks
  std::uint64_t record_bytes = 0;
  bool is_prepared = false;
  bool is_scatter = false;
};

/// What the steps of a movement take on one rank alone, on as many entries and rows.
struct movement_steps {
  std::function<double(std::uint64_t entries, std::uint64_t rows)> move;  ///< by a list of any order
  /// A stable split of pairs of numbers by a byte each; of devices.
  std::function<double(std::uint64_t entries)> split_by_owner;
  std::function<double(std::uint64_t bytes)> stream;  ///< a copy that reads half of them and writes half
  std::function<double(std::uint64_t entries)> pass;  ///< a reading of entries that counts them; of others
};
movement_steps planned_gather_steps(const context& ctx, const movement_shape& of);
movement_steps planned_scatter_steps(const context& ctx, const movement_shape& of);

/// @param reads_peers  whether records may be loaded from other ranks' memory: in a gather
call_cost movement_cost(const movement_shape& of, int ranks, const limits& bounds, const movement_steps& on_one,
                        const link_rates& link, bool reads_peers);
double gather_seconds(const context& ctx, const movement_shape& of, int ranks, const link_rates& link);
double scatter_seconds(const context& ctx, const movement_shape& of, int ranks, const link_rates& link);

/// Whether a gather of this shape loads records from where they are.
bool loads_from_peers(const movement_shape& of, const link_rates& link) noexcept;

/// Bytes that a rank sends to others, of requests and of records.
double sent_bytes(const movement_shape& of, int ranks, bool by_loads) noexcept;

}  // namespace sheaf::distributed
