#include "papers/he2007/whole_search.hpp"

#include <fmt/format.h>
#include <sheaf/gather.hpp>
#include <sheaf/hash_search.hpp>

#include "lab/description/hash/problem.hpp"
#include "lab/description/seeds.hpp"
#include "lab/harness/platform.hpp"
#include "papers/he2007/cache_chunks.hpp"
#include "plan/choose.hpp"
#include "primitives/hash/search.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/multipass.hpp"

namespace sheaf::bench::papers::he2007 {
namespace {

namespace places = jobs::places;

constexpr std::uint64_t seed_of_table = jobs::records_seed;
constexpr std::string_view chunks_variant = "cpu.cache_chunks";

template <class Variant>
const Variant& existing_variant(std::span<const Variant> variants, std::string_view name) {
  const auto place = std::ranges::find(variants, name, &Variant::name);
  if (place == variants.end()) throw error(error_code::internal, fmt::format("there is no variant {}", name));
  return *place;
}

// The search of the row's problem, in an index that a variant of the CPU builds.
primitives::hash_search_problem search_problem(const problem& p) {
  const primitives::keyed_table table = primitives::table_of(p);
  primitives::hash_search_problem search;
  search.probes = p.count;
  search.probe_stride_bytes = p.key_bytes;
  search.index = {.records = table.records,
                  .distinct = table.distinct,
                  .longest_chain = table.longest_chain(),
                  .key_bytes = p.key_bytes,
                  .id = p.index,
                  .load = primitives::load_of(p)};
  return search;
}

plan::planned plan_of_chunks(const context& ctx, const problem& p) {
  return existing_variant(primitives::hash_search_variants(), chunks_variant)
      .plan(search_problem(p), plan::scope_of(ctx));
}

}  // namespace

/// Of each copy of the row's arrays: the records of the table, and those that a search has found.
struct whole_search::row_records {
  struct copy_records {
    buffer table;
    buffer found;
  };
  std::vector<copy_records> copies = {};
  std::shared_ptr<std::byte[]> host = {};  ///< of transfers: search keys, and behind them what was found
};

whole_search::whole_search(const session& session, const problem& problem)
    : session_(&session),
      problem_(problem),
      table_records_(primitives::table_records(problem)),
      found_records_(primitives::most_matches(problem)),
      records_(std::make_shared<row_records>()) {}

whole_search::gather_step whole_search::planned_gather(const context& ctx) const {
  const gather_options options{.pattern = access_pattern::random()};
  const const_records table(nullptr, table_records_, tuple_bytes);
  const explanation why = explain_gather(ctx, table, {nullptr, found_records_, problem_.index},
                                         sheaf::records(nullptr, found_records_, tuple_bytes), options);
  const auto run = [state = records_, table_count = table_records_, count = found_records_, type = problem_.index,
                    options, &arrays = session_->arrays, ctx](std::uint64_t copy) {
    const row_records::copy_records& of = state->copies[copy];
    gather(ctx, {of.table.data(), table_count, tuple_bytes}, {arrays.target(copy).data, count, type},
           sheaf::records(of.found.data(), count, tuple_bytes), options);
  };
  return {run, why.choice() == nullptr ? 0 : why.choice()->scratch_bytes};
}

whole_search::gather_step whole_search::multipass_gather(std::uint64_t passes) const {
  const context& ctx = session_->ctx;
  const const_records table(nullptr, table_records_, tuple_bytes);
  const primitives::gather_problem problem = primitives::describe_gather(
      ctx, table, {nullptr, found_records_, problem_.index}, sheaf::records(nullptr, found_records_, tuple_bytes),
      access_pattern::random(), bounds::check);
  const auto& variant =
      existing_variant(primitives::gather_variants(), fmt::format("{}.multipass", name(ctx.backend())));
  plan::planned plan = variant.plan(problem, plan::scope_of(ctx));
  plan.decided.set(primitives::multipass_decision{static_cast<std::uint32_t>(passes), 1});
  const auto run = [state = records_, problem, plan, &variant, &arrays = session_->arrays, ctx](std::uint64_t copy) {
    const row_records::copy_records& of = state->copies[copy];
    const core::scratch scratch(ctx.state(), plan.scratch_bytes);
    if (!scratch.is_taken()) scratch.throw_not_taken(variant.name);
    variant.run(ctx, problem, plan,
                {{of.table.data(), problem.indexed_count, tuple_bytes},
                 {arrays.target(copy).data, problem.count, problem.index},
                 sheaf::records(of.found.data(), problem.count, tuple_bytes)},
                scratch.data());
  };
  return {run, plan.scratch_bytes};
}

// Probe i asks for the key of the record that entry i of the row's pattern names. So what is found is a gather by the
// pattern, and that is checked beside the record ids, on the device where there is one.
contender whole_search::followed_by(const contender& search, const gather_step& step) const {
  contender contender = search;
  contender.predicted_seconds = 0;  // of the search alone
  contender.scratch_bytes = std::max(search.scratch_bytes, step.scratch_bytes);
  contender.kept_bytes_of_copy += (table_records_ + found_records_) * tuple_bytes;
  contender.prepare = [search, state = records_, table_count = table_records_, found_count = found_records_,
                       ctx = session_->ctx](std::uint64_t copies) {
    if (search.prepare) search.prepare(copies);
    while (state->copies.size() < copies) {
      state->copies.push_back({buffer(ctx, table_count * tuple_bytes), buffer(ctx, found_count * tuple_bytes)});
      const row_records::copy_records& of = state->copies.back();
      inputs::fill_records(ctx, {of.table.data(), table_count, tuple_bytes}, seed_of_table);
      jobs::wipe(ctx, {of.found.data(), found_count, tuple_bytes});  // touches the memory
    }
  };
  contender.release = [search, state = records_] {
    state->copies.clear();
    if (search.release) search.release();
  };
  contender.queue = [search, run = step.run](std::uint64_t copy) {
    search.queue(copy);
    run(copy);
  };
  contender.queue_with_side_outputs = [state = records_, queue = contender.queue, found_count = found_records_,
                                       ctx = session_->ctx] {
    jobs::wipe(ctx, {state->copies[0].found.data(), found_count, tuple_bytes});
    queue(0);
  };
  contender.count_own_mistakes = [search, state = records_, p = problem_, table_count = table_records_,
                                  found_count = found_records_, &arrays = session_->arrays, ctx = session_->ctx] {
    const std::uint64_t wrong = search.count_own_mistakes ? search.count_own_mistakes() : arrays.count_mistakes(false);
    return wrong + inputs::count_gather_mismatches(ctx, {state->copies[0].found.data(), found_count, tuple_bytes},
                                                   jobs::pattern_of_copy(p, 0), table_count, seed_of_table);
  };
  return contender;
}

contender whole_search::with_gather(const contender& search) const {
  return followed_by(search, planned_gather(session_->ctx));
}

contender whole_search::with_passes(const contender& search, std::uint64_t passes) const {
  contender contender = followed_by(search, multipass_gather(passes));
  contender.who = name_with_passes(search.who, passes);
  return contender;
}

contender whole_search::with_transfers(const contender& search) const {
  const contender whole = with_gather(search);
  const std::uint64_t key_bytes = problem_.count * problem_.key_bytes;
  const std::uint64_t found_bytes = found_records_ * tuple_bytes;
  const auto found_on_host = [state = records_, key_bytes, count = found_records_] {
    return sheaf::records(state->host.get() + key_bytes, count, tuple_bytes);
  };
  contender contender = whole;
  contender.who += "+transfers";
  contender.prepare = [whole, state = records_, key_bytes, found_bytes, &arrays = session_->arrays,
                       ctx = session_->ctx](std::uint64_t copies) {
    whole.prepare(copies);
    state->host = host_memory(ctx, key_bytes + found_bytes);
    copy_bytes(ctx, state->host.get(), arrays.keys(0).data, key_bytes);
  };
  contender.release = [whole, state = records_] {
    state->host.reset();
    whole.release();
  };
  // Copy 0 in every call, whose keys are those on the host.
  contender.queue = [whole, state = records_, key_bytes, found_bytes, &arrays = session_->arrays,
                     ctx = session_->ctx](std::uint64_t) {
    copy_bytes(ctx, arrays.at(0, places::index).data, state->host.get(), key_bytes);
    whole.queue(0);
    copy_bytes(ctx, state->host.get() + key_bytes, state->copies[0].found.data(), found_bytes);
  };
  contender.queue_with_side_outputs = [state = records_, queue = contender.queue, found_on_host,
                                       found_count = found_records_, ctx = session_->ctx] {
    jobs::wipe(ctx, {state->copies[0].found.data(), found_count, tuple_bytes});
    jobs::wipe(context::cpu(), found_on_host());
    queue(0);
  };
  contender.count_own_mistakes = [whole, found_on_host, p = problem_, table_count = table_records_] {
    return whole.count_own_mistakes() + inputs::count_gather_mismatches(context::cpu(), found_on_host(),
                                                                        jobs::pattern_of_copy(p, 0), table_count,
                                                                        seed_of_table);
  };
  return contender;
}

contender whole_search::step_4(const contender& search, std::uint64_t passes,
                               const plan::he2007::parameters& model) const {
  const gather_step step = multipass_gather(passes);
  const contender whole = followed_by(search, step);
  contender contender = whole;
  contender.who = name_of_step_4(passes);
  contender.variant = fmt::format("{}.multipass", name(session_->ctx.backend()));
  contender.he2007_seconds =
      plan::he2007::gather_seconds(gather_sizes(), access_pattern::random(), static_cast<double>(passes), model);
  contender.prepare = [whole, search](std::uint64_t copies) {
    whole.prepare(copies);
    for (std::uint64_t copy = 0; copy < copies; ++copy) search.queue(copy);
    whole.wait();
  };
  contender.queue = step.run;
  return contender;
}

contender whole_search::search_by_chunks(const context& ctx, std::uint64_t chunks) const {
  const auto& variant = existing_variant(primitives::hash_search_variants(), chunks_variant);
  plan::planned plan = plan_of_chunks(ctx, problem_);
  auto decision = plan.decided.get<cpu::cache_chunks_decision>();
  decision.chunks = chunks;
  plan.decided.set(decision);
  return {
      .who = std::string(chunks_variant),
      .variant = std::string(chunks_variant),
      .scratch_bytes = plan.scratch_bytes,
      .queue =
          [ctx, p = problem_, plan, room = found_records_, &variant, &arrays = session_->arrays](std::uint64_t copy) {
            const core::scratch scratch(ctx.state(), plan.scratch_bytes);
            if (!scratch.is_taken()) scratch.throw_not_taken(variant.name);
            const jobs::array_set of = arrays.all(copy);
            const auto& index = *static_cast<const hash_index*>(of.made.get());
            const std::function<primitives::hash_match_room(std::uint64_t)> make_room = [&](std::uint64_t) {
              return primitives::hash_match_room{of[places::target].data, room};
            };
            const const_records probes(of[places::index].data, p.count, p.key_bytes);
            variant.run(ctx, search_problem(p), plan, {&index.table(), probes, of[places::offsets].data, &make_room},
                        scratch.data());
          },
      .wait = [ctx] { ctx.wait(); }};
}

contender whole_search::by_chunks(std::uint64_t chunks, int threads) const {
  const context ctx = threads == 0 ? session_->ctx : context::cpu(threads);
  contender contender = followed_by(search_by_chunks(ctx, chunks), planned_gather(ctx));
  contender.who = name_by_chunks(chunks, threads);
  return contender;
}

std::uint64_t whole_search::planned_chunks() const {
  return plan_of_chunks(session_->ctx, problem_).decided.get<cpu::cache_chunks_decision>().chunks;
}

plan::he2007::sizes whole_search::gather_sizes() const {
  return {found_records_, table_records_, tuple_bytes, found_records_ * bytes(problem_.index)};
}

std::uint64_t whole_search::modelled_passes(const plan::he2007::parameters& model) const {
  return plan::he2007::best_passes(plan::he2007::operation::gather, gather_sizes(), access_pattern::random(), model);
}

std::uint64_t whole_search::gathered_bytes() const {
  return found_records_ * (bytes(problem_.index) + 2 * tuple_bytes);
}

std::string whole_search::name_with_passes(std::string_view who, std::uint64_t passes) {
  return fmt::format("{}:passes={}", who, passes);
}

std::string whole_search::name_of_step_4(std::uint64_t passes) {
  return fmt::format("{}:passes={}", step_4_words, passes);
}

std::string whole_search::name_by_chunks(std::uint64_t chunks, int threads) {
  const std::string name = fmt::format("{}:chunks={}", chunks_variant, chunks);
  return threads == 0 ? name : fmt::format("{}:threads={}", name, threads);
}

}  // namespace sheaf::bench::papers::he2007
