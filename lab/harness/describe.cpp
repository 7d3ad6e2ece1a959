#include "lab/harness/describe.hpp"

#include <cstdio>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lab/peers/list.hpp"

namespace sheaf::bench {
namespace {

using nlohmann::json;

json json_of(const primitives::label_part& part) {
  if (!part.varies) return part.text;
  json varying = {{"text", part.text}};
  if (part.number) varying["number"] = *part.number;
  if (!part.unit.empty()) varying["unit"] = part.unit;
  return varying;
}

json json_of(const primitives::problem_spec& problem) {
  const primitives::entry& of = primitives::entry_of(problem);
  const primitives::row_parts words = of.write(problem);
  const primitives::row_labels labels = of.labels(problem);
  json line = json::array();
  for (const primitives::label_part& part : labels.line) line.push_back(json_of(part));
  return {{"primitive", problem.primitive},       {"family", of.family},    {"pattern", words.pattern},
          {"record_bytes", problem.record_bytes}, {"type", words.type},     {"count", problem.count},
          {"headline", labels.headline},          {"line", std::move(line)}};
}

json json_of(const peers::peer_name& name) {
  json peer = {{"who", name.who}, {"text", name.text}, {"is_for_scale", name.is_for_scale}};
  if (!name.primitive.empty()) peer["primitive"] = name.primitive;
  return peer;
}

json primitives_and_peers() {
  json document = {{"schema_version", 1}};
  for (const primitives::entry* const e : primitives::entries()) document["primitives"].push_back(e->name);
  for (const peers::peer_name& name : peers::names()) document["peers"].push_back(json_of(name));
  return document;
}

std::vector<std::string> lines_of_input() {
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  if (std::cin.bad() || std::ferror(stdin) != 0) throw error(error_code::io_failure, "standard input cannot be read");
  return lines;
}

std::vector<std::string> rows_named(std::span<const std::string> names) {
  std::vector<std::string> rows;
  for (const std::string& name : names) {
    const std::vector<std::string> lines = name == "-" ? lines_of_input() : std::vector<std::string>{name};
    rows.insert(rows.end(), lines.begin(), lines.end());
  }
  return rows;
}

}  // namespace

bool print_descriptions(std::span<const std::string> names) {
  std::string rows;
  std::string first_error;
  for (const std::string& name : rows_named(names)) {
    json row;
    try {
      row = json_of(primitives::parse_problem(name));
      row["row"] = name;
    } catch (const error& e) {
      row = {{"row", name}, {"error", e.what()}};
      if (first_error.empty()) first_error = e.what();
    }
    rows += fmt::format("{}\n  {}", rows.empty() ? "" : ",", row.dump(-1, ' ', false, json::error_handler_t::replace));
  }
  // One line for each row.
  std::string text = primitives_and_peers().dump(1);
  text.resize(text.size() - 2);  // the end of the line, and the brace behind it
  fmt::print("{},\n \"rows\": [{}\n ]\n}}\n", text, rows);
  if (!first_error.empty()) fmt::print(stderr, "sheaf-bench: {}\n", first_error);
  return first_error.empty();
}

}  // namespace sheaf::bench
