#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

#include <sheaf/sheaf.hpp>

#include "example.hpp"

// A device as a co-processor (Patidar and Narayanan 2009, section 3.4): from the keys alone it works out where records
// go; the records, which may be more than its memory holds, stay on the host and are moved there. Beside that, all of
// the work is done on the host, and all of it on the device, which the records have to reach and leave again. The same
// is measured with pinned memory by `sheaf-bench papers --paper patidar2009 --figures table2`.
//
// Index entries are numbers of 4 bytes while those tell all records apart, and of 8 bytes else.
namespace {

struct parcel {
  std::uint32_t district;
  std::uint32_t weight;
  std::uint64_t number;
  char contents[240];
};
static_assert(sizeof(parcel) == 256);

constexpr std::uint64_t districts = 10'000;

std::vector<parcel> parcels_at_random(std::uint64_t count) {
  std::mt19937_64 random(11);
  std::vector<parcel> all(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    all[i].district = static_cast<std::uint32_t>(random() % districts);
    all[i].weight = static_cast<std::uint32_t>(random());
    all[i].number = i;
    for (std::size_t byte = 0; byte < sizeof all[i].contents; byte += sizeof i) {
      const std::uint64_t word = i * districts + byte;
      std::memcpy(all[i].contents + byte, &word, sizeof word);
    }
  }
  return all;
}

bool is_same(const parcel& a, const parcel& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// Parcels go by district, those of a district in the order that they had. So the order is strict, and no parcel is
/// there twice or missing.
bool is_right(const std::vector<parcel>& before, const std::vector<parcel>& sorted) {
  for (std::uint64_t i = 0; i < sorted.size(); ++i) {
    const parcel& p = sorted[i];
    if (p.number >= before.size() || !is_same(p, before[p.number])) return example::fails("a parcel is damaged");
    if (i == 0) continue;
    const parcel& last = sorted[i - 1];
    if (p.district < last.district) return example::fails("the districts do not ascend");
    if (p.district == last.district && p.number <= last.number) return example::fails("the order in a district");
  }
  return true;
}

/// Least seconds of three times; the first one also loads code and touches memory.
double least_seconds(const sheaf::context& ctx, const std::function<void()>& work) {
  double least = example::seconds(ctx, work);
  for (int again = 0; again < 2; ++again) least = std::min(least, example::seconds(ctx, work));
  return least;
}

void print_step(const char* step, double seconds) { std::printf("  %-34s %10.3f\n", step, seconds * 1e3); }

sheaf::split_key by_district(const std::uint32_t* district_of, std::uint64_t count) {
  return sheaf::split_key::category({reinterpret_cast<const std::byte*>(district_of), count, 4}, districts);
}

/// The keys go to the device and the index comes back: 4 bytes a parcel each way, or 8 back. The host moves parcels.
template <class Number>
std::vector<parcel> sorted_with_device(const sheaf::context& device, const sheaf::context& host,
                                       const std::vector<parcel>& parcels, const std::vector<std::uint32_t>& keys) {
  const std::uint64_t count = parcels.size();
  const example::array<std::uint32_t> keys_there(device, count);
  const example::array<Number> index_there(device, count);
  std::vector<Number> index(count);
  std::vector<parcel> sorted(count);

  const double keys_seconds = least_seconds(
      device, [&] { sheaf::copy_bytes(device, keys_there.data(), keys.data(), count * sizeof(std::uint32_t)); });
  const double index_seconds = least_seconds(
      device, [&] { sheaf::split_gather_index(device, by_district(keys_there.data(), count), index_there.span()); });
  const double back_seconds = least_seconds(
      device, [&] { sheaf::copy_bytes(device, index.data(), index_there.data(), count * sizeof(Number)); });
  const double gather_seconds = least_seconds(host, [&] { sheaf::gather(host, parcels, index, sorted); });

  print_step("keys to the device", keys_seconds);
  print_step("index on the device", index_seconds);
  print_step("index to the host", back_seconds);
  print_step("parcels moved by the host", gather_seconds);
  print_step("together", keys_seconds + index_seconds + back_seconds + gather_seconds);
  return sorted;
}

std::vector<parcel> sorted_by_host(const sheaf::context& host, const std::vector<parcel>& parcels,
                                   const std::vector<std::uint32_t>& keys) {
  std::vector<parcel> sorted(parcels.size());
  const sheaf::split_key key = by_district(keys.data(), keys.size());
  print_step("all on the host", least_seconds(host, [&] { sheaf::split(host, parcels, key, sorted); }));
  return sorted;
}

/// Nothing where the device's memory does not hold all parcels twice.
std::optional<std::vector<parcel>> sorted_by_device(const sheaf::context& device, const std::vector<parcel>& parcels,
                                                    const std::vector<std::uint32_t>& keys) try {
  const std::uint64_t count = parcels.size();
  const example::array<parcel> parcels_there(device, count);
  const example::array<parcel> sorted_there(device, count);
  const example::array<std::uint32_t> keys_there(device, count);
  std::vector<parcel> sorted(count);
  const sheaf::split_key key = by_district(keys_there.data(), count);

  const double there_seconds = least_seconds(device, [&] {
    sheaf::copy_bytes(device, keys_there.data(), keys.data(), count * sizeof(std::uint32_t));
    sheaf::copy_bytes(device, parcels_there.data(), parcels.data(), count * sizeof(parcel));
  });
  const double split_seconds = least_seconds(device, [&] { sheaf::split(device, parcels_there, key, sorted_there); });
  const double back_seconds = least_seconds(
      device, [&] { sheaf::copy_bytes(device, sorted.data(), sorted_there.data(), count * sizeof(parcel)); });
  print_step("all on the device", there_seconds + split_seconds + back_seconds);
  print_step("  copies of parcels in it", there_seconds + back_seconds);
  return sorted;
} catch (const sheaf::error& e) {
  if (e.code() != sheaf::error_code::out_of_memory) throw;
  std::printf("  all on the device: left out, %s\n", e.what());
  return std::nullopt;
}

template <class Number>
bool run(const sheaf::context& device, const sheaf::context& host, std::uint64_t count) {
  std::printf("%" PRIu64 " parcels of %zu bytes, index entries of %zu bytes %8s\n", count, sizeof(parcel),
              sizeof(Number), "ms");
  const std::vector<parcel> parcels = parcels_at_random(count);
  std::vector<std::uint32_t> keys(count);
  std::transform(parcels.begin(), parcels.end(), keys.begin(), [](const parcel& p) { return p.district; });

  const std::vector<parcel> sorted = sorted_with_device<Number>(device, host, parcels, keys);
  bool right = is_right(parcels, sorted);
  if (!std::equal(sorted.begin(), sorted.end(), sorted_by_host(host, parcels, keys).begin(), is_same))
    right = example::fails("the host alone has another order");
  const auto there = sorted_by_device(device, parcels, keys);
  if (there && !std::equal(sorted.begin(), sorted.end(), there->begin(), is_same))
    right = example::fails("the device alone has another order");
  return right;
}

bool are_few(std::uint64_t parcels) { return parcels < std::uint64_t{1} << 32; }

/// Refuses what the host's memory cannot hold: the parcels, two orders of them, and the copies that a CPU has in place
/// of a device; keys, index and scratch take less than once more.
void require_memory(const sheaf::context& device, std::uint64_t parcels) {
  const double copies = device.backend() == sheaf::backend_kind::cpu ? 6 : 4;
  const double needed = static_cast<double>(parcels) * sizeof(parcel) * copies;
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed <= there) return;
  char message[160];
  std::snprintf(message, sizeof message,
                "host_gather: %" PRIu64 " parcels take %.1f GB of memory, but there are %.1f GB", parcels,
                needed * 1e-9, there * 1e-9);
  throw sheaf::error(sheaf::error_code::out_of_memory, message);
}

}  // namespace

int main(int argc, char** argv) try {
  const example::arguments given = example::read_arguments(argc, argv, "PARCELS", 1 << 20, 1, std::uint64_t{1} << 40);
  const sheaf::context& device = given.ctx;
  require_memory(device, given.size);
  const sheaf::context host = sheaf::context::cpu();
  std::printf("index on %s\n", std::string(sheaf::name(device.backend())).c_str());
  bool right =
      are_few(given.size) ? run<std::uint32_t>(device, host, given.size) : run<std::uint64_t>(device, host, given.size);
  right &= run<std::uint64_t>(device, host, std::min<std::uint64_t>(given.size, 1000));
  return example::exit_code(right);
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
} catch (const std::bad_alloc&) {
  std::fprintf(stderr, "host_gather: out of memory\n");
  return 1;
}
