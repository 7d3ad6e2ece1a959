#include "papers/sizes.hpp"

#include <algorithm>
#include <utility>

namespace sheaf::bench::papers {
namespace {

constexpr std::uint64_t tiny_counts[] = {std::uint64_t{1} << 12, std::uint64_t{1} << 14};
constexpr std::uint64_t no_limit = ~std::uint64_t{0};

// What a call may have at most, on one side.
struct call_limits {
  std::uint64_t records;
  std::uint64_t bytes;
};

// A CPU takes seconds for a call on more than the medium ones.
call_limits most_at(run_size size) {
  switch (size) {
    case run_size::small: return {million, std::uint64_t{1} << 26};
    case run_size::medium: return {16 * million, std::uint64_t{1} << 29};
    default: return {no_limit, no_limit};
  }
}

}  // namespace

std::string_view meaning_of(run_size size) {
  switch (size) {
    case run_size::tiny:
      return "4 K and 16 K records, each call once. It shows that everything runs; the times mean nothing.";
    case run_size::small: return "up to 2^20 records, medians of three rounds.";
    case run_size::medium: return "the paper's sizes up to 2^24 records.";
    case run_size::paper: return "the paper's sizes.";
    case run_size::device: return "the paper's sizes and beyond, as far as memory goes.";
  }
  return {};
}

std::vector<std::uint64_t> in_millions(std::vector<std::uint64_t> numbers) {
  for (std::uint64_t& number : numbers) number *= million;
  return numbers;
}

std::uint64_t doubled_while(std::uint64_t count, const fits_function& fits) {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  while (count != 0 && count <= most && fits(2 * count)) count *= 2;
  return count;
}

std::vector<std::uint64_t> counts_at(run_size size, const std::vector<std::uint64_t>& of_paper,
                                     std::uint64_t record_bytes, const fits_function& fits) {
  if (size == run_size::tiny) return {std::begin(tiny_counts), std::end(tiny_counts)};
  std::vector<std::uint64_t> all = of_paper;
  const call_limits most = most_at(size);
  std::erase_if(all, [&](std::uint64_t count) { return count > most.records; });
  if (size == run_size::small && all.size() < 2) all = {most.records / 4, most.records};
  std::erase_if(all, [&](std::uint64_t count) { return record_bytes != 0 && count > most.bytes / record_bytes; });
  if (size != run_size::device || all.empty()) return all;
  const std::uint64_t largest = doubled_while(all.back(), fits);
  while (all.back() < largest) all.push_back(2 * all.back());
  return all;
}

std::uint64_t count_at(run_size size, std::uint64_t of_paper, const fits_function& fits) {
  if (size == run_size::tiny) return std::end(tiny_counts)[-1];
  if (size == run_size::device) return doubled_while(of_paper, fits);
  return std::min(of_paper, most_at(size).records);
}

}  // namespace sheaf::bench::papers
