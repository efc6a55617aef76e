#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "app/bench/bench.h"
#include "app/bench/noise_sets.h"
#include "app/bench/readers.h"
#include "app/report/progress_bar.h"
#include "app/start/start_files.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/data/sample_order.h"
#include "parallel_io/sets/hdf5_set.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;
constexpr i64 warm_passes = 6;  // what lies in memory is read too fast for one
// Without a size the amounts follow from these, in seconds, and from how fast things are here.
constexpr double of_one_set = 0.8, in_all = 90;
constexpr i64 least_samples = 64, most_samples = 2048, most_batch = 256;

/// A set and the files that hold its values.
struct SetFiles {
  std::string name, path;
  std::vector<std::string> files;
};

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  if (!fs::exists(folder)) return files;  // there are fewer stripes than folders
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// Asks the system to forget the files; returns the share of their bytes that it still has in memory.
double drop_from_cache(const std::vector<std::string>& files) {
  i64 pages = 0, there = 0;
  const i64 page = sysconf(_SC_PAGESIZE);
  for (const auto& file : files) {
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) continue;
    fdatasync(descriptor);
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    const auto bytes = static_cast<std::size_t>(fs::file_size(file));
    void* const map = bytes > 0 ? mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0) : MAP_FAILED;
    std::vector<unsigned char> state((bytes + static_cast<std::size_t>(page) - 1) / static_cast<std::size_t>(page));
    if (map != MAP_FAILED && mincore(map, bytes, state.data()) == 0) {
      pages += static_cast<i64>(state.size());
      there += std::count_if(state.begin(), state.end(), [](unsigned char s) { return (s & 1) != 0; });
    }
    if (map != MAP_FAILED) munmap(map, bytes);
    close(descriptor);
  }
  return pages > 0 ? static_cast<double>(there) / static_cast<double>(pages) : 0;
}

Reading reading_set(const SetFiles& layout, i64 samples, i64 batch, SampleOrder::Kind kind, bool verify) {
  OpenOptions options;
  options.verify = verify;
  Reading reading;
  reading.open = [layout, options] { return std::shared_ptr<void>(open_set(layout.path, options)); };
  const SampleOrder order(samples, kind, 1, batch);
  reading.read = [=](void* opened, i64 b, std::vector<Values>& to) {
    std::vector<i64> indices;
    for (i64 i = b * batch; i < (b + 1) * batch; ++i) indices.push_back(order(i));
    static_cast<const DataSet*>(opened)->read(indices.data(), batch, to);
    return static_cast<i64>(to[0].bytes.size() + to[1].bytes.size());
  };
  return reading;
}

/// The yardstick: the same bytes of the same files, by plain pread.
Reading reading_files(const SetFiles& layout, i64 batch_bytes) {
  Reading reading;
  reading.open = [layout] {
    auto files = std::make_shared<std::vector<RawFile>>();
    for (const auto& file : layout.files) files->emplace_back(file);
    return std::shared_ptr<void>(files);
  };
  reading.read = [=](void* opened, i64 b, std::vector<Values>& to) {
    const auto& files = *static_cast<const std::vector<RawFile>*>(opened);
    to.resize(1);
    to[0].bytes.resize(static_cast<std::size_t>(batch_bytes));
    // The files one after another, as if they were one.
    i64 at = b * batch_bytes, left = batch_bytes;
    for (const RawFile& file : files) {
      const i64 bytes = file.bytes();
      const i64 here = std::clamp<i64>(bytes - at, 0, left);
      if (here > 0) {
        file.read(at, here, to[0].bytes.data() + (batch_bytes - left));
        left -= here;
        at += here;
      }
      at -= bytes;
      if (left == 0) break;
    }
    return batch_bytes - left;
  };
  return reading;
}

/// The flags of `bench io`.
struct IoFlags {
  std::vector<std::string> sets, folders;
  i64 batch = 0, samples = 0, rounds = 5;
  std::vector<i64> readers = {1, 2, 4, 8};
};

/// The sets that are read, and what reading them takes.
class ReadingTrials {
 public:
  explicit ReadingTrials(const IoFlags& flags) : flags_(flags), batch_(flags.batch > 0 ? flags.batch : most_batch) {}

