#pragma once
#include <gtest/gtest.h>

#include "core/formats/prototxt.h"
#include "tests/net/small_layers.h"
#include "tests/support/backends.h"

namespace cortado::test {

inline caffe::NetParameter net_parameter(const std::string& text, caffe::Phase phase = caffe::TRAIN) {
  caffe::NetParameter parameter;
  parse_text(text, "test", parameter);
  parameter.mutable_state()->set_phase(phase);
  return parameter;
}

/// A net of small layers on the reference backend.
inline std::unique_ptr<Net> small_net(const caffe::NetParameter& parameter, const PlanBook& plans = {},
                                      const Replicas* replicas = nullptr, bool only_trains = false) {
  static const LayerTable layers = small_layers();
  NetOptions options;
  options.group = &group_of("reference");
  options.layers = &layers;
  options.plans = plans;
  options.replicas = replicas;
  options.only_trains = only_trains;
  return std::make_unique<Net>(parameter, options);
}
inline std::unique_ptr<Net> small_net(const std::string& text, caffe::Phase phase = caffe::TRAIN) {
  return small_net(net_parameter(text, phase));
}

/// Layers as text: `data` is an Input of shape 2 x 3.
inline std::string data_layer() {
  return R"(layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } } )";
}
inline std::string scale_layer(const std::string& name, const std::string& bottom, const std::string& top,
                               const std::string& more = "", float value = 2, int factors = 1) {
  return "layer { name: \"" + name + "\" type: \"Scale\" bottom: \"" + bottom + "\" top: \"" + top + "\" " +
         "inner_product_param { num_output: " + std::to_string(factors) +
         " weight_filler { value: " + std::to_string(value) + " } } " + more + " } ";
}
inline std::string loss_layer(const std::string& bottom, const std::string& more = "") {
  return "layer { name: \"loss\" type: \"Loss\" bottom: \"" + bottom + "\" top: \"loss\" " + more + " } ";
}

}  // namespace cortado::test
