// cortado doctor's checks on made-up jobs: what each finds, with which grade, and where.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>

#include "app/doctor/checks.h"
#include "app/doctor/file_facts.h"
#include "app/doctor/rank_facts.h"
#include "tests/support/temporary_folder.h"

namespace cortado::doctor_checks_test {
namespace {
using doctor::Finding;
using doctor::Grade;
using doctor::JobFacts;
using doctor::RankFacts;
using Topic = std::vector<Finding> (*)(const JobFacts&);

CpuSet cpus(int first, int count) {
  CpuSet set;
  for (int i = 0; i < count; ++i) set.add(first + i);
  return set;
}

/// A rank in order: 4 CPUs of its own with a thread each, on nodes of 8.
RankFacts rank_facts(int rank) {
  RankFacts facts;
  facts.rank = rank;
  facts.local_rank = rank % 2;
  facts.host = "node" + std::to_string(rank / 2);
  facts.processor = "Some Processor";
  facts.cpus = cpus(4 * (rank % 2), 4);
  facts.node_cpus = cpus(0, 8);
  facts.load = 0.1;
  facts.backend = "kokkos";
  facts.machine = "Some Processor, 1 x 4 OpenMP threads";
  facts.threads = 4;
  facts.vector_bytes = 64;
  facts.waiting = "as OMP_WAIT_POLICY=passive says";
  facts.matrix_library = "OpenBLAS (SkylakeX kernels)";
  facts.library_threading = 2;
  facts.mpi = "MPICH Version: 4";
  facts.mpi_device = "ch4:ofi";
  facts.environment = {{"PMI_SIZE", "4"}};
  facts.shared_memory.path = "/dev/shm";
  facts.shared_memory.free = i64{8} << 30;
  facts.limits = {{"open files", "-n", 4096, 4096, 1}, {"locked memory", "-l", i64{64} << 10, -1, 1024}};
  facts.free_memory = i64{32} << 30;
  facts.huge_pages = "madvise";
  return facts;
}

/// Four ranks on two nodes, all in order, with a solver and a set.
JobFacts job() {
  JobFacts job;
  for (int r = 0; r < 4; ++r) {
    RankFacts facts = rank_facts(r);
    facts.solver.file = "solver.prototxt";
    facts.solver.fields = {{"solver", "base_lr", "0.1"},
                           {"data set", "layer 'data': number of samples", "100"},
                           {"data set", "layer 'data': digest of samples", "abc"}};
    doctor::SetFacts set;
    set.which = "layer 'data'";
    set.source = "train.lmdb";
    set.files.resize(1);
    set.files[0].path = "train.lmdb";
    set.files[0].type = "ext4";
    set.files[0].bytes = i64{2} << 30;
    facts.solver.sets = {set};
    facts.solver.snapshots.path = "out";
    facts.solver.snapshots.free = i64{1} << 40;
    job.ranks.push_back(facts);
    job.clocks.push_back({1e-6 * r, 5e-6, r == 0 ? 0 : 10e-6});
  }
  job.net.tuning = "5 of 5 layers";
  job.net.with_choice = job.net.tuned = 5;
  job.net.memory = i64{1} << 30;
  job.net.snapshot = i64{100} << 20;
  return job;
}

std::string text_of(const Finding& one) {
  return std::string(doctor::word_of(one.grade)) + " " + one.topic + ": " + one.what +
         (one.advice.empty() ? "" : " -> " + one.advice);
}

std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& one : findings) text += text_of(one) + "\n";
  return text;
}

/// Expects that a change makes the topic say one thing of that grade: `words` are in it, advice too. All other topics
/// stay OK.
void expect_only(Grade grade, const std::string& topic, const std::vector<std::string>& words,
                 const std::function<void(JobFacts&)>& change) {
  JobFacts changed = job();
  change(changed);
  const auto findings = doctor::examine(changed);
  int bad = 0;
  for (const Finding& one : findings) {
    if (one.grade == Grade::ok) continue;
    ++bad;
    EXPECT_EQ(one.topic, topic) << text_of(one);
    EXPECT_EQ(one.grade, grade) << text_of(one);
    EXPECT_NE(one.advice, "") << text_of(one);
    for (const std::string& word : words)
      EXPECT_NE((one.what + " -> " + one.advice).find(word), std::string::npos) << word << " in " << text_of(one);
  }
  EXPECT_EQ(bad, 1) << topic << "\n" << text_of(findings);
  EXPECT_EQ(doctor::exit_code(findings), grade == Grade::failure ? 3 : 2);
}

