#pragma once

#include <algorithm>
#include <cstdint>

#include <sheaf/machine_profile.hpp>

#include "core/scratch_offsets.hpp"
#include "cpu/hash/answers.hpp"
#include "cpu/hash/bucket_index.hpp"
#include "cpu/threads/core_speed.hpp"
#include "plan/variant.hpp"

// What both searches cost, and what both take of scratch.
namespace sheaf::cpu {

/// Constants of searches. This folder's README has the figures that decided.
struct search_tuning {
  double digits_per_probe = 3.0;   ///< instructions of a look-up, in digits
  double digits_per_split = 2.0;   ///< to bring a probe to its partition, and its answer back
  double digits_per_answer = 0.5;  ///< of steps 3 and 4
};
constexpr search_tuning search_defaults;

/// Matches, if those that find something find what an average key has.
inline std::uint64_t expected_matches(const primitives::hash_search_problem& p) noexcept {
  const double chain =
      static_cast<double>(p.index.records) / static_cast<double>(std::max<std::uint64_t>(1, p.index.distinct));
  return static_cast<std::uint64_t>(p.hit_share * static_cast<double>(p.probes) * chain);
}

inline void decide_answers(const primitives::hash_search_problem& p, std::uint64_t threads,
                           core::scratch_offsets& place, answers_decision& d) noexcept {
  // A probe of a table in cache takes as long as some 64 bytes that are streamed.
  d.threads = threads;
  d.parts = parts_worth(p.probes * 64, threads);
  const bool keeps_begins = p.output == primitives::hash_output::matches;
  d.begins_at = place.take(keeps_begins ? p.probes * bytes(p.index.id) : 0);
  d.sums_at = place.take(keeps_begins ? d.parts * sizeof(std::uint64_t) : 0);
}

/// Reading probes, writing answers, and for matches steps 3 and 4.
inline void add_answers_cost(const primitives::hash_search_problem& p, const machine& m, std::uint64_t parts,
                             plan::planned& plan) noexcept {
  const std::uint64_t in = p.probes * p.probe_stride_bytes;
  const std::uint64_t out = p.probes * p.out_bytes;
  plan.add("streamed", m.streamed(in + out, in + out));
  if (p.output != primitives::hash_output::matches) return;
  const std::uint64_t id_bytes = bytes(p.index.id);
  const std::uint64_t begins = p.probes * id_bytes;
  const std::uint64_t matches = expected_matches(p) * id_bytes;
  const double rows = p.index.has_repeats() ? m.random_reads(p.probes, id_bytes, p.index.records * id_bytes) : 0;
  const double steps =
      static_cast<double>(p.probes) * search_defaults.digits_per_answer * digit_seconds(m) / static_cast<double>(parts);
  plan.add("matches", m.streamed(3 * out + 2 * begins + 2 * matches, out + begins + matches) + rows + steps);
}

inline void add_direct_cost(const primitives::hash_search_problem& p, const machine& m, std::uint64_t parts,
                            plan::planned& plan) noexcept {
  const index_layout l = layout_of(p.index);
  plan.add("latency", m.launch_seconds + m.step_seconds);
  add_answers_cost(p, m, parts, plan);
  const double past = static_cast<double>(l.overflow) / static_cast<double>(std::max<std::uint64_t>(1, l.distinct));
  double reads = m.random_reads(p.probes, line_bytes, l.lines_bytes()) +
                 m.random_reads(static_cast<std::uint64_t>(past * static_cast<double>(p.probes)),
                                l.key_bytes + l.id_bytes, l.overflow_bytes());
  if (p.output == primitives::hash_output::first && l.has_rows()) {
    reads += m.random_reads(p.probes, l.id_bytes, l.records * l.id_bytes);
  }
  constexpr double overlap_exponent = 2;
  plan.add_overlapped(overlap_exponent, {{"random read", reads},
                                         {"steps", static_cast<double>(p.probes) * search_defaults.digits_per_probe *
                                                       digit_seconds(m) / static_cast<double>(parts)}});
}

}  // namespace sheaf::cpu
