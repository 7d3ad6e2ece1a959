#include "apps/sheaf/former_names.hpp"

#include <fmt/format.h>

namespace sheaf::cli {
namespace {

struct former_name {
  std::string_view subcommands;  ///< that had the name, between spaces; empty: all
  std::string_view option;
  std::string_view now;
  bool is_foreign = false;  ///< of other programs
};

// A name stays here: whoever has it in a script is told what to write instead.
constexpr former_name former_names[] = {
    {"", "--pattern-hint", "--pattern"},
    {" spmv ", "--transpose", "--transposed"},
    {" plan ", "--exclusive", "--exclusive-from NUMBER"},
    {" spmv solve edges npb-cg ", "--f32", "--value-type f32"},
    {" sort ", "--index-type", "--output-type"},
    {" multi-split ", "--first-type", "--index-type"},
    {" split multi-split ", "--first", "--row-offsets"},
    {" rank ", "--type", "--output-type"},
    {" plan ", "--type", "--value-type; of the ranks of list_rank, --output-type"},
    {" plan ", "--bytes", "--record-bytes; of the values of sort_pairs, --value-bytes"},
    {" split ", "--count", "--categories, and --keys names the file of the categories"},
    {" multi-split ", "--count", "--categories, and --keys names the file of the categories"},
    {" multi-split ", "--category-bytes", "--key-bytes"},
    {" search ", "--table-key", "--key"},
    {" search ", "--first", "--matches first"},
    {" search ", "--count", "--matches count"},
    {" search ", "--records", "--payload"},
    {" search ", "--table-bytes", "--record-bytes; of the records of --payload, --payload-bytes"},
    {" scatter ", "--count", "--table"},
    {" plan ", "--weights", "--weighted"},
    {" solve ", "--limit", "--iterations"},
    // Of GNU sort, ripgrep and the like.
    {" sort ", "--reverse", "--descending", true},
    {"", "--parallel", "--threads", true},
    {"", "--jobs", "--threads", true},
    {"", "--buffer-size", "--memory", true},
};

}  // namespace

std::string former_name_text(std::string_view subcommand, std::string_view option) {
  const std::string word = fmt::format(" {} ", subcommand);
  for (const former_name& name : former_names) {
    const bool is_of_subcommand = name.subcommands.empty() || name.subcommands.find(word) != name.subcommands.npos;
    if (is_of_subcommand && name.option == option)
      return fmt::format("{} is {} {}", option, name.is_foreign ? "called" : "now", name.now);
  }
  return {};
}

}  // namespace sheaf::cli
