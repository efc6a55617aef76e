#include "app/command_line/verb.h"
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
        .required()
        .compared_by([](StartFields&) {});  // rank 0 reads them
    flags.add("--out", out_, "Page to write").shows_default();
    flags.add("--times", times_, "Files of cortado time --json, separated by commas: time by layer")
        .compared_by([](StartFields&) {});
    flags.add("--timelines", timelines_, "Files of cortado train --timeline, separated by commas: time by rank")
        .compared_by([](StartFields&) {});
  }

  int run(const MpiJob& job) override {
    if (job.rank() != 0) return 0;
    std::vector<SavedRun> runs;
    for (const std::string& name : runs_) runs.push_back(read_named_run(name).run);
    ReportExtras extras;
    read(times_, extras.times);
    read(timelines_, extras.timelines);
    write_text(out_, report_page(runs, extras));
    CORTADO_LOG(info) << "Wrote " << out_ << ": " << runs.size() << (runs.size() == 1 ? " run" : " runs");
    return 0;
  }

 private:
  static void read(const std::vector<std::string>& files, std::vector<std::pair<std::string, nlohmann::json>>& to) {
    for (const std::string& file : files) try {
        to.emplace_back(file, nlohmann::json::parse(read_file(file)));
      } catch (const nlohmann::json::exception& error) {
        throw FileError(file, std::string("is no JSON: ") + error.what());
      }
  }

  std::vector<std::string> runs_, times_, timelines_;
  std::string out_ = "report.html";
};
}  // namespace

std::unique_ptr<Verb> make_report() { return std::make_unique<ReportRuns>(); }

}  // namespace cortado
