#include "app/record/saved_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "app/record/run_files.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/printable.h"

namespace cortado {
namespace {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

/// Parses JSON that is not nested deeper than records are: what works on it calls itself for each level.
OrderedJson parsed(const std::string& text) {
  constexpr int deepest = 16;
  return OrderedJson::parse(text, [](int depth, OrderedJson::parse_event_t, OrderedJson&) {
    if (depth > deepest) throw ConfigError("", "it is nested too deeply");
    return true;
  });
}

/// Takes a run's lines, one after the other.
class MetricsReader {
 public:
  explicit MetricsReader(SavedRun& run) : run_(run) {}

  void take(const OrderedJson& line) {
    if (line.contains("begin")) return begin(whole_number(line.at("begin")));
    iteration_ = whole_number(line.at("iteration"));
    time_ = line.value("time", no_value);
    if (line.contains("end")) {
      run_.end = line.at("end").get<std::string>();
      return;
    }
    const bool tests = line.contains("test");
    const i64 net = tests ? whole_number(line.at("test")) : 0;
    const std::string test = net == 0 ? "test" : "test " + std::to_string(net);
    for (const auto& [key, value] : line.items()) {
      static const std::set<std::string> others = {"iteration", "time", "test"};
      if (others.count(key) > 0) continue;
      if (tests && key == "outputs")
        add(test, value);
      else
        add(tests ? test + " " + key : key, value);
    }
  }

 private:
  void begin(i64 iteration) {
    for (RunSeries& series : run_.series) {
      auto& points = series.points;
      const auto later = [&](const RunSeries::Point& point) { return point.iteration >= iteration; };
      points.erase(std::remove_if(points.begin(), points.end(), later), points.end());
    }
    auto& starts = run_.starts;
    starts.erase(std::remove_if(starts.begin(), starts.end(), [&](i64 start) { return start >= iteration; }),
                 starts.end());
    starts.push_back(iteration);
    run_.end.clear();
  }
  /// A number, or those in an object or a list.
  void add(const std::string& name, const OrderedJson& value) {
    if (value.is_number()) {
      const auto [found, is_new] = places_.emplace(name, run_.series.size());
      if (is_new) run_.series.push_back({name, {}});
      run_.series[found->second].points.push_back({iteration_, time_, value.get<double>()});
    } else if (value.is_object()) {
      for (const auto& [key, inner] : value.items()) add(name + "/" + key, inner);
    } else if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i) add(name + "[" + std::to_string(i) + "]", value[i]);
    }
  }

  SavedRun& run_;
  std::map<std::string, std::size_t> places_;
  i64 iteration_ = 0;
  double time_ = no_value;
};

void read_metrics(const std::string& file, SavedRun& run) {
  FileStream stream(file);
  MetricsReader reader(run);
  i64 number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (stream.eof()) break;  // the end of the line is not there: the run is writing it, or was killed
    try {
      reader.take(parsed(line));
    } catch (const std::exception& error) {
      throw FileError(file + ":" + std::to_string(number), "is no line of a run's metrics: " + printable(error.what()),
                      "remove the line");
    }
  }
  auto& series = run.series;
  series.erase(std::remove_if(series.begin(), series.end(), [](const RunSeries& one) { return one.points.empty(); }),
               series.end());
}

OrderedJson read_record(const std::string& file) {
  if (!exists(file)) return OrderedJson::object();
  try {
    OrderedJson record = parsed(read_file(file));
    if (record.is_object()) return record;
  } catch (const std::exception& error) {
    throw FileError(file, std::string("is no record of a run: ") + error.what(), "move it away");
  }
  throw FileError(file, "is no record of a run", "move it away");
}
}  // namespace

i64 whole_number(const OrderedJson& value) {
  constexpr i64 most = i64{1} << 53;
  if (!value.is_number_integer() || value < 0 || value > most)
    throw ConfigError("", "a whole number from 0 to 2^53 is due where there is " + printable(value.dump()));
  return value.get<i64>();
}

const RunSeries* SavedRun::find(const std::string& series_name) const {
  const auto found =
      std::find_if(series.begin(), series.end(), [&](const RunSeries& one) { return one.name == series_name; });
  return found == series.end() ? nullptr : &*found;
}

SavedRun read_run(const std::string& prefix) {
  SavedRun run;
  run.name = prefix.substr(prefix.find_last_of('/') + 1);
  read_metrics(metrics_file(prefix), run);
  run.record = read_record(run_file(prefix));
  return run;
}

RunTable table_of(const SavedRun& run) {
  RunTable table;
  std::map<i64, RunTable::Row> rows;
  for (std::size_t s = 0; s < run.series.size(); ++s) {
    table.names.push_back(run.series[s].name);
    for (const auto& point : run.series[s].points) {
      auto [row, is_new] = rows.try_emplace(point.iteration);
      if (is_new) row->second = {point.iteration, point.time, {}};
      row->second.values.emplace_back(s, point.value);
    }
  }
  for (auto& [iteration, row] : rows) table.rows.push_back(std::move(row));
  return table;
}

}  // namespace cortado
