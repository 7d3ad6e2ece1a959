#pragma once

#include <utility>

#include <sheaf/context.hpp>

// Inspector and executor: what the executors of all preparations share.
namespace sheaf::primitives {

/// An executor that a preparation has made, and the report, which derives from preparation_report.
template <class Executor, class Report>
struct made_executor {
  std::shared_ptr<Executor> work;
  Report report;
};

/// What a prepared object holds: an executor, behind the comparison of each run's views with what was prepared, which
/// is the run() of a derived class.
template <class Executor, class Problem>
class checked_executor : public Executor {
 public:
  checked_executor(std::shared_ptr<Executor> work, const Problem& p) : work_(std::move(work)), problem_(p) {}
  std::uint64_t kept_bytes() const final { return work_->kept_bytes(); }

  const Problem& problem() const noexcept { return problem_; }
  Executor& executor() const noexcept { return *work_; }

 private:
  std::shared_ptr<Executor> work_;
  Problem problem_;
};

[[noreturn]] void throw_moved_from(std::string_view call);

/// What a prepared object holds. @throws error(bad_argument), naming `call`, if that was moved from
template <class Checked, class Executor>
Checked& checked(std::string_view call, const std::shared_ptr<Executor>& work) {
  if (work == nullptr) throw_moved_from(call);
  return static_cast<Checked&>(*work);
}

/// Memory of a preparation. @throws error(out_of_memory): "<call>: <what> take <bytes> bytes, ..."
buffer memory_of_preparation(const context& ctx, std::string_view call, std::string_view what, std::uint64_t bytes);

}  // namespace sheaf::primitives
