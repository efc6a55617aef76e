#include "app/predict/predict.h"

#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"

namespace cortado {
namespace {

class Predict : public Verb {
 public:
  void add_to(Flags& flags) override {
    PredictFlags& f = flags_;
    const Flag model = f.net.add_model(flags);
    const Flag machine = add_file(
        flags, "--machine", f.machine,
        "JSON: links between devices, and times of layers, which are measured here without (docs/use/prediction.md)");
    flags.add("--devices", f.devices, "Numbers of devices, separated by commas; default 1 to 96").positive();
    flags
        .add("--fully-connected", f.fully_connected,
             "How fully connected layers are parallel: model, over outputs; data, like all others; whole, each device "
             "has them and takes all activations")
        .shows_default()
        .one_of({"model", "data", "whole"});
    flags
        .add("--sub-batch", f.sub_batch,
             "Samples that pass through fully connected layers at a time; default: a device's batch")
        .positive();
    flags
        .add_switch("--divide", f.divide,
                    "Instead: whether and how to divide the weights of each fully connected layer over devices")
        .needs(machine);
    flags.add_switch("--count-one-pass", f.one_pass,
                     "Count what is exposed of one pass only, as the paper's equations do; default: of every pass");
    flags.add("--codec", f.exchange.codec, "What messages are sent as: " + codec_names() + "; default fp32");
    flags.add("--exchange", f.exchange.exchange,
              "How gradients travel: buckets, while backward and the next forward go on, the default; packed, after "
              "backward; coded");
    flags.add("--allreduce", f.exchange.allreduce,
              "Sum gradients by this algorithm: " + algorithm_names("allreduce") + "; default: everybody to everybody");
    flags
        .add_switch("--check", check_,
                    "Under mpirun: train here, with exchanges packed, buckets and coded, beside what is predicted")
        .needs(model)
        .excludes(machine);
    flags.add_switch("--published", published_, "Instead: the paper's tables from their inputs, beside what it prints")
        .excludes(model);
    flags
        .add_switch("--scalednn", scalednn_,
                    "Instead: ScaleDNN's four devices (Xu et al. 2021) simulated, beside what the paper prints")
        .excludes(model);
    flags.add("--iterations", f.iterations, "Iterations that measuring averages over").shows_default().positive();
    add_json(flags, f.json);
    f.session.add_precision(flags);
    f.session.add_without(flags);
    add_tuning(flags, f.tuning);
    f.net.add_state(flags);
  }

  int run(const MpiJob& job) override {
    const Session session(job, flags_.session);
    if (scalednn_)
      show_scalednn(session, flags_.json);
    else if (published_)
      show_published(session, flags_.json);
    else if (check_)
      check_prediction(session, flags_);
    else
      forecast(session, flags_);
    return 0;
  }

 private:
  PredictFlags flags_;
  bool check_ = false, published_ = false, scalednn_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_predict() { return std::make_unique<Predict>(); }

}  // namespace cortado
