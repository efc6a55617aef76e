#pragma once
#include "layers/input/input.h"

namespace cortado {

/// Caffe's MemoryData: tops data (batch_size x channels x height x width) and label (batch_size), which the caller
/// fills as with Input.
class MemoryDataLayer : public InputLayer {
 public:
  using InputLayer::InputLayer;
  Arity tops() const override { return {2, 2}; }
  void setup(const Blobs& bottom, const Blobs& top) override;
};

}  // namespace cortado
