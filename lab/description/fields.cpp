#include "core/printable.hpp"
#include "lab/description/field.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf::primitives {

std::uint64_t number_of(std::string_view option, option_texts texts, std::uint64_t least, std::uint64_t most) {
  const std::optional<std::uint64_t> number = parse_number(texts.front());
  if (number && *number >= least && *number <= most) return *number;
  const bool is_open = most == ~std::uint64_t{0};
  const std::string range = !is_open    ? fmt::format(" from {} to {}", least, most)
                            : least > 0 ? fmt::format(" from {}", least)
                                        : "";
  refuse("{}: '{}' is not a whole number{}", option, core::printable(texts.front()), range);
}

namespace fields {

const problem_field count{"--count", "Records that move", "N",
                          [](problem_spec& p, option_texts texts) { p.count = number_of("--count", texts, 0); }};

const problem_field table{"--table", "Records that an index may name: a gather's table, the output of a scatter", "N",
                          [](problem_spec& p, option_texts texts) { p.table = number_of("--table", texts, 0); }};

const problem_field bytes{"--record-bytes", "Bytes of a record", "N", [](problem_spec& p, option_texts texts) {
                            p.record_bytes = number_of("--record-bytes", texts, 1);
                          }};

const problem_field index_type{"--index-type", "Type of the index; u32 unless given", "u32|u64|i32|i64",
                               [](problem_spec& p, option_texts texts) { p.index = parse_index_type(texts.front()); }};

const problem_field written_index{"--output-type",
                                  "Type of the index that is written; u32 unless there are too many records",
                                  index_type.type_name, [](problem_spec& p, option_texts texts) {
                                    index_type.read(p, texts);
                                    p.record_bytes = sheaf::bytes(p.index);
                                  }};

const problem_field pattern{
    "--pattern",
    "What is known of the places that the index names: unknown, sequential, random, "
    "partitioned:STREAMS, clustered:RECORDS, strided:STEP, skewed, repeated:RECORDS",
    "PATTERN", [](problem_spec& p, option_texts texts) { p.access = parse_access_pattern(texts.front()); }};

const problem_field bounds{"--bounds", "Whether indices are checked: check, or trust", "check|trust",
                           [](problem_spec& p, option_texts texts) {
                             p.bounds = value_of(texts.front(), bounds_names, "a way to treat bad indices");
                           }};

const problem_field key_bytes{
    "--key-bytes", "Width of keys in an array of their own", "N",
    [](problem_spec& p, option_texts texts) { p.key_bytes = number_of("--key-bytes", texts, 1, most_record_bytes); }};

const problem_field value_type{"--value-type", "Type of the values; f32 unless given", "i32|u32|i64|u64|f32|f64",
                               [](problem_spec& p, option_texts texts) {
                                 p.value = parse_value_type(texts.front());
                                 value_width(p);
                               }};

void value_width(problem_spec& p) { p.record_bytes = sheaf::bytes(p.value); }

void number_all_records(problem_spec& p) {
  p.index = p.count >> 32 == 0 ? sheaf::index_type::u32 : sheaf::index_type::u64;
}

void write_all_numbers(problem_spec& p) {
  number_all_records(p);
  p.record_bytes = sheaf::bytes(p.index);
}

}  // namespace fields
}  // namespace sheaf::primitives
