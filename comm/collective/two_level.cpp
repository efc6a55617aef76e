// Ranks of a node through memory that they share, nodes by messages. Within a node every rank sums one piece of the
// values, chunk by chunk, out of what the others wrote into their slots, so that chunks stay in cache; across nodes the
// ranks that sum the same piece reduce it among themselves (all of a node's ranks send at once); then the pieces are
// shared in the same way.
#include <algorithm>
#include <map>

#include "comm/collective/messages.h"
#include "comm/collective/node_memory.h"

namespace cortado {
namespace {

/// Values of a slot's half: slots are used in turn, so that a meeting a chunk is enough.
class Slots {
 public:
  Slots(NodeMemory& node, const HostValues& like) : node_(node), like_(like) {}
  i64 count() const { return node_.slot_bytes() / 2 / bytes_of(like_.element); }
  HostValues of(int rank, i64 turn) const {
    return {node_.slot(rank) + turn % 2 * (node_.slot_bytes() / 2), count(), like_.element};
  }

 private:
  NodeMemory& node_;
  const HostValues like_;
};

void copy(const HostValues& from, const HostValues& to) { copy_shared(from.data, to.data, to.bytes()); }

/// Bytes: short enough that one chunk is read while the next is written, long enough for the meetings between.
constexpr i64 broadcast_chunk = 64 << 10;

/// The chunks of one of the node's pieces.
struct Piece {
  HostValues values;
  HostValues chunk(i64 c, i64 size) const {
    const i64 first = std::min(c * size, values.count);
    return values.part(first, std::min(size, values.count - first));
  }
};

class TwoLevel {
 public:
  TwoLevel(const Team& team, const HostValues& values)
      : team_(team),
        node_(*team.node),
        values_(values),
        own_(node_.rank()),
        size_(node_.size()),
        slots_(node_, values) {}

  /// On all ranks, or on the root alone.
  void sum(bool on_all) {
    takes_ = on_all || team_.place() == 0;
    chunk_ = std::max<i64>(1, slots_.count() / size_);
    chunks_ = (block_begin(values_.count, size_, 1) + chunk_ - 1) / chunk_;  // of the longest piece
    const bool alone = team_.topology->nodes() == 1;
    for (i64 c = 0; c < chunks_; ++c) {
      give_parts(c);
      meet();
      sum_parts(c);
      if (alone) share(c);
    }
    if (alone) {
      meet();  // nobody writes into a slot that is still read
      return;
    }
    meet();
    across(circulant(), piece(own_).values);
    for (i64 c = 0; c < chunks_; ++c) share(c);
    meet();
  }

  /// The root's values: across nodes along a chain of the ranks with the root's number on their nodes, then through
  /// shared memory.
  void broadcast() {
    const int first = number_on_node(team_.root);
    if (team_.topology->nodes() > 1 && own_ == first) across(pipelined_chain(), values_);
    chunk_ = std::min(slots_.count(), broadcast_chunk / bytes_of(values_.element));
    const i64 chunks = (values_.count + chunk_ - 1) / chunk_;
    const Piece all{values_};
    for (i64 c = 0; c <= chunks; ++c) {
      if (own_ == first && c < chunks)
        copy(all.chunk(c, chunk_), slots_.of(first, c).part(0, all.chunk(c, chunk_).count));
      meet();
      if (own_ != first && c < chunks) copy(slots_.of(first, c), all.chunk(c, chunk_));
    }
  }

 private:
  Piece piece(int of) const { return {block_of(values_, size_, of, of + 1)}; }
  void meet() { node_.meet("collective 'two_level'", ++step_); }

  /// The part of the slot that holds the chunk for rank `of`.
  HostValues place(int slot, int of) const { return slots_.of(slot, turn_).part(of * chunk_, chunk_); }

  void give_parts(i64 c) {
    ++turn_;
    for (int other = 0; other < size_; ++other)
      if (other != own_) {
        const HostValues chunk = piece(other).chunk(c, chunk_);
        copy(chunk, place(own_, other).part(0, chunk.count));
      }
  }
  /// In the order of ranks' numbers counted from the summing one: the same from run to run.
  void sum_parts(i64 c) {
    const HostValues mine = piece(own_).chunk(c, chunk_);
    for (int k = 1; k < size_ && mine.count > 0; ++k) {
      const int other = (own_ + k) % size_;
      team_.sum->add(place(other, own_).part(0, mine.count), mine);
    }
  }
  void share(i64 c) {
    ++turn_;
    const HostValues mine = piece(own_).chunk(c, chunk_);
    copy(mine, slots_.of(own_, turn_).part(0, mine.count));
    meet();
    for (int k = 1; k < size_ && takes_; ++k) {
      const int other = (own_ + k) % size_;
      const HostValues theirs = piece(other).chunk(c, chunk_);
      copy(slots_.of(other, turn_).part(0, theirs.count), theirs);
    }
  }

