#pragma once
#include "core/net/layer.h"
#include "layers/gemm/gemm.h"

namespace cortado {

/// Caffe's InnerProduct: the bottom's axes from `axis` on are flattened into K terms, those before into M rows; the top
/// is M x num_output = bottom (M x K) weights^T (K x num_output) + bias. Weights are num_output x K, or K x num_output
/// with `transpose`.
class InnerProductLayer : public Layer {
 public:
  using Layer::Layer;
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  PlanBook plans() const override;
  std::vector<PlanOption> plan_options() const override;
  void choose_plans(const PlanBook& wanted) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  int axis_ = 1;
  i64 rows_ = 0, terms_ = 0, outputs_ = 0;
  bool bias_ = true, transpose_ = false;
  bool tile_program_wanted_ = false;
  void multiply_timed(const MatrixLibrary::Gemm& gemm);

  Multiplier multiplier_ = Multiplier::library;
};

}  // namespace cortado
