#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "app/bench/bench.h"
#include "app/bench/noise_sets.h"
#include "app/report/progress_bar.h"
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

/// Where threads wait for each other.
class Gate {
 public:
  explicit Gate(int threads) : waiting_for_(threads) {}
  void pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (--waiting_for_ == 0) open_.notify_all();
    open_.wait(lock, [&] { return waiting_for_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable open_;
  int waiting_for_;
};

/// What IOR reports of a phase.
struct Timing {
  double open = 0, read = 0, close = 0, latency = 0;
  i64 bytes = 0, transfers = 0;
};

/// One reader's work: what it opens, and how it reads batch b of `batch` samples.
struct Reading {
  std::function<std::shared_ptr<void>()> open;
  std::function<i64(void* opened, i64 b, std::vector<Values>& to)> read;  // returns bytes
};

/// How much is read at a time, and how long.
struct Amount {
  i64 batches, passes;
  double seconds;  ///< no reader begins another batch later
};

/// `readers` threads share the batches, and read them in passes. All begin at once after `prepare`, with files that
/// are open and memory that they have touched before.
Timing run_readers(int readers, const Amount& amount, const Reading& reading, const std::function<void()>& prepare) {
  Gate ready(readers), begin(readers);
  std::vector<Timing> timings(static_cast<std::size_t>(readers));
  std::vector<double> first(timings.size()), last(timings.size());
  const auto zero = Clock::now();
  std::vector<std::thread> threads;
  std::exception_ptr failure;
  std::mutex mutex;
  for (int t = 0; t < readers; ++t)
    threads.emplace_back([&, t] {
      Timing& own = timings[static_cast<std::size_t>(t)];
      std::shared_ptr<void> opened;
      std::vector<Values> values;
      try {
        auto at = Clock::now();
        opened = reading.open();
        own.open = seconds_since(at);
        reading.read(opened.get(), t % amount.batches, values);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        failure = std::current_exception();
      }
      ready.pass();
      if (t == 0) prepare();
      begin.pass();
      if (failure) return;
      first[static_cast<std::size_t>(t)] = seconds_since(zero);
      double now = first[static_cast<std::size_t>(t)];
      for (i64 b = t; b < amount.batches * amount.passes; b += readers) {
        if (own.transfers > 0 && now - first[static_cast<std::size_t>(t)] > amount.seconds) break;
        own.bytes += reading.read(opened.get(), b % amount.batches, values);
        const double then = std::exchange(now, seconds_since(zero));
        own.latency += now - then;
        ++own.transfers;
      }
      last[static_cast<std::size_t>(t)] = now;
      const auto at = Clock::now();
      opened.reset();
      own.close = seconds_since(at);
    });
  for (auto& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  Timing all;
  for (const Timing& one : timings) {
    all.open = std::max(all.open, one.open);
    all.close = std::max(all.close, one.close);
    all.latency += one.latency;
    all.bytes += one.bytes;
    all.transfers += one.transfers;
  }
  all.latency /= static_cast<double>(all.transfers);
  all.read = *std::max_element(last.begin(), last.end()) - *std::min_element(first.begin(), first.end());
  return all;
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

class IoBench {
 public:
  IoBench(Session& session, const Options& options)
      : session_(session), options_(options), o_(options.bench), batch_(o_.batch > 0 ? o_.batch : most_batch) {}

  void run() {
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
                  session_.group.spec(),
                  {{"bench", "io"}, {"batch", batch_}, {"samples", samples_}, {"rounds", o_.rounds}});
    for (auto& row : written_) report.add(row);
    ProgressBar bar("reading");
    i64 done = 0;
    const i64 all = static_cast<i64>(layouts_.size() * o_.readers.size() * 2);
    for (const auto& layout : layouts_)
      for (const i64 readers : o_.readers)
        for (const bool cold : {false, true}) {
          measure(report, layout, static_cast<int>(readers), cold, all - done);
          bar.show(++done, all);
        }
    finish(session_, options_, report, "\n" + note_ + in_time_ + "\n");
  }

 private:
  void prepare() {
    if (!o_.sets.empty()) {
      for (const auto& path : o_.sets) {
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
        o_.folders.empty() ? std::vector<std::string>(4, ".") : o_.folders;  // four beside each other
    samples_ = o_.samples;
    is_timed_ = o_.samples == 0;
    if (is_timed_) {
      samples_ = std::clamp(noise_written_in(of_one_set, folders[0]), std::max(least_samples, o_.batch), most_samples);
      if (o_.batch == 0) batch_ = std::min(most_batch, samples_ / 8);
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
    std::vector<Timing> timings;
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
    if (dynamic_cast<const Hdf5Set*>(open_set(layout.path).get()) != nullptr && o_.sets.empty())
      ways.push_back({"verified", reading_set(layout, samples_, batch_, SampleOrder::Kind::sequential, true), {}});
    const Amount amount{samples_ / batch_, cold ? 1 : warm_passes,
                        share / static_cast<double>(static_cast<i64>(ways.size()) * o_.rounds)};
    for (i64 round = 0; round < o_.rounds && (round == 0 || seconds_since(begin_) - begin < share); ++round)
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

  static double median_bandwidth(std::vector<Timing> timings) { return bandwidth(median(std::move(timings))); }
  static double bandwidth(const Timing& timing) { return static_cast<double>(timing.bytes) / 1048576 / timing.read; }
  static Timing median(std::vector<Timing> timings) {
    std::sort(timings.begin(), timings.end(), [](const Timing& a, const Timing& b) { return a.read < b.read; });
    return timings[timings.size() / 2];
  }

  nlohmann::json row_of(const SetFiles& layout, const Way& way, int readers, bool cold, double yardstick) const {
    const Timing timing = median(way.timings);
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

  Session& session_;
  const Options& options_;
  const Options::Bench& o_;
  const Clock::time_point begin_ = Clock::now();
  bool is_timed_ = false;
  i64 batch_, samples_ = 0, sample_bytes_ = 0;
  std::vector<NoiseFiles> noise_;
  std::vector<SetFiles> layouts_;
  std::vector<nlohmann::json> written_;
  double left_in_cache_ = 0;
  std::string note_, in_time_;
};

}  // namespace

void bench_io(Session& session, const Options& options) { IoBench(session, options).run(); }

}  // namespace cortado
