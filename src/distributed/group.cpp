#include <sheaf/distributed/group.hpp>

#include <cmath>
#include <cstring>
#include <exception>
#include <future>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "core/startable.hpp"
#include "distributed/collectives.hpp"
#include "distributed/movement/routed_list.hpp"
#include "distributed/threads.hpp"

namespace sheaf::distributed {
namespace {

void require_limits(const context& ctx, const transport& between, const limits& bounds) {
  const auto refuse = [](const std::string& text) { throw error(error_code::bad_argument, "group: " + text); };
  if (ctx.backend() == backend_kind::opengl) refuse("a context of opengl, but groups work on the CPU and on CUDA");
  if (ctx.backend() == backend_kind::cuda && !between.carries_device_memory())
    refuse("a context of cuda, but the transport carries no memory of devices");
  if (ctx.backend() == backend_kind::cuda && between.device() != ctx.device()) {
    refuse(
        fmt::format("a context of CUDA device {}, but the transport is of device {}", ctx.device(), between.device()));
  }
  if (bounds.message_bytes == 0) refuse("messages of at most 0 bytes");
  if (bounds.chunk_bytes == 0) refuse("chunks of at most 0 bytes");
  if (bounds.two_level_ranks < 2)
    refuse(fmt::format("two levels from {} ranks on, not from 2 or more", bounds.two_level_ranks));
  if (!(bounds.wait_seconds >= 0)) refuse(fmt::format("a wait of {} seconds, not of 0 or more", bounds.wait_seconds));
}

}  // namespace

group::group(const context& ctx, std::shared_ptr<transport> between, const limits& bounds) {
  if (between == nullptr) throw error(error_code::bad_argument, "group: there is no transport");
  if (between->size() < 1) throw error(error_code::device_failure, "group: the transport has no ranks");
  constexpr int most_ranks = 65534;  // which 16 bits tell apart, and nobody from them
  if (between->size() > most_ranks) {
    throw error(error_code::bad_argument, fmt::format("group: {} ranks, more than {}", between->size(), most_ranks));
  }
  // How ranks send is the first thing that they have to agree about.
  limits safe;
  safe.wait_seconds = bounds.wait_seconds >= 0 ? bounds.wait_seconds : 0;
  state_ = std::make_shared<group_state>(ctx, std::move(between), safe);
  collective(*this, [&](group_state& state, std::uint64_t) {
    const agreed_value values[] = {
        agreed_digest("the backend of the context", static_cast<std::uint64_t>(ctx.backend())),
        {"limits::message_bytes", bounds.message_bytes},
        {"limits::chunk_bytes", bounds.chunk_bytes},
        {"limits::two_level_ranks", static_cast<std::uint64_t>(bounds.two_level_ranks)}};
    state.agree("group", values, {}, [&] { require_limits(ctx, *state.between, bounds); });
    state.bounds = bounds;
  });
}

int group::rank() const { return state().rank; }
int group::size() const { return state().size; }
const context& group::local() const { return state().ctx; }
const limits& group::bounds() const { return state().bounds; }

void group::throw_moved_from() {
  throw error(error_code::bad_argument, "group: it was moved from; another group holds its contents now");
}

void throw_first_report(group_state& state, const std::function<void()>& check) {
  const std::uint64_t shared[] = {state.first_report().call, state.first_report().position};
  const auto all = state.agree("wait", {}, shared, check);
  const core::index_report mine = state.take_report();
  const auto report_of = [&](std::size_t r) {
    return core::index_report{.call = all[r].shared[0], .position = all[r].shared[1]};
  };
  std::size_t first = 0;
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (report_of(r).before(report_of(first))) first = r;
  }
  if (!report_of(first).found()) return;
  // The rank that has the report words it.
  constexpr std::size_t most_text = 256;
  char told[most_text] = {};
  if (static_cast<int>(first) == state.rank) core::message(mine).copy(told, most_text - 1);
  std::vector<char> texts(all.size() * most_text);
  all_gather(state, told, most_text, texts.data());
  state.throw_shared(error_code::bad_index, texts.data() + first * most_text);
}

void group::wait() const {
  collective(*this, [](group_state& state, std::uint64_t) {
    // What the caller's own calls on the context left there ends no call of others.
    throw_first_report(state, [&] { state.ctx.wait(); });
  });
}

void group::agree(const std::function<void()>& check) const {
  collective(*this, [&](group_state& state, std::uint64_t) { state.agree("agree", {}, {}, check); });
}

void group::require_same(const char* what, std::uint64_t number) const {
  collective(*this, [&](group_state& state, std::uint64_t) {
    const agreed_value values[] = {agreed_digest("what is compared", fingerprint(what)), {what, number}};
    state.agree("require_same", values, {}, [] {});
  });
}

void group::abandon(const char* reason) const noexcept {
  try {
    state().lose(error_code::device_failure, state_->rank, reason);
  } catch (...) {
    // It has been told, or was moved from and has nobody to tell.
  }
}

void run_on_threads(int ranks, const std::function<group(int rank)>& make,
                    const std::function<void(const group&)>& work) {
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(ranks));
  const auto run = [&](int r) {
    try {
      const group mine = make(r);
      try {
        work(mine);
      } catch (const std::exception& failure) {
        mine.abandon(failure.what());
        throw;
      } catch (...) {
        mine.abandon("an exception that is not the library's");
        throw;
      }
    } catch (...) {
      thrown[static_cast<std::size_t>(r)] = std::current_exception();
    }
  };
  // No rank begins before all threads are there.
  std::promise<bool> all_started;
  const std::shared_future<bool> may_run = all_started.get_future().share();
  std::vector<std::thread> threads;
  try {
    for (int r = 1; r < ranks; ++r) {
      threads.emplace_back([&run, may_run, r] {
        if (may_run.get()) run(r);
      });
    }
  } catch (const std::system_error& failure) {
    all_started.set_value(false);
    for (std::thread& thread : threads) thread.join();
    core::throw_unstartable(ranks, static_cast<int>(threads.size()) + 1, failure.code().value());
  }
  all_started.set_value(true);
  run(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& exception : thrown) {
    if (exception != nullptr) std::rethrow_exception(exception);
  }
}

void run_in_one_process(int ranks, int threads_per_rank, const limits& bounds,
                        const std::function<void(const group&)>& work) {
  const auto transports = transports_in_one_process(ranks);
  run_on_threads(
      ranks,
      [&](int r) { return group(context::cpu(threads_per_rank), transports[static_cast<std::size_t>(r)], bounds); },
      work);
}

}  // namespace sheaf::distributed
