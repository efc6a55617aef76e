#include "layers/lstm_unit/lstm_unit.h"

namespace cortado {

void LstmUnitLayer::setup(const Blobs&, const Blobs&) {
  activations_ = std::make_unique<Blob>(group());
  unused_ = std::make_unique<Blob>(group());
}

void LstmUnitLayer::reshape(const Blobs& bottom, const Blobs& top) {
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

void LstmUnitLayer::forward(const Blobs& bottom, const Blobs& top) {
  cell_.forward(group(), bottom[1]->data(), bottom[0]->data(), bottom[2]->data(), activations_->mutable_data(),
                top[0]->mutable_data(), top[1]->mutable_data());
}

void LstmUnitLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (!propagate_down[0] && !propagate_down[1]) return;
  cell_.backward(group(), activations_->data(), bottom[0]->data(), top[0]->data(), top[0]->diff(), top[1]->diff(),
                 propagate_down[1] ? bottom[1]->mutable_diff() : unused_->mutable_data(),
                 propagate_down[0] ? bottom[0]->mutable_diff() : unused_->mutable_diff());
}

}  // namespace cortado