  /// Runs the algorithm among the ranks that have this one's place in their nodes.
  void across(const Algorithm& algorithm, const HostValues& values) {
    Team column = team_;
    const std::vector<int> ranks = column_ranks();
    const Topology nodes = column_topology(ranks);
    column.communicator = node_.column();
    column.topology = &nodes;
    const auto root = std::find(ranks.begin(), ranks.end(), team_.root) - ranks.begin();
    column.root = root < static_cast<std::ptrdiff_t>(ranks.size()) ? static_cast<int>(root) : 0;
    algorithm.run(column, values);
    team_.memory = column.memory;  // what it grew to serves the next time
    team_.memory_bytes = column.memory_bytes;
  }

  int number_on_node(int rank) const {
    const std::vector<int>& node = team_.topology->node;
    return static_cast<int>(std::count(node.begin(), node.begin() + rank, node[static_cast<std::size_t>(rank)]));
  }
  /// The ranks that have this one's number on their nodes, in the order of the column.
  std::vector<int> column_ranks() const {
    std::vector<int> ranks, seen(static_cast<std::size_t>(team_.topology->nodes()), 0);
    for (int r = 0; r < team_.topology->ranks(); ++r)
      if (seen[static_cast<std::size_t>(team_.topology->node[static_cast<std::size_t>(r)])]++ == own_)
        ranks.push_back(r);
    return ranks;
  }
  /// Each of them on a node of its own.
  Topology column_topology(const std::vector<int>& ranks) const {
    Topology made;
    std::map<int, int> numbers;
    for (const int r : ranks) {
      made.node.push_back(static_cast<int>(made.node.size()));
      const int supernode = team_.topology->supernode[static_cast<std::size_t>(r)];
      made.supernode.push_back(numbers.emplace(supernode, static_cast<int>(numbers.size())).first->second);
    }
    return made;
  }

  const Team& team_;
  NodeMemory& node_;
  const HostValues values_;
  const int own_, size_;
  const Slots slots_;
  i64 chunk_ = 1, chunks_ = 0, turn_ = 0;
  int step_ = 0;
  bool takes_ = true;  // the other ranks' sums
};

std::string refuse(const Team& team) {
  if (team.node == nullptr) return "ranks share no memory here";
  if (!team.node->is_even()) return "nodes have different numbers of ranks";
  return team.size() == 1 ? "there is one rank" : "";
}

/// The nodes as ranks. A link holds when all ranks of a node send, as the ranks of a column do; `lone` ones send alone.
JobShape nodes_of(const JobShape& job) {
  const int each = std::max(1, job.node_ranks);
  return {job.ranks / each, std::max(1, job.supernode_ranks / each)};
}

/// Memory moves each value some times within a node; across, the circulant allreduce of the pieces, at once.
double sum_cost(const Network& net, const JobShape& job, i64 bytes, i64, int) {
  const double n = static_cast<double>(bytes);
  return 4 * net.meeting + 4 * n * net.byte_in_memory + net.sum(n) +
         circulant().cost(net, nodes_of(job), bytes / std::max(1, job.node_ranks), 0, 0);
}

/// The network as the first ranks of nodes see it.
Network lone_network(const Network& net, const JobShape& job) {
  Network lone = net;
  lone.inside = net.inside.shared_by(1.0 / std::max(1, job.node_ranks));
  lone.across = net.across.shared_by(1.0 / std::max(1, job.node_ranks));
  return lone;
}

double broadcast_cost(const Network& net, const JobShape& job, i64 bytes, i64 chunk_bytes, int) {
  return 2 * net.meeting + 2 * static_cast<double>(bytes) * net.byte_in_memory +
         pipelined_chain().cost(lone_network(net, job), nodes_of(job), bytes, chunk_bytes, 0);
}

i64 broadcast_chunk_bytes(const Network& net, const JobShape& job, i64 bytes) {
  return pipelined_chain().chunk(lone_network(net, job), nodes_of(job), bytes);
}

}  // namespace

Algorithm two_level_allreduce() {
  return {"two_level", "nodes through shared memory, circulant across",
          [](const Team& team, const HostValues& values) { TwoLevel(team, values).sum(true); }, sum_cost, refuse};
}

/// Memory of a node is as busy with it as with an allreduce; across nodes it is one.
Algorithm two_level_reduce() {
  return {"two_level", "nodes through shared memory, circulant across",
          [](const Team& team, const HostValues& values) { TwoLevel(team, values).sum(false); }, sum_cost, refuse};
}

Algorithm two_level_broadcast() {
  Algorithm algorithm{"two_level", "nodes through shared memory, a chain in chunks across",
                      [](const Team& team, const HostValues& values) { TwoLevel(team, values).broadcast(); },
                      broadcast_cost, refuse};
  algorithm.chunk = broadcast_chunk_bytes;
  return algorithm;
}

}  // namespace cortado
