#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/session/session.h"
#include "core/formats/caffe.pb.h"
#include "core/net/net.h"
#include "core/tuner/tuning_table.h"

namespace cortado {

/// A program of a layer that has less work than the machine has threads.
struct IdleThreads {
  std::string layer, program;
  bool backward = false;
  i64 work_items = 0;  ///< lines or tiles; each is one thread's
};

/// The programs that would leave more than a fifth of `threads` threads without work, in training or, with
/// options.only_scores, in a forward pass, by the plans of `tuning`. Nothing runs (DryGroup).
///
/// Only layers that matter are looked at: those with over a hundredth of the net's flops or bytes, and with at least
/// 20 microseconds of work for each thread, at 50 Gflop/s and 5 GB/s a thread. A program's own share of its layer's
/// work is not known: small ones, on weights and partial sums, are listed like others.
std::vector<IdleThreads> idle_threads(Session& session, const caffe::NetParameter& net, const NetOptions& options,
                                      const TuningTable& tuning, int threads);

/// A list for programs.
nlohmann::json to_json(const std::vector<IdleThreads>& idle);
/// Lines for people; one that says so where no thread is idle.
std::string describe(const std::vector<IdleThreads>& idle, int threads);

}  // namespace cortado
