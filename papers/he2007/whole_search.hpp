#pragma once

#include "papers/he2007/figures.hpp"

// Contenders of figure 18: searches that end with the gather of the records that they have found, step 4 of the paper.
namespace sheaf::bench::papers::he2007 {

/// What makes contenders of one row's searches, in each of which every probe finds one record. All of them share the
/// records of the tables and those that are found, and every answer is checked with its records.
class whole_search {
 public:
  whole_search(const session& session, const problem& problem);

  /// A search, ours or a peer's, and the gather that the planner chooses.
  contender with_gather(const contender& search) const;
  /// The same, between the transfer of the search keys from the host and that of the records to the host.
  contender with_transfers(const contender& search) const;
  /// A search, and the paper's multi-pass gather in so many passes.
  contender with_passes(const contender& search, std::uint64_t passes) const;
  /// That gather alone, of what the search has found before.
  contender step_4(const contender& search, std::uint64_t passes, const plan::he2007::parameters& model) const;
  /// The paper's search of the CPU by chunks of the table, with the gather that the planner chooses, both on all
  /// threads of the session unless a number is given.
  contender by_chunks(std::uint64_t chunks, int threads = 0) const;

  /// The chunks of that search, each as large as the second-level cache.
  std::uint64_t planned_chunks() const;
  /// The passes of the gather that the model of the paper chooses.
  std::uint64_t modelled_passes(const plan::he2007::parameters& model) const;
  /// Sizes that the paper's model takes of the gather.
  plan::he2007::sizes gather_sizes() const;
  /// Bytes of the list of record ids and of the records that the gather reads and writes.
  std::uint64_t gathered_bytes() const;

  static constexpr std::string_view step_4_words = "step 4";
  static std::string name_with_passes(std::string_view who, std::uint64_t passes);
  static std::string name_of_step_4(std::uint64_t passes);
  static std::string name_by_chunks(std::uint64_t chunks, int threads = 0);

 private:
  struct row_records;
  using gather_call = std::function<void(std::uint64_t copy)>;
  struct gather_step {
    gather_call run;
    std::uint64_t scratch_bytes = 0;
  };

  gather_step planned_gather(const context& ctx) const;
  gather_step multipass_gather(std::uint64_t passes) const;
  /// The search with this gather behind it.
  contender followed_by(const contender& search, const gather_step& step) const;
  contender search_by_chunks(const context& ctx, std::uint64_t chunks) const;

  const session* session_;
  problem problem_;
  std::uint64_t table_records_;
  std::uint64_t found_records_;
  std::shared_ptr<row_records> records_;
};

}  // namespace sheaf::bench::papers::he2007
