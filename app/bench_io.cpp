#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <numeric>
#include <thread>

#include "app/bench.h"
#include "app/disk_arrays.h"
#include "app/progress_bar.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/data/sample_order.h"
#include "parallel_io/convert/convert.h"
#include "parallel_io/sets/hdf5_set.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr i64 warm_passes = 6;  // what lies in memory is read too fast for one

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Images of 3 x 256 x 256 bytes without any meaning.
class NoiseSet : public DataSet {
 public:
  explicit NoiseSet(i64 samples) {
    samples_ = samples;
    fields_ = {{"data", {3, 256, 256}, Stored::uint8}, {"label", {}, Stored::float32}};
  }
  void read(const i64* indices, i64 count, std::vector<Values>& to) const override {
    to.resize(2);
    const i64 bytes = fields_[0].sample_bytes();
    to[0].bytes.resize(static_cast<std::size_t>(count * bytes));
    to[1].bytes.assign(static_cast<std::size_t>(count) * 4, 0);
    for (i64 i = 0; i < count; ++i)
      for (i64 e = 0; e < bytes; e += 8) {
        const std::uint64_t word = random_bits(static_cast<std::uint64_t>(indices[i]), static_cast<std::uint64_t>(e));
        std::memcpy(to[0].bytes.data() + i * bytes + e, &word, 8);
      }
  }
  std::string where(i64 sample) const override { return "noise " + std::to_string(sample); }
};

/// A set and the files that hold its values.
struct Layout {
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

/// `readers` threads share `batches` batches, and read them `passes` times. All begin at once, with memory that they
/// have touched before.
Timing run_readers(int readers, i64 batches, i64 passes, const Reading& reading) {
  Gate begin(readers);
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
        reading.read(opened.get(), t % batches, values);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        failure = std::current_exception();
      }
      begin.pass();
      if (failure) return;
      first[static_cast<std::size_t>(t)] = seconds_since(zero);
      for (i64 b = t; b < batches * passes; b += readers) {
        const auto at = Clock::now();
        own.bytes += reading.read(opened.get(), b % batches, values);
        own.latency += seconds_since(at);
        ++own.transfers;
      }
      last[static_cast<std::size_t>(t)] = seconds_since(zero);
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

Reading reading_set(const Layout& layout, i64 samples, i64 batch, SampleOrder::Kind kind, bool verify) {
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
Reading reading_files(const Layout& layout, i64 batch_bytes) {
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
      : session_(session), options_(options), o_(options.bench), batch_(o_.batch > 0 ? o_.batch : 256) {}

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
          measure(report, layout, static_cast<int>(readers), cold);
          bar.show(++done, all);
        }
    finish(session_, options_, report, "\n" + note_ + "\n");
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
    samples_ = samples_ / batch_ * batch_;
    refuse_less_than_a_batch();
  }

  void refuse_less_than_a_batch() const {
    if (samples_ < batch_) throw ConfigError("bench io", "the sets hold less than one batch", "give a smaller --batch");
  }

  /// One file, and stripes over 1, 2, 4, ... of the folders.
  void write_sets() {
    samples_ = o_.samples > 0 ? o_.samples : 2048;
    refuse_less_than_a_batch();
    const NoiseSet noise(samples_);
    sample_bytes_ = noise.fields()[0].sample_bytes() + 4;
    std::vector<std::string> folders = o_.folders;
    if (folders.empty()) {
      made_.names = {"bench_io.tmp"};
      folders = {"bench_io.tmp/1", "bench_io.tmp/2", "bench_io.tmp/3", "bench_io.tmp/4"};
    } else {
      for (auto& folder : folders) folder = (fs::absolute(folder) / "cortado_bench_io").string();
      made_.names = folders;
    }
    for (const auto& folder : made_.names) fs::remove_all(folder);
    for (const auto& folder : folders) fs::create_directories(folder);
    write_one(noise, "one file", folders[0] + "/plain", Format::hdf5, {});
    for (std::size_t n = 1; n <= folders.size(); n *= 2) {
      const std::vector<std::string> some(folders.begin(), folders.begin() + static_cast<std::ptrdiff_t>(n));
      write_one(noise, "striped over " + std::to_string(n), folders[0] + "/striped_" + std::to_string(n),
                Format::striped, some);
    }
  }

