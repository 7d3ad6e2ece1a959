#include <fmt/format.h>
#include <sheaf/gather.hpp>
#include <sheaf/split.hpp>

#include "core/host.hpp"
#include "core/startable.hpp"
#include "lab/harness/now.hpp"
#include "lab/inputs/pattern.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "papers/patidar2009/figures.hpp"

// Section 3.4: a split of wide records that stay on the host. A device makes the gather index from the keys alone, and
// the host moves the records; beside this, all of it on the host, and all of it on the device, where records travel
// there and back.
namespace sheaf::bench::papers::patidar2009 {
namespace {

constexpr std::uint64_t wide_record_bytes = 256;
constexpr std::uint64_t most_records = std::uint64_t{1} << 26;
constexpr std::uint64_t small_records = std::uint64_t{1} << 20;
constexpr std::uint64_t least_records = std::uint64_t{1} << 12;
constexpr std::uint64_t seed_of_records = 5;
constexpr std::uint64_t seed_of_keys = 6;
constexpr const char* by_both = "index on the device, gather on the host";
constexpr const char* by_device = "all on the device";
constexpr const char* by_host = "all on the host";

/// Input, output and as much again free, for keys, index and scratch of the host's split.
std::uint64_t records_for(run_size size) {
  if (size == run_size::tiny) return least_records;
  std::uint64_t count = size == run_size::small ? small_records : most_records;
  while (count > least_records && 3 * count * wide_record_bytes > core::host_available_bytes()) count /= 2;
  return count;
}

/// Memory of the host, pinned where it is copied to a device and back.
std::shared_ptr<std::byte[]> array_on_host(const context& ctx, std::uint64_t bytes) {
  if (ctx.backend() == backend_kind::cuda) return host_memory(ctx, bytes);
  const auto memory = std::make_shared<buffer>(ctx, bytes);  // touched first by the threads that fill it
  return {memory, memory->data()};
}

/// Records and keys of the host, and what is made of them there.
struct host_arrays {
  std::uint64_t count;
  std::shared_ptr<std::byte[]> in, out, keys, index;

  host_arrays(const context& ctx, std::uint64_t number_of_records)
      : count(number_of_records),
        in(array_on_host(ctx, count * wide_record_bytes)),
        out(array_on_host(ctx, count * wide_record_bytes)),
        keys(array_on_host(ctx, count * sizeof(std::uint32_t))),
        index(array_on_host(ctx, count * sizeof(std::uint32_t))) {}

  records input() const { return {in.get(), count, wide_record_bytes}; }
  records output() const { return {out.get(), count, wide_record_bytes}; }
  std::span<std::uint32_t> key_list() const { return {reinterpret_cast<std::uint32_t*>(keys.get()), count}; }
  std::span<std::uint32_t> index_list() const { return {reinterpret_cast<std::uint32_t*>(index.get()), count}; }
  std::uint64_t number_bytes() const { return count * sizeof(std::uint32_t); }
};

split_key key_of(const std::byte* keys, std::uint64_t count, std::uint32_t bits) {
  return split_key::of(const_records(keys, count, sizeof(std::uint32_t)), {.first = 0, .count = bits});
}

/// A part of a way to split, which is done when it returns.
struct step {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds = {};
};

/// A way to split the records.
struct way {
  std::string who;
  std::string where;
  context ctx;
  std::vector<step> steps;
  std::vector<double> seconds = {};
  bool is_right = false;

