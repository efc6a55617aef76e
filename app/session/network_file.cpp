#include "app/session/network_file.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/report/report.h"
#include "comm/collective/measure_network.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/user_folders.h"
#include "core/formats/digest.h"
#include "core/solver/agreement.h"

namespace cortado {
namespace {
constexpr int network_version = 1;

using Json = nlohmann::json;

/// The numbers of a network by name, for writing and for reading.
template <class Of, class Visit>
void visit_numbers(Of& network, Visit visit) {
  visit("byte_summed", network.byte_summed);
  visit("sum_start", network.sum_start);
  visit("meeting", network.meeting);
  visit("byte_in_memory", network.byte_in_memory);
}
template <class Of, class Visit>
void visit_links(Of& network, Visit visit) {
  visit("in_node", network.in_node);
  visit("inside", network.inside);
  visit("across", network.across);
}

Json to_json(const std::vector<Link::Point>& points) {
  Json all = Json::array();
  for (const Link::Point& point : points) all.push_back({point.bytes, point.seconds});
  return all;
}

double number_of(const Json& json) {
  const double number = json.get<double>();
  if (!std::isfinite(number)) throw ConfigError("", "a number is not finite");
  return number;
}

std::vector<Link::Point> points_of(const Json& json) {
  std::vector<Link::Point> points;
  for (const Json& one : json) {
    points.push_back({number_of(one.at(0)), number_of(one.at(1))});
    if (points.size() > 1 && points.back().bytes <= points[points.size() - 2].bytes)
      throw ConfigError("", "sizes of messages do not grow");
  }
  if (points.empty()) throw ConfigError("", "a list of times is empty");
  return points;
}

Network network_of(const Json& json) {
  Network network;
  visit_numbers(network, [&](const char* name, double& number) {
    number = number_of(json.at(name));
    if (number < 0) throw ConfigError("", std::string(name) + " is below 0");
  });
  visit_links(network, [&](const char* name, Link& link) {
    const Json& one = json.at(name);
    link = {points_of(one.at("latency")), number_of(one.at("bandwidth")), number_of(one.at("gap")),
            one.at("in_order").get<bool>(), number_of(one.at("sent_at_once"))};
    if (link.bandwidth <= 0 || link.gap < 0) throw ConfigError("", std::string(name) + " has no bandwidth");
  });
  for (const auto& [collective, times] : json.at("library").items()) network.library[collective] = points_of(times);
  return network;
}

/// The hosts, the places of ranks, and the MPI library: where they are the same, so is the network. On rank 0.
std::string cluster_of(const Session& session, const Topology& topology) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(library, &length);
  Digest digest;
  digest.add(std::string(library));
  const std::vector<std::string> hosts =
      session.job.gather(session.job.host() + ", " + session.group.spec().description);
  for (std::size_t r = 0; r < hosts.size(); ++r)
    digest.add(hosts[r] + ", " + std::to_string(topology.node[r]) + ", " + std::to_string(topology.supernode[r]));
  return digest.text();
}

std::string describe(const Link& link) {
  return fmt::format("{:.1f} us and {:.2f} GB/s", 1e6 * link.seconds(0), 1e-9 * link.bandwidth);
}
}  // namespace

std::string network_text(const Network& network, const std::string& cluster) {
  Json json;
  visit_numbers(network, [&](const char* name, double number) { json[name] = number; });
  visit_links(network, [&](const char* name, const Link& link) {
    json[name] = {{"latency", to_json(link.latency)},
                  {"bandwidth", link.bandwidth},
                  {"gap", link.gap},
                  {"in_order", link.in_order},
                  {"sent_at_once", link.sent_at_once}};
  });
  json["library"] = Json::object();
  for (const auto& [collective, times] : network.library) json["library"][collective] = to_json(times);
  return json_text({{"version", network_version}, {"cluster", cluster}, {"network", json}}, 1) + "\n";
}

Network parse_network(const std::string& text, const std::string& file, const std::string& cluster) {
  const char* const advice = "leave it out, or measure the network anew (--network measure)";
  try {
    const Json json = Json::parse(text);
    if (json.at("version") != network_version) throw ConfigError("", "another version wrote it");
    if (!cluster.empty() && json.at("cluster") != cluster) throw ConfigError("", "it is another cluster's");
    return network_of(json.at("network"));
  } catch (const Json::exception& error) {
    throw ConfigError(file, std::string("holds no network: ") + error.what(), advice);
  } catch (const ConfigError& error) {
    throw ConfigError(file, std::string("holds no network of use here: ") + error.what(), advice);
  }
}

Network cached_network(const Replicas& ranks, const std::string& file, const std::string& cluster, bool anew,
                       const std::function<Network()>& measure) {
  std::string text;
  if (ranks.rank() == 0 && !anew) try {
      if (exists(file)) {
        text = read_file(file);
        parse_network(text, file, cluster);
      }
    } catch (const Error& error) {
      CORTADO_LOG(info) << error.what() << ": the network is measured again";
      text.clear();
    }
  text = ranks.from_root(text);
  if (!text.empty()) return parse_network(text, file, "");
  text = ranks.from_root(network_text(measure(), cluster));
  if (ranks.rank() == 0) try {
      make_folders(folder_of(file));
      write_text(file, text);
    } catch (const Error& error) {
      CORTADO_LOG(warning) << error.what() << ": the next job measures the network again";
    }
  return parse_network(text, file, "");
}

void learn_network(const Session& session, JobTeam& team, const std::string& how) {
  if (team.topology().ranks() == 1 || how == "assume") return;
  const MpiReplicas& ranks = session.job.replicas();
  if (how != "cached" && how != "measure") {
    std::string text;
    on_root(ranks, [&] {
      text = read_file(how);
      parse_network(text, how, "");
    });
    team.set_network(parse_network(ranks.from_root(text), how, ""));
    return;
  }
  const std::string cluster = cluster_of(session, team.topology());
  double seconds = 0;
  team.set_network(
      cached_network(ranks, user_cache_folder() + "/networks/" + cluster + ".json", cluster, how == "measure", [&] {
        const double begin = MPI_Wtime();
        Network network = measure_network(team.team(), team.topology().nodes() > 1);
        seconds = MPI_Wtime() - begin;
        return network;
      }));
  const std::string from = seconds > 0 ? fmt::format(", measured in {:.2f} s", seconds) : ", measured before";
  CORTADO_LOG(info) << "Messages take " << describe(team.network(), team.topology()) << from;
}

std::string describe(const Network& network, const Topology& topology) {
  std::string text;
  const auto add = [&](const Link& link, const char* where) {
    text += (text.empty() ? "" : ", ") + describe(link) + " " + where;
  };
  if (topology.nodes() < topology.ranks()) add(network.in_node, "inside nodes");
  if (topology.nodes() > topology.supernodes()) add(network.inside, "between nodes");
  if (topology.supernodes() > 1) add(network.across, "across supernodes");
  return text;
}

}  // namespace cortado
