#include "app/tune/collective_rules.h"

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/formats/close_name.h"

namespace cortado {
namespace {
constexpr int rules_version = 1;
const std::set<std::string> known_fields = {"collective", "ranks",     "nodes",       "least_bytes",
                                            "most_bytes", "algorithm", "chunk_bytes", "radix"};

/// A field that is a whole number its type can hold; where it is not there, `otherwise`.
template <class T>
T number(const nlohmann::json& json, const char* name, T otherwise, const std::string& where) {
  const auto found = json.find(name);
  if (found == json.end()) return otherwise;
  constexpr auto most = std::numeric_limits<T>::max();
  const bool fits = found->is_number_unsigned() ? found->get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                                                : found->is_number_integer() && found->get<i64>() >= -most;
  if (!fits) throw ConfigError(where, std::string(name) + " is " + found->dump() + ", no whole number that fits");
  return found->get<T>();
}

CollectiveRule rule_of(const nlohmann::json& json, const std::string& where) {
  CollectiveRule rule;
  rule.collective = json.at("collective").get<std::string>();
  rule.algorithm = json.at("algorithm").get<std::string>();
  rule.ranks = number(json, "ranks", 0, where);
  rule.nodes = number(json, "nodes", 0, where);
  rule.least_bytes = number(json, "least_bytes", i64{0}, where);
  rule.most_bytes = number(json, "most_bytes", i64{-1}, where);
  rule.chunk_bytes = number(json, "chunk_bytes", i64{0}, where);
  rule.radix = number(json, "radix", 0, where);
  for (const auto& field : json.items())
    if (known_fields.count(field.key()) == 0) {
      const std::string close = close_name(field.key(), {known_fields.begin(), known_fields.end()});
      throw ConfigError(where + ", field '" + field.key() + "'", "is not known",
                        close.empty() ? "cortado tune --collectives writes such files" : "did you mean " + close + "?");
    }
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
    if (number(json, "version", 0, file) != rules_version)
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
  const std::string text = nlohmann::json({{"version", rules_version}, {"rules", all}}).dump(1) + "\n";
  write_text(file, text);
}

}  // namespace cortado
