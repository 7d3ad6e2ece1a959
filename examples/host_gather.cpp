#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

// A device as a co-processor (Patidar and Narayanan 2009, section 3.3): from the keys alone it works out where records
// go; the records, which may be more than its memory holds, stay on the host and are moved there.
struct letter {
  char from[8];
  char to[8];
  std::uint32_t district;
};

int main() try {
  const std::vector<letter> letters{{"Ada", "Ben", 3}, {"Cem", "Dov", 1}, {"Eva", "Fay", 3}, {"Gus", "Hal", 0}};
  const std::uint64_t count = letters.size();
  std::vector<std::uint32_t> districts;
  districts.reserve(count);
  for (const letter& l : letters) districts.push_back(l.district);

  // On a GPU where there is one: 4 bytes a record go there and 4 come back.
  const sheaf::context device = sheaf::context::best();
  const sheaf::buffer keys(device, count * 4);
  const sheaf::buffer there(device, count * 4);
  sheaf::copy_bytes(device, keys.data(), districts.data(), count * 4);
  sheaf::split_gather_index(device, sheaf::split_key::category({keys.data(), count, 4}, 4),
                            {there.data(), count, sheaf::index_type::u32});
  device.wait();
  std::vector<std::uint32_t> index(count);
  sheaf::copy_bytes(device, index.data(), there.data(), count * 4);

  const sheaf::context host = sheaf::context::cpu();
  std::vector<letter> sorted(count);
  sheaf::gather(host, letters, index, sorted);
  host.wait();

  for (const letter& l : sorted) std::printf("%u: %s to %s\n", static_cast<unsigned>(l.district), l.from, l.to);
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
