#include "lab/spatter/run.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/startable.hpp"
#include "lab/description/host_threads.hpp"
#include "lab/inputs/pattern.hpp"

namespace sheaf::bench {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::uint64_t default_runs = 10;
constexpr std::uint64_t dense_seed = 0xe77;  // seed of what dense rows hold before a gather
constexpr std::uint64_t staged_entries = std::uint64_t{1} << 22;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

// Fills the dense rows that the scatters of a chunk read.
void fill_dense(const context& ctx, std::uint64_t* dense, std::uint64_t rows, std::uint64_t length,
                std::uint64_t wrap) {
  const std::uint64_t total = rows * length;
  const bool in_place = ctx.backend() == backend_kind::cpu;
  std::vector<std::uint64_t> staging(in_place ? 0 : std::min(total, staged_entries));
  const std::uint64_t piece = in_place ? total : staging.size();
  for (std::uint64_t done = 0; done < total; done += piece) {
    const std::uint64_t count = std::min(piece, total - done);
    std::uint64_t* const to = in_place ? dense : staging.data();
#pragma omp parallel for num_threads(core::startable(jobs::host_threads(ctx))) schedule(static)
    for (std::uint64_t e = 0; e < count; ++e) {
      to[e] = dense_value((done + e) / length % wrap, (done + e) % length, length);
    }
    if (!in_place) copy_bytes(ctx, dense + done, to, count * spatter_record_bytes);
  }
}

std::uint64_t list_bytes(const spatter_sequence& sequence, const spatter_layout& layout) {
  return sequence.places.empty() ? 0 : layout.rows * sequence.places.size() * bytes(list_type(sequence, layout));
}

std::uint64_t sparse_bytes(const spatter_sequence& sequence, std::uint64_t count) {
  return sequence.places.empty() ? 0 : sequence.extent(count) * spatter_record_bytes;
}

// The part of the sparse array that begins at the chunk's base, which its index list counts from.
template <class Records>
Records sparse_view(const buffer& sparse, const spatter_sequence& sequence, const spatter_chunk& chunk) {
  return {sparse.data() + sequence.offset(chunk.first) * spatter_record_bytes, chunk_extent(sequence, chunk),
          spatter_record_bytes};
}

}  // namespace