TEST(DoctorChecks, AJobInOrderIsAllOk) {
  const auto findings = doctor::examine(job());
  EXPECT_EQ(doctor::exit_code(findings), 0) << text_of(findings);
  for (const Finding& one : findings) EXPECT_EQ(one.advice, "") << text_of(one);
  const std::string text = text_of(findings);
  for (const char* const words :
       {"OK binding: node0: 2 ranks on CPUs 0-3 | 4-7 of 0-7", "OK ranks: 4 ranks on 2 nodes, started by mpiexec",
        "OK data: layer 'data': 100 samples in train.lmdb, equal on all ranks",
        "OK clocks: rank 3 on node1 is 3.0 us ahead of rank 0, +- 5.0 us", "OK MPI: MPICH Version: 4, device ch4:ofi"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
}

TEST(DoctorChecks, EveryTopicHasALineOnceASolverIsGiven) {
  std::set<std::string> topics;
  for (const Finding& one : doctor::examine(job())) topics.insert(one.topic);
  for (const auto& check : doctor::topic_checks()) EXPECT_EQ(topics.count(check.topic), 1U) << check.topic;
}

TEST(DoctorChecks, FindProcessorsThatAreShared) {
  const Grade warning = Grade::warning;
  expect_only(warning, "oversubscription", {"node1: 8 threads of 2 ranks have 7 CPUs", "start fewer"},
              [](JobFacts& j) { j.ranks[3].cpus = cpus(4, 3); });
  expect_only(warning, "oversubscription", {"6.0 CPUs together (control group)"}, [](JobFacts& j) {
    for (auto& rank : j.ranks) rank.quota = rank.host == "node0" ? 6 : 0;
  });
  expect_only(warning, "oversubscription", {"node1", "load average 5.0 on 8 CPUs"},
              [](JobFacts& j) { j.ranks[2].load = 5; });
  expect_only(warning, "binding", {"node1: 2 ranks share CPUs 0-7", "-bind-to core:N"},
              [](JobFacts& j) { j.ranks[2].cpus = j.ranks[3].cpus = cpus(0, 8); });
}

TEST(DoctorChecks, MindSpinningWhereProcessorsAreShared) {
  JobFacts spinning = job();
  spinning.ranks[0].spins = -1;
  EXPECT_EQ(doctor::exit_code(doctor::check_waiting(spinning)), 0);
  spinning.ranks[1].cpus = cpus(0, 8);
  std::string text = text_of(doctor::check_waiting(spinning));
  EXPECT_NE(text.find("share their processors with others (rank 0) -> unset OMP_WAIT_POLICY"), std::string::npos)
      << text;
  spinning.ranks[0].spins = 50;
  EXPECT_EQ(doctor::exit_code(doctor::check_waiting(spinning)), 0);
}

TEST(DoctorChecks, FindRanksThatDiffer) {
  expect_only(Grade::warning, "ranks", {"ranks 2, 3: the processor is Other, rank 0 has Some Processor"},
              [](JobFacts& j) { j.ranks[2].processor = j.ranks[3].processor = "Other"; });
  expect_only(Grade::warning, "ranks", {"rank 1: OMP_PLACES cores, rank 0 has not set"},
              [](JobFacts& j) { j.ranks[1].environment["OMP_PLACES"] = "cores"; });
  JobFacts uneven = job();
  uneven.ranks.pop_back();
  uneven.clocks.pop_back();
  EXPECT_NE(text_of(doctor::examine(uneven))
                .find("warning ranks: 3 ranks on 2 nodes, started by mpiexec (PMI): node1 "
                      "has 1, node0 has 2"),
            std::string::npos)
      << text_of(doctor::examine(uneven));
}

TEST(DoctorChecks, FindMistakesOfTheMpiLibrary) {
  JobFacts two = job();
  two.ranks[3].mpi = "Open MPI v4";
  const std::string text = text_of(doctor::examine(two));
  EXPECT_NE(text.find("FAILURE MPI: Open MPI v4, device ch4:ofi (rank 3) -> "), std::string::npos) << text;
  expect_only(Grade::failure, "MPI", {"UCX_TLS=self lets no ranks talk"}, [](JobFacts& j) {
    for (auto& rank : j.ranks) rank.environment["UCX_TLS"] = "self";
  });
  const auto tcp = [](JobFacts& j) {
    for (auto& rank : j.ranks) rank.environment["FI_PROVIDER"] = "tcp", rank.has_fabric = true;
    for (auto& rank : j.ranks) rank.limits[1].soft = -1;
  };
  expect_only(Grade::warning, "MPI", {"FI_PROVIDER=tcp leaves the fast network"}, tcp);
  expect_only(Grade::warning, "MPI", {"(rank 2)", "MPI_THREAD_MULTIPLE"},
              [](JobFacts& j) { j.ranks[2].calls_from_threads = false; });
  expect_only(Grade::warning, "messages", {"2.00 ms between nodes (rank 0 and 2)"},
              [](JobFacts& j) { j.clocks[2].round_trip = 2e-3; });
}

TEST(DoctorChecks, JudgeClocksByTheBound) {
  expect_only(Grade::warning, "clocks", {"rank 2 on node1 is 400.00 ms behind rank 0, +- 5.0 us", "chronyd"},
              [](JobFacts& j) { j.clocks[2].seconds = -0.4; });
  expect_only(Grade::failure, "clocks", {"3600.00 s ahead"}, [](JobFacts& j) { j.clocks[1].seconds = 3600; });
  JobFacts vague = job();
  vague.clocks[2] = {0.4, 0.35, 0.7};  // slow messages: it may be 0.05 s
  const std::string text = text_of(doctor::check_clocks(vague));
  EXPECT_EQ(text.find("warning"), std::string::npos) << text;
  expect_only(Grade::warning, "clocks", {"nothing sets its clock (rank 3)"},
              [](JobFacts& j) { j.ranks[3].clock_is_set = false; });
  const ClockOffset offset = offset_of(10, 15, 12);
  EXPECT_DOUBLE_EQ(offset.seconds, 4);
  EXPECT_DOUBLE_EQ(offset.bound, 1);
}

TEST(DoctorChecks, FindSlowMatrixLibraries) {
  const Grade warning = Grade::warning;
  expect_only(warning, "matrix library", {"Haswell", "(rank 1)", "OPENBLAS_CORETYPE=SkylakeX"},
              [](JobFacts& j) { j.ranks[1].matrix_library = "OpenBLAS (Haswell kernels)"; });
  JobFacts narrow = job();
  for (auto& rank : narrow.ranks) rank.vector_bytes = 32, rank.matrix_library = "OpenBLAS (Haswell kernels)";
  EXPECT_EQ(doctor::exit_code(doctor::examine(narrow)), 0) << text_of(doctor::examine(narrow));
  expect_only(warning, "matrix library", {"threads of its own", "(rank 0)", "libopenblas0-openmp"},
              [](JobFacts& j) { j.ranks[0].library_threading = 1; });
  expect_only(warning, "matrix library", {"OPENBLAS_NUM_THREADS=1 stands against 4 threads"}, [](JobFacts& j) {
    for (auto& rank : j.ranks) rank.environment["OPENBLAS_NUM_THREADS"] = "1";
  });
}

TEST(DoctorChecks, FindDevicesThatRanksShareOrThatFail) {
  expect_only(Grade::warning, "machine", {"node0: ranks 0, 1 share GPU (device 0)", "--devices"}, [](JobFacts& j) {
    for (auto& rank : j.ranks) rank.devices = {"GPU (device " + std::to_string(rank.rank < 2 ? 0 : rank.rank) + ")"};
  });
  expect_only(Grade::failure, "machine", {"backend kokkos: no device (rank 1)"},
              [](JobFacts& j) { j.ranks[1].backend_error = "no device"; });
}

TEST(DoctorChecks, FindTooLittleMemory) {
  expect_only(Grade::failure, "shared memory", {"node1: /dev/shm is not there", "mount it"},
              [](JobFacts& j) { j.ranks[2].shared_memory.error = "is not there"; });
  expect_only(Grade::warning, "shared memory", {"node0: /dev/shm has 1.0 MB left; 2 ranks may want 34 MB"},
              [](JobFacts& j) { j.ranks[0].shared_memory.free = i64{1} << 20; });
  expect_only(Grade::failure, "memory",
              {"node1: 1611 MB are free, the net needs 2147 MB in 2 processes", "fewer ranks"},
              [](JobFacts& j) { j.ranks[3].free_memory = i64{1536} << 20; });
  expect_only(Grade::failure, "memory", {"smaller batch_size"},
              [](JobFacts& j) { j.ranks[3].free_memory = i64{512} << 20; });
  expect_only(Grade::warning, "memory", {"huge pages (rank 1)"}, [](JobFacts& j) { j.ranks[1].huge_pages = "never"; });
}

TEST(DoctorChecks, FindLowLimits) {
  expect_only(Grade::warning, "limits", {"open files: at most 256", "(ranks 0-2)", "ulimit -S -n 1024"},
              [](JobFacts& j) {
                for (std::size_t r = 0; r < 3; ++r) j.ranks[r].limits[0].soft = 256;
              });
  expect_only(Grade::warning, "limits", {"ask the site to raise the hard limit of open files, 512"},
              [](JobFacts& j) { j.ranks[0].limits[0].soft = j.ranks[0].limits[0].hard = 512; });
  expect_only(Grade::warning, "limits", {"locked memory: at most", "ulimit -S -l 65536"}, [](JobFacts& j) {
    for (auto& rank : j.ranks) rank.has_fabric = true;
  });
  expect_only(Grade::failure, "limits", {"file size: at most 50 MB"}, [](JobFacts& j) {
    j.ranks[0].limits.push_back({"file size", "-f", 50000000, -1, 1024});
  });
}

TEST(DoctorChecks, FindSolversThatDifferOrCannotBeRead) {
  expect_only(Grade::failure, "solver", {"rank 2: base_lr is 0.2, rank 0 has 0.1", "give all ranks the same solver"},
              [](JobFacts& j) { j.ranks[2].solver.fields[0].value = "0.2"; });
  JobFacts unread = job();
  unread.ranks[1].solver = {};
  unread.ranks[1].solver.file = "solver.prototxt";
  unread.ranks[1].solver.error = "solver.prototxt: cannot be read";
  const std::string text = text_of(doctor::check_solver(unread));
  EXPECT_NE(text.find("FAILURE : solver.prototxt: cannot be read (rank 1)"), std::string::npos) << text;
  expect_only(Grade::failure, "solver", {"layer 'ip': no"}, [](JobFacts& j) { j.net.error = "layer 'ip': no"; });
}

TEST(DoctorChecks, FindSetsThatAreAwayOrDiffer) {
  expect_only(Grade::failure, "data", {"layer 'data': train.lmdb: no such file (ranks 1, 3)"}, [](JobFacts& j) {
    j.ranks[1].solver.sets[0].error = j.ranks[3].solver.sets[0].error = "train.lmdb: no such file";
  });
  expect_only(Grade::failure, "data", {"rank 3: layer 'data': number of samples is 99, rank 0 has 100"},
              [](JobFacts& j) { j.ranks[3].solver.fields[1].value = "99"; });
  expect_only(Grade::failure, "data", {"rank 1: layer 'data': digest of samples is xyz, rank 0 has abc"},
              [](JobFacts& j) { j.ranks[1].solver.fields[2].value = "xyz"; });
  expect_only(Grade::failure, "data", {"no such layer in this rank's net (rank 2)"},
              [](JobFacts& j) { j.ranks[2].solver.sets.clear(); });
}

TEST(DoctorChecks, JudgeStripesAndRoom) {
  const auto lustre = [](int stripes) {
    return [stripes](JobFacts& j) {
      auto& file = j.ranks[0].solver.sets[0].files[0];
      file.type = "lustre";
      file.stripes = stripes;
      file.stripe_bytes = 1 << 20;
    };
  };
  expect_only(Grade::warning, "striping", {"train.lmdb has 1 stripe of 1.0 MB", "lfs migrate"}, lustre(1));
  JobFacts striped = job();
  lustre(8)(striped);
  EXPECT_EQ(doctor::exit_code(doctor::check_striping(striped)), 0);
  expect_only(Grade::failure, "snapshots", {"out has 50 MB left, a snapshot takes 105 MB"},
              [](JobFacts& j) { j.ranks[0].solver.snapshots.free = 50000000; });
  expect_only(Grade::warning, "snapshots", {"not enough for two"},
              [](JobFacts& j) { j.ranks[0].solver.snapshots.free = 150000000; });
  expect_only(Grade::failure, "snapshots", {"out cannot be written", "change snapshot_prefix"},
              [](JobFacts& j) { j.ranks[0].solver.snapshots.error = "cannot be written: Read-only file system"; });
}

TEST(DoctorChecks, SayWhichLayersLackTuning) {
  expect_only(Grade::warning, "tuning", {"3 of 5 layers", "cortado tune"}, [](JobFacts& j) {
    j.net.tuned = 3;
    j.net.tuning = "3 of 5 layers";
  });
  expect_only(Grade::failure, "tuning", {"tuning.prototxt:3"},
              [](JobFacts& j) { j.tuning_error = "tuning.prototxt:3: expected"; });
}

TEST(DoctorFacts, SurviveTheWayToRankZero) {
  const RankFacts before = job().ranks[3];
  const RankFacts after = doctor::facts_of(nlohmann::json::parse(doctor::to_json(before).dump()));
  EXPECT_EQ(doctor::to_json(before), doctor::to_json(after));
  EXPECT_EQ(after.cpus, before.cpus);
  EXPECT_EQ(after.solver.fields[2].value, "abc");
}

TEST(DoctorFacts, ReadWhatTheSystemTells) {
  EXPECT_EQ(doctor::device_in("MPICH Version:\t4.0.2\nMPICH Device:\tch4:ucx\nMPICH configure"), "ch4:ucx");
  EXPECT_EQ(doctor::device_in("Open MPI v4.1.4"), "");
  EXPECT_DOUBLE_EQ(doctor::quota_in("150000 100000\n"), 1.5);
  EXPECT_DOUBLE_EQ(doctor::quota_in("max 100000\n"), 0);
  EXPECT_EQ(doctor::file_system_name(0x0BD00BD0), "lustre");
  EXPECT_EQ(doctor::file_system_name(0x1234), "file system 0x1234");
}

TEST(DoctorFacts, ReadLustresLayout) {
  std::string attribute(48, '\0');
  const auto put = [&](std::size_t at, std::uint32_t word) { std::memcpy(&attribute[at], &word, sizeof word); };
  put(0, 0x0BD30BD0), put(24, 4 << 20), put(28, 12 | 7U << 16);  // 12 stripes, the first on target 7
  doctor::StorageFacts facts;
  doctor::read_lustre_layout(attribute, facts);
  EXPECT_EQ(facts.stripes, 12);
  EXPECT_EQ(facts.stripe_bytes, 4 << 20);
  doctor::StorageFacts none;
  put(0, 0x0BD60BD0);  // a composite layout
  doctor::read_lustre_layout(attribute, none);
  doctor::read_lustre_layout("short", none);
  EXPECT_EQ(none.stripes, 0);
}

TEST(DoctorFacts, LookAtFilesAndFolders) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("a", "12345");
  EXPECT_EQ(doctor::storage_of(file).bytes, 5);
  EXPECT_EQ(doctor::storage_of(folder.path().string()).bytes, 5);
  EXPECT_EQ(doctor::storage_of(folder.file("none")).error, "is not there");
  EXPECT_EQ(doctor::writable_folder(folder.file("to/be/made")).error, "");
  EXPECT_GT(doctor::writable_folder(folder.file("to/be/made")).free, 0);
  EXPECT_NE(doctor::writable_folder(file + "/b").error.find("is no folder"), std::string::npos);
}
}  // namespace
}  // namespace cortado::doctor_checks_test
