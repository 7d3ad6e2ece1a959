#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include <sheaf/distributed/group.hpp>
#include <sheaf/plan.hpp>

// What calls between ranks take, as sums of what their steps take on one rank and of what travels. The formula of a
// call stands in the folder of the call: sort/cost.hpp, movement/cost.hpp, sparse/cost.hpp. All times are in seconds.
namespace sheaf::distributed {

/// How fast ranks reach each other.
struct link_rates {
  bool are_devices = false;            ///< ranks work on devices, by primitives
  double bytes_per_second = 0;         ///< of a rank that sends and takes as many at a time, in long messages of arrays
  double exchange_seconds = 0;         ///< least time of an exchange of arrays
  double message_seconds = 0;          ///< of an all-gather of a few bytes, which every call begins with
  double wait_seconds = 0;             ///< until the host knows that an idle device is idle
  double loads_per_second = 0;         ///< of short records from other ranks' memory; 0: ranks do not read it
  double loaded_bytes_per_second = 0;  ///< of long ones

  double share_beside_kernels = 1;  ///< of bytes_per_second, while kernels of the same call run

  /// An exchange of so many bytes that a rank sends and takes.
  double exchange(double bytes) const noexcept { return exchange_seconds + bytes / bytes_per_second; }
  /// One that is begun while the device has so many seconds of work: half of the least time is the host's, which passes
  /// meanwhile.
  double exchange_behind(double work, double bytes) const noexcept {
    const double half = exchange_seconds / 2;
    return half + std::max(0.0, half - work) + bytes / bytes_per_second;
  }
};

/// How arrays travel between ranks.
enum class link_kind : std::uint8_t {
  threads,  ///< ranks are threads of this process, on the CPU
  copies,   ///< between GPUs of this process
  nccl,     ///< between GPUs, over a communicator of NCCL
};

/// How GPUs of one host reach each other's memory.
enum class gpu_access : std::uint8_t {
  links,         ///< by links of their own, as NVLink
  bus,           ///< over PCI Express
  through_host,  ///< not at all: copies go through the host's memory, and kernels do not read it
};

/// Rates that were measured once (docs/scale-out.md says where): for decisions before there is a group. Rates of the
/// bus are taken to be 20 GB/s. @param access  counts for copies
link_rates usual_link(link_kind kind, gpu_access access = gpu_access::links) noexcept;

/// The rates of a group, in some 20 ms. Collective; the same on all ranks. Takes 1 GiB of a device's memory, or 32 MiB
/// of the host's.
link_rates measure_link(const group& ranks);

/// What a call is predicted to take.
class call_cost {
 public:
  void add(const char* what, double seconds) { terms_.push_back({what, seconds}); }
  double seconds() const noexcept;
  std::span<const cost_term> terms() const noexcept { return terms_; }

 private:
  std::vector<cost_term> terms_;
};

/// Of 1 to `most` ranks the number whose seconds(ranks) are least; of equals the fewest. Where all are infinite it is
/// `most`: the parts are least there.
int cheapest_ranks(int most, const std::function<double(int ranks)>& seconds);

/// The share of evenly spread rows that lie on other ranks.
constexpr double share_of_others(int ranks) noexcept { return static_cast<double>(ranks - 1) / ranks; }

/// The seconds that the planner predicts of its choice; infinite where no variant can run.
double chosen_seconds(const explanation& of) noexcept;

}  // namespace sheaf::distributed
