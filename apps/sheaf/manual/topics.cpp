#include "apps/sheaf/manual/topics.hpp"

namespace sheaf::cli {
namespace {

constexpr std::string_view topic_work = "What is done";
constexpr std::string_view topic_input = "Input";
constexpr std::string_view topic_output = "Output";
constexpr std::string_view topic_place = "Where and how it runs";
constexpr std::string_view topic_report = "Checks and reports";

constexpr std::string_view topic_records = "Move, order and find records";
constexpr std::string_view topic_lists = "Follow linked lists";
constexpr std::string_view topic_sums = "Multiply, solve and sum";
constexpr std::string_view topic_machine = "Plan and measure";
constexpr std::string_view topic_about = "About sheaf";

constexpr std::string_view order_of_topics[] = {topic_records, topic_lists, topic_sums,   topic_machine, topic_about,
                                                topic_work,    topic_input, topic_output, topic_place,   topic_report};

struct topic_names {
  std::string_view topic;
  std::string_view names;  ///< between spaces
};

constexpr topic_names of_subcommands[] = {
    {topic_records, " gather scatter split multi-split sort search "},
    {topic_lists, " rank scan "},
    {topic_sums, " reduce spmv spmm solve npb-cg edges "},
    {topic_machine, " plan machine demo "},
};

// Options that are named nowhere here say what is done.
constexpr topic_names of_options[] = {
    {topic_input,
     " --record-bytes --key-bytes --payload-bytes --index-type --value-type --keys --row-offsets --weights --zone "
     "--y --matrix "},
    {topic_output,
     " --output --output-type --offsets --sources --index --matches --payload --history --dual --report --save "},
    {topic_place, " --backend --threads --devices --memory --temporary --variant --profiles "},
    {topic_report, " --runs --learn --verify --check --json --quiet --verbose --help --version "},
};

std::string_view topic_in(std::span<const topic_names> all, std::string_view name, std::string_view otherwise) {
  const std::string word = " " + std::string(name) + " ";
  for (const topic_names& each : all) {
    if (each.names.find(word) != each.names.npos) return each.topic;
  }
  return otherwise;
}

}  // namespace

std::string topic_of(std::string_view option) { return std::string(topic_in(of_options, option, topic_work)); }

std::string topic_of_subcommand(std::string_view subcommand) {
  return std::string(topic_in(of_subcommands, subcommand, topic_about));
}

std::span<const std::string_view> topic_order() { return order_of_topics; }

}  // namespace sheaf::cli
