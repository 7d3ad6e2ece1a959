#include "workspace.hpp"

#include <algorithm>

#include "inputs/pattern.hpp"

namespace sheaf::bench {
namespace {

constexpr std::uint64_t records_seed = 20070715;

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

inputs::pattern seeded(inputs::pattern pattern, std::uint64_t copy) {
  pattern.seed += copy;
  return pattern;
}

}  // namespace

workspace::sizes workspace::sizes_of(const problem& p) noexcept {
  return {aligned(p.count * p.record_bytes), aligned(p.count * bytes(p.index)), aligned(p.count * p.record_bytes)};
}

std::uint64_t workspace_bytes(const problem& p, std::uint64_t copies) noexcept {
  return copies * (2 * aligned(p.count * p.record_bytes) + aligned(p.count * bytes(p.index)));
}

void workspace::reserve(const problem& p, std::uint64_t copies) {
  const sizes one = sizes_of(p);
  most_ = {std::max(most_.source, copies * one.source), std::max(most_.index, copies * one.index),
           std::max(most_.target, copies * one.target)};
}

void workspace::allocate() {
  if (sources_.size() >= most_.source && indices_.size() >= most_.index && targets_.size() >= most_.target) return;
  sources_ = {};
  indices_ = {};
  targets_ = {};
  sources_ = buffer(ctx_, most_.source);
  indices_ = buffer(ctx_, most_.index);
  targets_ = buffer(ctx_, most_.target);
  copies_ = 0;
}

void workspace::prepare(const problem& p, std::uint64_t copies) {
  reserve(p, copies);
  allocate();
  const bool same_size = copies_ == copies && problem_.count == p.count && problem_.record_bytes == p.record_bytes;
  const bool same_index = copies_ == copies && problem_.count == p.count && problem_.index == p.index &&
                          inputs::name(problem_.pattern) == inputs::name(p.pattern);
  problem_ = p;
  copies_ = copies;
  if (!same_size) fill_sources(p, copies);
  if (!same_index) fill_indices(p, copies);
  if (workspace_bytes(p, copies) < 3 * cache_bytes_) evict();
  ctx_.wait();
}

void workspace::fill_sources(const problem& p, std::uint64_t copies) {
  for (std::uint64_t copy = 0; copy < copies; ++copy) {
    inputs::fill_records(ctx_, {sources_.data() + copy * sizes_of(p).source, p.count, p.record_bytes}, records_seed);
    inputs::fill_records(ctx_, target(copy), records_seed + 1);  // first touch
  }
}

void workspace::fill_indices(const problem& p, std::uint64_t copies) {
  for (std::uint64_t copy = 0; copy < copies; ++copy) {
    inputs::fill_index(ctx_, seeded(p.pattern, copy), p.count, index(copy));
  }
}

void workspace::evict() {
  if (evicting_.size() == 0) evicting_ = buffer(ctx_, 2 * cache_bytes_);
  inputs::fill_records(ctx_, {evicting_.data(), evicting_.size() / 4096, 4096}, 0);
}

const_records workspace::source(std::uint64_t copy) const {
  return {sources_.data() + copy * sizes_of(problem_).source, problem_.count, problem_.record_bytes};
}

index_span workspace::index(std::uint64_t copy) const {
  return {indices_.data() + copy * sizes_of(problem_).index, problem_.count, problem_.index};
}

records workspace::target(std::uint64_t copy) const {
  return {targets_.data() + copy * sizes_of(problem_).target, problem_.count, problem_.record_bytes};
}

void workspace::wipe_target() const { inputs::fill_records(ctx_, target(0), records_seed + 1); }

std::uint64_t workspace::count_mismatches() const {
  const inputs::pattern pattern = seeded(problem_.pattern, 0);
  return problem_.primitive == primitive::gather
             ? inputs::count_gather_mismatches(ctx_, target(0), pattern, problem_.count, records_seed)
             : inputs::count_scatter_mismatches(ctx_, target(0), pattern, problem_.count, records_seed);
}

}  // namespace sheaf::bench
