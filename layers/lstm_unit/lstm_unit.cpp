#include "core/net/layer_table.h"
#include "layers/lstm_unit/cell.h"

namespace cortado {
namespace {

/// Caffe's LSTMUnit, one step of an LSTM. Bottoms are the previous cell (1 x N x D), the gates' inputs (1 x N x 4 D:
/// input, forget, output, candidate) and whether each sequence goes on (1 x N, 0 or 1). Tops are the cell and the
/// hidden state.
class LstmUnitLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {3, 3}; }
  Arity tops() const override { return {2, 2}; }
  bool allows_backward_to(std::size_t i) const override { return i < 2; }
  void setup(const Blobs&, const Blobs&) override {
    activations_ = std::make_unique<Blob>(group());
    unused_ = std::make_unique<Blob>(group());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    const Shape& cell = bottom[0]->shape();
    if (cell.size() != 3 || cell[0] != 1 || bottom[1]->shape() != Shape{1, cell[1], 4 * cell[2]} ||
        bottom[2]->count() != cell[1])
      bad_shape("expects 1 x N x D, 1 x N x 4 D and 1 x N, the bottoms have shapes " + to_string(cell) + ", " +
                to_string(bottom[1]->shape()) + " and " + to_string(bottom[2]->shape()));
    cell_ = {cell[1], cell[2]};
    for (Blob* t : top) t->reshape(cell);
    activations_->reshape(bottom[1]->shape());
    unused_->reshape(bottom[1]->shape());
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    cell_.forward(group(), bottom[1]->data(), bottom[0]->data(), bottom[2]->data(), activations_->mutable_data(),
                  top[0]->mutable_data(), top[1]->mutable_data());
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0] && !propagate_down[1]) return;
    cell_.backward(group(), activations_->data(), bottom[0]->data(), top[0]->data(), top[0]->diff(), top[1]->diff(),
                   propagate_down[1] ? bottom[1]->mutable_diff() : unused_->mutable_data(),
                   propagate_down[0] ? bottom[0]->mutable_diff() : unused_->mutable_diff());
  }

 private:
  LstmCell cell_;
  std::unique_ptr<Blob> activations_, unused_;  // unused_: gradients that nobody asked for
};

}  // namespace

void add_lstm_unit(LayerTable& table) { table.add<LstmUnitLayer>("LSTMUnit"); }

}  // namespace cortado
