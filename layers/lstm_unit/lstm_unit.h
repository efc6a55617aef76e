#pragma once
#include "core/net/layer.h"
#include "layers/lstm_unit/cell.h"

namespace cortado {

/// Caffe's LSTMUnit, one step of an LSTM. Bottoms are the previous cell (1 x N x D), the gates' inputs (1 x N x 4 D:
/// input, forget, output, candidate) and whether each sequence goes on (1 x N, 0 or 1). Tops are the cell and the
/// hidden state.
class LstmUnitLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {3, 3}; }
  Arity tops() const override { return {2, 2}; }
  bool allows_backward_to(std::size_t i) const override { return i < 2; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;

 private:
  LstmCell cell_;
  std::unique_ptr<Blob> activations_, unused_;  // unused_: gradients that nobody asked for
};

}  // namespace cortado
