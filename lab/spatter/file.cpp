#include "lab/spatter/file.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/printable.hpp"
#include "lab/spatter/pattern.hpp"
#include "plan/store/json.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf::bench {
namespace {

using core::printable;
using io::shown;
using nlohmann::json;

constexpr std::uint64_t default_delta = 8;
constexpr std::uint64_t most_size = std::uint64_t{1} << 56;

// A list of objects whose values are lists at most.
constexpr io::json_format format_of_patterns{
    .name = "a pattern file", .most_bytes = std::uint64_t{1} << 28, .deepest_nesting = 3};

constexpr std::array<std::string_view, 16> known_fields{
    "name",         "kernel", "pattern",      "pattern-gather",  "pattern-scatter",
    "pattern-size", "delta",  "delta-gather", "delta-scatter",   "deltas",
    "count",        "wrap",   "boundary",     "local-work-size", "nruns",
    "seed"};

constexpr primitives::enum_name<spatter_kernel> kernels[] = {{"Gather", spatter_kernel::gather},
                                                             {"Scatter", spatter_kernel::scatter},
                                                             {"GS", spatter_kernel::gather_scatter},
                                                             {"MultiGather", spatter_kernel::multi_gather},
                                                             {"MultiScatter", spatter_kernel::multi_scatter}};

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

// Reads the fields of one configuration, and subtracts its pattern entries from the number that the file may have.
class config_reader {
 public:
  config_reader(const json& object, std::string place, std::uint64_t& entries_left)
      : object_(object), place_(std::move(place)), entries_left_(entries_left) {
    if (!object.is_object()) fail("is not an object");
    for (const auto& [field, value] : object.items()) {
      if (std::ranges::find(known_fields, field) == known_fields.end()) {
        fail(fmt::format("'{}' is not a field that sheaf knows", printable(field)));
      }
    }
  }

  bool has(const char* field) const { return object_.contains(field); }

  std::uint64_t number(const char* field, std::uint64_t otherwise, std::uint64_t least) const {
    return has(field) ? whole(object_[field], field, least) : otherwise;
  }

  // Lists of deltas have a field of their own, which GS does not take.
  void require_one_delta(const char* field, spatter_kernel kernel) const {
    if (!has(field) || !object_[field].is_array()) return;
    const char* const instead = kernel == spatter_kernel::gather_scatter
                                    ? "kernel GS takes one number each for delta-gather and delta-scatter"
                                    : "the field for a list of them is deltas";
    fail(fmt::format("{} is {}, not a number; {}", field, shown(object_[field]), instead));
  }

  std::string text(const char* field, const char* otherwise) const {
    if (!has(field)) return otherwise;
    if (!object_[field].is_string()) fail(fmt::format("{} is {}, not a string", field, shown(object_[field])));
    return object_[field].get<std::string>();
  }

  std::vector<std::uint64_t> numbers(const char* field) {
    const json& list = object_[field];
    if (!list.is_array() || list.empty()) {
      const bool is_one_delta = list.is_number() && std::string_view(field) == "deltas";
      fail(fmt::format("{} is {}, not a list of numbers{}", field, shown(list),
                       is_one_delta ? "; the field for one of them is delta" : ""));
    }
    take(field, list.size());
    std::vector<std::uint64_t> values;
    values.reserve(list.size());
    for (const json& value : list) values.push_back(whole(value, fmt::format("{}[{}]", field, values.size()), 0));
    return values;
  }

  // A pattern's entries, cut to pattern-size and then taken modulo boundary, in Spatter's order.
  spatter_pattern pattern(const char* field) {
    spatter_pattern made;
    if (object_[field].is_string()) {
      made = expand_spatter_pattern(object_[field].get_ref<const std::string&>(), fmt::format("{}: {}", place_, field),
                                    entries_left_);
      take(field, made.entries.size());
    } else {
      made.entries = numbers(field);
    }
    const std::uint64_t size = number("pattern-size", made.entries.size(), 1);
    if (size > made.entries.size()) {
      fail(fmt::format("pattern-size is {}, but {} has {} entries", size, field, made.entries.size()));
    }
    made.entries.resize(size);
    const std::uint64_t boundary = number("boundary", 0, 0);
    if (boundary > 0) {
      for (std::uint64_t& entry : made.entries) entry %= boundary;
    }
    return made;
  }

