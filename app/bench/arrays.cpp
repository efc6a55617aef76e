#include "app/bench/bench.h"
#include "app/bench/disk_arrays.h"

namespace cortado {

namespace {
class BenchArrays : public Bench {
  void add_own(Flags&) override {}
  void measure(Session& session) override;
};

void BenchArrays::measure(Session& session) {
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
  show(session, report,
       "\nSimulated (swCaffe section V-B): arrays of 1 GB/s each, shared equally; readers of 1 GB/s; every batch 192 "
       "MiB in a "
       "row, anywhere in 150 GB; 32 stripes of 256 MiB. A batch touches at most two arrays, so that readers / 32 * 2 "
       "readers share one when they are spread evenly; the last two columns are what random batches do.\n");
}
}  // namespace

std::unique_ptr<Verb> make_bench_arrays() { return std::make_unique<BenchArrays>(); }

}  // namespace cortado
