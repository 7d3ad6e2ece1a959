#include "cuda/hash/cost.hpp"

namespace sheaf::cuda {

using namespace primitives;

namespace {

struct hash_tuning {
  double scan_share = 0.6;  ///< share of copy bandwidth of the passes over sorted hashes
  // Of builds from partitions: two kernels whose blocks wait for memory and barriers one after the other, and the copy
  // that the host waits for. One H200, 2^16 to 2^22 keys: 0.78 to 1.27 of the measured time.
  double partition_steps = 21;
  double partition_share = 0.21;
  /// Sectors that a probe reads, over one: of keys that lie behind their bucket, and of probes of two sectors.
  double sectors_a_probe = 1.15;
};
constexpr hash_tuning tuning;

double chain_of(const hash_search_problem& p) noexcept {
  return static_cast<double>(p.index.records) / static_cast<double>(std::max<std::uint64_t>(1, p.index.distinct));
}

}  // namespace

void price_build(const hash_build_problem& problem, slot_form form, double sort_seconds, const machine& machine,
                 plan::planned& plan) {
  const auto count = static_cast<double>(problem.count);
  const auto hash = static_cast<double>(problem.key_bytes);
  const auto id = static_cast<double>(row_bytes(form));
  const auto table =
      static_cast<double>(buckets_for(problem.count, problem.key_bytes, form, problem.load) * sector_bytes);
  const double bytes_per_second = tuning.scan_share * machine.copy_bytes_per_second;
  plan.add("latency", 2 * machine.launch_seconds + 8 * machine.step_seconds);
  plan.add("hashes",
           count * (static_cast<double>(problem.key_stride_bytes) + hash + id) / machine.copy_bytes_per_second);
  plan.add("sort", sort_seconds);
  plan.add("counts", 2 * count * hash / bytes_per_second);
  plan.add("slots", (count * (hash + id) + 2 * table) / bytes_per_second);
}

void price_partitioned_build(const hash_build_problem& problem, slot_form form, const machine& machine,
                             plan::planned& plan) {
  const auto count = static_cast<double>(problem.count);
  const auto record = static_cast<double>(2 * problem.key_bytes);
  const auto table =
      static_cast<double>(buckets_for(problem.count, problem.key_bytes, form, problem.load) * sector_bytes);
  const double bytes_per_second = tuning.partition_share * machine.copy_bytes_per_second;
  plan.add("latency", machine.launch_seconds + tuning.partition_steps * machine.step_seconds);
  plan.add("partitions", count * (static_cast<double>(problem.key_stride_bytes) + record) / bytes_per_second);
  plan.add("slots", (count * record + table) / bytes_per_second);
}

double sector_seconds(std::uint64_t probes, std::uint64_t footprint, const machine& m) {
  return tuning.sectors_a_probe * m.random_reads(probes, sector_bytes, footprint);
}

void price_rows(const hash_search_problem& problem, std::uint64_t parts, const machine& machine, plan::planned& plan) {
  const slot_form form = form_of(problem.index);
  // A wide slot says which record is the first.
  const bool finds_first = problem.output == hash_output::first && form == slot_form::wide;
  if (!problem.index.has_repeats() || problem.output == hash_output::contains || finds_first) return;
  const std::uint64_t id = row_bytes(form);
  plan.add("rows", machine.random_reads(problem.probes, sector_bytes,
                                        problem.index.records * id / std::max<std::uint64_t>(1, parts)));
}

void price_matches(const hash_search_problem& problem, const machine& machine, plan::planned& plan) {
  if (problem.output != hash_output::matches) return;
  const auto probes = static_cast<double>(problem.probes);
  const auto id = static_cast<double>(bytes(problem.index.id));
  const auto found = static_cast<double>(found_bytes(problem));
  const double matches = problem.hit_share * probes * chain_of(problem);
  const double bytes_per_second = tuning.scan_share * machine.copy_bytes_per_second;
  plan.add("offsets", 2 * machine.launch_seconds + probes * (2 * found + 8) / bytes_per_second);
  plan.add("ids", (matches * id + (problem.index.has_repeats() ? probes * (8 + found) : 0)) / bytes_per_second);
}

std::uint64_t found_bytes(const hash_search_problem& p) noexcept {
  const std::uint64_t row = row_bytes(form_of(p.index));
  return p.index.has_repeats() ? 2 * row : row;
}

std::uint64_t answer_bytes(const hash_search_problem& p) noexcept {
  return p.output == hash_output::matches ? found_bytes(p) : p.out_bytes;
}

}  // namespace sheaf::cuda
