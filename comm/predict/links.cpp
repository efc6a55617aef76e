#include "comm/predict/links.h"

namespace cortado {

double Links::to_all(int devices, double bytes) const {
  if (devices <= 1) return 0;
  const int m = nodes(devices), d = m == 1 ? devices : devices_per_node;
  const double messages = d - 1 + (d > 2 ? switch_messages : 0);
  return messages * inside.seconds(bytes / m / d) + (m - 1) * across.seconds(bytes / m);
}

double Coding::bytes(i64 values) const {
  return codec == nullptr ? 4.0 * static_cast<double>(values) : static_cast<double>(codec->encoded_bytes(values));
}

double sum_seconds(const Links& links, const Coding& coding, int devices, i64 values) {
  if (devices <= 1) return 0;
  const auto n = static_cast<double>(values);
  return 2 * links.to_all(devices, coding.bytes(values)) + (n + n / devices) * coding.encode + 2 * n * coding.decode;
}

double gather_seconds(const Links& links, const Coding& coding, int devices, i64 values) {
  if (devices <= 1) return 0;
  const auto n = static_cast<double>(values);
  return links.to_all(devices, coding.bytes(values)) + n / devices * coding.encode + (n - n / devices) * coding.decode;
}

}  // namespace cortado