  void run() {
    const double begin = now();
    for (step& each : steps) {
      const double step_begin = now();
      each.run();
      each.seconds.push_back(now() - step_begin);
    }
    seconds.push_back(now() - begin);
  }
  void forget() {
    seconds.clear();
    for (step& each : steps) each.seconds.clear();
  }
};

timing timing_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return {seconds[seconds.size() / 2], seconds.front(), seconds.back(), seconds.size()};
}

way on_the_host(const context& host, const host_arrays& arrays, std::uint32_t bits) {
  const auto work = [=] {
    split(host, arrays.input(), key_of(arrays.keys.get(), arrays.count, bits), arrays.output());
    host.wait();
  };
  return {by_host, fmt::format("cpu, {} threads", host.threads()), host, {{"split", work}}};
}

/// Keys and index in the memory of a device.
struct device_lists {
  buffer keys;
  buffer index;
  device_lists(const context& device, std::uint64_t bytes) : keys(device, bytes), index(device, bytes) {}
};

way with_coprocessor(const context& device, const context& host, const host_arrays& arrays, std::uint32_t bits) {
  const auto there = std::make_shared<device_lists>(device, arrays.number_bytes());
  std::vector<step> steps;
  steps.push_back({"keys to the device",
                   [=] { copy_bytes(device, there->keys.data(), arrays.keys.get(), arrays.number_bytes()); }});
  steps.push_back({"index", [=] {
                     split_gather_index(device, key_of(there->keys.data(), arrays.count, bits),
                                        {there->index.data(), arrays.count, index_type::u32});
                     device.wait();
                   }});
  steps.push_back({"index to the host",
                   [=] { copy_bytes(device, arrays.index.get(), there->index.data(), arrays.number_bytes()); }});
  steps.push_back({"gather", [=] {
                     gather(host, arrays.input(), arrays.index_list(), arrays.output());
                     host.wait();
                   }});
  return {by_both, fmt::format("{} and cpu, {} threads", name(device.backend()), host.threads()), device,
          std::move(steps)};
}

/// Records and keys in the memory of a device.
struct device_records {
  buffer in;
  buffer out;
  buffer keys;
  device_records(const context& device, const host_arrays& arrays)
      : in(device, arrays.count * wide_record_bytes),
        out(device, arrays.count * wide_record_bytes),
        keys(device, arrays.number_bytes()) {}
};

way on_the_device(const context& device, const host_arrays& arrays, std::uint32_t bits) {
  const auto there = std::make_shared<device_records>(device, arrays);
  std::vector<step> steps;
  steps.push_back({"records to the device", [=] {
                     copy_bytes(device, there->keys.data(), arrays.keys.get(), arrays.number_bytes());
                     copy_bytes(device, there->in.data(), arrays.in.get(), arrays.count * wide_record_bytes);
                   }});
  steps.push_back({"split", [=] {
                     split(device, const_records(there->in.data(), arrays.count, wide_record_bytes),
                           key_of(there->keys.data(), arrays.count, bits),
                           records(there->out.data(), arrays.count, wide_record_bytes));
                     device.wait();
                   }});
  steps.push_back({"records to the host",
                   [=] { copy_bytes(device, arrays.out.get(), there->out.data(), arrays.count * wide_record_bytes); }});
  return {by_device, std::string(name(device.backend())), device, std::move(steps)};
}

/// Whether the index brings the records into the order of their keys. Numbers of equal keys ascend, so that the order
/// is strict: no number comes twice, and none is missing.
bool is_right_index(const host_arrays& arrays, std::uint32_t bits, int threads) {
  const std::span<const std::uint32_t> keys = arrays.key_list();
  const std::span<const std::uint32_t> index = arrays.index_list();
  const std::uint32_t mask = ~std::uint32_t{0} >> (32 - bits);
  std::uint64_t wrong = 0;
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static) reduction(+ : wrong)
  for (std::uint64_t i = 0; i < arrays.count; ++i) {
    const std::uint32_t number = index[i];
    const std::uint32_t before = index[i == 0 ? 0 : i - 1];
    if (number >= arrays.count || before >= arrays.count) {
      ++wrong;
    } else if (i > 0) {
      wrong += std::pair(keys[before] & mask, before) >= std::pair(keys[number] & mask, number);
    }
  }
  return wrong == 0;
}

/// Whether each record of the output is the one that the index names.
bool is_right_output(const host_arrays& arrays, int threads) {
  const std::span<const std::uint32_t> index = arrays.index_list();
  std::uint64_t wrong = 0;
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static) reduction(+ : wrong)
  for (std::uint64_t i = 0; i < arrays.count; ++i)
    wrong += !inputs::is_record(arrays.out.get() + i * wide_record_bytes, wide_record_bytes, seed_of_records, index[i]);
  return wrong == 0;
}

void wipe(const context& host, records array) { inputs::fill_records(host, array, ~seed_of_records); }

/// Runs a way; false where its device has too little memory.
bool runs_in_memory(way& each) try {
  each.run();
  return true;
} catch (const error& e) {
  if (e.code() != error_code::out_of_memory) throw;
  fmt::print("  # {}: left out, {}\n", each.who, e.what());
  return false;
}