  spatter_pattern required_pattern(const char* field, spatter_kernel kernel) {
    if (!has(field)) fail(fmt::format("{} is missing, which kernel {} needs", field, name(kernel)));
    return pattern(field);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw error(error_code::bad_input, fmt::format("{}: {}", place_, what));
  }

 private:
  // Whole numbers may be written as floating-point ones, as scripts that generate the files do.
  std::uint64_t whole(const json& value, std::string_view what, std::uint64_t least) const {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() >= least &&
        value.get<std::uint64_t>() <= most_spatter_number) {
      return value.get<std::uint64_t>();
    }
    if (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>() &&
        value.get<double>() >= static_cast<double>(least) &&
        value.get<double>() <= static_cast<double>(most_spatter_number)) {
      return static_cast<std::uint64_t>(value.get<double>());
    }
    fail(fmt::format("{} is {}, not a whole number from {} to {}", what, shown(value), least, most_spatter_number));
  }

  void take(const char* field, std::uint64_t entries) {
    if (entries > entries_left_) {
      fail(fmt::format("{} has {} entries, but {} are left of what a file may have", field, entries, entries_left_));
    }
    entries_left_ -= entries;
  }

  const json& object_;
  std::string place_;
  std::uint64_t& entries_left_;
};

spatter_kernel read_kernel(const config_reader& in) {
  const std::string text = in.text("kernel", "gather");
  for (const primitives::enum_name<spatter_kernel>& kernel : kernels) {
    if (lower(text) == lower(kernel.text)) return kernel.value;
  }
  in.fail(fmt::format("kernel is '{}', not Gather, Scatter, GS, MultiGather or MultiScatter", printable(text)));
}

spatter_sequence constant_sequence(spatter_pattern pattern, std::uint64_t delta) {
  return {std::move(pattern.entries), 0, {0}, pattern.delta.value_or(delta)};
}

// The sequence of every kernel but GS. GS has one delta for each side, and no list of deltas.
spatter_sequence single_sequence(config_reader& in, spatter_kernel kernel) {
  spatter_pattern pattern = in.required_pattern("pattern", kernel);
  if (!in.has("deltas")) return constant_sequence(std::move(pattern), in.number("delta", default_delta, 0));
  if (in.has("delta")) in.fail("delta and deltas are both present");
  const std::vector<std::uint64_t> deltas = in.numbers("deltas");
  spatter_sequence sequence{std::move(pattern.entries), 0, {}, 0};
  sequence.offsets.reserve(deltas.size());
  for (const std::uint64_t delta : deltas) {
    sequence.offsets.push_back(sequence.period_delta);
    sequence.period_delta += delta;
    if (sequence.period_delta > most_size) in.fail(fmt::format("deltas add up to more than {}", most_size));
  }
  return sequence;
}

// Replaces the places by places[inner[j]] for every j, where inner is the pattern of this field.
void compose(config_reader& in, spatter_sequence& sequence, const char* field, spatter_kernel kernel) {
  std::vector<std::uint64_t> inner = in.required_pattern(field, kernel).entries;
  for (std::uint64_t j = 0; j < inner.size(); ++j) {
    if (inner[j] >= sequence.places.size()) {
      in.fail(fmt::format("{}[{}] is {}, but pattern has {} entries", field, j, inner[j], sequence.places.size()));
    }
    inner[j] = sequence.places[inner[j]];
  }
  sequence.places = std::move(inner);
}

