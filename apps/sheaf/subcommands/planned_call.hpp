#pragma once

#include <functional>

#include "apps/sheaf/command.hpp"
#include "lab/description/entry.hpp"

// The calls that a subcommand makes, planned: what its run and its report go by, and what `sheaf plan` prints of them.
namespace sheaf::cli {

/// What a call is, for reports.
struct call_words {
  std::string primitive;  ///< "gather"
  std::string text;       ///< "1000 records of 4 bytes, ..."
  std::vector<primitives::fact> facts;
};

/// What its entry says of a problem.
call_words call_words_of(const primitives::problem_spec& problem);

struct planned_call {
  call_words words;
  explanation plan;
  /// The plan by a list of another order; empty where there is no list, or something is said of its order.
  std::function<explanation(access_pattern)> by_order = {};
};

/// A call by a list of which `said` is known. @param explain  plans the call by a list of an order
template <class Explain>
planned_call planned_by_order(call_words words, access_pattern said, Explain explain) {
  planned_call call{std::move(words), explain(said), {}};
  if (said == access_pattern::unknown()) call.by_order = explain;
  return call;
}

/// The variant that was chosen, or "nothing".
std::string chosen_variant(const explanation& plan);
/// The seconds that are predicted of it, or 0.
double predicted_seconds(const explanation& plan);
/// Of the plan of a preparation: the seconds of one run, not those of the preparation and of all runs.
double predicted_run_seconds(const explanation& plan);

/// What a context that learns knows of a call, behind a semicolon; nothing where it knows nothing.
std::string learned_text(const explanation& plan);

/// All that a subcommand would do.
struct planned_work {
  std::string subcommand;
  std::vector<planned_call> calls;               ///< first the one that the work is about, then others
  std::string variant;                           ///< what the report says that ran; empty where nothing can
  double predicted_seconds = 0;                  ///< what the report says of its time
  bool is_predicted = true;                      ///< whether it says any
  std::optional<double> iteration_seconds = {};  ///< predicted, of work whose iterations nobody knows
  std::vector<std::string> read;                 ///< files that were read, and not only their headers
  std::vector<primitives::fact> facts = {};      ///< of the work beside its calls
  std::vector<std::string> remarks = {};         ///< for people
};

/// Work that is one call.
planned_work work_of(std::string subcommand, planned_call call, std::vector<std::string> read);

/// The files among these that were read when they were opened: members of archives, to check or inflate them, and
/// streams.
std::vector<std::string> read_when_opened(std::initializer_list<std::string> paths);

/// Prints the plan of a call, or of work, as text or as a document.
void print_plan(const common_options& common, const context& ctx, const planned_call& call);
void print_plan(const common_options& common, const context& ctx, const planned_work& work);

}  // namespace sheaf::cli
