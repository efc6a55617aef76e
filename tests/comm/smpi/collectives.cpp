// The collectives on a simulated cluster (SimGrid's SMPI), from the sources that run on a real one.
//   collectives check                                  every algorithm, many lengths, both types: right, and the same
//   on all ranks collectives time BYTES RATE SUPERNODE ALGORITHM... simulated seconds of each allreduce; sums take 1 /
//   RATE seconds a byte
//   collectives auto RATE SUPERNODE BYTES...           measures the network, then every algorithm beside the model's
//   choice
#include <smpi/smpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "comm/collective/choice.h"
#include "comm/collective/measure_network.h"
#include "comm/wait/deadline.h"
#include "core/base/log.h"

namespace cortado {
void log_line(Severity, const char*, int, const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

namespace {

/// Plain loops.
class PlainSum : public LocalSum {
 public:
  void add(const HostValues& x, const HostValues& y) override {
    with_element(x.element, [&](auto element) {
      using T = decltype(element);
      const auto* const from = static_cast<const T*>(x.data);
      auto* const to = static_cast<T*>(y.data);
      for (i64 i = 0; i < y.count; ++i) to[i] = T(static_cast<float>(to[i]) + static_cast<float>(from[i]));
    });
  }
};

/// Takes simulated time, and no work.
class ModelledSum : public LocalSum {
 public:
  explicit ModelledSum(double bytes_per_s) : bytes_per_s_(bytes_per_s) {}
  void add(const HostValues& x, const HostValues&) override {
    if (bytes_per_s_ > 0) smpi_execute_benched(static_cast<double>(x.bytes()) / bytes_per_s_);
  }

 private:
  double bytes_per_s_;
};

/// Small whole numbers, whose sums are exact in both types whatever the order: 17 ranks stay below 256.
template <class T>
T value(int rank, i64 i) {
  return T(static_cast<float>((rank * 7 + i * 3) % 11));
}

int fail(const char* name, i64 count, const char* what) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::printf("FAILED: %s, %lld values, rank %d: %s\n", name, static_cast<long long>(count), rank, what);
  return 1;
}

/// All ranks hold the same bytes as rank 0.
template <class T>
bool all_equal(const std::vector<T>& values) {
  std::vector<T> roots = values;
  MPI_Bcast(roots.data(), static_cast<int>(roots.size() * sizeof(T)), MPI_BYTE, 0, MPI_COMM_WORLD);
  return std::memcmp(roots.data(), values.data(), values.size() * sizeof(T)) == 0;
}

std::vector<int> radices_of(const Algorithm& algorithm) {
  return algorithm.name == "knomial" ? std::vector<int>{2, 3, 4} : std::vector<int>{2};
}

template <class T>
int check_length(const Team& team, i64 count, Precision element) {
  int bad = 0;
  const int root = static_cast<int>(count % team.size());  // each rank's turn comes
  std::vector<T> values(static_cast<std::size_t>(count)), again;
  const HostValues span{values.data(), count, element};
  for (const Algorithm& algorithm : allreduce_algorithms()) {
    if (!algorithm.why_not(team).empty()) continue;  // simulated nodes share no memory
    for (i64 i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = value<T>(team.rank(), i);
    algorithm.run(team, span);
    for (i64 i = 0; i < count; ++i) {
      float sum = 0;
      for (int r = 0; r < team.size(); ++r) sum += static_cast<float>(value<T>(r, i));
      if (static_cast<float>(values[static_cast<std::size_t>(i)]) != sum) {
        bad += fail(algorithm.name.c_str(), count, "wrong sum");
        break;
      }
    }
    // Values whose sum depends on the order: the same on all ranks, and again.
    for (int run = 0; run < 2; ++run) {
      for (i64 i = 0; i < count; ++i)
        values[static_cast<std::size_t>(i)] =
            T(std::sin(static_cast<float>(i + 1) * static_cast<float>(team.rank() + 3)));
      algorithm.run(team, span);
      if (!all_equal(values)) bad += fail(algorithm.name.c_str(), count, "ranks differ");
      if (run == 1 && std::memcmp(again.data(), values.data(), values.size() * sizeof(T)) != 0)
        bad += fail(algorithm.name.c_str(), count, "runs differ");
      again = values;
    }
  }
  for (const Algorithm& algorithm : reduce_algorithms())
    for (const int radix : radices_of(algorithm)) {
      if (!algorithm.why_not(team).empty()) continue;
      Team other = team;
      other.radix = radix;
      other.root = root;
      for (i64 i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = value<T>(team.rank(), i);
      algorithm.run(other, span);
      for (i64 i = 0; i < count && team.rank() == root; ++i) {
        float sum = 0;
        for (int r = 0; r < team.size(); ++r) sum += static_cast<float>(value<T>(r, i));
        if (static_cast<float>(values[static_cast<std::size_t>(i)]) != sum) {
          bad += fail(algorithm.name.c_str(), count, "wrong sum on the root");
          break;
        }
      }
    }
  for (const Algorithm& algorithm : broadcast_algorithms()) {
    if (!algorithm.why_not(team).empty()) continue;
    for (const int radix : radices_of(algorithm)) {
      Team other = team;
      other.radix = radix;
      other.root = root;
      for (i64 i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = value<T>(team.rank() == root ? 5 : 6, i);
      algorithm.run(other, span);
      for (i64 i = 0; i < count; ++i)
        if (static_cast<float>(values[static_cast<std::size_t>(i)]) != static_cast<float>(value<T>(5, i))) {
          bad += fail(algorithm.name.c_str(), count, "not the root's values");
          break;
        }
    }
  }
  return bad;
}

int check() {
  PlainSum sum;
  int size = 1, bad = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (const int supernode : {0, 3, 5}) {
    const Topology topology = Topology::regular(size, supernode == 5 ? 2 : 1, supernode);
    Team team;
    team.communicator = MPI_COMM_WORLD;
    team.topology = &topology;
    team.sum = &sum;
    for (const i64 count : {0, 1, 2, size - 1, size, size + 1, 37, 1009}) {
      team.chunk_bytes = 52;
      bad += check_length<float>(team, count, Precision::fp32);
      team.chunk_bytes = supernode == 3 ? 4 : 1 << 20;
      bad += check_length<bf16>(team, count, Precision::bf16);
    }
  }
  int all = 0;
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all > 0 ? 1 : 0;
}

int time(int count, char** arguments) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const i64 bytes = std::atoll(arguments[2]);
  ModelledSum sum(std::atof(arguments[3]));
  const int supernode = std::atoi(arguments[4]);
  const Topology topology = Topology::regular(size, 1, supernode);
  // One piece of memory stands for all ranks': nobody looks at the values.
  void* const values = SMPI_SHARED_MALLOC(static_cast<std::size_t>(bytes));
  void* const memory = SMPI_SHARED_MALLOC(static_cast<std::size_t>(bytes));
  Team team;
  team.communicator = MPI_COMM_WORLD;
  team.topology = &topology;
  team.sum = &sum;
  team.memory.reset(memory, [](void*) {});
  team.memory_bytes = bytes;
  const bool trains = std::string(arguments[1]) == "train";
  for (int a = trains ? 6 : 5; a < count; ++a) {
    const Algorithm& algorithm = find_algorithm(allreduce_algorithms(), arguments[trains ? 5 : a]);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (trains) smpi_execute_benched(std::atof(arguments[a]));
    algorithm.run(team, {values, bytes / 4, Precision::fp32});
    double own = MPI_Wtime() - begin, slowest = 0;
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    Network network;
    network.in_node.gap = network.inside.gap = network.across.gap = 0;
    network.byte_summed = std::atof(arguments[3]) > 0 ? 1 / std::atof(arguments[3]) : 0;
    const double model = algorithm.cost(network, shape_of(topology), bytes, team.chunk_bytes, 2);
    if (rank == 0) std::printf("%s %.6f %.6f\n", arguments[a], slowest, model);
  }
  SMPI_SHARED_FREE(values);
  SMPI_SHARED_FREE(memory);
  return 0;
}

/// Simulated seconds until the last rank has ended; all begin at the same moment.
double seconds_of(const Team& team, const CollectiveChoice& choice, const HostValues& values) {
  double start = MPI_Wtime();
  MPI_Allreduce(MPI_IN_PLACE, &start, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  start += 1;
  smpi_execute_benched(start - MPI_Wtime());
  Team own = team;
  own.chunk_bytes = choice.chunk_bytes;
  own.radix = choice.radix;
  choice.algorithm->run(own, values);
  double seconds = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/// Lines "COLLECTIVE BYTES ALGORITHM CHUNK RADIX SECONDS MODEL", those of the model's choice with " auto" behind.
int choose(int count, char** arguments) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ModelledSum sum(std::atof(arguments[2]));
  const Topology topology = Topology::regular(size, 1, std::atoi(arguments[3]));
  Team team;
  team.communicator = MPI_COMM_WORLD;
  team.topology = &topology;
  team.sum = &sum;
  const double begin = MPI_Wtime();
  const Network network = measure_network(team, true);
  if (rank == 0) std::printf("measured in %.6f s\n", MPI_Wtime() - begin);
  const JobShape job = shape_of(topology);
  for (int a = 4; a < count; ++a) {
    const i64 bytes = std::atoll(arguments[a]);
    constexpr i64 enough = 8;  // values that arrive at once
    void* const values = SMPI_SHARED_MALLOC(static_cast<std::size_t>(bytes));
    void* const memory = SMPI_SHARED_MALLOC(static_cast<std::size_t>(enough * bytes));
    team.memory.reset(memory, [](void*) {});
    team.memory_bytes = enough * bytes;
    for (const char* collective : {"allreduce", "reduce", "broadcast"}) {
      const CollectiveChoice chosen = choose_by_model(collective, team, network, bytes);
      for (const Algorithm& algorithm : algorithms_of(collective)) {
        if (!algorithm.why_not(team).empty()) continue;
        const CollectiveChoice choice = with_settings(algorithm, network, job, bytes);
        const double seconds = seconds_of(team, choice, {values, bytes / 4, Precision::fp32});
        if (rank == 0)
          std::printf("%s %lld %s %lld %d %.9f %.9f%s\n", collective, static_cast<long long>(bytes),
                      algorithm.name.c_str(), static_cast<long long>(choice.chunk_bytes), choice.radix, seconds,
                      choice.cost(network, job, bytes), choice.algorithm == chosen.algorithm ? " auto" : "");
      }
    }
    SMPI_SHARED_FREE(values);
    SMPI_SHARED_FREE(memory);
  }
  return 0;
}

}  // namespace
}  // namespace cortado

int main(int count, char** arguments) {
  cortado::set_patience(0);  // tries take simulated time
  MPI_Init(&count, &arguments);
  const std::string what = count > 1 ? arguments[1] : "";
  const int result = (what == "time" && count > 5) || (what == "train" && count > 6) ? cortado::time(count, arguments)
                     : what == "check"                                               ? cortado::check()
                     : what == "auto" && count > 4                                   ? cortado::choose(count, arguments)
                                                                                     : 2;
  MPI_Finalize();
  return result;
}
