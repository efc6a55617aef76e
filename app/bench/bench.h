#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "app/report/report.h"
#include "app/session/session.h"
#include "core/machine/limits/limits.h"

namespace cortado {

/// The kinds of `cortado bench`; each prints a table and writes --json, as docs/use/benchmarks.md says. Times are the
/// core group's own, wall or simulated.
void bench_convolution(Session& session, const Options& options);
void bench_gemm(Session& session, const Options& options);
void bench_layers(Session& session, const Options& options);  ///< pool, relu
void bench_transform(Session& session, const Options& options);
void bench_net(Session& session, const Options& options);
void bench_collective(Session& session, const Options& options);  ///< allreduce, reduce, broadcast
void tune_collectives(Session& session, const Options& options);
void bench_codec(Session& session, const Options& options);
void bench_exchange(Session& session, const Options& options);      ///< sums of gradients, as floats and as codes
void bench_io(Session& session, const Options& options);            ///< reading data sets, beside pread
void bench_arrays(const Session& session, const Options& options);  ///< simulated disk arrays

/// What a report's header says of a bench's options and limits.
nlohmann::json bench_options(const Options& options, const Limits& limits);

/// On rank 0 prints the table, then `below`, and writes the JSON.
void finish(const Session& session, const Options& options, const Report& report, const std::string& below);

/// "742.4 Gflop/s, 28.0 GB/s"
std::string to_string(const Limits& limits);

}  // namespace cortado
