#include "lab/peers/contenders.hpp"

namespace sheaf::bench::peers {
namespace {

// A random list takes a CPU thread some 100 ns for each node, and a row has several runs.
constexpr std::uint64_t most_slow_nodes = std::uint64_t{1} << 24;
constexpr std::uint64_t most_slow_nodes_of_host = std::uint64_t{1} << 28;

bool is_too_slow(const problem& p, std::uint64_t most_nodes) {
  return p.pattern.kind != primitives::pattern_kind::identity && p.count > most_nodes;
}

/// Arrays of a device in host memory.
class host_copy {
 public:
  host_copy(const context& ctx, const problem& problem, const jobs::array_set& on_device)
      : ctx_(ctx), on_device_(on_device) {
    const context host = context::cpu(1);
    jobs::array_set arrays;
    for (std::size_t place = 0; place < jobs::most_arrays; ++place) {
      const records& from = on_device[place];
      if (from.count == 0) continue;
      copies_[place] = buffer(host, from.count * from.record_bytes);
      copy_bytes(ctx, copies_[place].data(), from.data, copies_[place].size());
      arrays[place] = {copies_[place].data(), from.count, from.record_bytes};
    }
    walk_ = jobs::job_of(problem).plain_loop(host, problem, arrays);
  }

  void run() const {
    walk_();
    const buffer& answer = copies_[jobs::places::target];
    if (answer.size() > 0) copy_bytes(ctx_, on_device_[jobs::places::target].data, answer.data(), answer.size());
  }

 private:
  context ctx_;
  jobs::array_set on_device_;
  std::array<buffer, jobs::most_arrays> copies_;
  std::function<void()> walk_;
};

}  // namespace

namespace host {

std::vector<contender> list_walks(const context& ctx, const problem& p, const workspace& arrays) {
  if (!jobs::job_of(p).unchecked(p).empty() || is_too_slow(p, most_slow_nodes_of_host)) return {};
  return plain_loop("serial_walk", ctx, p, arrays);
}

std::vector<contender> list_walks_for_devices(const context& ctx, const problem& problem, const workspace& arrays) {
  const jobs::job& job = jobs::job_of(problem);
  const bool has_walk = job.unchecked(problem).empty() && job.plain_loop(context::cpu(1), problem, {});
  if (!has_walk || is_too_slow(problem, most_slow_nodes)) return {};
  return {with_made(
      {.who = "serial_walk", .wait = [ctx] { ctx.wait(); }},
      [ctx, problem, &arrays](std::uint64_t copy) {
        return std::make_unique<host_copy>(ctx, problem, arrays.all(copy));
      },
      [](const std::unique_ptr<host_copy>& on_host) { on_host->run(); })};
}

}  // namespace host
}  // namespace sheaf::bench::peers
