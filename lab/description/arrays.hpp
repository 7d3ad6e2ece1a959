#pragma once

#include "lab/description/job.hpp"

namespace sheaf::jobs {

/// The arrays of one problem at a time, in as many copies as its calls rotate among. They lie in buffers that live as
/// long as this object, because allocating gigabytes and touching them first takes longer than a call. Inputs that the
/// next problem needs too are kept.
class problem_arrays {
 public:
  explicit problem_arrays(const context& ctx) : ctx_(ctx) {}

  /// Makes the buffers large enough. Call it for every problem before the first fill().
  void reserve(const problem_spec& problem, std::uint64_t copies);
  /// Fills the inputs of all copies.
  void fill(const problem_spec& problem, std::uint64_t copies);

  array_set of_copy(std::uint64_t copy) const;
  records at(std::uint64_t copy, std::size_t place) const;

  /// Overwrites the outputs of copy 0 and gives what is read and written its first contents again.
  void reset_outputs() const;
  /// Memory of the buffers, which are as large as those of the largest problem so far.
  std::uint64_t held_bytes() const;
  /// Mistakes in the answer of copy 0.
  std::uint64_t count_mistakes(bool with_side_outputs) const;

 private:
  void allocate();
  void fill_place(std::size_t place, std::uint64_t copies);
  std::string kind_of_made(const problem_spec& problem, std::uint64_t copies) const;
  void make(std::uint64_t copies);

  context ctx_;
  problem_spec problem_;
  array_shapes shapes_;
  std::array<std::uint64_t, most_arrays> most_bytes_{};
  std::array<buffer, most_arrays> buffers_;
  std::array<std::string, most_arrays> contents_;  ///< what the buffers hold now, in words
  std::vector<std::shared_ptr<const void>> made_;  ///< for each copy what its job has made of the arrays
  std::string kind_of_all_made_;
};

/// Bytes of the buffers for a problem, and of what is made of them.
std::uint64_t bytes_of_arrays(const problem_spec& problem, std::uint64_t copies);
/// Bytes that making it takes besides, for one copy at a time.
std::uint64_t bytes_of_making(const problem_spec& problem);

}  // namespace sheaf::jobs
