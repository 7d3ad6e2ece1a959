#include <fmt/format.h>
#include <sheaf/gather.hpp>

#include "lab/description/hash/problem.hpp"
#include "lab/description/row_name.hpp"
#include "lab/harness/platform.hpp"
#include "lab/inputs/pattern.hpp"
#include "papers/he2007/figures.hpp"

// Section 4.2, figure 18: 4 million search keys of 32 bits in hash tables of records of 8 bytes, at a load factor of
// 99 %. A search ends with the gather of the records that it has found. The paper's times on the GPU include the
// transfers of the search keys and of the result.
namespace sheaf::bench::papers::he2007 {
namespace {

namespace places = jobs::places;

constexpr std::uint64_t search_keys = 4 * million;
constexpr std::uint64_t usual_records = 16 * million;

// Random keys of 32 bits would mostly find nothing, so probes ask for keys that there are.
problem hash_search_in(std::uint64_t records, std::uint64_t probes) {
  return primitives::parse_problem(fmt::format("hash_search/uniform:s{}:x1:h100/r4/k32+load99/n={}", records, probes));
}

struct table_and_probes {
  std::uint64_t records;
  std::uint64_t probes;
};

// Tables of several sizes with the paper's 4 M search keys, then its probes in other numbers with one table.
std::vector<table_and_probes> searches_of(const paper_run& run, const session& session) {
  const std::vector<std::uint64_t> of_paper = powers(million, 64 * million, 4);
  const auto square = [](std::uint64_t count) { return hash_search_in(count, count); };
  const std::uint64_t usual_probes = std::min(search_keys, run.count(session, search_keys, square));
  const std::uint64_t usual_table = std::min(usual_records, run.count(session, usual_records, square));
  std::vector<table_and_probes> all;
  const auto in_table = [&](std::uint64_t records) { return hash_search_in(records, usual_probes); };
  for (const std::uint64_t records : run.counts(session, of_paper, in_table)) all.push_back({records, usual_probes});
  const auto by_probes = [&](std::uint64_t probes) { return hash_search_in(usual_table, probes); };
  for (const std::uint64_t probes : run.counts(session, of_paper, by_probes)) {
    if (probes != usual_probes) all.push_back({usual_table, probes});
  }
  return all;
}

/// The records of one table, and those that a search has found.
struct found_records {
  buffer table;
  buffer found;
};

/// A search, and the gather of what it finds: step 4 of the paper.
contender with_gather(const session& session, const problem& problem, const contender& search) {
  const auto records_of_copies = std::make_shared<std::vector<found_records>>();
  const std::uint64_t most = primitives::most_matches(problem);
  contender contender = search;
  contender.predicted_seconds = 0;  // of the search alone
  contender.kept_bytes_of_copy += (primitives::table_records(problem) + most) * tuple_bytes;
  contender.prepare = [search, records_of_copies, problem, most, ctx = session.ctx](std::uint64_t copies) {
    if (search.prepare) search.prepare(copies);
    for (std::uint64_t copy = 0; copy < copies; ++copy) {
      records_of_copies->push_back(
          {buffer(ctx, primitives::table_records(problem) * tuple_bytes), buffer(ctx, most * tuple_bytes)});
      const found_records& records = records_of_copies->back();
      inputs::fill_records(ctx, {records.table.data(), primitives::table_records(problem), tuple_bytes}, 1);
      inputs::fill_records(ctx, {records.found.data(), most, tuple_bytes}, 2);  // touches the memory
    }
  };
  contender.release = [search, records_of_copies] {
    records_of_copies->clear();
    if (search.release) search.release();
  };
  contender.queue = [search, records_of_copies, problem, most, &arrays = session.arrays,
                     ctx = session.ctx](std::uint64_t copy) {
    search.queue(copy);
    const found_records& records = (*records_of_copies)[copy];
    // Every probe finds one record, so there are as many record numbers as there is room for.
    gather(ctx, {records.table.data(), primitives::table_records(problem), tuple_bytes},
           {arrays.target(copy).data, most, problem.index}, sheaf::records{records.found.data(), most, tuple_bytes},
           {.pattern = access_pattern::random()});
  };
  return contender;
}

/// The transfer of the search keys from the host before, and of as many records as are found to the host after.
contender search_with_transfers(const session& session, const problem& p, const contender& search) {
  const std::uint64_t key_bytes = p.count * p.key_bytes;
  const std::uint64_t result_bytes = primitives::most_matches(p) * tuple_bytes;
  const std::shared_ptr<std::byte[]> host = host_memory(session.ctx, key_bytes + result_bytes);
  const auto result = std::make_shared<buffer>();
  contender contender = search;
  contender.who += "+transfers";
  contender.kept_bytes_of_copy += result_bytes;
  contender.prepare = [search, host, result, key_bytes, result_bytes, &arrays = session.arrays,
                       ctx = session.ctx](std::uint64_t copies) {
    search.prepare(copies);
    copy_bytes(ctx, host.get(), arrays.keys(0).data, key_bytes);
    *result = buffer(ctx, result_bytes);
  };
  contender.release = [search, result] {
    *result = buffer();
    search.release();
  };
  contender.queue = [search, host, result, key_bytes, result_bytes, &arrays = session.arrays,
                     ctx = session.ctx](std::uint64_t) {
    copy_bytes(ctx, arrays.at(0, places::index).data, host.get(), key_bytes);
    search.queue(0);
    copy_bytes(ctx, host.get() + key_bytes, result->data(), result_bytes);
  };
  return contender;
}

/// Our choice and every variant, each with the gather; on a GPU also with transfers, as the paper's times have them.
std::vector<contender> searches(const session& s, const problem& p) {
  std::vector<contender> all;
  for (const contender& search : contenders_of(s.ctx, p, {.no_peer = true, .variants = true}, s.arrays)) {
    const contender whole = with_gather(s, p, search);
    const std::uint64_t host_bytes = p.count * p.key_bytes + primitives::most_matches(p) * tuple_bytes;
    if (s.ctx.backend() == backend_kind::cuda && host_holds(host_bytes)) {
      all.push_back(search_with_transfers(s, p, whole));
    }
    all.push_back(whole);
  }
  return all;
}

/// The variant whose name ends so, such as "direct".
const result* result_by(const std::vector<result>& rows, std::string_view name) {
  const auto place =
      std::ranges::find_if(rows, [&](const result& r) { return r.who.ends_with(fmt::format(".{}", name)); });
  return place == rows.end() ? nullptr : &*place;
}

/// The load factor that the row's index has.
std::string load_text(const result& row) {
  for (const primitives::fact& f : row.facts) {
    const auto* const percent = std::get_if<std::uint64_t>(&f.value);
    if (f.name == "index_load_percent" && percent != nullptr) return fmt::format("{} %", *percent);
  }
  return "-";
}

}  // namespace

void figure_18(paper_run& run) {
  print_caption(
      "Figure 18. Hash search on the GPU and the CPU",
      "7.2 and 3.5 times as fast on the GPU as on Intel's and AMD's CPU, transfers included, which take 40 to "
      "60 %; the\n  multi-pass gather saves a third. The text has no sizes of tables.");
  fmt::print("  The paper's tables are 99 % full, and so are ours. The column \"load\" has what the table is.\n");
  for (session& session : run.sessions) {
    const bool on_gpu = session.ctx.backend() == backend_kind::cuda;
    print_place(session, fmt::format("keys of 4 bytes, records of 8, all found{}",
                                     on_gpu ? "; the last columns with the way from the host and back" : ""));
    const table rows({"records", "probes", "load", "direct", "multipass", "partitioned", "direct / multipass",
                      "direct / partitioned", "choice", "variant", "keys", "with transfers", "transfers in it"});
    for (const auto& [records, probes] : searches_of(run, session)) {
      const problem p = hash_search_in(records, probes);
      const auto found = run.measure(session, 18, p, searches(session, p));
      const result* const choice = find(found, "sheaf");
      const result* const moved = find(found, "sheaf+transfers");
      if (choice == nullptr) continue;
      const double seconds = choice->time.median_seconds;
      const result* const direct = result_by(found, "direct");
      const result* const multipass = result_by(found, "multipass");
      const result* const partitioned = result_by(found, "partitioned");
      rows.row({count_text(records), count_text(probes), load_text(*choice), time_of(direct), time_of(multipass),
                time_of(partitioned), ratio_of(direct, multipass), ratio_of(direct, partitioned), time_of(choice),
                choice->variant, records_per_second(choice), time_of(moved),
                moved ? percent_text(1 - seconds / moved->time.median_seconds) : "-"});
    }
  }
}

}  // namespace sheaf::bench::papers::he2007
