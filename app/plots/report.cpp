#include <filesystem>

#include "app/command_line/verb.h"
#include "app/plots/bars.h"
#include "app/plots/curves.h"
#include "app/plots/report_page.h"
#include "app/record/log_run.h"
#include "app/start/start_files.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"

namespace cortado {
namespace {
class ReportRuns : public Verb {
 public:
  void add_to(Flags& flags) override {
    flags
        .add("runs", runs_,
             "Runs: a snapshot_prefix, a PREFIX_metrics.jsonl, a folder with one run, or a log, also Caffe's")
        .compared_by([](StartFields&) {});  // rank 0 reads them
    flags.add("--out", out_, "Page to write; or the curves, times and ranks alone as a picture, NAME.svg")
        .shows_default();
    flags.add("--times", times_, "Files of cortado time --json, separated by commas: time by layer")
        .compared_by([](StartFields&) {});
    flags.add("--timelines", timelines_, "Files of cortado train --timeline, separated by commas: time by rank")
        .compared_by([](StartFields&) {});
  }

  int run(const MpiJob& job) override {
    if (runs_.empty() && times_.empty() && timelines_.empty())
      throw ConfigError("report", "there is nothing to report", "name a run, --times or --timelines");
    if (job.rank() != 0) return 0;
    std::vector<SavedRun> runs;
    for (const std::string& name : runs_) runs.push_back(read_named_run(name).run);
    const ReportPlots plots{curves_of(runs), times_plots(read_json_files(times_)),
                            timeline_plots(read_json_files(timelines_))};
    const bool is_picture = std::filesystem::path(out_).extension() == ".svg";
    write_text(out_, is_picture ? picture(plots) : report_page(runs, plots));
    CORTADO_LOG(info) << "Wrote " << out_ << ": " << runs.size() << (runs.size() == 1 ? " run" : " runs");
    return 0;
  }

 private:
  std::string picture(const ReportPlots& plots) const {
    std::vector<Plot> all = plots.curves;
    all.insert(all.end(), plots.times.begin(), plots.times.end());
    all.insert(all.end(), plots.ranks.begin(), plots.ranks.end());
    if (all.empty()) throw FileError(runs_[0], "has no values to draw yet");
    return sheet_of(all);
  }

  std::vector<std::string> runs_, times_, timelines_;
  std::string out_ = "report.html";
};
}  // namespace

std::unique_ptr<Verb> make_report() { return std::make_unique<ReportRuns>(); }

}  // namespace cortado
