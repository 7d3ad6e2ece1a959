#include "cpu/edges/tile_build.hpp"

#include <omp.h>

#include <mutex>

#include "cpu/edges/ends.hpp"
#include "cpu/threads/parts.hpp"
#include "cpu/threads/write_combining.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

/// Numbers in the order in which they came, by an open-addressing table.
class numbered_set {
 public:
  static constexpr std::uint64_t slots_for(std::uint64_t numbers) { return std::bit_ceil(2 * numbers + 2); }

  /// @param slots  of two numbers each, all bits set
  numbered_set(std::uint32_t* slots, std::uint64_t slot_count) : slots_(slots), mask_(slot_count - 1) {}

  /// The place of a number among those that were asked for; `next` where it is new.
  std::uint32_t place(std::uint32_t number, std::uint32_t next) {
    std::uint64_t slot = (number * 0x9e3779b97f4a7c15U) >> 32 & mask_;
    while (slots_[2 * slot] != none) {
      if (slots_[2 * slot] == number) return slots_[2 * slot + 1];
      slot = (slot + 1) & mask_;
    }
    slots_[2 * slot] = number;
    slots_[2 * slot + 1] = next;
    return next;
  }
  void clear() { std::fill_n(slots_, 2 * (mask_ + 1), none); }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t* slots_;
  std::uint64_t mask_;
};

/// Builds tiles in the arrays of a preparation.
template <class End>
class builder {
 public:
  builder(const context& ctx, const edge_sum_problem& p, const end_arrays<End>& ends, edge_tiles& to,
          std::uint64_t threads)
      : ctx_(ctx), problem_(p), ends_(ends), to_(to), threads_(threads) {}

  void build() {
    number_nodes();
    deal_edges();
    find_halos();
    if (to_.ends_are_wide) {
      finish<std::uint32_t>();
    } else {
      finish<std::uint16_t>();
    }
  }

 private:
  std::uint64_t tile_of(std::uint32_t place) const { return place / to_.tile_nodes; }
  std::uint64_t* edge_begins() const { return to_.edge_begins.as<std::uint64_t>(); }
  std::uint64_t* halo_begins() const { return to_.halo_begins.as<std::uint64_t>(); }

