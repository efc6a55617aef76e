#include "comm/predict/division.h"

#include <iostream>

#include "app/predict/predict.h"
#include "app/report/report.h"

namespace cortado {
namespace {

/// None where there are fewer outputs or inputs than devices.
nlohmann::json milliseconds_of(const DividedLayer::Way& way) {
  return way.iteration > 0 ? nlohmann::json(1e3 * way.iteration) : nlohmann::json();
}

/// The text to write into the net; empty for a layer that is best left whole.
std::string asked_of(const DividedLayer& layer, const Coding& coding) {
  const auto choice = layer.choice();
  if (choice == DividedLayer::Choice::undivided) return "";
  const bool outputs = choice == DividedLayer::Choice::outputs;
  const i64 k = (outputs ? layer.outputs : layer.inputs).sub_batches;
  return std::string("divided: ") + (outputs ? "OUTPUTS" : "INPUTS") +
         (k > 1 ? " sub_batches: " + std::to_string(k) : "") +
         (coding.codec != nullptr ? " codec: \"" + coding.codec->name() + "\"" : "");
}

}  // namespace

void show_divisions(const Session& session, const PredictFlags& flags, const Work& work, const Links& links,
                    const Coding& coding, const Parallelism& how) {
  Report report({{"devices", "devices"},
                 {"layer", "layer"},
                 {"undivided_ms", "undivided ms", 3},
                 {"outputs_ms", "OUTPUTS ms", 3},
                 {"inputs_ms", "INPUTS ms", 3},
                 {"best", "inner_product_param"}},
                session.group.spec(), {{"model", flags.net.model()}, {"machine", flags.machine}});
  for (const int devices : flags.devices)
    for (const DividedLayer& layer : predict_divisions(work, links, coding, how, devices))
      report.add({{"devices", devices},
                  {"layer", layer.name},
                  {"undivided_ms", 1e3 * layer.undivided},
                  {"outputs_ms", milliseconds_of(layer.outputs)},
                  {"inputs_ms", milliseconds_of(layer.inputs)},
                  {"best", asked_of(layer, coding)}});
  if (session.job.rank() == 0) std::cout << "An iteration by how the weights of a layer lie over devices:\n\n";
  show(report, session.job, "\nThe last column goes into the layer's inner_product_param; empty: leave it whole.\n",
       flags.json);
}

}  // namespace cortado