std::uint64_t available_host_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string field; file >> field;) {
    std::uint64_t kilobytes = 0;
    if (field == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  }
  return static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

spatter_memory memory_needed(const context& ctx, const spatter_config& config, const spatter_settings& settings) {
  const spatter_layout layout = lay_out(config, settings.chunk_indices);
  spatter_memory needed;
  needed.context_bytes = layout.dense_rows * config.length() * spatter_record_bytes;
  for (const spatter_sequence* sequence : {&config.gather, &config.scatter}) {
    needed.context_bytes += sparse_bytes(*sequence, config.count) + list_bytes(*sequence, layout);
  }
  if (ctx.backend() != backend_kind::cpu) needed.host_bytes += staged_entries * 8;
  if (settings.verify) needed.host_bytes += check_bytes(ctx, config);
  return needed;
}

spatter_session::spatter_session(const context& ctx, spatter_settings settings)
    : ctx_(ctx), settings_(std::move(settings)) {}

void spatter_session::take_memory(const spatter_config& config) {
  spatter_memory needed = memory_needed(ctx_, config, settings_);
  const bool on_host = ctx_.backend() == backend_kind::cpu;
  std::uint64_t available = available_host_bytes();
  if (on_host) {
    needed.host_bytes += needed.context_bytes;
    for (const buffer* held : {&gather_.sparse, &gather_.list, &scatter_.sparse, &scatter_.list, &dense_}) {
      available += held->size();
    }
  }
  if (needed.host_bytes > available) {
    throw error(error_code::out_of_memory,
                fmt::format("needs {} bytes of host memory, but {} are available", needed.host_bytes, available));
  }
  const auto too_small = [](const buffer& held, std::uint64_t bytes) { return bytes == 0 || held.size() < bytes; };
  const std::uint64_t dense_bytes = layout_.dense_rows * config.length() * spatter_record_bytes;
  const std::pair<buffer*, std::uint64_t> wanted[] = {{&gather_.sparse, sparse_bytes(config.gather, config.count)},
                                                      {&gather_.list, list_bytes(config.gather, layout_)},
                                                      {&scatter_.sparse, sparse_bytes(config.scatter, config.count)},
                                                      {&scatter_.list, list_bytes(config.scatter, layout_)},
                                                      {&dense_, dense_bytes}};
  // Every buffer that is too small is released before the first new one is allocated.
  for (const auto& [held, bytes] : wanted) {
    if (too_small(*held, bytes)) *held = buffer{};
  }
  if (gather_.sparse.size() == 0) gather_.filled = 0;
  for (const auto& [held, bytes] : wanted) {
    if (held->size() == 0 && bytes > 0) *held = buffer(ctx_, bytes);
  }
}

void spatter_session::fill(const spatter_config& config) {
  const std::uint64_t dense_entries = layout_.dense_rows * config.length();
  if (config.gathers()) {
    const std::uint64_t entries = config.gather.extent(config.count);
    if (gather_.filled < entries) {
      inputs::fill_records(ctx_, records(gather_.sparse.data(), entries, spatter_record_bytes), gather_seed);
      gather_.filled = entries;
    }
    inputs::fill_records(ctx_, records(dense_.data(), dense_entries, spatter_record_bytes), dense_seed);
  } else {
    fill_dense(ctx_, dense_.as<std::uint64_t>(), layout_.dense_rows, config.length(), layout_.wrap);
  }
  if (config.scatters()) {
    const std::uint64_t entries = config.scatter.extent(config.count);
    inputs::fill_records(ctx_, records(scatter_.sparse.data(), entries, spatter_record_bytes), scatter_seed);
  }
}

bool spatter_session::list_is_current(const spatter_sequence& sequence, const sparse_side& side,
                                      const spatter_chunk& chunk) const {
  return sequence.places.empty() || (side.rows >= chunk.rows && side.phase == chunk.first % sequence.period());
}

void spatter_session::make_lists(const spatter_config& config, const spatter_chunk& chunk) {
  const auto make = [&](const spatter_sequence& sequence, sparse_side& side) {
    if (list_is_current(sequence, side, chunk)) return;
    side.type = list_type(sequence, layout_);
    side.phase = chunk.first % sequence.period();
    side.rows = chunk.rows;
    expand_list(ctx_, sequence, side.phase,
                index_span(side.list.data(), side.rows * sequence.places.size(), side.type));
  };
  make(config.gather, gather_);
  make(config.scatter, scatter_);
}

void spatter_session::move(const spatter_config& config, const spatter_chunk& chunk) const {
  const std::uint64_t length = config.length();
  const std::uint64_t entries = chunk.rows * length;
  const records dense(dense_.data() + chunk.dense_row * length * spatter_record_bytes, entries, spatter_record_bytes);
  if (config.gathers()) {
    settings_.calls.gather(ctx_, sparse_view<const_records>(gather_.sparse, config.gather, chunk),
                           index_span(gather_.list.data(), entries, gather_.type), dense,
                           {.variant = settings_.variant});
  }
  if (config.scatters()) {
    settings_.calls.scatter(ctx_, dense, index_span(scatter_.list.data(), entries, scatter_.type),
                            sparse_view<records>(scatter_.sparse, config.scatter, chunk),
                            {.variant = settings_.variant});
  }
}

// Runs the whole pattern and returns its seconds without the time for making index lists. If faults is not null, every
// gathered chunk is checked.
double spatter_session::run_once(const spatter_config& config, spatter_faults* faults) {
  double seconds = 0;
  clock::time_point start = clock::now();
  for (std::uint64_t first = 0; first < config.count;) {
    const spatter_chunk chunk = chunk_at(config, layout_, first);
    if (!list_is_current(config.gather, gather_, chunk) || !list_is_current(config.scatter, scatter_, chunk)) {
      ctx_.wait();
      seconds += seconds_since(start);
      make_lists(config, chunk);
      start = clock::now();
    }
    move(config, chunk);
    if (faults != nullptr && !config.scatters()) {
      ctx_.wait();
      const auto* const dense = dense_.as<std::uint64_t>() + chunk.dense_row * config.length();
      check_gathered(ctx_, config, chunk, dense, *faults);
    }
    first += chunk.rows;
  }
  ctx_.wait();
  return seconds + seconds_since(start);
}

std::string spatter_session::variants(const spatter_config& config) const {
  const spatter_chunk chunk = chunk_at(config, layout_, 0);
  const std::uint64_t entries = chunk.rows * config.length();
  const records dense(dense_.data(), entries, spatter_record_bytes);
  std::string names;
  const auto add = [&](const explanation& why) {
    if (why.choice() != nullptr) names += fmt::format("{}{}", names.empty() ? "" : " + ", why.choice()->variant);
  };
  if (config.gathers()) {
    add(explain_gather(ctx_, sparse_view<const_records>(gather_.sparse, config.gather, chunk),
                       index_span(gather_.list.data(), entries, gather_.type), dense, {.variant = settings_.variant}));
  }
  if (config.scatters()) {
    add(explain_scatter(ctx_, dense, index_span(scatter_.list.data(), entries, scatter_.type),
                        sparse_view<records>(scatter_.sparse, config.scatter, chunk), {.variant = settings_.variant}));
  }
  return names;
}

spatter_result spatter_session::run(const spatter_config& config) {
  layout_ = lay_out(config, settings_.chunk_indices);
  gather_.rows = scatter_.rows = 0;
  take_memory(config);
  fill(config);
  const spatter_chunk first = chunk_at(config, layout_, 0);
  make_lists(config, first);

  spatter_result result;
  result.variant = variants(config);
  if (settings_.verify) {
    result.faults.emplace();
    run_once(config, &*result.faults);
    if (config.scatters()) {
      check_scattered(ctx_, config, layout_, scatter_.sparse.as<std::uint64_t>(), check_window(config), *result.faults);
    }
  } else {
    move(config, first);  // warm-up: allocates scratch and starts threads
    ctx_.wait();
  }

  const std::uint64_t wanted = settings_.runs > 0 ? settings_.runs : config.runs > 0 ? config.runs : default_runs;
  std::vector<double> times;
  const clock::time_point start = clock::now();
  do {
    times.push_back(run_once(config, nullptr));
  } while (times.size() < wanted && seconds_since(start) < settings_.most_seconds);
  std::ranges::sort(times);
  result.runs = times.size();
  result.best_seconds = times.front();
  result.median_seconds = times[times.size() / 2];
  const std::uint64_t arrays = (config.gathers() ? 1 : 0) + (config.scatters() ? 1 : 0);
  result.bytes = arrays * spatter_record_bytes * config.length() * config.count;
  return result;
}

}  // namespace sheaf::bench
