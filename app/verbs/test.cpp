#include <vector>

#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/measure/memory_need.h"
#include "app/report/progress_bar.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/output_sums.h"
#include "core/solver/finite.h"

namespace cortado {
namespace {
class Test : public Verb {
 public:
  void add_to(Flags& flags) override {
    net_.add_model(flags).required();
    add_weights(flags, weights_, "The .caffemodel or .caffemodel.h5").required();
    add_strict(flags);
    flags.add("--iterations", iterations_, "Batches to score").shows_default().positive();
    session_.add_precision(flags);
    session_.add_without(flags);
    session_.add_devices(flags);
    net_.add_state(flags);
  }
  int run(const MpiJob& job) override;

 private:
  void score(const Session& session, Net& net) const;

  NetFlags net_{Phase::test};
  SessionFlags session_;
  std::string weights_;
  i64 iterations_ = 50;
};

int Test::run(const MpiJob& job) {
  Session session(job, session_);
  with_net(session, net_, [&](Net& net) { score(session, net); });
  return 0;
}

void Test::score(const Session& session, Net& net) const {
  if (!net.inputs().empty())
    throw ConfigError("net '" + net.name() + "'", "has inputs that nothing fills: there is nothing to score",
                      "give it a data layer in place of Input, or use cortado classify");
  session.take_weights(net, weights_);
  CORTADO_LOG(info) << "Running for " << iterations_ << " iterations.";

  // Batches are divided over ranks; their sums are added, so any number of ranks reports the same.
  const auto& replicas = session.job.replicas();
  OutputSums sums(net);
  double loss = 0;
  ProgressBar bar("testing");
  net.run().parameter_version = 1;
  for (i64 pass = replicas.rank(); pass < iterations_; pass += replicas.size()) {
    net.run().pass = pass;
    net.forward();
    require_finite_outputs(net);
    loss += net.loss();
    sums.add(net);
    if (replicas.size() == 1)
      for (const auto& output : net.outputs())
        for (const float value : output.blob->data_vector())
          CORTADO_LOG(info) << "Batch " << pass << ", " << output.name << " = " << value;
    if (replicas.rank() == 0) bar.show(pass + 1, iterations_);
  }
  replicas.sum(&loss, 1);
  sums.merge(replicas);

  CORTADO_LOG(info) << "Loss: " << loss / static_cast<double>(iterations_);
  for (const auto& [name, value, weight] : sums.means(net, iterations_))
    CORTADO_LOG(info) << name << " = " << value
                      << (weight == 0
                              ? ""
                              : " (* " + std::to_string(weight) + " = " + std::to_string(weight * value) + " loss)");
  for (const auto& name : sums.left_out(net))
    CORTADO_LOG(warning) << "Output '" << name << "' changes its size: it has no mean";
}
}  // namespace

std::unique_ptr<Verb> make_test() { return std::make_unique<Test>(); }

}  // namespace cortado
