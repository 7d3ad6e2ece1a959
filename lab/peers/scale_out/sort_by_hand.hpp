#pragma once

#include <memory>
#include <span>
#include <vector>

#include <sheaf/context.hpp>

namespace sheaf::bench::peers::device {

/// The steps of a sort by hand that CUB and a kernel do, on one device. Memory is taken before anything is timed.
class sort_steps {
 public:
  /// @param most  numbers that may come from all ranks together
  sort_steps(const context& ctx, const std::uint64_t* keys, std::uint64_t count, std::uint64_t most);
  ~sort_steps();
  sort_steps(const sort_steps&) = delete;
  sort_steps& operator=(const sort_steps&) = delete;

  void sort();
  /// Every so many of the sorted numbers. Waits.
  std::vector<std::uint64_t> sample(std::uint64_t numbers) const;
  /// Where numbers that are not below each bound begin. Waits.
  std::vector<std::uint64_t> places(std::span<const std::uint64_t> bounds) const;
  const std::uint64_t* sorted() const noexcept;
  std::uint64_t* received() const noexcept;
  /// Merges what was received: sorted runs that begin at these numbers, and where the last one ends.
  void merge(std::vector<std::uint64_t> begins);
  const std::uint64_t* result() const noexcept;

 private:
  struct memory;
  std::unique_ptr<memory> of_;
};

}  // namespace sheaf::bench::peers::device