  /// place_[n] = where node n is in the order.
  void number_nodes() {
    places_ = edge_memory(ctx_, "places of the nodes", to_.nodes * 4);
    const auto* const order = to_.order.as<std::uint32_t>();
    auto* const place = places_.as<std::uint32_t>();
    for_each_range(to_.nodes, threads_, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t k = begin; k < end; ++k) place[order[k]] = static_cast<std::uint32_t>(k);
    });
  }

  /// Brings the edges to the tiles of their ends, stably, with the places of their ends.
  void deal_edges() {
    const buffer counters = edge_memory(ctx_, "counters of the tiles' edges", bucket_table::bytes(threads_, to_.tiles));
    const bucket_table table(counters.as<std::uint64_t>(), threads_, to_.tiles);
    const auto* const place = places_.as<std::uint32_t>();
    const auto deal = [&](std::uint64_t part, const auto& use) {
      for (std::uint64_t e = part_begin(problem_.edges, threads_, part);
           e < part_begin(problem_.edges, threads_, part + 1); ++e) {
        const std::uint32_t i = place[ends_.from(e)];
        const std::uint32_t j = place[ends_.to(e)];
        const std::uint64_t a = tile_of(i);
        const std::uint64_t b = tile_of(j);
        use(a, e, i, j);
        if (a != b) use(b, e, i, j);
      }
    };
    for_each_part(threads_, [&](std::uint64_t part) {
      std::uint64_t* const counts = table.cleared_row(part);
      deal(part, [&](std::uint64_t tile, std::uint64_t, std::uint32_t, std::uint32_t) { ++counts[tile]; });
    });
    entries_ = table.scan();
    to_.edge_begins = edge_memory(ctx_, "offsets of the tiles", (to_.tiles + 1) * 8);
    std::copy_n(table.row(0), to_.tiles, edge_begins());
    edge_begins()[to_.tiles] = entries_;
    to_.numbers = edge_memory(ctx_, "numbers of the edges", entries_ * 4);
    first_ = edge_memory(ctx_, "first ends of the edges", entries_ * 4);
    second_ = edge_memory(ctx_, "second ends of the edges", entries_ * 4);
    auto* const numbers = to_.numbers.as<std::uint32_t>();
    auto* const first = first_.as<std::uint32_t>();
    auto* const second = second_.as<std::uint32_t>();
    for_each_part(threads_, [&](std::uint64_t part) {
      std::uint64_t* const next = table.row(part);
      deal(part, [&](std::uint64_t tile, std::uint64_t edge, std::uint32_t i, std::uint32_t j) {
        const std::uint64_t at = next[tile]++;
        numbers[at] = static_cast<std::uint32_t>(edge);
        first[at] = i;
        second[at] = j;
      });
    });
    places_ = buffer();
  }

  /// Makes local numbers of places, and lists each tile's halo where its edges begin.
  void find_halos() {
    std::uint64_t most_edges = 0;
    for (std::uint64_t t = 0; t < to_.tiles; ++t) {
      most_edges = std::max(most_edges, edge_begins()[t + 1] - edge_begins()[t]);
    }
    const std::uint64_t slots = numbered_set::slots_for(std::min(most_edges, to_.nodes));
    const buffer tables = edge_memory(ctx_, "tables of the tiles' nodes", threads_ * slots * 8);
    to_.halo_begins = edge_memory(ctx_, "offsets of the tiles' halos", (to_.tiles + 1) * 8);
    listed_halo_ = edge_memory(ctx_, "halos of the tiles", entries_ * 4);
    for_each_task(to_.tiles, threads_, [&](std::uint64_t tile) {
      const std::uint64_t thread = threads_ == 1 ? 0 : static_cast<std::uint64_t>(omp_get_thread_num());
      const std::uint64_t edges = edge_begins()[tile + 1] - edge_begins()[tile];
      // A table for this tile alone, so that tiles of few edges clear little.
      numbered_set set(tables.as<std::uint32_t>() + thread * slots * 2,
                       numbered_set::slots_for(std::min(edges, to_.nodes)));
      set.clear();
      halo_begins()[tile + 1] = find_halo(tile, set);
    });
    halo_begins()[0] = 0;
    for (std::uint64_t t = 0; t < to_.tiles; ++t) {
      to_.most_nodes = std::max(to_.most_nodes, own_nodes(t) + halo_begins()[t + 1]);
      halo_begins()[t + 1] += halo_begins()[t];
    }
    to_.ends_are_wide = to_.most_nodes > std::uint64_t{1} << 16;
  }

  std::uint64_t own_nodes(std::uint64_t tile) const {
    return std::min(to_.tile_nodes, to_.nodes - tile * to_.tile_nodes);
  }

  std::uint64_t find_halo(std::uint64_t tile, numbered_set& set) {
    const auto begin = static_cast<std::uint32_t>(tile * to_.tile_nodes);
    const auto own = static_cast<std::uint32_t>(own_nodes(tile));
    const auto* const order = to_.order.as<std::uint32_t>();
    std::uint32_t* const halo = listed_halo_.as<std::uint32_t>() + edge_begins()[tile];
    std::uint32_t found = 0;
    const auto local = [&](std::uint32_t place) {
      const std::uint32_t in_tile = place - begin;
      if (in_tile < own) return in_tile;
      const std::uint32_t at = set.place(place, found);
      if (at == found) halo[found++] = order[place];
      return own + at;
    };
    for (std::uint64_t e = edge_begins()[tile]; e < edge_begins()[tile + 1]; ++e) {
      first_.as<std::uint32_t>()[e] = local(first_.as<std::uint32_t>()[e]);
      second_.as<std::uint32_t>()[e] = local(second_.as<std::uint32_t>()[e]);
    }
    return found;
  }

  /// Brings halos and local numbers into the arrays that stay.
  template <class Local>
  void finish() {
    to_.halo = edge_memory(ctx_, "halos of the tiles", halo_begins()[to_.tiles] * 4);
    if constexpr (sizeof(Local) == 2) {
      to_.first = edge_memory(ctx_, "first ends of the edges", entries_ * sizeof(Local));
      to_.second = edge_memory(ctx_, "second ends of the edges", entries_ * sizeof(Local));
    }
    for_each_task(to_.tiles, threads_, [&](std::uint64_t tile) {
      std::copy_n(listed_halo_.as<std::uint32_t>() + edge_begins()[tile], halo_begins()[tile + 1] - halo_begins()[tile],
                  to_.halo.as<std::uint32_t>() + halo_begins()[tile]);
      if constexpr (sizeof(Local) == 2) {
        for (std::uint64_t e = edge_begins()[tile]; e < edge_begins()[tile + 1]; ++e) {
          to_.first.as<Local>()[e] = static_cast<Local>(first_.as<std::uint32_t>()[e]);
          to_.second.as<Local>()[e] = static_cast<Local>(second_.as<std::uint32_t>()[e]);
        }
      }
    });
    if constexpr (sizeof(Local) == 4) {
      to_.first = std::move(first_);
      to_.second = std::move(second_);
    }
  }

  const context& ctx_;
  const edge_sum_problem& problem_;
  const end_arrays<End>& ends_;
  edge_tiles& to_;
  std::uint64_t threads_;
  std::uint64_t entries_ = 0;
  buffer places_;
  buffer first_;
  buffer second_;
  buffer listed_halo_;
};

}  // namespace

std::uint64_t find_bad_end(const edge_sum_problem& p, const edge_view& edges, std::uint64_t threads) {
  return with_ends(p, edges, [&](const auto& ends) {
    std::uint64_t first_bad = no_edge;
    std::mutex lowest;
    for_each_range(p.edges, threads, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t e = begin; e < end; ++e) {
        if (ends.is_good(e)) continue;
        const std::lock_guard lock(lowest);
        first_bad = std::min(first_bad, e);
        return;
      }
    });
    return first_bad;
  });
}

edge_tiles build_tiles(const context& ctx, const edge_sum_problem& problem, const edge_view& edges, buffer order,
                       std::uint64_t tile_nodes, std::uint64_t threads) {
  edge_tiles made;
  made.nodes = problem.nodes;
  made.tile_nodes = tile_nodes;
  made.tiles = (problem.nodes + tile_nodes - 1) / tile_nodes;
  made.order = std::move(order);
  with_ends(problem, edges, [&](const auto& ends) {
    builder<typename std::remove_cvref_t<decltype(ends)>::end>(ctx, problem, ends, made, threads).build();
  });
  return made;
}

}  // namespace sheaf::cpu
