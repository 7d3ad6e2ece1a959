#include "apps/sheaf/demo/plots.hpp"

#include <cmath>

#include "primitives/enum_names.hpp"

namespace sheaf::jobs {
namespace {

constexpr double plot_width = 460;
constexpr double plot_height = 300;
constexpr double left_edge = 70;
constexpr double right_edge = 448;
constexpr double top_edge = 46;
constexpr double bottom_edge = 244;
constexpr std::uint64_t widths_shown[] = {4, 8, 16, 64, 256};
constexpr double near_factor = 1.25;

// A place between start and end for each number from low to high.
struct log_axis {
  double low;
  double high;
  double start;
  double end;

  double operator()(double value) const {
    return start + (end - start) * std::log(std::clamp(value, low, high) / low) / std::log(high / low);
  }
};

// Numbers from all that is drawn.
struct number_range {
  double low = 0;
  double high = 0;

  void reach(double value) {
    if (value <= 0) return;
    low = low == 0 ? value : std::min(low, value);
    high = std::max(high, value);
  }
  // An axis has a length even where all numbers are one.
  number_range widened(double factor) const { return {low / factor, high * factor}; }
};

std::string svg_line(double x1, double y1, double x2, double y2, std::string_view look) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", look, x1, y1, x2,
                     y2);
}

std::string svg_text(double x, double y, std::string_view words, std::string_view anchor = "start",
                     std::string_view look = "label") {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", look, x, y, anchor,
                     words);
}

std::string svg_upright_text(double x, double y, std::string_view words) {
  return fmt::format(
      "<text class=\"label\" x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"middle\" transform=\"rotate(-90 {0:.1f} "
      "{1:.1f})\">{2}</text>\n",
      x, y, words);
}

// A curve through points in the order that they have.
std::string svg_curve(const std::vector<std::pair<double, double>>& points, std::string_view look) {
  std::string places;
  for (const auto& [x, y] : points) places += fmt::format("{}{:.1f},{:.1f}", places.empty() ? "" : " ", x, y);
  return fmt::format("<polyline class=\"{}\" points=\"{}\"/>\n", look, places);
}

std::string svg_figure(std::string_view label, const std::string& shapes) {
  return fmt::format("<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
                     plot_width, plot_height, label, shapes);
}

// Powers of ten in a range.
template <class Use>
void for_each_power(const log_axis& axis, Use use) {
  const int first = static_cast<int>(std::ceil(std::log10(axis.low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(axis.high) + 1e-9));
  for (int power = first; power <= last; ++power) use(power, std::pow(10.0, power));
}

std::string rate_of_power(int power) {
  return power >= 0 ? fmt::format("{:.0f}", std::pow(10.0, power))
                    : fmt::format("{:.{}f}", std::pow(10.0, power), -power);
}

std::string time_of_power(int power) {
  constexpr const char* units[] = {"ns", "us", "ms", "s"};
  const int unit = (power + 9) / 3;
  if (unit < 0 || unit > 3) return {};
  return fmt::format("{:.0f} {}", std::pow(10.0, (power + 9) % 3), units[unit]);
}

std::string footprint_ticks(const log_axis& x) {
  std::string shapes;
  constexpr int step = 5;
  for (int power = 10; power < 60; power += step) {
    const auto footprint = std::uint64_t{1} << power;
    if (static_cast<double>(footprint) < x.low || static_cast<double>(footprint) > x.high) continue;
    const double at = x(static_cast<double>(footprint));
    shapes += svg_line(at, top_edge, at, bottom_edge, "grid");
    shapes += svg_text(at, bottom_edge + 15, primitives::bytes_text(footprint), "middle");
  }
  return shapes;
}

std::string cache_marks(const log_axis& x, const std::vector<std::uint64_t>& levels) {
  std::string shapes;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const auto bytes = static_cast<double>(levels[level]);
    if (bytes <= x.low || bytes >= x.high) continue;
    shapes += svg_line(x(bytes), top_edge, x(bytes), bottom_edge, "mark");
    shapes += svg_text(x(bytes), top_edge - 5, fmt::format("L{}", level + 1), "middle");
  }
  return shapes;
}

}  // namespace

