#pragma once

// Constants of the formulas of calls between devices, in one place. They were fitted to what two H200s of one host took
// (lab/results/h200/scale-out*.json): those of sorts and the shares beside kernels by least squares of the logarithms
// of predicted / measured, with the two passes of parts as they were timed on one H200; others are what the formulas
// lacked in the mean of their rows. All are rounded. Seconds are those that the host takes while its device is idle.
namespace sheaf::distributed::fitted {

/// Of the rate of exchanges, where kernels of the same call run beside them: copies share a GPU's memory with kernels,
/// and NCCL's kernels its multiprocessors, too.
constexpr double copies_beside_kernels = 0.7;
constexpr double nccl_beside_kernels = 0.39;

/// Of the rate of exchanges, loads from another GPU's memory: each 128 bytes need a request of some 16 the other way.
constexpr double loads_of_exchange = 0.86;

// Sorts.
/// Drawing a sample, its allocations and copies, and merging what ranks tell.
constexpr double sample_seconds = 250e-6;
/// The gather of counts, the plan by them, allocation of what moves, comes and results, and addresses for kernels.
constexpr double plan_seconds = 140e-6;
/// A reading of keys that writes and counts parts, in copies of as many bytes: edges are searched for each key.
constexpr double find_parts_of_copy = 1.4;
/// Moving rows to their parts, likewise: runs of a tile's parts are short.
constexpr double move_rows_of_copy = 1.75;
/// A round of rows_before(), beside its waits: keys of samples are gathered by list and compared on the host.
constexpr double selection_round_seconds = 400e-6;

// Gathers and scatters.
/// Owners' layout to the device, what memory is free, and allocations; before any entry is read.
constexpr double list_seconds = 90e-6;
/// Launches and allocations of a movement by a list that is prepared.
constexpr double movement_seconds = 30e-6;

// Products.
/// Launches of a product beside and behind its halo, and of gathering this.
constexpr double product_seconds = 60e-6;

}  // namespace sheaf::distributed::fitted
