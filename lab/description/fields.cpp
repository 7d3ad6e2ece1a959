#include "core/printable.hpp"
#include "lab/description/field.hpp"
#include "primitives/views.hpp"
#include "primitives/words.hpp"

namespace sheaf::primitives {

std::uint64_t number_of(std::string_view option, std::span<const std::string> texts, std::uint64_t least,
                        std::uint64_t most) {
  const std::optional<std::uint64_t> number = parse_number(texts.front());
  if (number && *number >= least && *number <= most) return *number;
  const bool is_open = most == ~std::uint64_t{0};
  const std::string range = !is_open    ? fmt::format(" from {} to {}", least, most)
                            : least > 0 ? fmt::format(" from {}", least)
                                        : "";
  refuse("{}: '{}' is not a whole number{}", option, core::printable(texts.front()), range);
}

namespace fields {

const problem_field count{
    .option = "--count",
    .help = "Records that move",
    .type_name = "N",
    .read = [](problem_spec& p, std::span<const std::string> texts) { p.count = number_of("--count", texts, 0); }};

const problem_field table{
    .option = "--table",
    .help = "Records that an index may name: a gather's table, the output of a scatter",
    .type_name = "N",
    .read = [](problem_spec& p, std::span<const std::string> texts) { p.table = number_of("--table", texts, 0); }};

const problem_field bytes{.option = "--bytes",
                          .help = "Bytes of a record",
                          .type_name = "N",
                          .read = [](problem_spec& p, std::span<const std::string> texts) {
                            p.record_bytes = number_of("--bytes", texts, 1);
                          }};

const problem_field index_type{
    .option = "--index-type",
    .help = "Type of the index; u32 unless one is written of too many records",
    .type_name = "u32|u64|i32|i64",
    .read = [](problem_spec& p, std::span<const std::string> texts) { p.index = parse_index_type(texts.front()); }};

const problem_field pattern{.option = "--pattern",
                            .help =
                                "What is known of the places that the index names: unknown, sequential, random, "
                                "partitioned:STREAMS, clustered:RECORDS, strided:STEP, skewed, repeated:RECORDS",
                            .type_name = "PATTERN",
                            .read = [](problem_spec& p, std::span<const std::string> texts) {
                              p.access = parse_access_pattern(texts.front());
                            }};

const problem_field bounds{.option = "--bounds",
                           .help = "Whether indices are checked: check, or trust",
                           .type_name = "check|trust",
                           .read = [](problem_spec& p, std::span<const std::string> texts) {
                             p.bounds = value_of(texts.front(), bounds_words, "a way to treat bad indices");
                           }};

const problem_field key_bytes{.option = "--key-bytes",
                              .help = "Width of keys in an array of their own",
                              .type_name = "N",
                              .read = [](problem_spec& p, std::span<const std::string> texts) {
                                p.key_bytes = number_of("--key-bytes", texts, 1, most_record_bytes);
                              }};

void number_all_records(problem_spec& p) {
  p.index = p.count >> 32 == 0 ? sheaf::index_type::u32 : sheaf::index_type::u64;
}

}  // namespace fields
}  // namespace sheaf::primitives
