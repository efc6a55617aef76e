#include "app/bench/bench.h"

#include <cstdio>
#include <iostream>

namespace cortado {

nlohmann::json bench_options(const Options& options, const Limits& limits) {
  const auto& o = options.bench;
  return {{"bench", o.kind},
          {"sets", o.sets},
          {"batch", o.batch},
          {"plan", o.plan},
          {"limit_gflops", limits.flops / 1e9},
          {"limit_gbytes_per_s", limits.bandwidth / 1e9}};
}

void finish(const Session& session, const Options& options, const Report& report, const std::string& below) {
  if (session.job.rank() != 0) return;
  std::cout << report.table() << below;
  if (!options.json.empty()) report.write_json(options.json);
}

std::string to_string(const Limits& limits) {
  char text[96];
  std::snprintf(text, sizeof text, "%.1f Gflop/s, %.1f GB/s", limits.flops / 1e9, limits.bandwidth / 1e9);
  return text;
}

int bench(Session& session, const Options& options) {
  const std::string& kind = options.bench.kind;
  if (kind == "conv")
    bench_convolution(session, options);
  else if (kind == "gemm")
    bench_gemm(session, options);
  else if (kind == "transform")
    bench_transform(session, options);
  else if (kind == "codec")
    bench_codec(session, options);
  else if (kind == "exchange")
    bench_exchange(session, options);
  else if (kind == "io")
    bench_io(session, options);
  else if (kind == "allreduce" || kind == "reduce" || kind == "broadcast")
    bench_collective(session, options);
  else if (kind == "arrays")
    bench_arrays(session, options);
  else if (kind == "net")
    bench_net(session, options);
  else
    bench_layers(session, options);
  return 0;
}

}  // namespace cortado
