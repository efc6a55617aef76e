#include "comm/topology.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <sstream>

#include "comm/wait/calls.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace cortado {
namespace {

int count_groups(const std::vector<int>& group) {
  return group.empty() ? 0 : 1 + *std::max_element(group.begin(), group.end());
}

std::string plural(int n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::vector<int> fill_supernodes(const std::vector<int>& node, int nodes_per_supernode) {
  std::vector<int> supernode;
  for (const int n : node) supernode.push_back(nodes_per_supernode > 0 ? n / nodes_per_supernode : 0);
  return supernode;
}

/// The number of a word, by first appearance.
int number_of(std::map<std::string, int>& words, const std::string& word) {
  return words.emplace(word, static_cast<int>(words.size())).first->second;
}

/// The switch above this process's node, from Slurm's "switch.switch.node"; empty where Slurm knows no tree.
std::string slurm_switch() {
  const char* const address = std::getenv("SLURM_TOPOLOGY_ADDR");
  const char* const pattern = std::getenv("SLURM_TOPOLOGY_ADDR_PATTERN");
  if (address == nullptr || pattern == nullptr || std::string(pattern).find("switch.") == std::string::npos) return "";
  const std::string text = address;
  return text.substr(0, text.rfind('.'));
}

/// The numbers of ranks' words, on every rank. Collective.
std::vector<int> number_words(MPI_Comm communicator, const std::string& own) {
  constexpr std::size_t longest = 256;
  int size = 1;
  MPI_Comm_size(communicator, &size);
  std::string all(longest * static_cast<std::size_t>(size), '\0'), padded = own.substr(0, longest - 1);
  padded.resize(longest, '\0');
  all_gather(communicator, "switches of ranks", padded.data(), longest, all.data());
  std::map<std::string, int> words;
  std::vector<int> numbers;
  for (std::size_t r = 0; r < static_cast<std::size_t>(size); ++r)
    numbers.push_back(number_of(words, all.c_str() + r * longest));
  return numbers;
}

}  // namespace

int Topology::nodes() const { return count_groups(node); }
int Topology::supernodes() const { return count_groups(supernode); }

int Topology::largest_supernode() const {
  std::vector<int> members(static_cast<std::size_t>(supernodes()), 0);
  for (const int s : supernode) ++members[static_cast<std::size_t>(s)];
  return members.empty() ? 0 : *std::max_element(members.begin(), members.end());
}

Topology Topology::regular(int ranks, int ranks_per_node, int nodes_per_supernode) {
  Topology made;
  for (int r = 0; r < ranks; ++r) made.node.push_back(r / std::max(1, ranks_per_node));
  made.supernode = fill_supernodes(made.node, nodes_per_supernode);
  return made;
}

Topology Topology::of_job(MPI_Comm communicator, int nodes_per_supernode) {
  int rank = 0, size = 1, leader = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  MPI_Comm here = split_by_node(communicator);
  leader = rank;
  broadcast(here, "first rank of the node", &leader, 1, MPI_INT);
  release(here);
  std::vector<int> leaders(static_cast<std::size_t>(size));
  all_gather(communicator, "nodes of ranks", &leader, sizeof leader, leaders.data());
  Topology made;
  std::map<int, int> numbers;
  for (const int l : leaders) made.node.push_back(numbers.emplace(l, static_cast<int>(numbers.size())).first->second);
  made.supernode = nodes_per_supernode > 0 ? fill_supernodes(made.node, nodes_per_supernode)
                                           : number_words(communicator, slurm_switch());
  return made;
}

Topology Topology::from_file(const std::string& file, int ranks, int nodes_per_supernode) {
  std::istringstream in(read_file(file));
  Topology made;
  std::map<std::string, int> nodes, supernodes;
  bool named = false;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string node, supernode;
    if (!(words >> node) || node[0] == '#') continue;
    made.node.push_back(number_of(nodes, node));
    if (words >> supernode) {
      named = true;
      made.supernode.push_back(number_of(supernodes, supernode));
    }
  }
  if (made.ranks() != ranks)
    throw ConfigError(file,
                      "names the nodes of " + plural(made.ranks(), "rank") + ", the job has " + std::to_string(ranks));
  if (named && made.supernode.size() != made.node.size())
    throw ConfigError(file, "names the supernode of some ranks only", "give all or none");
  if (!named) made.supernode = fill_supernodes(made.node, nodes_per_supernode);
  return made;
}

std::vector<int> Topology::natural() const {
  std::vector<int> numbering(node.size());
  std::iota(numbering.begin(), numbering.end(), 0);
  return numbering;
}

std::vector<int> Topology::round_robin() const {
  std::vector<std::vector<int>> members(static_cast<std::size_t>(supernodes()));
  for (int r = 0; r < ranks(); ++r)
    members[static_cast<std::size_t>(supernode[static_cast<std::size_t>(r)])].push_back(r);
  std::vector<int> numbering;
  for (std::size_t turn = 0; static_cast<int>(numbering.size()) < ranks(); ++turn)
    for (const auto& group : members)
      if (turn < group.size()) numbering.push_back(group[turn]);
  return numbering;
}

std::string Topology::describe() const {
  return plural(ranks(), "rank") + " on " + plural(nodes(), "node") + " in " + plural(supernodes(), "supernode");
}

}  // namespace cortado
