#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/measure/measure.h"
#include "app/report/report.h"
#include "app/session/backend.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"

namespace cortado {
namespace {
class DeviceQuery : public Verb {
 public:
  void add_to(Flags& flags) override {
    add_json(flags, json_);
    session_.add_devices(flags);
    session_.add_simulate(flags);
  }
  int run(const MpiJob& job) override;

 private:
  SessionFlags session_;
  std::string json_;
};

int DeviceQuery::run(const MpiJob& job) {
  const Session session(job, session_);
  const MachineSpec& spec = session.group.spec();
  const Limits limits = limits_of(session.group);
  Report report({{"property", "property"}, {"value", "value"}, {"unit", "unit"}}, spec, nlohmann::json::object());
  const auto add = [&](const std::string& property, const auto& value, const char* unit) {
    nlohmann::json row;
    row["property"] = property;
    row["value"] = value;
    row["unit"] = unit;
    report.add(row);
  };
  add("machine", spec.name, "");
  add("description", spec.description, "");
  add("ranks", job.size(), "");
  add("core groups per process", session.processor->core_groups(), "");
  add("CPEs per core group", spec.cpes, "");
  add("mesh", std::to_string(spec.mesh_rows) + " x " + std::to_string(spec.mesh_cols), "CPEs");
  add("scratchpad per CPE", spec.scratch_bytes, "bytes");
  add("vector width", spec.simd_bytes, "bytes");
  add("multiply-add limit", limits.flops / 1e9, "Gflop/s");
  add("memory limit", limits.bandwidth / 1e9, "GB/s");
  const auto* library = session.group.library();
  add("matrix library", library != nullptr ? library->name() : "none: " + session.group.why_no_library(), "");
  for (const auto& [name, version] : backend_software()) add(name, version, "");
  for (const auto& figure : machine_figures(session_.simulate))
    add(figure.name, figure.value, ("(" + figure.origin + ")").c_str());
  const nlohmann::json build = build_description();
  for (const auto& [key, value] : build.items()) add("build " + key, value, "");
  show(report, job, "", json_);
  return 0;
}
}  // namespace

std::unique_ptr<Verb> make_device_query() { return std::make_unique<DeviceQuery>(); }

}  // namespace cortado