void check_sizes(const config_reader& in, const spatter_config& config) {
  const auto past = [&](std::uint64_t a, std::uint64_t b, std::uint64_t plus) {
    std::uint64_t size = 0;
    return __builtin_mul_overflow(a, b, &size) || __builtin_add_overflow(size, plus, &size) || size > most_size;
  };
  if (past(config.length(), config.count, 0)) {
    in.fail(
        fmt::format("pattern of {} entries, count {}: more than {} in all", config.length(), config.count, most_size));
  }
  if (past(config.length(), config.wrap, 0)) {
    in.fail(
        fmt::format("pattern of {} entries, wrap {}: more than {} in all", config.length(), config.wrap, most_size));
  }
  for (const spatter_sequence* sequence : {&config.gather, &config.scatter}) {
    if (sequence->places.empty()) continue;
    const std::uint64_t steps = config.count - 1;
    if (past(steps / sequence->period(), sequence->period_delta, sequence->offsets.back() + sequence->last_place)) {
      in.fail(fmt::format("largest place {}, deltas of {} in {} steps, count {}: past {}", sequence->last_place,
                          sequence->period_delta, sequence->period(), config.count, most_size));
    }
  }
}

spatter_config read_config(const json& object, const std::string& origin, std::uint64_t number,
                           std::uint64_t& entries_left) {
  config_reader in(object, fmt::format("{}: configuration {}", origin, number), entries_left);
  spatter_config config;
  config.number = number;
  config.name = in.text("name", "");
  config.kernel = read_kernel(in);
  config.count = in.number("count", 1024, 1);
  config.wrap = in.number("wrap", 1, 1);
  config.runs = in.number("nruns", 0, 1);
  for (const char* ignored : {"local-work-size", "seed"}) in.number(ignored, 0, 0);
  for (const char* delta : {"delta", "delta-gather", "delta-scatter"}) {
    in.require_one_delta(delta, config.kernel);
    in.number(delta, 0, 0);
  }

  switch (config.kernel) {
    case spatter_kernel::gather:
    case spatter_kernel::multi_gather: config.gather = single_sequence(in, config.kernel); break;
    case spatter_kernel::scatter:
    case spatter_kernel::multi_scatter: config.scatter = single_sequence(in, config.kernel); break;
    case spatter_kernel::gather_scatter:
      if (in.has("deltas")) in.fail("deltas do not go with kernel GS");
      config.gather = constant_sequence(in.required_pattern("pattern-gather", config.kernel),
                                        in.number("delta-gather", default_delta, 0));
      config.scatter = constant_sequence(in.required_pattern("pattern-scatter", config.kernel),
                                         in.number("delta-scatter", default_delta, 0));
      if (config.gather.places.size() != config.scatter.places.size()) {
        in.fail(fmt::format("pattern-gather has {} entries, but pattern-scatter has {}", config.gather.places.size(),
                            config.scatter.places.size()));
      }
  }
  if (config.kernel == spatter_kernel::multi_gather) compose(in, config.gather, "pattern-gather", config.kernel);
  if (config.kernel == spatter_kernel::multi_scatter) compose(in, config.scatter, "pattern-scatter", config.kernel);
  for (spatter_sequence* sequence : {&config.gather, &config.scatter}) {
    if (!sequence->places.empty()) sequence->last_place = *std::ranges::max_element(sequence->places);
  }
  check_sizes(in, config);
  return config;
}

std::vector<spatter_config> configs_of(const json& document, const std::string& origin, const spatter_limits& limits) {
  if (!document.is_array() || document.empty()) {
    throw error(error_code::bad_input, fmt::format("{}: is {}, not a list of configurations", origin, shown(document)));
  }
  std::uint64_t entries_left = limits.most_entries;
  std::vector<spatter_config> configs;
  for (const json& object : document) configs.push_back(read_config(object, origin, configs.size(), entries_left));
  return configs;
}

}  // namespace

std::string_view name(spatter_kernel kernel) noexcept { return primitives::text_of(kernel, kernels); }

std::vector<spatter_config> parse_spatter(std::string_view text, const std::string& origin,
                                          const spatter_limits& limits) {
  return configs_of(io::parse_json(text, origin, format_of_patterns), origin, limits);
}

std::vector<spatter_config> load_spatter(const std::string& path) {
  return configs_of(io::load_json(path, format_of_patterns), path, {});
}

}  // namespace sheaf::bench
