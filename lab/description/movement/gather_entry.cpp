#include "primitives/movement/gather.hpp"

#include <sheaf/gather.hpp>

#include "lab/description/entry.hpp"
#include "lab/description/estimates.hpp"
#include "lab/description/movement/entry_parts.hpp"
#include "primitives/words.hpp"

namespace sheaf::primitives {
namespace {

constexpr field_use taken[] = {required(fields::count),      required(fields::table),   required(fields::bytes),
                               optional(fields::index_type), optional(fields::pattern), optional(fields::bounds)};

row_words write(const problem_spec& p) { return {order_and_table(p), std::string(name(p.index))}; }

void read(const name_part& pattern, const name_part& type, problem_spec& p) {
  read_order_and_table(pattern, p);
  if (const auto rest = read_index_type(type, p)) rest->refuse("part of a gather's type");
}

explanation explain(const context& ctx, const problem_spec& p, std::string_view variant) {
  return explain_gather(ctx, {nullptr, p.indexed_count(), p.record_bytes}, {nullptr, p.count, p.index},
                        {nullptr, p.count, p.record_bytes},
                        {.pattern = p.access, .bounds = p.bounds, .variant = variant});
}

gather_problem problem_of(const problem_spec& p, backend_kind backend) { return {movement_of(p, backend)}; }

}  // namespace

extern const entry gather_entry{.name = "gather",
                                .family = "movement",
                                .fields = taken,
                                .example = "--count 100000000 --table 100000000 --bytes 16 --pattern random",
                                .write = write,
                                .read = read,
                                .text = movement_text,
                                .facts = movement_facts,
                                .explain = explain,
                                .estimates = estimates_by<problem_of, gather_variants>,
                                .place = place_by<problem_of>,
                                .he2007_seconds = he2007_seconds_of_gather};

}  // namespace sheaf::primitives
