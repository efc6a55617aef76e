#include "app/bench/published.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/file.h"

namespace cortado {
namespace {
constexpr const char* folder = "models/published/";

/// The tables of a file below the current folder; none where there is no such file, as in an installed copy.
template <class Use>
void for_tables(const std::string& name, Use use) {
  const std::string file = folder + name;
  if (!exists(file)) return;
  try {
    for (const auto& table : nlohmann::json::parse(read_file(file))) use(table);
  } catch (const nlohmann::json::exception& error) { throw FileError(file, error.what()); }
}
}  // namespace

std::optional<double> PublishedConvolutions::seconds(const std::string& layer, const std::string& direction,
                                                     const std::string& plan) const {
  const auto of_layer = layers.find(layer);
  if (of_layer == layers.end()) return std::nullopt;
  const auto plans = of_layer->second.find(direction);
  if (plans == of_layer->second.end()) return std::nullopt;
  const auto found = plans->second.find(plan);
  return found != plans->second.end() ? std::optional<double>(found->second) : std::nullopt;
}

PublishedConvolutions published_convolutions(const std::string& set, i64 batch) {
  PublishedConvolutions published;
  for_tables("convolutions.json", [&](const nlohmann::json& table) {
    if (table.at("set") != set || table.at("batch") != batch) return;
    table.at("source").get_to(published.source);
    table.at("layers").get_to(published.layers);
  });
  return published;
}

PublishedNets published_nets(const std::string& set) {
  PublishedNets published;
  for_tables("nets.json", [&](const nlohmann::json& table) {
    for (const auto& net : table.at("nets")) {
      if (table.at("set") != set && net.at("net") != set) continue;
      table.at("source").get_to(published.source);
      table.at("core_groups").get_to(published.core_groups);
      published.nets.push_back({net.at("net"), net.at("batch"), net.at("images_per_s")});
    }
  });
  return published;
}

}  // namespace cortado
