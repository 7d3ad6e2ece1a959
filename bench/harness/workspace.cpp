#include "bench/harness/workspace.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/harness/contents.hpp"

namespace sheaf::bench {
namespace {

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

constexpr std::uint32_t most_bits_with_offsets = 20;

std::uint64_t offset_count(const problem& p) noexcept {
  return splits(p.primitive) && p.bits <= most_bits_with_offsets ? (std::uint64_t{1} << p.bits) + 1 : 0;
}

records shaped(std::byte* data, const array_shape& shape) { return {data, shape.count, shape.item_bytes}; }

}  // namespace

workspace::sizes workspace::sizes_of(const problem& p) noexcept {
  const array_shapes shapes = shapes_of(p);
  return {aligned(shapes.source.bytes()), aligned(shapes.index.bytes()), aligned(shapes.target.bytes()),
          aligned(shapes.sorted_keys.bytes())};
}

std::uint64_t workspace_bytes(const problem& p, std::uint64_t copies) noexcept {
  const array_shapes shapes = shapes_of(p);
  return copies * (aligned(shapes.source.bytes()) + aligned(shapes.index.bytes()) + aligned(shapes.target.bytes()) +
                   aligned(shapes.sorted_keys.bytes())) +
         8 * offset_count(p);
}

void workspace::reserve(const problem& p, std::uint64_t copies) {
  const sizes one = sizes_of(p);
  most_ = {std::max(most_.source, copies * one.source), std::max(most_.index, copies * one.index),
           std::max(most_.target, copies * one.target), std::max(most_.sorted_keys, copies * one.sorted_keys)};
}

void workspace::allocate() {
  if (sources_.size() >= most_.source && indices_.size() >= most_.index && targets_.size() >= most_.target &&
      sorted_keys_.size() >= most_.sorted_keys) {
    return;
  }
  sources_ = {};
  indices_ = {};
  targets_ = {};
  sorted_keys_ = {};
  sources_ = buffer(ctx_, most_.source);
  indices_ = buffer(ctx_, most_.index);
  targets_ = buffer(ctx_, most_.target);
  sorted_keys_ = buffer(ctx_, most_.sorted_keys);
  source_contents_.clear();
  index_contents_.clear();
}

void workspace::prepare(const problem& p, std::uint64_t copies) {
  reserve(p, copies);
  allocate();
  problem_ = p;
  fill(p, copies);
  if (offsets_.size() < 8 * offset_count(p)) offsets_ = buffer(ctx_, 8 * offset_count(p));
  if (workspace_bytes(p, copies) < 3 * cache_bytes_) evict();
  ctx_.wait();
}

void workspace::fill(const problem& p, std::uint64_t copies) {
  const std::string sources = fmt::format("{} copies of {}", copies, bench::source_contents(p));
  const std::string indices = fmt::format("{} copies of {}", copies, bench::index_contents(p));
  for (std::uint64_t copy = 0; copy < copies; ++copy) {
    if (sources != source_contents_) bench::fill_source(ctx_, p, copy, source(copy));
    if (indices != index_contents_) {
      bench::fill_index(ctx_, p, copy, shaped(index_data(copy), shapes_of(p).index));
    }
    if (sources != source_contents_ || p.primitive == primitive::scatter_reduce) {
      if (p.primitive == primitive::sort_pairs) bench::wipe_target(ctx_, p, sorted_keys(copy));
      bench::wipe_target(
          ctx_, p,
          target(copy));  // First touch. Float sums start from small whole numbers again, so that they stay exact.
    }
  }
  source_contents_ = writes_index(p.primitive) ? std::string{} : sources;
  index_contents_ = indices;
}

void workspace::evict() {
  if (evicting_.size() == 0) evicting_ = buffer(ctx_, 2 * cache_bytes_);
  inputs::fill_records(ctx_, {evicting_.data(), evicting_.size() / 4096, 4096}, 0);
}

records workspace::source(std::uint64_t copy) const {
  return shaped(sources_.data() + copy * sizes_of(problem_).source, shapes_of(problem_).source);
}

index_span workspace::index(std::uint64_t copy) const { return {index_data(copy), problem_.count, problem_.index}; }

const_records workspace::keys(std::uint64_t copy) const { return shaped(index_data(copy), shapes_of(problem_).index); }

records workspace::target(std::uint64_t copy) const {
  return shaped(targets_.data() + copy * sizes_of(problem_).target, shapes_of(problem_).target);
}

records workspace::sorted_keys(std::uint64_t copy) const {
  return shaped(sorted_keys_.data() + copy * sizes_of(problem_).sorted_keys, shapes_of(problem_).sorted_keys);
}

index_output workspace::target_index(std::uint64_t copy) const {
  return {target(copy).data, problem_.count, problem_.index};
}

const_values workspace::source_values(std::uint64_t copy) const {
  return {source(copy).data, problem_.count, problem_.value};
}

values workspace::target_values(std::uint64_t copy) const {
  return {target(copy).data, problem_.slots, problem_.value};
}

std::span<std::uint64_t> workspace::offsets() const { return {offsets_.as<std::uint64_t>(), offset_count(problem_)}; }

std::byte* workspace::scratch(std::uint64_t bytes) const {
  if (scratch_.size() < bytes) {
    scratch_ = {};
    scratch_ = buffer(ctx_, bytes);
  }
  return scratch_.data();
}

void workspace::wipe_target() const {
  bench::wipe_target(ctx_, problem_, target(0));
  if (problem_.primitive == primitive::sort_pairs) bench::wipe_target(ctx_, problem_, sorted_keys(0));
}

std::uint64_t workspace::count_mismatches(bool with_offsets) const {
  const std::uint64_t* const offsets_to_check =
      with_offsets && offset_count(problem_) != 0 ? offsets().data() : nullptr;
  return bench::count_mismatches(ctx_, problem_, source(0), {target(0), sorted_keys(0), offsets_to_check});
}

}  // namespace sheaf::bench
