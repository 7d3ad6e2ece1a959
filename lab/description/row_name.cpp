#include "lab/description/row_name.hpp"

#include "core/printable.hpp"
#include "lab/description/entry.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf::primitives {
namespace {

using core::printable;

constexpr std::string_view form = "PRIMITIVE/PATTERN/rBYTES/TYPE/n=COUNT";

// Cuts the next of the five parts off.
name_part take(std::optional<name_part>& rest, const name_part& whole) {
  if (!rest) whole.refuse(form);
  const auto [part, behind] = rest->cut_at("/");
  rest = behind;
  return part;
}

}  // namespace

void name_part::refuse(std::string_view expected) const {
  primitives::refuse("problem '{}', character {}: '{}' is not {}", printable(whole_), first_ + 1, printable(text()),
                     expected);
}

void name_part::refuse_because(std::string_view why) const {
  primitives::refuse("problem '{}', character {}: {}", printable(whole_), first_ + 1, why);
}

std::pair<name_part, std::optional<name_part>> name_part::cut(std::size_t place, std::size_t separator_length) const {
  if (place == std::string_view::npos) return {*this, std::nullopt};
  const std::size_t behind = place + separator_length;
  return {name_part(whole_, first_, place), name_part(whole_, first_ + behind, length_ - behind)};
}

std::pair<name_part, std::optional<name_part>> name_part::cut_at(std::string_view separator) const {
  return cut(text().find(separator), separator.size());
}

std::pair<name_part, std::optional<name_part>> name_part::cut_at_last(std::string_view separator) const {
  return cut(text().rfind(separator), separator.size());
}

name_part name_part::behind(std::string_view prefix, std::string_view expected) const {
  if (!text().starts_with(prefix)) refuse(expected);
  return {whole_, first_ + prefix.size(), length_ - prefix.size()};
}

std::uint64_t name_part::number(std::uint64_t least, std::uint64_t most, std::string_view expected) const {
  const std::optional<std::uint64_t> found = parse_number(text());
  if (!found || *found < least || *found > most) refuse(expected);
  return *found;
}

std::string pattern_name(const problem_spec& p) { return entry_of(p).write(p).pattern; }
std::string type_name(const problem_spec& p) { return entry_of(p).write(p).type; }

std::string name(const problem_spec& p) {
  const row_parts words = entry_of(p).write(p);
  return fmt::format("{}/{}/r{}/{}/n={}", p.primitive, words.pattern, p.record_bytes, words.type, p.count);
}

problem_spec parse_problem(std::string_view text) {
  const name_part whole(text);
  std::optional<name_part> rest = whole;
  const name_part primitive = take(rest, whole);
  const name_part pattern = take(rest, whole);
  const name_part bytes = take(rest, whole);
  const name_part type = take(rest, whole);
  const name_part count = take(rest, whole);
  if (rest) rest->refuse("the end of a problem's name");

  const entry& found = primitive.read(entry_named);
  problem_spec problem;
  problem.primitive = found.name;
  problem.record_bytes =
      bytes.behind("r", "r and the bytes of a record").number(1, most_record_bytes, "1 to 65536 bytes");
  problem.count = count.behind("n=", "n= and a count").number(0, ~std::uint64_t{0}, "a whole number");
  found.read(pattern, type, problem);
  if (const std::string written = name(problem); written != text) {
    refuse("problem '{}' is written '{}'", printable(text), written);
  }
  return problem;
}

}  // namespace sheaf::primitives
