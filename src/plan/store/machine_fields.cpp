#include "plan/store/machine_fields.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include <sheaf/error.hpp>

#include "plan/pattern_words.hpp"
#include "plan/store/json.hpp"

namespace sheaf::io {
namespace {

using nlohmann::json;

constexpr std::size_t most_name_bytes = 200;

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= most_name_bytes &&
         std::none_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == 127; });
}

bool is_whole(const json& value, std::uint64_t least, std::uint64_t most) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() >= least && value.get<std::uint64_t>() <= most;
}

template <class Point>
bool has_less(const Point& a, const Point& b) {
  return a.footprint_bytes < b.footprint_bytes;
}

}  // namespace

field_reader::field_reader(const json& object, std::string place) : object_(object), place_(std::move(place)) {
  if (!object.is_object()) fail("is not an object");
}

std::string field_reader::text(const char* field) const {
  const json& value = at(field);
  if (!value.is_string()) fail(fmt::format("{} is {}, not a string", field, io::shown(value)));
  return value.get<std::string>();
}

std::uint64_t field_reader::count(const char* field, std::uint64_t least, std::uint64_t most) const {
  const json& value = at(field);
  if (!is_whole(value, least, most)) {
    fail(fmt::format("{} is {}, not a whole number from {} to {}", field, io::shown(value), least, most));
  }
  return value.get<std::uint64_t>();
}

std::string field_reader::name(const char* field) const {
  std::string value = text(field);
  if (!is_name(value)) {
    fail(fmt::format("{} is {}, not 1 to {} printable bytes", field, shown(field), most_name_bytes));
  }
  return value;
}

std::vector<std::uint64_t> field_reader::sizes(const char* field) const {
  const json& list = at(field);
  if (!list.is_array() || list.empty()) fail(fmt::format("{} is not a list of sizes", field));
  std::vector<std::uint64_t> sizes;
  for (const json& entry : list) {
    const std::uint64_t least = sizes.empty() ? 1 : sizes.back() + 1;
    if (!is_whole(entry, least, most_bytes)) {
      fail(fmt::format("{}[{}] is {}, not a whole number from {} to {}", field, sizes.size(), io::shown(entry), least,
                       most_bytes));
    }
    sizes.push_back(entry.get<std::uint64_t>());
  }
  return sizes;
}

std::map<std::string, std::string> field_reader::names(const char* field) const {
  const field_reader entries(at(field), fmt::format("{}: {}", place_, field));
  std::map<std::string, std::string> names;
  for (const auto& [key, value] : entries.object_.items()) {
    if (!is_name(key)) {
      fail(fmt::format("{} names {}, not 1 to {} printable bytes", field, io::shown(key), most_name_bytes));
    }
    names[key] = entries.name(key.c_str());
  }
  return names;
}

template <class Point, class Read, class Before>
std::vector<Point> field_reader::points(const char* field, const char* what, const char* order, Read read,
                                        Before before) const {
  const json& list = at(field);
  if (!list.is_array() || list.empty()) fail(fmt::format("{} is not a list of {}", field, what));
  std::vector<Point> points;
  for (const json& entry : list) {
    const field_reader row(entry, fmt::format("{}: {}[{}]", place_, field, points.size()));
    points.push_back(read(row));
    if (points.size() >= 2 && !before(points[points.size() - 2], points.back())) {
      row.fail(fmt::format("is out of order: by {}, each once", order));
    }
  }
  return points;
}

std::vector<access_rate> field_reader::rates(const char* field) const {
  const auto read = [](const field_reader& row) {
    return access_rate{row.footprint(), row.count("record_bytes", 1, most_bytes), row.rate("records_per_second")};
  };
  const auto before = [](const access_rate& a, const access_rate& b) {
    return a.record_bytes != b.record_bytes ? a.record_bytes < b.record_bytes : has_less(a, b);
  };
  return points<access_rate>(field, "rates", "record_bytes, then footprint_bytes", read, before);
}

std::vector<stream_rate> field_reader::stream_rates(const char* field) const {
  const auto read = [](const field_reader& row) { return stream_rate{row.footprint(), row.rate("bytes_per_second")}; };
  return points<stream_rate>(field, "rates", "footprint_bytes", read, has_less<stream_rate>);
}

std::vector<latency_point> field_reader::latencies(const char* field) const {
  const auto read = [](const field_reader& row) { return latency_point{row.footprint(), row.seconds("seconds")}; };
  return points<latency_point>(field, "latencies", "footprint_bytes", read, has_less<latency_point>);
}

std::vector<variant_correction> field_reader::corrections(const char* field) const {
  const auto read = [](const field_reader& row) {
    const std::string order = row.text("order");
    const auto word = std::find_if(std::begin(plan::pattern_words), std::end(plan::pattern_words),
                                   [&](const plan::pattern_word& w) { return w.text == order; });
    if (word == std::end(plan::pattern_words)) {
      row.fail(fmt::format("order is {}, not a kind of access pattern", row.shown("order")));
    }
    return variant_correction{row.name("primitive"),
                              row.name("variant"),
                              word->kind,
                              row.count("record_bytes", 1, most_bytes),
                              row.count("count", 1, most_bytes),
                              row.count("range", 0, most_bytes),
                              row.number("factor", 1e-3, 1e3)};
  };
  const auto key = [](const variant_correction& c) {
    return std::tie(c.primitive, c.variant, c.order, c.record_bytes, c.count, c.range);
  };
  const auto before = [&](const variant_correction& a, const variant_correction& b) { return key(a) < key(b); };
  return points<variant_correction>(field, "corrections", "primitive, variant, order, record_bytes, count, then range",
                                    read, before);
}

std::string field_reader::shown(const char* field) const { return io::shown(at(field)); }

void field_reader::fail(const std::string& what) const {
  throw error(error_code::bad_input, fmt::format("{}: {}", place_, what));
}

const json& field_reader::at(const char* field) const {
  const auto found = object_.find(field);
  if (found == object_.end()) fail(fmt::format("{} is missing", field));
  return *found;
}

double field_reader::number(const char* field, double least, double most) const {
  const json& value = at(field);
  if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most)) {
    fail(fmt::format("{} is {}, not a number from {} to {}", field, io::shown(value), least, most));
  }
  return value.get<double>();
}

}  // namespace sheaf::io
