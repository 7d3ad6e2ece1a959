#include "lab/description/edges/items.hpp"
#include "lab/description/hash/items.hpp"
#include "lab/description/items.cuh"
#include "lab/description/linked_list/items.hpp"
#include "lab/description/reduce/items.hpp"
#include "lab/description/reduce/row_items.hpp"
#include "lab/description/sort/items.hpp"
#include "lab/description/sparse/items.hpp"
#include "lab/description/split/items.hpp"

// The device loops for the function objects of every family.
namespace sheaf::jobs::device {

template tally over_items(const context&, std::uint64_t, const fill_edges&);
template tally over_items(const context&, std::uint64_t, const fill_node_values&);
template tally over_items(const context&, std::uint64_t, const fill_coordinates&);
template tally over_items(const context&, std::uint64_t, const fill_edge_weights&);
template tally over_items(const context&, std::uint64_t, const checksum_edges&);
template tally over_items(const context&, std::uint64_t, const checksum_nodes&);

template tally over_items(const context&, std::uint64_t, const fill_table_keys&);
template tally over_items(const context&, std::uint64_t, const fill_probes&);
template tally over_items(const context&, std::uint64_t, const check_answers&);
template tally over_items(const context&, std::uint64_t, const check_offsets&);
template tally over_items(const context&, std::uint64_t, const check_ids&);
template tally over_items(const context&, std::uint64_t, const check_build&);
template tally over_items(const context&, std::uint64_t, const check_found&);

template tally over_items(const context&, std::uint64_t, const fill_successors&);
template tally over_items(const context&, std::uint64_t, const fill_list_values&);
template tally over_items(const context&, std::uint64_t, const fill_packed_nodes&);
template tally over_items(const context&, std::uint64_t, const check_ranks&);
template tally over_items(const context&, std::uint64_t, const check_list_values&);

template tally over_items(const context&, std::uint64_t, const fill_values&);
template tally over_items(const context&, std::uint64_t, const fill_slots&);
template tally over_items(const context&, std::uint64_t, const checksum_values&);
template tally over_items(const context&, std::uint64_t, const checksum_slots&);
template tally over_items(const context&, std::uint64_t, const fill_rows&);
template tally over_items(const context&, std::uint64_t, const fill_rows_before&);
template tally over_items(const context&, std::uint64_t, const fill_row_weights&);
template tally over_items(const context&, std::uint64_t, const fill_segment_offsets&);
template tally over_items(const context&, std::uint64_t, const checksum_scattered_rows&);
template tally over_items(const context&, std::uint64_t, const checksum_gathered_rows&);
template tally over_items(const context&, std::uint64_t, const checksum_rows_of_out&);
template tally over_items(const context&, std::uint64_t, const begin_combined_rows&);
template tally over_items(const context&, std::uint64_t, const combine_scattered_rows&);
template tally over_items(const context&, std::uint64_t, const check_scattered_rows&);
template tally over_items(const context&, std::uint64_t, const check_gathered_rows&);

template tally over_items(const context&, std::uint64_t, const fill_sort_keys&);
template tally over_items(const context&, std::uint64_t, const fill_sort_rows&);
template tally over_items(const context&, std::uint64_t, const check_sorted_keys&);
template tally over_items(const context&, std::uint64_t, const check_sorted_rows&);
template tally over_items(const context&, std::uint64_t, const check_sort_index&);

template tally over_items(const context&, std::uint64_t, const fill_row_begins&);
template tally over_items(const context&, std::uint64_t, const fill_columns&);
template tally over_items(const context&, std::uint64_t, const fill_entry_values&);
template tally over_items(const context&, std::uint64_t, const fill_vector&);
template tally over_items(const context&, std::uint64_t, const checksum_entries&);
template tally over_items(const context&, std::uint64_t, const checksum_results&);
template tally over_items(const context&, std::uint64_t, const fill_dense&);
template tally over_items(const context&, std::uint64_t, const checksum_dense_entries&);
template tally over_items(const context&, std::uint64_t, const fill_right_side&);
template tally over_items(const context&, std::uint64_t, const fill_system_columns&);
template tally over_items(const context&, std::uint64_t, const fill_system_values&);
template tally over_items(const context&, std::uint64_t, const square_of_right_side&);
template tally over_items(const context&, std::uint64_t, const share_of_residual&);

template tally over_items(const context&, std::uint64_t, const fill_split_records&);
template tally over_items(const context&, std::uint64_t, const fill_split_keys&);
template tally over_items(const context&, std::uint64_t, const check_split_records&);
template tally over_items(const context&, std::uint64_t, const check_gather_index&);
template tally over_items(const context&, std::uint64_t, const invert_index&);
template tally over_items(const context&, std::uint64_t, const fill_ones&);
template tally over_items(const context&, std::uint64_t, const fill_first&);
template tally over_items(const context&, std::uint64_t, const fill_categories&);
template tally over_items(const context&, std::uint64_t, const check_ascending_offsets&);
template tally over_items(const context&, std::uint64_t, const check_members&);

}  // namespace sheaf::jobs::device
