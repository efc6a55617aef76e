#include <filesystem>

#include "app/plots/bars.h"
#include "app/plots/curves.h"
#include "app/plots/report_page.h"
#include "app/record/event_file.h"
#include "app/record/log_run.h"
#include "app/record/run_files.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {
constexpr const char* metrics = R"({"begin":0,"time":1795992921.318,"version":"0.1.0"}
{"iteration":0,"time":1795992921.4,"test":0,"seconds":0.081,"outputs":{"accuracy":0.1,"loss":2.36,"class":[0.5,0.25]}}
{"iteration":0,"time":1795992921.5,"loss":2.31,"rate":0.01,"images_per_second":5120,"seconds":0.1,"waits":{"data":0.01,"ranks":0.02},"memory":1000000}
{"iteration":1,"time":1795992921.6,"loss":null,"smoothed_loss":2.3,"outputs":{"loss":2.3},"rate":0.001,"images_per_second":5000,"seconds":0.1,"waits":{"data":0,"ranks":0.02},"memory":1000000}
{"begin":1,"time":1795992930}
{"iteration":1,"time":1795992931,"test":1,"seconds":0.1,"outputs":{"accuracy":1}}
{"end":"done","iteration":2,"time":1795992950.1}
)";
constexpr const char* record = R"({"format":1,"started":"2026-11-29","version":"0.1.0","ranks":2,"hosts":["a","b"],
"libraries":{"MPI":"MPICH"},"solver":"net: 'n'","nets":{"train":"name: 'n' layer { name: 'd' type: 'Input' top: 'd' }
layer { name: 'c' type: 'Convolution' bottom: 'd' top: 'c' convolution_param { num_output: 3 kernel_size: 3 } }
layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' } layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'c' bottom: 'd' }"},
"parameters":{"c":30},"frozen":["c"],"shapes":{"c":[2,3,4,4]},"plans":{"c/forward":"direct"},"data":[{"samples":7}]})";

void show(const SavedRun& run) {
  report_page({run}, {curves_of({run}), {}, {}});
  const RunTable table = table_of(run);
  csv_text(table);
  event_file(table);
  event_file_name(table);
}

/// As metrics and as the record of a run, as a log, and as the files that `cortado report` draws beside runs.
void read(const std::uint8_t* data, std::size_t size) {
  const std::string prefix = folder() + "/run";
  const std::string good = metrics;
  std::filesystem::remove(run_file(prefix));
  write_file(metrics_file(prefix), data, size);
  expect_errors_only([&] { show(read_run(prefix)); });
  write_file(metrics_file(prefix), reinterpret_cast<const std::uint8_t*>(good.data()), good.size());
  write_file(run_file(prefix), data, size);
  expect_errors_only([&] { show(read_run(prefix)); });
  const InputFile file(data, size);
  expect_errors_only([&] { show(read_log(file.name())); });
  expect_errors_only([&] { times_plots(read_json_files({file.name()})); });
  expect_errors_only([&] { timeline_plots(read_json_files({file.name()})); });
}

std::vector<std::string> seeds() {
  return {metrics, record,
          R"(I1129 10:00:00.000000 1 solver.cpp:1] Iteration 0, Testing net (#0)
I1129 10:00:00.000000 1 solver.cpp:1]     Test net output #0: accuracy = 0.1
I1129 10:00:00.000000 1 solver.cpp:1] Iteration 0 (5 iter/s, 1s/5 iters), loss = 2.3
I1129 10:00:00.000000 1 solver.cpp:1]     Train net output #0: loss = 2.3 (* 1 = 2.3 loss)
I1129 10:00:00.000000 1 solver.cpp:1] Iteration 0, lr = 0.01
I1129 10:00:00.000000 1 solver.cpp:1] Optimization Done.
)",
          R"({"rows":[{"layer":"c","type":"Convolution","direction":"forward","ms":1.5,"limit_share":50},
{"layer":"c","type":"Convolution","direction":"backward","ms":3}]})",
          R"({"breakdown":[{"rank":0,"total":2.5,"seconds":{"forward":1,"exchange":0.5,"overlapped exchange":0.2}}]})"};
}

std::vector<std::string> words() {
  return {"\"begin\":",     "\"iteration\":", "\"end\":",       "\"test\":", "\"outputs\":", "\"time\":",
          "\"loss\":",      "\"waits\":",     "\"nets\":",      "\"rows\":", "\"ranks\":",   "\"parameters\":",
          "\"breakdown\":", "Iteration ",     "Testing net (#", "1e300",     "null",         "9223372036854775807"};
}
}  // namespace

Target records() { return {"records", read, seeds, words}; }

}  // namespace cortado::fuzz
