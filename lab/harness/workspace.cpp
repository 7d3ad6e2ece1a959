#include "lab/harness/workspace.hpp"

#include "lab/inputs/pattern.hpp"

namespace sheaf::bench {

void workspace::release() {
  arrays_ = jobs::problem_arrays(ctx_);
  evicting_ = {};
  scratch_ = {};
}

void workspace::prepare(const problem& p, std::uint64_t copies) {
  problem_ = p;
  arrays_.fill(p, copies);
  if (jobs::bytes_of_arrays(p, copies) < 3 * cache_bytes_) evict();
  ctx_.wait();
}

void workspace::evict() {
  if (evicting_.size() == 0) evicting_ = buffer(ctx_, 2 * cache_bytes_);
  inputs::fill_records(ctx_, {evicting_.data(), evicting_.size() / 4096, 4096}, 0);
}

index_span workspace::index(std::uint64_t copy) const {
  return {at(copy, jobs::places::index).data, problem_.count, problem_.index};
}

std::byte* workspace::scratch(std::uint64_t bytes) const {
  if (scratch_.size() < bytes) {
    scratch_ = {};
    scratch_ = buffer(ctx_, bytes);
  }
  return scratch_.data();
}

}  // namespace sheaf::bench
