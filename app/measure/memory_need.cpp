#include "app/measure/memory_need.h"

#include <algorithm>
#include <fstream>

#include "app/measure/dry_runs.h"
#include "app/measure/layer_times.h"
#include "app/tune/tuning.h"
#include "core/base/log.h"
#include "core/base/memory_error.h"
#include "core/formats/caffe.pb.h"
#include "core/machine/free_memory.h"
#include "core/net/name_memory.h"
#include "core/solver/solver_type.h"

namespace cortado {
namespace {
/// Bytes of this process that the system holds.
i64 resident_bytes() {
  std::ifstream in("/proc/self/status");
  std::string word;
  for (i64 kilobytes = 0; in >> word;)
    if (word == "VmRSS:" && in >> kilobytes) return 1024 * kilobytes;
  return 0;
}

/// One pass of each test net is enough, and nothing is written.
caffe::SolverParameter shortened(const caffe::SolverParameter& given) {
  caffe::SolverParameter parameter = given;
  for (int i = 0; i < parameter.test_iter_size(); ++i) parameter.set_test_iter(i, 1);
  parameter.clear_weights();
  parameter.set_display(0);
  parameter.set_snapshot(0);
  parameter.set_snapshot_after_train(false);
  return parameter;
}
}  // namespace

const SinkOpener& no_sinks() {
  class Nowhere : public ArraySink {
    void append(i64, const std::vector<const float*>&) override {}
  };
  class Opener : public SinkOpener {
    std::unique_ptr<ArraySink> open(const std::string&, const std::vector<Array>&, i64) const override {
      return std::make_unique<Nowhere>();
    }
  };
  static const Opener opener;
  return opener;
}

i64 MemoryNeed::batch_within(i64 bytes) const {
  const i64 fixed = total() - blobs;
  if (batch == 0 || blobs == 0 || bytes <= fixed) return 0;
  return static_cast<i64>(static_cast<double>(bytes - fixed) / static_cast<double>(blobs) * static_cast<double>(batch));
}

DryRun::DryRun(Session& session, const caffe::SolverParameter& parameter, const TuningTable& tuning)
    : group_(session.group), sources_(session.sources.without_values()) {
  const QuietLog quiet(true);
  SolverOptions with = session.solver_options();
  with.group = &group_;
  with.sources = &sources_;
  with.sinks = &no_sinks();
  with.hdf5 = &session.hdf5;
  with.tuning = &tuning;
  solver_ = std::make_unique<Solver>(shortened(parameter), with);
  solver_->step(2);
  measure(&parameter);
}

DryRun::DryRun(Session& session, const caffe::NetParameter& parameter, const NetOptions& options,
               const TuningTable& tuning)
    : group_(session.group), sources_(session.sources.without_values()) {
  const QuietLog quiet(true);
  NetOptions with = options;
  with.group = &group_;
  with.sources = &sources_;
  with.sinks = &no_sinks();
  with.layouts = tuning.layouts();
  net_ = std::make_unique<Net>(parameter, with);
  net_->use_plans(tuning.plans_for(*net_));
  net_->forward();
  measure(nullptr);
}

void DryRun::measure(const caffe::SolverParameter* solver) {
  const Net::Memory memory = net().memory();
  need_.batch = batch_of(net());
  need_.program = resident_bytes();
  need_.parameters = memory.parameters;
  need_.gradients = solver != nullptr ? memory.parameter_gradients : 0;
  const i64 histories = solver != nullptr ? solver_type(*solver).histories : 0;
  need_.history = histories * need_.parameters;
  need_.average = solver != nullptr && solver->ema_decay() > 0 ? need_.parameters : 0;
  need_.blobs = std::max(i64{0}, group_.peak() - need_.parameters - need_.gradients - need_.history - need_.average);
  // Weights or histories as messages, or all of them at once, and the largest blob on its way there.
  i64 largest = 0;
  for (const auto& learnable : net().learnable()) largest = std::max(largest, learnable.blob->bytes());
  if (solver != nullptr && (solver->snapshot() > 0 || solver->snapshot_after_train()))
    need_.snapshot = largest + (solver->snapshot_async() ? need_.parameters + need_.average + need_.history
                                                         : std::max(need_.parameters, need_.history));
}

std::string describe(const MemoryNeed& need) {
  const auto mb = [](i64 bytes) { return megabytes_text(static_cast<double>(bytes)); };
  const i64 free = free_host_memory();
  std::string text = "memory of a process: " + mb(need.total()) + " = blobs and layers' own " + mb(need.blobs) +
                     ", parameters " + mb(need.parameters);
  if (need.gradients > 0)
    text += ", their gradients " + mb(need.gradients) + ", history " + mb(need.history) + ", snapshots " +
            mb(need.snapshot);
  if (need.average > 0) text += ", average of weights " + mb(need.average);
  text += ", program " + mb(need.program) + "\n" + mb(free) + " are free";
  if (need.batch > 0 && need.blobs > 0)
    text += ", enough for a batch of " + std::to_string(need.batch_within(free + need.program)) + "; the net's is " +
            std::to_string(need.batch);
  return text + "\n";
}

nlohmann::json to_json(const MemoryNeed& need) {
  return {{"total", need.total()},       {"blobs", need.blobs},     {"parameters", need.parameters},
          {"gradients", need.gradients}, {"history", need.history}, {"snapshot", need.snapshot},
          {"average", need.average},     {"program", need.program}, {"batch", need.batch}};
}

namespace {
/// What to do where the need is more than what is free. `with_bf16`: that of the same net in bf16; nullptr: unknown.
std::string advice_for(const MemoryNeed& need, i64 free, const MemoryNeed* with_bf16) {
  const auto mb = [](i64 bytes) { return megabytes_text(static_cast<double>(bytes)); };
  const i64 left = free + need.program, fits = need.batch_within(left);
  std::string text =
      "a process needs " + mb(need.total() - need.program) + " besides the program, " + mb(free) + " are free";
  if (fits > 0 && fits < need.batch)
    text += "; instead of " + std::to_string(need.batch) + ", batch_size: " + std::to_string(fits) + " would fit" +
            (need.gradients > 0 ? ", with iter_size: " + std::to_string((need.batch + fits - 1) / fits) : "");
  else if (fits == 0 && need.total() > left)
    text += "; no batch fits: parameters, gradients, history and snapshots alone take " +
            mb(need.total() - need.program - need.blobs);
  if (with_bf16 != nullptr && need.total() > left && with_bf16->total() <= left)
    text += "; precision: BF16 would fit, in " + mb(with_bf16->total() - with_bf16->program);
  return text + "; cortado check says what for";
}

template <class Describe>
std::string unless_it_fails(const Describe& describe) {
  try {
    return describe();
  } catch (const std::exception&) { return ""; }
}
}  // namespace

std::string memory_advice(Session& session, const caffe::SolverParameter& parameter, const TuningTable& tuning) {
  return unless_it_fails([&] {
    const MemoryNeed need = DryRuns(session, parameter, tuning).need();
    caffe::SolverParameter narrow = parameter;
    narrow.set_precision(caffe::BF16);
    if (!session.group.spec().bf16 || parameter.precision() == caffe::BF16)
      return advice_for(need, free_host_memory(), nullptr);
    const MemoryNeed with_bf16 = DryRuns(session, narrow, tuning).need();
    return advice_for(need, free_host_memory(), &with_bf16);
  });
}

std::string memory_advice(Session& session, const caffe::NetParameter& parameter, const NetOptions& options,
                          const TuningTable& tuning) {
  return unless_it_fails(
      [&] { return advice_for(DryRuns(session, parameter, options, tuning).need(), free_host_memory(), nullptr); });
}

void advising_on_memory(const std::function<std::string()>& advice, const std::function<void()>& work) {
  try {
    naming_memory("", work);
  } catch (const MemoryError& error) { throw MemoryError("", error.what(), advice()); }
}

void with_net(Session& session, const NetFlags& flags, const std::function<void(Net&)>& work) {
  caffe::NetParameter parameter;
  flags.read(parameter);
  advising_on_memory(
      [&] { return memory_advice(session, parameter, session.net_options(), empty_tuning(session.group.spec())); },
      [&] {
        NetOptions options = session.net_options();
        options.only_scores = true;
        Net net(parameter, options);
        work(net);
      });
}

}  // namespace cortado