  Report run(const MachineSpec& spec) {
    prepare();
    Report report({{"access", "access"},
                   {"layout", "layout"},
                   {"order", "order"},
                   {"cache", "cache"},
                   {"readers", "readers"},
                   {"bandwidth_mib", "bw(MiB/s)"},
                   {"iops", "IOPS"},
                   {"latency_s", "latency(s)", 5},
                   {"block_kib", "block(KiB)", 0},
                   {"transfer_kib", "xfer(KiB)", 0},
                   {"open_s", "open(s)", 4},
                   {"io_s", "wr/rd(s)", 4},
                   {"close_s", "close(s)", 4},
                   {"total_s", "total(s)", 4},
                   {"of_pread", "of pread"}},
                  spec, {{"bench", "io"}, {"batch", batch_}, {"samples", samples_}, {"rounds", flags_.rounds}});
    for (auto& row : written_) report.add(row);
    ProgressBar bar("reading");
    i64 done = 0;
    const i64 all = static_cast<i64>(layouts_.size() * flags_.readers.size() * 2);
    for (const auto& layout : layouts_)
      for (const i64 readers : flags_.readers)
        for (const bool cold : {false, true}) {
          measure(report, layout, static_cast<int>(readers), cold, all - done);
          bar.show(++done, all);
        }
    return report;
  }

  std::string notes() const { return "\n" + note_ + in_time_ + "\n"; }

 private:
  void prepare() {
    if (!flags_.sets.empty()) {
      for (const auto& path : flags_.sets) {
        const auto set = open_set(path);
        samples_ = layouts_.empty() ? set->samples() : std::min(samples_, set->samples());
        sample_bytes_ = set->fields()[0].sample_bytes() + 4;
        std::vector<std::string> files = {path};
        if (fs::is_directory(path)) files = files_below(path);
        if (fs::is_directory(path + ".stripes")) files = files_below(path + ".stripes");
        layouts_.push_back({path, path, files});
      }
    } else {
      write_sets();
    }
    refuse_less_than_a_batch();
    samples_ = samples_ / batch_ * batch_;
  }

  void refuse_less_than_a_batch() const {
    if (samples_ < batch_) throw ConfigError("bench io", "the sets hold less than one batch", "give a smaller --batch");
  }

  /// One file, and stripes over 1, 2, 4, ... of the folders.
  void write_sets() {
    const std::vector<std::string> folders =
        flags_.folders.empty() ? std::vector<std::string>(4, ".") : flags_.folders;  // four beside each other
    samples_ = flags_.samples;
    is_timed_ = flags_.samples == 0;
    if (is_timed_) {
      samples_ =
          std::clamp(noise_written_in(of_one_set, folders[0]), std::max(least_samples, flags_.batch), most_samples);
      if (flags_.batch == 0) batch_ = std::min(most_batch, samples_ / 8);
    }
    refuse_less_than_a_batch();
    sample_bytes_ = noise_sample_bytes;
    add("one file", write_noise(samples_, folders, false));
    for (std::size_t n = 1; n <= folders.size(); n *= 2)
      add("striped over " + std::to_string(n),
          write_noise(samples_, {folders.begin(), folders.begin() + static_cast<std::ptrdiff_t>(n)}, true));
  }

  void add(const std::string& name, NoiseFiles files) {
    const double mib = static_cast<double>(samples_ * sample_bytes_) / 1048576;
    written_.push_back({{"access", "write"},
                        {"layout", name},
                        {"order", "sequential"},
                        {"cache", ""},
                        {"readers", 1},
                        {"bandwidth_mib", mib / files.write_s},
                        {"open_s", files.open_s},
                        {"io_s", files.write_s},
                        {"total_s", files.open_s + files.write_s}});
    SetFiles layout{name, files.path, {}};
    for (const Descriptor& file : files.values) layout.files.push_back(path_of(file));
    layouts_.push_back(layout);
    noise_.push_back(std::move(files));
  }

  struct Way {
    std::string order;
    Reading reading;
    std::vector<ReadingTimes> timings;
  };

