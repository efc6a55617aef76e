#include "app/record/event_file.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/formats/events.pb.h"

namespace cortado {
namespace {
using Table = std::array<std::uint32_t, 256>;

Table crc_table() {
  constexpr std::uint32_t polynomial = 0x82F63B78;  // Castagnoli's, its bits reversed
  Table table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) != 0 ? polynomial : 0);
    table[i] = value;
  }
  return table;
}

/// The bytes of an unsigned number, the lowest first.
template <class T>
std::string bytes_of(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xFFU);
  return bytes;
}

/// TFRecord's checksum: one that may itself stand in data that is checked.
std::string masked_crc(const std::string& bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return bytes_of(((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U);
}

std::string record_of(const events::Event& event) {
  const std::string data = event.SerializeAsString(), length = bytes_of(static_cast<std::uint64_t>(data.size()));
  return length + masked_crc(length) + data + masked_crc(data);
}

/// 0 where the run does not tell it.
double first_time(const RunTable& table) {
  constexpr double latest = 1e15;  // beyond which it is no time
  const double time = table.rows.empty() ? 0 : table.rows.front().time;
  return time > 0 && time < latest ? time : 0;
}

/// The nearest float, also of what none is near.
float as_float(double value) {
  constexpr double most = std::numeric_limits<float>::max();
  return static_cast<float>(std::isfinite(value) ? std::clamp(value, -most, most) : value);
}

std::string csv_cell(double value) {
  if (std::isnan(value)) return "";
  std::string text;
  for (int digits = 6; digits <= 17; ++digits) {  // as few as it takes
    text = fmt::format("{:.{}g}", value, digits);
    if (std::strtod(text.c_str(), nullptr) == value) break;
  }
  return text;
}

std::string csv_heading(const std::string& name) {
  if (name.find_first_of(",\"\r\n") == std::string::npos) return name;
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}
}  // namespace

std::uint32_t crc32c(const std::string& bytes) {
  static const Table table = crc_table();
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFFU] ^ (crc >> 8U);
  return ~crc;
}

std::string event_file(const RunTable& table) {
  events::Event version;
  version.set_wall_time(first_time(table));
  version.set_file_version("brain.Event:2");
  std::string text = record_of(version);
  for (const RunTable::Row& row : table.rows) {
    events::Event event;
    event.set_wall_time(std::isnan(row.time) ? 0 : row.time);  // logs do not tell the year
    event.set_step(row.iteration);
    for (const auto& [series, number] : row.values) {
      auto& value = *event.mutable_summary()->add_value();
      value.set_tag(table.names[series]);
      value.set_simple_value(as_float(number));
    }
    text += record_of(event);
  }
  return text;
}

std::string event_file_name(const RunTable& table) {
  return "events.out.tfevents." + std::to_string(static_cast<i64>(first_time(table))) + ".cortado";
}

std::string csv_text(const RunTable& table) {
  std::string text = "iteration,time";
  for (const auto& name : table.names) text += "," + csv_heading(name);
  text += "\n";
  for (const RunTable::Row& row : table.rows) {
    text += std::to_string(row.iteration) + "," + csv_cell(row.time);
    std::size_t at = 0;  // the column before the next value
    for (const auto& [series, value] : row.values) {
      text += std::string(series + 1 - at, ',') + csv_cell(value);
      at = series + 1;
    }
    text += std::string(table.names.size() - at, ',') + "\n";
  }
  return text;
}

}  // namespace cortado