/// Times the ways in turn, after a first run of each, whose answer is checked. With a device, the first way leaves the
/// index that all answers are checked against; else the host makes it. Ways for which there is too little memory go.
void time_and_check(std::vector<way>& ways, const context& host, const host_arrays& arrays, std::uint32_t bits,
                    bool is_tiny) {
  const bool has_device = ways.size() > 1;
  wipe(host, {arrays.index.get(), arrays.count, sizeof(std::uint32_t)});
  if (!has_device) {
    split_gather_index(host, key_of(arrays.keys.get(), arrays.count, bits), arrays.index_list());
    host.wait();
  }
  for (std::size_t i = 0; i < ways.size();) {
    way& each = ways[i];
    wipe(host, arrays.output());
    if (!runs_in_memory(each)) {
      ways.erase(ways.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    ++i;
    each.is_right = is_right_index(arrays, bits, host.threads()) && is_right_output(arrays, host.threads());
    if (!each.is_right) fmt::print("  {} gave a WRONG ANSWER\n", each.who);
    if (!is_tiny) each.forget();
  }
  const int rounds = is_tiny ? 0 : 5;
  for (int round = 0; round < rounds; ++round) {
    for (way& each : ways) each.run();
  }
}

/// The way and each of its steps.
void record(paper_run& run, const way& measured, std::uint64_t count, std::uint32_t bits) {
  const input_result all{
      .figure = fmt::format("{}/{}", run.paper, figure_text(table_number(2))),
      .input = fmt::format("{} records of {} bytes, keys of {} bits", count, wide_record_bytes, bits),
      .machine = platform_of(measured.ctx).machine,
      .where = measured.where,
      .backend = measured.ctx.backend(),
      .who = measured.who,
      .time = timing_of(measured.seconds),
      .verified = measured.is_right};
  run.input_results.push_back(all);
  if (measured.steps.size() == 1) return;
  for (const step& each : measured.steps) {
    input_result part = all;
    part.who = fmt::format("{}: {}", measured.who, each.name);
    part.time = timing_of(each.seconds);
    run.input_results.push_back(part);
  }
}

const way* way_by(const std::vector<way>& ways, std::string_view who) {
  const auto place = std::ranges::find(ways, who, &way::who);
  return place == ways.end() ? nullptr : &*place;
}

std::string together(const way* w) { return w == nullptr ? "-" : time_text(timing_of(w->seconds).median_seconds); }

std::string of_step(const way* w, std::string_view name) {
  if (w == nullptr) return "-";
  const auto place = std::ranges::find(w->steps, name, &step::name);
  return place == w->steps.end() ? "-" : time_text(timing_of(place->seconds).median_seconds);
}

std::string ratio(const way* slow, const way* fast) {
  if (slow == nullptr || fast == nullptr) return "-";
  return ratio_text(timing_of(slow->seconds).median_seconds / timing_of(fast->seconds).median_seconds);
}

/// The ways that the session's memory has room for.
std::vector<way> ways_of(const session& session, const context& host, const host_arrays& arrays, std::uint32_t bits) {
  std::vector<way> ways;
  if (session.ctx.backend() == backend_kind::cuda) {
    ways.push_back(with_coprocessor(session.ctx, host, arrays, bits));
    try {
      ways.push_back(on_the_device(session.ctx, arrays, bits));
    } catch (const error& e) {
      if (e.code() != error_code::out_of_memory) throw;
      fmt::print("  # all on the device: left out, {}\n", e.what());
    }
  }
  ways.push_back(on_the_host(host, arrays, bits));
  return ways;
}

void measure_ways(paper_run& run, const session& session, const context& host, const host_arrays& arrays,
                  std::uint32_t bits, const table& rows) {
  std::vector<way> ways = ways_of(session, host, arrays, bits);
  time_and_check(ways, host, arrays, bits, session.size == run_size::tiny);
  for (const way& each : ways) record(run, each, arrays.count, bits);
  const way* const both = way_by(ways, by_both);
  const way* const device = way_by(ways, by_device);
  const way* const here = way_by(ways, by_host);
  rows.row({fmt::format("{} bits", bits), count_text(arrays.count), of_step(both, "keys to the device"),
            of_step(both, "index"), of_step(both, "index to the host"), of_step(both, "gather"), together(both),
            together(here), ratio(here, both), of_step(device, "records to the device"), of_step(device, "split"),
            of_step(device, "records to the host"), together(device), ratio(device, both)});
}

}  // namespace

void table_2(paper_run& run) {
  print_caption("Table 2. The device as a coprocessor: section 3.4, not a table of the paper",
                "the split-index primitives leave the movement of records to the CPU, because a GPU is far from the "
                "CPU's memory.");
  for (const session& session : run.sessions) {
    const bool has_device = session.ctx.backend() == backend_kind::cuda;
    const context host = has_device ? context::cpu() : session.ctx;
    print_place(session,
                fmt::format("records of {} bytes in the host's memory, {}; {} threads of the host", wide_record_bytes,
                            has_device ? "pinned" : "all of the work there", host.threads()));
    if (!has_device) fmt::print("  # no device here: only what the host does alone\n");
    const host_arrays arrays(session.ctx, records_for(session.size));
    inputs::fill_records(host, arrays.input(), seed_of_records);
    inputs::fill_records(host, {arrays.keys.get(), arrays.count, sizeof(std::uint32_t)}, seed_of_keys);
    const table rows({"key",
                      "records",
                      {"keys there", has_device},
                      {"index", has_device},
                      {"index back", has_device},
                      {"gather", has_device},
                      {"together", has_device},
                      "all here",
                      {"here / tog.", has_device},
                      {"rec. there", has_device},
                      {"split", has_device},
                      {"rec. back", has_device},
                      {"all there", has_device},
                      {"there / tog.", has_device}});
    for (const std::uint32_t bits : {8U, 32U}) measure_ways(run, session, host, arrays, bits, rows);
  }
}

}  // namespace sheaf::bench::papers::patidar2009
