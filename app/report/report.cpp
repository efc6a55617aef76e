#include "app/report/report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iostream>

#include "app/build_info.h"
#include "app/session/backend.h"
#include "core/base/file.h"
#include "core/base/printable.h"

namespace cortado {
namespace {
std::string cell(const nlohmann::json& value, int digits) {
  if (value.is_null()) return "";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "";
  if (value.is_string()) return printable(value.get<std::string>());
  if (!value.is_number_float()) return json_text(value);
  return fmt::format("{:.{}f}", value.get<double>(), digits);
}
}  // namespace

Report::Report(std::vector<Column> columns, const MachineSpec& machine, nlohmann::json options)
    : columns_(std::move(columns)), rows_(nlohmann::json::array()) {
  header_ = {{"machine", to_json(machine)}, {"build", build_description()}, {"options", std::move(options)}};
  if (const nlohmann::json software = software_description(); !software.empty()) header_["software"] = software;
}

std::string Report::table() const {
  std::vector<std::vector<std::string>> lines(rows_.size() + 1);
  for (const auto& column : columns_) lines[0].push_back(column.heading);
  for (std::size_t r = 0; r < rows_.size(); ++r)
    for (const auto& column : columns_)
      lines[r + 1].push_back(rows_[r].contains(column.key) ? cell(rows_[r][column.key], column.digits) : "");
  std::string text;
  for (std::size_t r = 0; r < lines.size(); ++r) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      std::size_t width = 0;
      for (const auto& line : lines) width = std::max(width, line[c].size());
      text += c == 0 ? fmt::format("{:<{}}", lines[r][c], width) : fmt::format("  {:>{}}", lines[r][c], width);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

void Report::write_json(const std::string& file) const {
  nlohmann::json json = {{"header", header_}, {"rows", rows_}};
  if (!summary_.is_null()) json["summary"] = summary_;
  write_text(file, json_text(json, 2) + "\n");
}

void show(const Report& report, const MpiJob& job, const std::string& below, const std::string& json) {
  if (job.rank() != 0) return;
  std::cout << report.table() << below;
  if (!json.empty()) report.write_json(json);
}

std::string json_text(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json to_json(const MachineSpec& machine) {
  nlohmann::json json = {{"name", machine.name},
                         {"description", machine.description},
                         {"core_groups", machine.core_groups},
                         {"cpes", machine.cpes},
                         {"mesh", {machine.mesh_rows, machine.mesh_cols}},
                         {"scratch_bytes", machine.scratch_bytes},
                         {"simd_bytes", machine.simd_bytes},
                         {"line_bytes", machine.line_bytes}};
  if (machine.peak_flops > 0) json["peak_flops"] = machine.peak_flops;
  if (machine.bandwidth > 0) json["bandwidth"] = machine.bandwidth;
  return json;
}

nlohmann::json build_description() {
  return {{"version", build_info::version},
          {"commit", build_info::commit},
          {"compiler", build_info::compiler},
          {"type", build_info::type},
          {"backend", build_info::backend}};
}

nlohmann::json software_description() {
  nlohmann::json software = nlohmann::json::object();
  for (const auto& [name, version] : backend_software()) software[name] = version;
  return software;
}

}  // namespace cortado
