#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sheaf/machine_profile.hpp>

namespace sheaf::io {

/// Reads one JSON object of a machine profile. @throws error(bad_input) naming origin and field of what is wrong.
class field_reader {
 public:
  field_reader(const nlohmann::json& object, std::string place);

  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 60;

  std::string text(const char* field) const;
  std::uint64_t count(const char* field, std::uint64_t least, std::uint64_t most) const;
  std::uint64_t footprint() const { return count("footprint_bytes", 1, most_bytes); }
  /// Refuses control characters, because names are printed on terminals.
  std::string name(const char* field) const;
  /// Numbers in the ranges that keep every prediction finite.
  double rate(const char* field) const { return number(field, 1, 1e18); }
  double seconds(const char* field) const { return number(field, 1e-12, 1e3); }
  /// Sizes in bytes, ascending.
  std::vector<std::uint64_t> sizes(const char* field) const;
  /// An object whose values are names.
  std::map<std::string, std::string> names(const char* field) const;
  std::vector<access_rate> rates(const char* field) const;
  std::vector<stream_rate> stream_rates(const char* field) const;
  std::vector<latency_point> latencies(const char* field) const;
  std::vector<variant_correction> corrections(const char* field) const;

  /// The field's value as JSON, cut where it is long.
  std::string shown(const char* field) const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const nlohmann::json& at(const char* field) const;
  double number(const char* field, double least, double most) const;

  // Reads a list of objects by read(); before() must hold for each and the next.
  template <class Point, class Read, class Before>
  std::vector<Point> points(const char* field, const char* what, const char* order, Read read, Before before) const;

  const nlohmann::json& object_;
  std::string place_;
};

}  // namespace sheaf::io