  void write_one(const NoiseSet& noise, const std::string& name, const std::string& place, Format format,
                 const std::vector<std::string>& folders) {
    WriteOptions write;
    write.format = format;
    write.stripe_bytes = i64{16} << 20;  // so that a small set has many
    for (const auto& folder : folders) write.folders.push_back(folder + "/" + fs::path(place).filename().string());
    const Replicas alone;
    const auto begin = Clock::now();
    const auto writer = make_writer(noise, place + ".h5", write, alone);
    const double open = seconds_since(begin);
    write_set(noise, *writer, alone);
    const double total = seconds_since(begin), mib = static_cast<double>(samples_ * sample_bytes_) / 1048576;
    written_.push_back({{"access", "write"},
                        {"layout", name},
                        {"order", "sequential"},
                        {"cache", ""},
                        {"readers", 1},
                        {"bandwidth_mib", mib / (total - open)},
                        {"open_s", open},
                        {"io_s", total - open},
                        {"total_s", total}});
    Layout layout{name, place + ".h5", {place + ".h5"}};
    if (format == Format::striped) {
      layout.files.clear();
      for (const auto& folder : write.folders)
        for (const auto& file : files_below(folder)) layout.files.push_back(file);
    }
    layouts_.push_back(layout);
  }

  struct Way {
    std::string order;
    Reading reading;
    std::vector<Timing> timings;
  };

  void measure(Report& report, const Layout& layout, int readers, bool cold) {
    const i64 batches = samples_ / batch_;
    std::vector<Way> ways;
    ways.push_back({"pread", reading_files(layout, batch_ * sample_bytes_), {}});
    ways.push_back({"sequential", reading_set(layout, samples_, batch_, SampleOrder::Kind::sequential, false), {}});
    ways.push_back({"blocks", reading_set(layout, samples_, batch_, SampleOrder::Kind::blocks, false), {}});
    ways.push_back({"random", reading_set(layout, samples_, batch_, SampleOrder::Kind::shuffled, false), {}});
    if (dynamic_cast<const Hdf5Set*>(open_set(layout.path).get()) != nullptr && o_.sets.empty())
      ways.push_back({"verified", reading_set(layout, samples_, batch_, SampleOrder::Kind::sequential, true), {}});
    for (i64 round = 0; round < o_.rounds; ++round)
      for (Way& way : ways) {
        if (cold) left_in_cache_ = std::max(left_in_cache_, drop_from_cache(layout.files));
        way.timings.push_back(run_readers(readers, batches, cold ? 1 : warm_passes, way.reading));
      }
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

  nlohmann::json row_of(const Layout& layout, const Way& way, int readers, bool cold, double yardstick) const {
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

  /// Removes what write_sets made.
  struct Folders {
    std::vector<std::string> names;
    ~Folders() {
      std::error_code error;
      for (const auto& folder : names) fs::remove_all(folder, error);
    }
  };

  Session& session_;
  const Options& options_;
  const Options::Bench& o_;
  const i64 batch_;
  Folders made_;
  i64 samples_ = 0, sample_bytes_ = 0;
  std::vector<Layout> layouts_;
  std::vector<nlohmann::json> written_;
  double left_in_cache_ = 0;
  std::string note_;
};

}  // namespace

void bench_io(Session& session, const Options& options) { IoBench(session, options).run(); }

void bench_arrays(const Session& session, const Options& options) {
  Report report({{"readers", "readers"},
                 {"single_gb", "one array GB/s"},
                 {"striped_gb", "32 arrays GB/s"},
                 {"gain", "gain"},
                 {"single_s", "batch (s), one"},
                 {"striped_s", "batch (s), 32", 3},
                 {"most_arrays", "arrays a batch touches"},
                 {"bound", "readers/32*2", 1},
                 {"mean_readers", "readers per array, mean", 1},
                 {"most_readers", "most"}},
                session.group.spec(), {{"bench", "arrays"}});
  DiskArrays one, many;
  many.arrays = 32;
  constexpr int batches = 8;
  for (int readers = 1; readers <= 1024; readers *= 2) {
    const ArraysResult single = simulate(one, readers, batches, 1), striped = simulate(many, readers, batches, 1);
    report.add({{"readers", readers},
                {"single_gb", single.bytes_per_s / 1e9},
                {"striped_gb", striped.bytes_per_s / 1e9},
                {"gain", striped.bytes_per_s / single.bytes_per_s},
                {"single_s", single.batch_seconds},
                {"striped_s", striped.batch_seconds},
                {"most_arrays", striped.most_arrays},
                {"bound", readers / 32.0 * 2},
                {"mean_readers", striped.mean_readers},
                {"most_readers", striped.most_readers}});
  }
  finish(session, options, report,
         "\nSimulated (swCaffe section V-B): arrays of 1 GB/s each, shared equally; readers of 1 GB/s; every batch 192 "
         "MiB in a "
         "row, anywhere in 150 GB; 32 stripes of 256 MiB. A batch touches at most two arrays, so that readers / 32 * 2 "
         "readers share one when they are spread evenly; the last two columns are what random batches do.\n");
}

}  // namespace cortado
