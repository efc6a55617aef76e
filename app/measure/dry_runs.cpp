#include "app/measure/dry_runs.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/solver/solver_parameter.h"

namespace cortado {
namespace {

i64 largest_batch(const caffe::NetParameter& net, const LayerTable& layers) {
  i64 largest = 0;
  for (caffe::LayerParameter layer : net.layer())
    if (layers.has(layer.type()))
      layers.divide_batch(layer, [&](i64 batch) {
        largest = std::max(largest, batch);
        return batch;
      });
  return largest;
}

/// Makes batches of a net with large ones smaller, in the proportion of `to` to `from`.
void shrink(caffe::NetParameter& net, const LayerTable& layers, i64 from, i64 to) {
  if (largest_batch(net, layers) <= DryRuns::most_planned) return;
  for (auto& layer : *net.mutable_layer())
    layers.divide_batch(layer,
                        [&](i64 batch) { return std::max<i64>(1, batch / from * to + batch % from * to / from); });
}

/// The solver with its nets in itself.
caffe::SolverParameter with_nets(const caffe::SolverParameter& parameter, const LayerTable& layers) {
  caffe::SolverParameter own = parameter;
  own.clear_net();
  own.clear_net_param();
  own.clear_train_net();
  own.clear_test_net();
  own.clear_test_net_param();
  own.clear_train_state();
  own.clear_test_state();
  *own.mutable_train_net_param() = training_net(parameter, &layers).net;
  for (const NamedNet& test : test_nets(parameter)) *own.add_test_net_param() = test.net;
  return own;
}
}  // namespace

DryRuns::DryRuns(Session& session, const caffe::SolverParameter& parameter, const TuningTable& tuning) {
  const i64 largest = largest_batch(training_net(parameter, &session.layers).net, session.layers);
  run_at_smaller(largest, [&](i64 batch) {
    if (batch == largest) return std::make_unique<DryRun>(session, parameter, tuning);
    caffe::SolverParameter small = with_nets(parameter, session.layers);
    shrink(*small.mutable_train_net_param(), session.layers, largest, batch);
    for (auto& test : *small.mutable_test_net_param()) shrink(test, session.layers, largest, batch);
    return std::make_unique<DryRun>(session, small, tuning);
  });
}

DryRuns::DryRuns(Session& session, const caffe::NetParameter& parameter, const NetOptions& options,
                 const TuningTable& tuning) {
  const i64 largest = largest_batch(parameter, session.layers);
  run_at_smaller(largest, [&](i64 batch) {
    caffe::NetParameter small = parameter;
    if (batch < largest) shrink(small, session.layers, largest, batch);
    return std::make_unique<DryRun>(session, small, options, tuning);
  });
}

template <class Build>
void DryRuns::run_at_smaller(i64 largest, const Build& build) {
  largest_ = batch_ = largest;
  if (largest > most_planned) try {
      batch_ = most_planned;
      smaller_batch_ = most_planned / 2;
      smaller_ = build(smaller_batch_);
      run_ = build(batch_);
      if (smaller_->net().layers().size() == run_->net().layers().size()) return;
    } catch (const Error&) {}  // told of the net as it is
  smaller_.reset();
  batch_ = largest;
  run_ = build(largest);
}

i64 DryRuns::continued(i64 value, i64 smaller) const {
  const double a_sample = static_cast<double>(value - smaller) / static_cast<double>(batch_ - smaller_batch_);
  return value + static_cast<i64>(a_sample * static_cast<double>(largest_ - batch_));
}

MemoryNeed DryRuns::need() const {
  MemoryNeed need = run_->need();
  if (smaller_ == nullptr) return need;
  const MemoryNeed& small = smaller_->need();
  for (i64 MemoryNeed::*part : {&MemoryNeed::parameters, &MemoryNeed::gradients, &MemoryNeed::history,
                                &MemoryNeed::blobs, &MemoryNeed::snapshot, &MemoryNeed::batch})
    need.*part = continued(need.*part, small.*part);
  return need;
}

std::vector<Shape> DryRuns::shapes(const Layer::Blobs& blobs, const Layer::Blobs& smaller) const {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    shapes.push_back(blobs[i]->shape());
    if (smaller_ == nullptr || smaller[i]->shape().size() != shapes.back().size()) continue;
    for (std::size_t d = 0; d < shapes.back().size(); ++d)
      shapes.back()[d] = continued(shapes.back()[d], smaller[i]->shape()[d]);
  }
  return shapes;
}

std::vector<Shape> DryRuns::bottoms(std::size_t layer) const {
  const auto& of = run_->net().layers()[layer];
  return shapes(of.bottom, smaller_ != nullptr ? smaller_->net().layers()[layer].bottom : of.bottom);
}

std::vector<Shape> DryRuns::tops(std::size_t layer) const {
  const auto& of = run_->net().layers()[layer];
  return shapes(of.top, smaller_ != nullptr ? smaller_->net().layers()[layer].top : of.top);
}

}  // namespace cortado