std::string footprint_plot(std::string_view title, const std::vector<access_rate>& rates,
                           const std::vector<std::uint64_t>& cache_levels, const copy_limits& copies) {
  if (rates.empty()) return {};
  number_range footprints;
  number_range speeds;
  const auto speed = [](const access_rate& rate) {
    return rate.records_per_second * static_cast<double>(rate.record_bytes) / 1e9;
  };
  const auto is_shown = [](const access_rate& rate) {
    return std::ranges::find(widths_shown, rate.record_bytes) != std::end(widths_shown);
  };
  for (const access_rate& rate : rates) {
    if (!is_shown(rate)) continue;
    footprints.reach(static_cast<double>(rate.footprint_bytes));
    speeds.reach(speed(rate));
  }
  if (footprints.low == 0) return {};
  for (const stream_rate& copy : copies.rates) speeds.reach(copy.bytes_per_second / 1e9);
  footprints = footprints.widened(footprints.low == footprints.high ? 2 : 1);
  speeds = speeds.widened(1.3);
  const log_axis x{footprints.low, footprints.high, left_edge, right_edge};
  const log_axis y{speeds.low, speeds.high, bottom_edge, top_edge};

  std::string shapes =
      svg_text(left_edge, 16, title, "start", "title") + footprint_ticks(x) + cache_marks(x, cache_levels);
  for_each_power(y, [&](int power, double value) {
    shapes += svg_line(left_edge, y(value), right_edge, y(value), "grid") +
              svg_text(left_edge - 6, y(value) + 4, rate_of_power(power), "end");
  });
  shapes += svg_upright_text(10, (top_edge + bottom_edge) / 2, "GB/s of records");
  std::vector<std::pair<double, double>> copied;
  for (const stream_rate& copy : copies.rates) {
    const auto footprint = static_cast<double>(copy.footprint_bytes);
    if (footprint >= x.low && footprint <= x.high) copied.emplace_back(x(footprint), y(copy.bytes_per_second / 1e9));
  }
  if (!copied.empty()) shapes += svg_curve(copied, "limit");
  double key = left_edge;
  std::size_t series = 0;
  for (const std::uint64_t record_bytes : widths_shown) {
    std::vector<std::pair<double, double>> points;
    for (const access_rate& rate : rates) {
      if (rate.record_bytes == record_bytes)
        points.emplace_back(x(static_cast<double>(rate.footprint_bytes)), y(speed(rate)));
    }
    const std::string look = fmt::format("curve s{}", series++);
    if (points.empty()) continue;
    shapes += svg_curve(points, look) + svg_line(key, 284, key + 16, 284, look);
    shapes += svg_text(key + 21, 288, fmt::format("{} B", record_bytes));
    key += 62;
  }
  if (!copied.empty()) shapes += svg_line(key, 284, key + 20, 284, "limit") + svg_text(key + 25, 288, "a copy");
  return svg_figure(fmt::format("{}: GB/s by footprint, a curve for each width of records, and a copy's", title),
                    shapes);
}

std::string prediction_plot(const demo_result& result) {
  number_range times;
  std::size_t near = 0;
  for (const demo_row& row : result.rows) {
    times.reach(row.seconds);
    times.reach(row.predicted_seconds);
    const double ratio = row.predicted_seconds / row.seconds;
    near += ratio <= near_factor && ratio * near_factor >= 1 ? 1 : 0;
  }
  if (times.low == 0) return {};
  times = times.widened(1.5);
  const log_axis x{times.low, times.high, left_edge, right_edge};
  const log_axis y{times.low, times.high, bottom_edge, top_edge};
  std::string shapes = svg_text(left_edge, 16, "Predicted against measured time", "start", "title");
  shapes += svg_text(left_edge, 33,
                     fmt::format("{} of {} calls within a factor of {}", near, result.rows.size(), near_factor));
  constexpr double few_powers = 1e5;
  const bool has_all_texts = times.high / times.low < few_powers;
  for_each_power(x, [&](int power, double value) {
    shapes += svg_line(x(value), top_edge, x(value), bottom_edge, "grid") +
              svg_line(left_edge, y(value), right_edge, y(value), "grid");
    if (power % 3 != 0 && !has_all_texts) return;
    shapes += svg_text(x(value), bottom_edge + 15, time_of_power(power), "middle") +
              svg_text(left_edge - 6, y(value) + 4, time_of_power(power), "end");
  });
  shapes += svg_line(x(times.low), y(times.low), x(times.high), y(times.high), "even");
  for (const demo_row& row : result.rows) {
    if (row.seconds <= 0 || row.predicted_seconds <= 0) continue;
    shapes += fmt::format("<circle class=\"point\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{}</title></circle>\n",
                          x(row.seconds), y(row.predicted_seconds), row.problem);
  }
  shapes += svg_text((left_edge + right_edge) / 2, bottom_edge + 34, "measured", "middle");
  shapes += svg_upright_text(10, (top_edge + bottom_edge) / 2, "predicted");
  return svg_figure(fmt::format("Predicted against measured time of {} calls, {} of them within a factor of {}",
                                result.rows.size(), near, near_factor),
                    shapes);
}

}  // namespace sheaf::jobs
