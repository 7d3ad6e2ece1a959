#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace sheaf::tests {

/// Ascending positions below `count` whose entries are to be bad: from one anywhere on, every third by chance. So a
/// thread that looks at several entries has some bad and some good ones, and its first bad one may come before or after
/// those of its neighbours.
inline std::vector<std::uint64_t> bad_places(std::uint64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> places{random() % count};
  for (std::uint64_t i = places[0] + 1; i < count; ++i) {
    if (random() % 3 == 0) places.push_back(i);
  }
  return places;
}

}  // namespace sheaf::tests
