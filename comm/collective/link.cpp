#include "comm/collective/link.h"

#include <algorithm>

namespace cortado {
namespace {
double between(const Link::Point& a, const Link::Point& b, double bytes) {
  return a.seconds + (b.seconds - a.seconds) * (bytes - a.bytes) / (b.bytes - a.bytes);
}

double interpolated(const std::vector<Link::Point>& points, double bytes) {
  if (points.empty()) return 0;
  if (bytes <= points.front().bytes) return points.front().seconds;
  for (std::size_t i = 1; i < points.size(); ++i)
    if (bytes <= points[i].bytes) return between(points[i - 1], points[i], bytes);
  return points.back().seconds;
}
}  // namespace

double on_line(const std::vector<Link::Point>& points, double bytes) {
  if (points.size() < 2 || bytes <= points.back().bytes) return interpolated(points, bytes);
  return std::max(points.back().seconds, between(points[points.size() - 2], points.back(), bytes));
}

double Link::seconds(double bytes) const { return interpolated(latency, bytes) + bytes / bandwidth; }

Link Link::shared_by(double share) const {
  Link link = *this;
  for (Point& point : link.latency) point.bytes /= share;
  link.bandwidth /= share;
  return link;
}

Link Link::through(const std::vector<Point>& measured) {
  Link link;
  const Point& last = measured.back();
  const Point& before = measured.size() > 1 ? measured[measured.size() - 2] : last;
  const bool grows = last.seconds > before.seconds;
  link.bandwidth = grows ? (last.bytes - before.bytes) / (last.seconds - before.seconds)
                         : std::max(1.0, last.bytes) / std::max(1e-9, last.seconds);
  for (const Point& point : measured)
    link.latency.push_back({point.bytes, point.seconds - point.bytes / link.bandwidth});
  return link;
}

}  // namespace cortado
