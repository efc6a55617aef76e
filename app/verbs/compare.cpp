#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iostream>

#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/measure/memory_need.h"
#include "app/modules/modules.h"
#include "app/report/report.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "app/start/start_files.h"
#include "app/tune/tuning.h"
#include "app/verbs/net_values.h"
#include "backends/reference/processor.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {

std::string text_of(const ValueDifference& difference) {
  const std::string what = printable(difference.what);
  if (!difference.shapes.empty()) return fmt::format("{}: its shape is {}", what, difference.shapes);
  return fmt::format("{}: {:.3g} of its largest value, at element {}: {:.9g} here, {:.9g} there", what,
                     difference.relative, difference.element, difference.here, difference.there);
}

class Compare : public Verb {
 public:
  void add_to(Flags& flags) override {
    net_.add_model(flags, "Net prototxt; its Input layers get random values").required();
    add_weights(flags, weights_, "The .caffemodel or .caffemodel.h5; default: the fillers");
    net_.add_phase(flags);
    const Flag with = flags
                          .add("--with", with_,
                               "reference: the checking backend; plans: --tuning's plans with layers' own; or a file "
                               "that --save wrote, by another build for example")
                          .shows_default()
                          .compared_by([this](StartFields& fields) {
                            const std::string content = content_of(with_);
                            fields.push_back({"--with", "--with", content.empty() ? "\"" + with_ + "\"" : content});
                          });
    flags.add("--save", save_, "Write the values to this HDF5 file instead of comparing them")
        .replaces_nothing()
        .excludes(with);
    flags.add("--tolerance", tolerance_, "Largest difference, over the largest value of the blob")
        .shows_default()
        .not_negative();
    flags.add("--seed", seed_, "Of fillers, inputs and dropout").shows_default();
    add_json(flags, json_);
    add_tuning(flags, tuning_);
    session_.add_devices(flags);
    session_.add_without(flags);
    net_.add_state(flags);
  }

  int run(const MpiJob& job) override {
    const Session session(job, session_);
    std::vector<NetValue> here, there;
    advising_on_memory([] { return "all values are kept: give a smaller batch_size"; },
                       [&] {
                         here = run_on(session, session.group, true);
                         if (save_.empty()) there = other_values(session);
                       });
    if (!save_.empty()) {
      if (job.rank() != 0) return 0;
      save_values(here, save_, session.hdf5);
      CORTADO_LOG(info) << "Wrote " << here.size() << " values to " << save_;
      return 0;
    }
    const auto differences = differences_of(here, there);
    if (differences.empty())
      throw ConfigError(with_, "has no value of " + net_.model(), "compare one net, in one phase");
    const auto exceeds = [&](const ValueDifference& d) { return d.relative > tolerance_; };
    const auto first = std::find_if(differences.begin(), differences.end(), exceeds);
    const auto worst =
        std::max_element(differences.begin(), differences.end(),
                         [](const ValueDifference& a, const ValueDifference& b) { return a.relative < b.relative; });
    if (job.rank() == 0) {
      std::cout << fmt::format("compared {} values with {}; only here: {}, only there: {}\n", differences.size(),
                               printable(with_), here.size() - differences.size(), there.size() - differences.size());
      if (first != differences.end()) std::cout << "first beyond the tolerance: " << text_of(*first) << "\n";
      std::cout << "largest difference: " << text_of(*worst) << std::endl;
      if (!json_.empty()) write_rows(session, differences);
    }
    return first == differences.end() ? 0 : 1;
  }

 private:
  /// Runs the net once on a group, with or without the plans that tuning files name.
  std::vector<NetValue> run_on(const Session& session, CoreGroup& group, bool tuned) const {
    caffe::NetParameter parameter;
    net_.read(parameter);
    NetOptions with = session.net_options();
    with.group = &group;
    with.seed = seed_;
    const TuningTable tuning =
        tuned ? read_tuning(group.spec(), tuning_, session.job.replicas()) : empty_tuning(group.spec());
    with.layouts = tuning.layouts();
    Net net(parameter, with);
    net.use_plans(tuning.plans_for(net));
    if (!weights_.empty()) session.take_weights(net, weights_);
    return values_of_pass(net, seed_);
  }

  std::vector<NetValue> other_values(const Session& session) const {
    if (with_ == "plans") return run_on(session, session.group, false);
    if (with_ != "reference") return load_values(with_, session.hdf5);
    const auto reference = reference::make_processor({}, reference_programs());
    return run_on(session, reference->group(0), false);
  }

  void write_rows(const Session& session, const std::vector<ValueDifference>& differences) const {
    Report report({}, session.group.spec(), {{"model", net_.model()}, {"with", with_}, {"tolerance", tolerance_}});
    for (const auto& d : differences)
      report.add({{"value", d.what},
                  {"difference", d.relative},
                  {"element", d.element},
                  {"here", d.here},
                  {"there", d.there}});
    report.write_json(json_);
  }

  NetFlags net_;
  SessionFlags session_;
  std::string weights_, with_ = "reference", save_, json_, tuning_;
  double tolerance_ = 1e-3;
  std::uint64_t seed_ = 1;
};

}  // namespace

std::unique_ptr<Verb> make_compare() { return std::make_unique<Compare>(); }

}  // namespace cortado
