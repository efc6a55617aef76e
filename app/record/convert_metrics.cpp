#include "app/command_line/verb.h"
#include "app/record/event_file.h"
#include "app/record/log_run.h"
#include "app/record/run_files.h"
#include "app/start/start_files.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"

namespace cortado {
namespace {
class ConvertMetrics : public Verb {
 public:
  void add_to(Flags& flags) override {
    flags.add("from", run_, "The run: its snapshot_prefix, its PREFIX_metrics.jsonl, a folder with one run, or a log")
        .required()
        .compared_by([this](StartFields& fields) {
          fields.push_back({"run", "run", content_of(run_)});
        });
    flags.add("--as", format_, "tensorboard (a folder with an event file) or csv")
        .required()
        .one_of({"tensorboard", "csv"});
    flags.add("--out", out_, "What to write; default PREFIX_tensorboard, PREFIX_metrics.csv");
  }

  int run(const MpiJob& job) override {
    if (job.rank() != 0) return 0;
    const NamedRun named = read_named_run(run_);
    const std::string& prefix = named.prefix;
    const RunTable table = table_of(named.run);
    if (table.rows.empty())
      throw FileError(metrics_file(prefix), "has no values yet", "wait for the run's first iteration");
    const bool is_csv = format_ == "csv";
    std::string to = !out_.empty() ? out_ : prefix + (is_csv ? "_metrics.csv" : "_tensorboard");
    if (is_csv) {
      write_text(to, csv_text(table));
    } else {
      make_folders(to);
      to += "/" + event_file_name(table);
      write_text(to, event_file(table));
    }
    CORTADO_LOG(info) << "Wrote " << to << ": " << table.rows.size() << " iterations, " << table.names.size()
                      << " values";
    return 0;
  }

 private:
  std::string run_, format_, out_;
};
}  // namespace

std::unique_ptr<Verb> make_convert_metrics() { return std::make_unique<ConvertMetrics>(); }

}  // namespace cortado
