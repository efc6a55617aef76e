#include "app/collective_rules.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/file.h"

namespace cortado {
namespace {
constexpr int version = 1;

CollectiveRule rule_of(const nlohmann::json& json, const std::string& where) {
  CollectiveRule rule;
  rule.collective = json.at("collective").get<std::string>();
  rule.algorithm = json.at("algorithm").get<std::string>();
  rule.ranks = json.value("ranks", 0);
  rule.nodes = json.value("nodes", 0);
  rule.least_bytes = json.value("least_bytes", i64{0});
  rule.most_bytes = json.value("most_bytes", i64{-1});
  rule.chunk_bytes = json.value("chunk_bytes", i64{0});
  rule.radix = json.value("radix", 0);
  try {
    find_algorithm(algorithms_of(rule.collective), rule.algorithm);
  } catch (const ConfigError& error) { throw ConfigError(where, error.what()); }
  return rule;
}
}  // namespace

std::vector<CollectiveRule> read_rules(const std::string& file) {
  std::vector<CollectiveRule> rules;
  try {
    const nlohmann::json json = nlohmann::json::parse(read_file(file));
    if (json.at("version").get<int>() != version)
      throw ConfigError(file, "holds rules of another version", "make new ones with cortado tune --collectives");
    for (const auto& one : json.at("rules"))
      rules.push_back(rule_of(one, file + ", rule " + std::to_string(rules.size() + 1)));
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(file, std::string("holds no rules: ") + error.what());
  }
  return rules;
}

void write_rules(const std::string& file, const std::vector<CollectiveRule>& rules) {
  nlohmann::json all = nlohmann::json::array();
  for (const CollectiveRule& rule : rules)
    all.push_back({{"collective", rule.collective},
                   {"ranks", rule.ranks},
                   {"nodes", rule.nodes},
                   {"least_bytes", rule.least_bytes},
                   {"most_bytes", rule.most_bytes},
                   {"algorithm", rule.algorithm},
                   {"chunk_bytes", rule.chunk_bytes},
                   {"radix", rule.radix}});
  const std::string text = nlohmann::json({{"version", version}, {"rules", all}}).dump(1) + "\n";
  write_text(file, text);
}

}  // namespace cortado