  /// `left`: how many of these are to come, which share what is left of the time.
  void measure(Report& report, const SetFiles& layout, int readers, bool cold, i64 left) {
    const double begin = seconds_since(begin_), share = is_timed_ ? (in_all - begin) / static_cast<double>(left) : 1e30;
    if (share <= 0) {
      in_time_ = " Some readers are missing: " + std::to_string(static_cast<int>(in_all)) +
                 " s did not suffice; give --samples.";
      return;
    }
    std::vector<Way> ways;
    ways.push_back({"pread", reading_files(layout, batch_ * sample_bytes_), {}});
    ways.push_back({"sequential", reading_set(layout, samples_, batch_, SampleOrder::Kind::sequential, false), {}});
    ways.push_back({"blocks", reading_set(layout, samples_, batch_, SampleOrder::Kind::blocks, false), {}});
    ways.push_back({"random", reading_set(layout, samples_, batch_, SampleOrder::Kind::shuffled, false), {}});
    if (dynamic_cast<const Hdf5Set*>(open_set(layout.path).get()) != nullptr && flags_.sets.empty())
      ways.push_back({"verified", reading_set(layout, samples_, batch_, SampleOrder::Kind::sequential, true), {}});
    const Amount amount{samples_ / batch_, cold ? 1 : warm_passes,
                        share / static_cast<double>(static_cast<i64>(ways.size()) * flags_.rounds)};
    for (i64 round = 0; round < flags_.rounds && (round == 0 || seconds_since(begin_) - begin < share); ++round)
      for (Way& way : ways)
        way.timings.push_back(run_readers(readers, amount, way.reading, [&] {
          if (cold) left_in_cache_ = std::max(left_in_cache_, drop_from_cache(layout.files));
        }));
    if (cold)
      note_ = "cold: the files were dropped from this system's page cache before each run; at most " +
              std::to_string(static_cast<int>(100 * left_in_cache_)) +
              " % of them stayed. Caches of disks, hypervisors and file servers could not be dropped.";
    const double yardstick = median_bandwidth(ways[0].timings);
    for (const Way& way : ways) report.add(row_of(layout, way, readers, cold, yardstick));
  }

  static double median_bandwidth(std::vector<ReadingTimes> timings) { return bandwidth(median(std::move(timings))); }
  static double bandwidth(const ReadingTimes& timing) {
    return static_cast<double>(timing.bytes) / 1048576 / timing.read;
  }
  static ReadingTimes median(std::vector<ReadingTimes> timings) {
    std::sort(timings.begin(), timings.end(),
              [](const ReadingTimes& a, const ReadingTimes& b) { return a.read < b.read; });
    return timings[timings.size() / 2];
  }

  nlohmann::json row_of(const SetFiles& layout, const Way& way, int readers, bool cold, double yardstick) const {
    const ReadingTimes timing = median(way.timings);
    const double kib = static_cast<double>(timing.bytes) / 1024;
    return {{"access", way.order == "pread" ? "pread" : "read"},
            {"layout", layout.name},
            {"order", way.order == "pread" ? "sequential" : way.order},
            {"cache", cold ? "cold" : "warm"},
            {"readers", readers},
            {"bandwidth_mib", bandwidth(timing)},
            {"iops", static_cast<double>(timing.transfers) / timing.read},
            {"latency_s", timing.latency},
            {"block_kib", kib / readers},
            {"transfer_kib", kib / static_cast<double>(timing.transfers)},
            {"open_s", timing.open},
            {"io_s", timing.read},
            {"close_s", timing.close},
            {"total_s", timing.open + timing.read + timing.close},
            {"of_pread", bandwidth(timing) / yardstick}};
  }

  const IoFlags flags_;
  const Clock::time_point begin_ = Clock::now();
  bool is_timed_ = false;
  i64 batch_, samples_ = 0, sample_bytes_ = 0;
  std::vector<NoiseFiles> noise_;
  std::vector<SetFiles> layouts_;
  std::vector<nlohmann::json> written_;
  double left_in_cache_ = 0;
  std::string note_, in_time_;
};

class BenchIo : public Bench {
  void add_own(Flags& flags) override;
  void measure(Session& session) override {
    ReadingTrials trials(flags_);
    const Report report = trials.run(session.group.spec());
    show(session, report, trials.notes());
  }

  IoFlags flags_;
};

void BenchIo::add_own(Flags& flags) {
  flags.add("--set", flags_.sets, "Data sets to read, separated by commas; default: images of noise, written for it")
      .compared_by([this](StartFields& fields) {
        for (const auto& set : flags_.sets) add_set(set, {}, "--set " + set, fields);
      });
  flags.add("--batch", flags_.batch, "Samples read at a time; default 256").positive();
  flags
      .add("--samples", flags_.samples,
           "Images of noise, of 192 KiB each; default: sets and reads that take a minute and a half in all")
      .positive();
  flags.add("--folders", flags_.folders,
            "Folders to stripe over, 1, 2, 4, ... of them; default four beside each other");
  flags.add("--readers", flags_.readers, "Threads that read").positive();
  add_rounds(flags, flags_.rounds);
}

}  // namespace

std::unique_ptr<Verb> make_bench_io() { return std::make_unique<BenchIo>(); }

}  // namespace cortado
