// Recursive halving, then recursive doubling (Thakur, Rabenseifner, Gropp 2005; swCaffe section V-A): in each step a
// rank exchanges half of the values it is responsible for with a partner, sums, and is left with half as many; then the
// same backwards. With the largest distance first and numbers in natural order most bytes cross supernodes (equations
// 2 to 4); with numbers in turn over supernodes (equations 5, 6), or with the smallest distance first, few do.
//
// A number of ranks that is no power of two is folded: the first pairs of numbers work as one.
#include <algorithm>

#include "comm/collective/messages.h"

namespace cortado {
namespace {

/// The ranks that take part, a power of two of them, and what is left over.
class Fold {
 public:
  Fold(const std::vector<int>& numbering, int rank) : numbering_(numbering) {
    const int p = static_cast<int>(numbering.size());
    while (2 * active_ <= p) active_ *= 2;
    rest_ = p - active_;
    const int number = static_cast<int>(std::find(numbering.begin(), numbering.end(), rank) - numbering.begin());
    gives_ = number < 2 * rest_ && number % 2 == 0;
    takes_ = number < 2 * rest_ && number % 2 == 1;
    partner_ = gives_   ? numbering[static_cast<std::size_t>(number) + 1]
               : takes_ ? numbering[static_cast<std::size_t>(number) - 1]
                        : -1;
    own_ = number < 2 * rest_ ? number / 2 : number - rest_;
  }
  int active() const { return active_; }
  int own() const { return own_; }          ///< number among the active ones
  int partner() const { return partner_; }  ///< rank of the other of a pair
  bool gives() const { return gives_; }     ///< the one of a pair that only waits
  bool takes() const { return takes_; }
  int rank_of(int active_number) const {
    const int number = active_number < rest_ ? 2 * active_number + 1 : active_number + rest_;
    return numbering_[static_cast<std::size_t>(number)];
  }

 private:
  const std::vector<int>& numbering_;
  int active_ = 1, rest_ = 0, own_ = 0, partner_ = -1;
  bool gives_ = false, takes_ = false;
};

struct Range {
  i64 first, last;  // blocks
};

void halve_and_double(const Team& team, const HostValues& values, const std::vector<int>& numbering, bool near_first,
                      const std::string& name) {
  const Fold fold(numbering, team.rank());
  Messages messages(team, name);
  if (fold.gives()) {
    messages.send(fold.partner(), values);
    messages.wait(0);
    messages.receive(fold.partner(), values);
    return messages.wait(0);
  }
  if (fold.takes()) {
    const HostValues arrived = scratch(team, values, values.count);
    messages.receive(fold.partner(), arrived);
    messages.wait(0);
    team.sum->add(arrived, values);
  }
  std::vector<int> distances;
  for (int d = 1; d < fold.active(); d *= 2) distances.push_back(d);
  if (!near_first) std::reverse(distances.begin(), distances.end());
  const int steps = static_cast<int>(distances.size());
  const auto distance = [&](int step) { return distances[static_cast<std::size_t>(step)]; };
  std::vector<Range> ranges = {{0, fold.active()}};
  const auto halves = [&](int step) {  // what this rank keeps, and what its partner keeps
    const Range whole = ranges[static_cast<std::size_t>(step)];
    const i64 middle = (whole.first + whole.last) / 2;
    const Range lower{whole.first, middle}, upper{middle, whole.last};
    return (fold.own() & distance(step)) == 0 ? std::pair{lower, upper} : std::pair{upper, lower};
  };
  const auto part = [&](const Range& range) { return block_of(values, fold.active(), range.first, range.last); };
  for (int step = 0; step < steps; ++step) {
    const int partner = fold.rank_of(fold.own() ^ distance(step));
    const auto [own, others] = halves(step);
    const HostValues mine = part(own), arrived = scratch(team, values, mine.count);
    messages.receive(partner, arrived);
    messages.send(partner, part(others));
    messages.wait(step + 1);
    team.sum->add(arrived, mine);
    ranges.push_back(own);
  }
  for (int step = steps - 1; step >= 0; --step) {
    const int partner = fold.rank_of(fold.own() ^ distance(step));
    const auto [own, others] = halves(step);
    messages.receive(partner, part(others));
    messages.send(partner, part(own));
    messages.wait(2 * steps - step);
  }
  if (fold.takes()) {
    messages.send(fold.partner(), values);
    messages.wait(2 * steps + 1);
  }
}

/// 2 log2(p) alpha + 2 near n beta_1 + 2 far n beta_2 + (p - 1) / p n gamma, and twice the whole where ranks are
/// folded. `link(d)` is the link to the partner at distance d, which a part of the values crosses: d / p of them with
/// the farthest first, 1 / 2d with the nearest first.
template <class LinkOf>
double cost(const Network& net, const JobShape& job, i64 bytes, bool near_first, LinkOf link) {
  const auto n = static_cast<double>(bytes);
  double seconds = 0;
  int active = 1;
  while (2 * active <= job.ranks) active *= 2;
  for (int distance = 1; distance < active; distance *= 2) {
    const double part = near_first ? n / 2 / distance : n * distance / active;
    seconds += 2 * link(distance).seconds(part) + net.sum(part);
  }
  return active == job.ranks ? seconds : seconds + 2 * link(1).seconds(n) + net.sum(n);
}

/// swCaffe equations 2 to 4.
double far_first_cost(const Network& net, const JobShape& job, i64 bytes, i64, int) {
  return cost(net, job, bytes, false, [&](int distance) -> const Link& { return link_at(net, job, distance); });
}

/// swCaffe equations 5 and 6.
double round_robin_cost(const Network& net, const JobShape& job, i64 bytes, i64, int) {
  const int supernodes = job.supernodes();
  return cost(net, job, bytes, false, [&](int distance) -> const Link& {
    return distance < supernodes ? net.across : link_at(net, job, distance / supernodes);
  });
}

double near_first_cost(const Network& net, const JobShape& job, i64 bytes, i64, int) {
  return cost(net, job, bytes, true, [&](int distance) -> const Link& { return link_at(net, job, distance); });
}

}  // namespace

Algorithm natural_halving() {
  return {"halving", "recursive halving and doubling, farthest first, natural numbers",
          [](const Team& team, const HostValues& values) {
            halve_and_double(team, values, team.topology->natural(), false, "halving");
          },
          far_first_cost};
}

Algorithm round_robin_halving() {
  return {"halving_round_robin", "the same, numbers in turn over supernodes (swCaffe)",
          [](const Team& team, const HostValues& values) {
            halve_and_double(team, values, team.topology->round_robin(), false, "halving_round_robin");
          },
          round_robin_cost};
}

Algorithm near_first_halving() {
  return {"halving_near_first", "recursive halving and doubling, nearest first",
          [](const Team& team, const HostValues& values) {
            halve_and_double(team, values, team.topology->natural(), true, "halving_near_first");
          },
          near_first_cost};
}

}  // namespace cortado
