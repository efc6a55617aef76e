#pragma once
#include <string>
#include <utility>
#include <vector>

#include "app/record/metrics_file.h"
#include "core/base/types.h"

namespace cortado {

/// One value of a run over its iterations.
struct RunSeries {
  struct Point {
    i64 iteration;
    double time;  ///< seconds since 1970; NaN where nothing says
    double value;
  };
  std::string name;  ///< "loss", "rate", "waits/data", "outputs/loss", "test/accuracy", "test 1/accuracy"
  std::vector<Point> points;
};

/// A run as its files tell it.
struct SavedRun {
  std::string name;               ///< the prefix's last part
  OrderedJson record;             ///< run.json; an empty object where it is not there
  std::vector<RunSeries> series;  ///< in the order in which their first values came; points by iteration
  std::vector<i64> starts;        ///< the iterations at which it began or went on
  std::string end;                ///< "done" or "stopped"; empty means that it still runs, or was killed

  /// nullptr where the run has no such values.
  const RunSeries* find(const std::string& series_name) const;
};

/// Reads the run of a prefix. What a later start trained again does not count: a line "begin" at iteration N takes back
/// all lines before it of iterations N and above. A last line that is not whole is passed over. Throws FileError, with
/// the number of a line that is no JSON object of ours.
SavedRun read_run(const std::string& prefix);

/// A number of a record that counts something, and that a double keeps. Throws ConfigError for anything else.
i64 whole_number(const OrderedJson& value);

/// The values of all series by iteration.
struct RunTable {
  struct Row {
    i64 iteration;
    double time;
    std::vector<std::pair<std::size_t, double>> values;  ///< those that are there, with their series
  };
  std::vector<std::string> names;
  std::vector<Row> rows;
};
RunTable table_of(const SavedRun& run);

}  // namespace cortado
