#include "app/record/log_run.h"

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>

#include "app/record/run_files.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace cortado {
namespace {
/// Takes a log's lines, one after the other.
class LogReader {
 public:
  explicit LogReader(SavedRun& run) : run_(run) {}

  void take(const std::string& line) {
    long long iteration = 0, net = 0;
    if (const char* const text = after(line, "Iteration ")) {
      if (std::sscanf(text, "%lld, Testing net (#%lld)", &iteration, &net) == 2) {
        iteration_ = iteration;
        test_ = net == 0 ? "test" : "test " + std::to_string(net);
        elements_.clear();
      } else if (std::sscanf(text, "%lld", &iteration) == 1) {
        iteration_ = iteration;
        elements_.clear();
        if (const char* const loss = after(line, ", loss = ")) add("loss", loss);
        if (const char* const rate = after(line, ", lr = ")) add("rate", rate);
      }
    } else if (const char* const of_test = after(line, "Test net output #")) {
      add_output(test_, of_test);
    } else if (const char* const of_training = after(line, "Train net output #")) {
      add_output("outputs", of_training);
    } else if (line.find("Optimization Done.") != std::string::npos) {
      if (run_.end.empty()) run_.end = "done";
    } else if (line.find("Optimization stopped early") != std::string::npos) {
      run_.end = "stopped";
    }
  }

 private:
  /// The text behind the words; nullptr: they are not there.
  static const char* after(const std::string& line, const std::string& words) {
    const std::size_t at = line.find(words);
    return at == std::string::npos ? nullptr : line.c_str() + at + words.size();
  }
  void add(const std::string& name, const char* number) {
    char* end = nullptr;
    const double value = std::strtod(number, &end);
    if (end == number) return;
    const auto [found, is_new] = places_.emplace(name, run_.series.size());
    if (is_new) run_.series.push_back({name, {}});
    auto& points = run_.series[found->second].points;
    if (!points.empty() && points.back().iteration >= iteration_) return;  // of a run before, in the same log
    points.push_back({iteration_, std::numeric_limits<double>::quiet_NaN(), value});
  }
  /// "0: accuracy = 0.98"; the elements of an output have lines of one name.
  void add_output(const std::string& of, const std::string& text) {
    const std::size_t begin = text.find(": "), end = text.find(" = ");
    if (begin == std::string::npos || end == std::string::npos || end < begin) return;
    const std::string name = of + "/" + text.substr(begin + 2, end - begin - 2);
    const int element = elements_[name]++;
    add(element == 0 ? name : name + "[" + std::to_string(element) + "]", text.c_str() + end + 3);
  }

  SavedRun& run_;
  std::map<std::string, std::size_t> places_;
  std::map<std::string, int> elements_;  // seen since the last iteration
  i64 iteration_ = 0;
  std::string test_ = "test";
};
}  // namespace

SavedRun read_log(const std::string& file) {
  SavedRun run;
  run.name = file.substr(file.find_last_of('/') + 1);
  run.record = OrderedJson::object();
  FileStream stream(file);
  LogReader reader(run);
  for (std::string line; std::getline(stream, line);) reader.take(line);
  if (run.series.empty())
    throw FileError(file, "is neither a run's record nor a training's log: it has no line 'Iteration N, ... loss = L'",
                    "give a snapshot_prefix, PREFIX_metrics.jsonl, or a log of cortado train or of Caffe");
  return run;
}

NamedRun read_named_run(const std::string& name) {
  const bool has_record = is_run_file(name) || exists(metrics_file(name));
  if (!has_record && kind_of(name) == FileKind::regular) return {read_log(name), name};
  const std::string prefix = find_run(name);
  return {read_run(prefix), prefix};
}

}  // namespace cortado
